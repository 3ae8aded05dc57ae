"""ECHO descriptors: neighbours vote into a small disc image around every vertex."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.compiled import echo_kernels as compiled
from fieldconv.ops.disc import disc_cells
from fieldconv.ops.geometry import Geometry
from fieldconv.ops.portable import echo_torch as portable
from fieldconv.ops.register import GEOMETRY, Backend, check_backend, register_differentiable

if TYPE_CHECKING:
    from fieldconv.surface import Surface

Votes = Literal["vector", "magnitude"]


def echo_size(radial_samples: int = 3) -> int:
    """Return H, the number of values of one ECHO descriptor.

    With R samples per radius, the disc is drawn on an image of 2R × 2R pixels. H counts the pixels whose
    middle lies in the disc, and one more cell at the centre itself. That gives the paper's numbers.

    Examples
    --------
    >>> echo_size(3), echo_size(2)
    (33, 13)
    """
    return len(disc_cells(radial_samples))


def _empty(x: Tensor, radial_samples: int, vector: bool) -> tuple[Tensor, Tensor]:
    """Return tensors for the descriptors and, of vector votes, the complex images they are lengths of."""
    shape = (*x.shape, echo_size(radial_samples))
    return x.real.new_empty(shape), x.new_empty(shape if vector else (0, 0, 0))


_echo = register_differentiable(
    "echo",
    ["x"],
    f"{GEOMETRY}, int radial_samples, bool vector, str backend",
    (compiled.vote, portable.vote),
    (compiled.vote_backward, portable.vote_backward),
    fake=lambda x, _, radial_samples, vector, backend: _empty(x, radial_samples, vector),
    equations=lambda x, geometry, radial_samples, vector, _: plain.echo(x, geometry, radial_samples, vector),
    saved=["image"],
)


def echo_votes(
    x: Tensor,
    surface: Surface | Geometry,
    *,
    radial_samples: int = 3,
    votes: Votes = "vector",
    backend: Backend = "auto",
) -> Tensor:
    """Return ECHO descriptors: each neighbour q votes where it sees p in its own frame, turned to x[q].

    The vote of q falls at r/ε · e^{i(θ − φ_q)} in the unit disc, φ_q the direction of x[q]. It is split
    bilinearly over the four pixels around it; a centre cell, a tent half as wide, takes its share first,
    so a vertex votes for itself there and nowhere else. Shares outside the disc are dropped. See
    `echo_size` for the cells.

    Parameters
    ----------
    x : complex Tensor, shape (n, D)
    surface : Surface or batch of them
    radial_samples : int
        R, samples per radius.
    votes : "vector" or "magnitude"
        Cast w·(x[q] transported to p), and take magnitudes of the sums; or cast w·|x[q]|.
    backend : "auto", "torch" or "compiled"
        See `field_aggregate`.

    Returns
    -------
    real Tensor, shape (n, D, H)
        Unchanged by isometries and by the choice of frames.
    """
    if votes not in ("vector", "magnitude"):
        raise ValueError(f'votes must be "vector" or "magnitude", got {votes!r}.')
    check_backend(backend, x)
    geometry = Geometry.of(surface)
    if geometry.wants_gradients():
        return plain.echo(x, geometry, radial_samples, votes == "vector")
    descriptors: Tensor = _echo(x, *geometry, radial_samples, votes == "vector", backend)[0]
    return descriptors
