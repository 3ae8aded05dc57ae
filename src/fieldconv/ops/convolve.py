"""The field convolution: sums over geodesic discs, mixed by filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from fieldconv.ops.aggregate import field_aggregate
from fieldconv.ops.backend import Backend, check_backend
from fieldconv.ops.compiled import convolve_kernels as compiled
from fieldconv.ops.complex_matmul import complex_matmul
from fieldconv.ops.geometry import Geometry
from fieldconv.ops.portable import convolve_torch as portable
from fieldconv.ops.register import GEOMETRY, register_differentiable
from fieldconv.ops.rings import Spacing

if TYPE_CHECKING:
    from fieldconv.surface import Surface


def _in_two_steps(
    x: Tensor, real: Tensor, imaginary: Tensor, geometry: Geometry, spacing: Spacing, backend: Backend
) -> Tensor:
    """The sums, then one matrix product: differentiable to any order, and by the geometry too."""
    orders, rings = real.shape[:2]
    sums = field_aggregate(
        x, geometry, rings=rings, band_limit=orders // 2, spacing=spacing, backend=backend
    )  # A[p, m, n, c]
    return complex_matmul(sums.flatten(1), real.flatten(0, 2), imaginary.flatten(0, 2))


_convolve = register_differentiable(
    "convolve",
    ["x", "real", "imaginary"],
    f"{GEOMETRY}, str spacing, str backend",
    (compiled.convolve, portable.convolve),
    (compiled.convolve_backward, portable.convolve_backward),
    fake=lambda x, real, *_: x.new_empty(len(x), real.shape[3]),
    equations=_in_two_steps,
)


def field_convolve(
    x: Tensor,
    real: Tensor,
    imaginary: Tensor,
    surface: Surface | Geometry,
    *,
    spacing: Spacing = "linear",
    backend: Backend = "auto",
) -> Tensor:
    """Return the field convolution (Eq. 7) of a vector field with filters.

    out[p,o] = Σ_{m,n,c} A[p,m,n,c] F[m,n,c,o], where A is `field_aggregate` of x. Nothing keeps
    A as a whole: the kernels mix the features of a few hundred points at a time, portable torch sums for one
    m at a time.

    Parameters
    ----------
    x : complex Tensor, shape (n, C)
    real, imaginary : real Tensor, shape (2B+1, N, C, O)
        The parts of F, for m = −B … B.
    surface : Surface or batch of them
    spacing : "linear" or "equal_area"
        See `ring_radii`.
    backend : "auto", "torch" or "compiled"
        See `field_aggregate`.

    Returns
    -------
    complex Tensor, shape (n, O)

    Examples
    --------
    One vertex that is its own only neighbour, with weight 1.

    >>> import torch
    >>> from types import SimpleNamespace
    >>> one = torch.ones(1)
    >>> dot = SimpleNamespace(edge_index=torch.zeros(2, 1, dtype=torch.int64), log=0j * one,
    ...                       transport=one + 0j, weight=one, radius=one)
    >>> field_convolve(torch.tensor([[3j]]), torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 1), dot).tolist()
    [[3j]]
    """
    check_backend(backend, x)
    geometry = Geometry.of(surface)
    if geometry.wants_gradients():
        return _in_two_steps(x, real, imaginary, geometry, spacing, backend)
    out: Tensor = _convolve(x, real, imaginary, *geometry, spacing, backend)
    return out
