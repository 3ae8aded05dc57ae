"""The operations in plain torch, for any device.

Sums over edges are weighted sums of rows, with their adjoints as backward passes; nothing that has a number
for each edge and channel outlives the few edges that are worked on at a time. Conjugates are taken with
`torch.conj_physical`, since in compiled graphs torch does not see lazy ones inside an operator.
"""
