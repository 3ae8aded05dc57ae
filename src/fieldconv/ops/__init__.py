"""The hot loops: each a portable torch version and a fast CPU kernel behind one function."""

from fieldconv.ops.aggregate import field_aggregate, gradient_aggregate
from fieldconv.ops.direction import unit
from fieldconv.ops.echo import echo_size, echo_votes
from fieldconv.ops.rings import ring_radii

__all__ = ["echo_size", "echo_votes", "field_aggregate", "gradient_aggregate", "ring_radii", "unit"]
