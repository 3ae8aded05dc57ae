"""The same surface with fewer tensors, rotated, on a device; in other frames, moved, renumbered, or scaled.

A network's outputs must not depend on frames, place, numbering and scale; `fieldconv.testing` checks it. Such
changes are made to all tensors of the surface: discs, eigenfunctions, features that are positions or normals.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

import numpy as np
import scipy
import torch
from torch import Tensor

from fieldconv._checked import check_count
from fieldconv.surface.settings import TURNING, feature_columns
from fieldconv.surface.surface import Surface

VERTEX_PREFIX = "vertex_"  # of tensors that lead back to the mesh and are not needed in training

# How each tensor grows with the shape, by the end of its name: coarse_radius is a length like radius.
# Eigenfunctions have unit length in the areas.
_POWERS = {
    "pos": 1,
    "log": 1,
    "radius": 1,
    "area": 2,
    "mass": 2,
    "eigenvalues": -2,
    "eigenfunctions": -1,
    "eigengradients": -2,
}


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


def turn_vectors(x: Tensor, angles: Tensor) -> Tensor:
    """Return the components of the vectors ``x`` (n, …) in frames turned by ``angles`` (n,)."""
    turn = torch.polar(torch.ones_like(angles), -angles).to(x)
    return x * turn.reshape(-1, *[1] * (x.ndim - 1))


def turn_frames(surface: Surface, angles: Tensor) -> Surface:
    """Return the same surface with tangent frames turned anticlockwise by angles (n,) in radians.

    Examples
    --------
    >>> from fieldconv import Mesh
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> surface = Surface.from_mesh(square)
    >>> turned = turn_frames(surface, torch.full((4,), torch.pi))
    >>> torch.allclose(turned.frame, -surface.frame, atol=1e-6)
    True
    """
    turned: Surface = surface.clone()
    angles = angles.to(surface.pos)
    unit = torch.polar(torch.ones_like(angles), angles)
    lists = _edge_lists(surface)
    of_edges = {name for names in lists.values() for name in names}
    for name, values in _tensors(surface).items():
        if values.is_complex() and name not in of_edges:
            turned[name] = turn_vectors(values, angles)
    for index, names in lists.items():
        q, p = _numbered_samples(surface, index)
        for name in (name for name in names if surface[name].is_complex()):
            if name.endswith("transport"):
                turned[name] = surface[name] * unit[q] * unit[p].conj()
            else:
                turned[name] = turn_vectors(surface[name], angles[q if name.endswith("log") else p])
    if "coarse_carry" in surface:  # from the nearest coarse sample to each sample
        parent = surface.coarse_sample[surface.coarse_parent]
        turned.coarse_carry = surface.coarse_carry * unit[parent] * unit.conj()
    if "frame" in surface and "normal" in surface:
        across = torch.linalg.cross(surface.normal, surface.frame)
        turned.frame = angles.cos()[:, None] * surface.frame + angles.sin()[:, None] * across
    if "vertex_transport" in surface:  # from samples to original vertices, whose frames stay
        turned.vertex_transport = surface.vertex_transport * unit[surface.vertex_sample]
    return turned


def move(surface: Surface, rotation: Tensor, translation: Tensor) -> Surface:
    """Return the surface moved in space, its input features by `moved_features`.

    Parameters
    ----------
    surface : Surface
    rotation : (3, 3) real
    translation : (3,) real

    Examples
    --------
    >>> from fieldconv import Mesh
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> moved = move(Surface.from_mesh(square), torch.eye(3), torch.tensor([1.0, 2.0, 3.0]))
    >>> moved.pos.mean(0), moved.x.mean(0)
    (tensor([1., 2., 3.]), tensor([1., 2., 3.]))
    """
    moved: Surface = surface.clone()
    turn = rotation.to(surface.pos)
    moved.pos = surface.pos @ turn.T + translation.to(surface.pos)
    for name in ("normal", "frame"):
        if name in surface:
            moved[name] = surface[name] @ turn.T
    if surface.x is not None:
        moved.x = moved_features(surface.x, surface, moved)
    return moved


def scale(surface: Surface, factor: float) -> Surface:
    """Return the same surface ``factor`` times as large, with its support ε and features that are positions.

    Examples
    --------
    >>> from fieldconv import Mesh
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> round(float(scale(Surface.from_mesh(square), 2.0).area.sum()), 6)
    4.0
    """
    scaled: Surface = surface.clone()
    for name, values in _tensors(surface).items():
        power = _POWERS.get(name.rpartition("_")[2], 0)
        if power:
            scaled[name] = values * factor**power
    if surface.x is not None:
        scaled.x = moved_features(surface.x, surface, scaled)
    return scaled


def moved_features(x: Tensor, before: Surface, after: Surface) -> Tensor:
    """Return the features of a surface that was moved or scaled, with its new positions and normals.

    Three consecutive columns that equal ``before.pos`` count as positions, three that equal ``before.normal``
    as normals; all others stay.

    Parameters
    ----------
    x : (n, k) real
        Features on ``before``.
    before, after : Surface

    Examples
    --------
    >>> from fieldconv import Mesh
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> surface = Surface.from_mesh(square, features="normals+xyz")
    >>> twice = scale(surface, 2.0)
    >>> torch.equal(twice.x[:, :3], surface.normal), torch.equal(twice.x[:, 3:], 2 * surface.pos)
    (True, True)
    """
    moved = x.clone()
    for columns, name in place_columns(x, before):
        moved[:, columns] = after[name]
    return moved


def place_columns(x: Tensor, surface: Surface) -> list[tuple[slice, str]]:
    """Return which columns of the features ``x`` are positions ("pos") or normals ("normal") of a surface."""
    found: list[tuple[slice, str]] = []
    if x.ndim != 2:
        return found
    first = 0
    while first + 3 <= x.shape[1]:
        columns = slice(first, first + 3)
        names = [n for n in ("pos", "normal") if n in surface and torch.equal(x[:, columns], surface[n])]
        if names:
            found.append((columns, names[0]))
        first += 3 if names else 1
    return found


def renumber(surface: Surface, order: Tensor) -> Surface:
    """Return the same surface with its samples in another order: sample ``order[i]`` becomes sample i.

    Examples
    --------
    >>> from fieldconv import Mesh
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> renumber(Surface.from_mesh(square), torch.tensor([3, 2, 1, 0])).sample
    tensor([3, 2, 1, 0])
    """
    renumbered: Surface = surface.clone()
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(len(order), device=order.device)
    lists = _edge_lists(surface)
    of_edges = {*lists, *(name for names in lists.values() for name in names)}
    for index, names in lists.items():
        if surface.rows_of(index) == "sample":
            q, p = inverse[surface[index]]
            edges = torch.argsort(p * len(order) + q)
            renumbered[index] = torch.stack([q, p])[:, edges]
            for name in names:
                renumbered[name] = surface[name][edges]
    for name, values in _tensors(surface).items():
        if name not in of_edges:
            rows = values[order] if values.ndim and len(values) == len(order) else values
            renumbered[name] = inverse[rows] if surface.rows_of(name) == "sample" else rows
    if "vertex_sample" in surface:
        renumbered.vertex_sample = inverse[surface.vertex_sample]
    return renumbered


def _tensors(surface: Surface) -> dict[str, Tensor]:
    """All tensors but the way back to the mesh, by name."""
    return {
        name: value
        for name, value in surface.to_dict().items()
        if isinstance(value, Tensor) and not name.startswith(VERTEX_PREFIX)
    }


def _edge_lists(surface: Surface) -> dict[str, list[str]]:
    """The lists of edges of a surface, each with the names of what belongs to its edges."""
    names = list(_tensors(surface))
    return {
        index: [name for name in ("log", "transport", "weight") if name in names]
        if index == "edge_index"
        else [name for name in names if name.startswith(index.removesuffix("index")) and name != index]
        for index in names
        if index.endswith("_index") and surface[index].ndim == 2
    }


def _numbered_samples(surface: Surface, index: str) -> Tensor:
    """(2, E): the samples that a list of edges joins, also of edges between other rows."""
    rows, edges = surface.rows_of(index), surface[index]
    joined: Tensor = edges if rows in (None, "sample") else surface[rows][edges]
    return joined
