"""The operations as compiled CPU kernels; `fieldconv.ops.portable` has the same functions in torch."""
