"""What a network reads of a surface in training and prediction: some tensors, perhaps rotated."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import scipy
import torch
from torch import Tensor

from fieldconv._checked import check_count
from fieldconv.surface.settings import TURNING, feature_columns

if TYPE_CHECKING:
    from fieldconv.surface.surface import Surface

VERTEX_PREFIX = "vertex_"  # of tensors that lead back to the mesh and are not needed in training


def select(surface: Surface, names: Iterable[str] | None) -> Surface:
    """Return a surface with the named tensors only, or without those that lead back to the mesh if None."""
    if names is None:
        names = [name for name in surface if not name.startswith(VERTEX_PREFIX)]
    kept, chosen = {*names, "batch", "ptr"}, copy.copy(surface)
    for name in surface:
        if name not in kept:
            del chosen[name]
    return chosen


def rotated_features(surface: Surface, matrix: np.ndarray, features: str | None) -> Tensor:
    """Return the input features after a linear map of space, a (3, 3) matrix applied from the right.

    ``features`` says what they are; where it is None, they are positions if they are equal to these.
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
    """Yield the surface and, if its features turn, ``count`` − 1 fixed rotations of it."""
    check_count("rotations", count)
    yield surface
    if count == 1 or not turning_columns(surface, features):
        return
    for turn in scipy.spatial.transform.Rotation.random(count - 1, random_state=0).as_matrix():
        other = copy.copy(surface)
        other.x = rotated_features(surface, turn, features)
        yield other


def at_vertices(surface: Surface, values: Tensor) -> Tensor:
    """`Surface.interpolate`, without copies where every vertex is a sample."""
    return values if surface.num_nodes == surface.num_vertices else surface.interpolate(values)


def on_device(surface: Surface, device: torch.device) -> Surface:
    """Return the surface where the network is; the given one stays where it was."""
    return surface if device.type == "cpu" else copy.copy(surface).to(device)
