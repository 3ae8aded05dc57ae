"""The hot loops: each a portable torch version and a fast CPU kernel behind one function."""

from fieldconv.ops._edges import Geometry
from fieldconv.ops.aggregate import disc_sums, field_aggregate, gradient_aggregate
from fieldconv.ops.direction import unit
from fieldconv.ops.echo import echo_size, echo_votes
from fieldconv.ops.rings import ring_radii

__all__ = [
    "Geometry",
    "disc_sums",
    "echo_size",
    "echo_votes",
    "field_aggregate",
    "gradient_aggregate",
    "ring_radii",
    "unit",
]
