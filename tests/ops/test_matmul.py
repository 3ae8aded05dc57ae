"""Products inside kernels against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from fieldconv.ops.compiled.matmul_kernels import LINE, multiply


@pytest.mark.parametrize("tile", [(0,), (0, 0), (0, 0, 0, 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "depth", "lines"), [(1, 1, 1), (4, 3, 4), (7, 5, 6), (12, 0, 3), (0, 2, 2)])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("add", [False, True])
def test_is_the_product(tile, dtype, rows: int, depth: int, lines: int, transposed: bool, add: bool) -> None:
    rng = np.random.default_rng(0)
    width = lines * 64 // np.dtype(dtype).itemsize
    a = rng.standard_normal((depth, rows) if transposed else (rows, depth)).astype(dtype)
    b = rng.standard_normal((depth + 1, width + 3)).astype(dtype)  # rows that are longer than is read
    out = rng.standard_normal((rows + 2, width + 5)).astype(dtype)
    expected = out.copy()
    product = (a.T if transposed else a) @ b[1:, :width]
    expected[1 : rows + 1, :width] = product + (out[1 : rows + 1, :width] if add else 0)
    step, across = (1, rows) if transposed else (depth, 1)
    multiply(
        tile, LINE, add, rows, depth, width, a.ravel(), 0, step, across,
        b.ravel(), width + 3, width + 3, out.ravel(), width + 5, width + 5,
    )  # fmt: skip
    np.testing.assert_allclose(out, expected, rtol=0, atol=100 * np.finfo(dtype).eps)
