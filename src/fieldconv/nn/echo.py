"""ECHO descriptors of vector fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from fieldconv.ops import echo_size, echo_votes
from fieldconv.ops.echo_votes import Votes

if TYPE_CHECKING:
    from fieldconv.surface import Surface


class ECHO(nn.Module):
    """Describe the surroundings of each point by an image of where its neighbours see it.

    Neighbour q votes with its vector X(q) into a disc image at p, at the place of p in the frame that X(q)
    spans at q: log_q p turned back by the angle of X(q), split bilinearly on the grid. The image does not
    change under isometries, nor with the tangent frames.

    Parameters
    ----------
    radial_samples : int
        Grid cells from the centre of the disc to its rim; 2 and 3 make the paper's H = 13 and 33.
    votes : "vector" or "magnitude"
        Votes are vectors transported to p, summed, and reduced to their magnitude at the end; or
        magnitudes from the start.

    Shapes
    ------
    - input (n, D) complex, and the surface (or batch of surfaces) with n samples
    - output (n, D, H) real

    Examples
    --------
    >>> ECHO(radial_samples=3).size
    33
    """

    def __init__(self, *, radial_samples: int = 3, votes: Votes = "vector") -> None:
        super().__init__()
        self.radial_samples, self.votes = radial_samples, votes
        self.size = echo_size(radial_samples)  # H

    def forward(self, x: Tensor, surface: Surface) -> Tensor:
        """Return descriptors of the vector field ``x`` on ``surface``."""
        return echo_votes(x, surface, radial_samples=self.radial_samples, votes=self.votes)

    def extra_repr(self) -> str:
        return f"radial_samples={self.radial_samples}, votes={self.votes!r}"
