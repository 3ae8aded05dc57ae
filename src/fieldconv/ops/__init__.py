"""Operations on discs, each in portable torch and as compiled kernels for the CPU."""

from fieldconv.ops.aggregate import disc_sums, field_aggregate, gradient_aggregate
from fieldconv.ops.disc import ring_radii
from fieldconv.ops.echo_votes import echo_size, echo_votes
from fieldconv.ops.geometry import Geometry
from fieldconv.ops.pairs import squared_distances
from fieldconv.ops.vectors import unit

__all__ = [
    "Geometry",
    "disc_sums",
    "echo_size",
    "echo_votes",
    "field_aggregate",
    "gradient_aggregate",
    "ring_radii",
    "squared_distances",
    "unit",
]
