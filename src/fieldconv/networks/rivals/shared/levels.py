"""The coarse level of a surface, for networks that pool to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor, nn

if TYPE_CHECKING:
    from fieldconv.surface import Surface

TWO_LEVELS = (
    "edge_index", "log", "transport", "weight", "radius", "coarse_sample", "coarse_parent", "coarse_carry",
    "coarse_edge_index", "coarse_edge_log", "coarse_edge_transport", "coarse_edge_weight", "coarse_radius",
)  # fmt: skip
"""Tensors of the operators "discs" and "coarse"."""


class Level(NamedTuple):
    """The tensors of a surface that layers read."""

    edge_index: Tensor
    log: Tensor
    transport: Tensor
    weight: Tensor
    radius: Tensor
    area: Tensor
    batch: Tensor | None
    num_graphs: int


def through(blocks: nn.ModuleList, x: Tensor, *surroundings: object) -> Tensor:
    """Apply blocks to ``x`` one after the other, each with the same surroundings."""
    for block in blocks:
        x = block(x, *surroundings)
    return x


def coarse_level(surface: Surface) -> Level:
    """Return the coarse level of a surface (or batch) with the operator "coarse".

    Examples
    --------
    >>> from fieldconv import Mesh, Surface
    >>> strip = Mesh([[x, y, 0] for x in range(8) for y in (0, 1)],
    ...              [[i, i + 2, i + 3, i + 1] for i in range(0, 14, 2)])
    >>> surface = Surface.from_mesh(strip, operators=("discs", "coarse"))
    >>> surface.num_nodes, len(coarse_level(surface).area), coarse_level(surface).radius
    (16, 4, tensor([0.4000]))
    """
    chosen, batch = surface.coarse_sample, surface.batch
    return Level(
        edge_index=surface.coarse_edge_index,
        log=surface.coarse_edge_log,
        transport=surface.coarse_edge_transport,
        weight=surface.coarse_edge_weight,
        radius=surface.coarse_radius,
        area=surface.area[chosen],
        batch=None if batch is None else batch[chosen],
        num_graphs=1 if batch is None else surface.num_graphs,
    )
