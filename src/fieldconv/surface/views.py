"""What training and prediction show a network of a surface: some of its tensors, turned, joined."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy
import torch
from torch import Tensor

from fieldconv.surface.settings import TURNING, feature_columns

if TYPE_CHECKING:
    from fieldconv.surface.surface import Surface

TWO_LEVELS = (
    "edge_index", "log", "transport", "weight", "radius", "coarse_sample", "coarse_parent", "coarse_carry",
    "coarse_edge_index", "coarse_edge_log", "coarse_edge_transport", "coarse_edge_weight", "coarse_radius",
)  # fmt: skip
"""Tensors of the operators "discs" and "coarse", for networks that pool to the coarse level."""
FAR = "vertex_"  # what begins so leads back to the mesh, and is not needed in training


def only(surface: Surface, names: Iterable[str] | None) -> Surface:
    """Return a surface with the named tensors only; with all but the way back to the mesh if None."""
    if names is None:
        names = [name for name in surface.keys() if not name.startswith(FAR)]  # noqa: SIM118
    return type(surface)(**{name: surface[name] for name in names if name in surface})


def turned(surface: Surface, matrix: np.ndarray, features: str | None) -> Tensor:
    """Return the input features after a linear map of space.

    Parameters
    ----------
    surface : Surface
    matrix : (3, 3)
        Applied from the right to positions and normals.
    features : str or None
        What the input features are; if that is not known, they are positions if they are equal to these.
    """
    x: Tensor = surface.x
    turn = torch.from_numpy(matrix.astype(np.float32)).to(x.device)
    turning = turning_columns(surface, features)
    if not turning:
        return x
    if turning == [slice(0, 3)] and x.shape[1] == 3:
        return x @ turn
    x = x.clone()
    for columns in turning:
        x[:, columns] = x[:, columns] @ turn
    return x


def turning_columns(surface: Surface, features: str | None) -> list[slice]:
    """Return which columns of the input features turn with the shape."""
    if surface.x is None:
        return []
    if features is not None and features != "own":
        known = feature_columns(features)
        if surface.x.shape[1] == max(columns.stop for columns in known.values()):
            return [columns for name, columns in known.items() if name in TURNING]
    positions = surface.x is surface.pos or torch.equal(surface.x, surface.pos)
    return [slice(0, 3)] if positions else []


def orientations(surface: Surface, count: int, features: str | None = None) -> Iterable[Surface]:
    """Yield the surface, and it turned ``count`` − 1 times if its features turn; the same turns each time."""
    check_rotations(count)
    yield surface
    if count == 1 or not turning_columns(surface, features):
        return
    for turn in scipy.spatial.transform.Rotation.random(count - 1, random_state=0).as_matrix():
        other = copy.copy(surface)
        other.x = turned(surface, turn, features)
        yield other


def check_rotations(count: int) -> None:
    """Raise ValueError if ``count`` is not a number of orientations."""
    if count < 1:
        raise ValueError(f"rotations is {count}; give a whole number from 1 up")


def joined(surfaces: Sequence[Surface]) -> Surface:
    """Return a batch of surfaces; a single one stays itself, with what kernels remember of its edges."""
    if len(surfaces) == 1:
        return surfaces[0]
    from torch_geometric.data import Batch

    batch: Surface = Batch.from_data_list(list(surfaces))
    return batch


def coarse_level(surface: Surface) -> Surface:
    """Return the coarse level of a surface (or batch) with the operator "coarse", as a surface.

    It has the samples' areas, the discs between them, and ``batch`` if there are several shapes.

    Examples
    --------
    >>> from fieldconv import Mesh, Surface
    >>> strip = Mesh([[x, y, 0] for x in range(8) for y in (0, 1)],
    ...              [[i, i + 2, i + 3, i + 1] for i in range(0, 14, 2)])
    >>> surface = Surface.from_mesh(strip, operators=("discs", "coarse"))
    >>> surface.num_nodes, len(coarse_level(surface).area), coarse_level(surface).radius
    (16, 4, tensor([0.4000]))
    """
    chosen = surface.coarse_sample
    level = type(surface)(
        edge_index=surface.coarse_edge_index,
        log=surface.coarse_edge_log,
        transport=surface.coarse_edge_transport,
        weight=surface.coarse_edge_weight,
        radius=surface.coarse_radius,
        area=surface.area[chosen],
    )
    batch = getattr(surface, "batch", None)
    if batch is not None:
        level.batch, level.num_graphs = batch[chosen], surface.num_graphs
    return level


def at_vertices(surface: Surface, values: Tensor) -> Tensor:
    """`Surface.interpolate`, without copies where every vertex is a sample."""
    return values if surface.num_nodes == surface.num_vertices else surface.interpolate(values)


def on_device(surface: Surface, device: torch.device) -> Surface:
    """Return the surface where the network is; the given one stays where it was."""
    return surface if device.type == "cpu" else copy.copy(surface).to(device)
