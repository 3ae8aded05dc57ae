"""The operations in plain torch, for any device.

Sums over edges are weighted sums of rows, with their adjoints as backward passes; a tensor with a number
for each edge and channel exists for a few edges at a time only. Conjugates are taken with
`torch.conj_physical`, since in compiled graphs torch does not see lazy ones inside an operator.
"""
