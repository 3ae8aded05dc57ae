"""The same surface seen otherwise: other tangent frames, elsewhere in space, renumbered, scaled.

What a network says about a shape must not depend on any of these; `fieldconv.testing` checks it. Whatever a
surface carries changes along: discs, eigenfunctions, and input features that are positions or normals.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fieldconv.surface.surface import Surface

_OF_EDGES = ("log", "transport", "weight")
# How each tensor grows with the shape. Eigenfunctions have unit length in the areas.
_POWERS = {
    "pos": 1,
    "log": 1,
    "radius": 1,
    "area": 2,
    "eigenvalues": -2,
    "eigenfunctions": -1,
    "eigengradients": -2,
}


def turn_vectors(x: Tensor, angles: Tensor) -> Tensor:
    """Return the components of the vectors ``x`` (n, …) in frames turned by ``angles`` (n,)."""
    turn = torch.polar(torch.ones_like(angles), -angles).to(x)
    return x * turn.reshape(-1, *[1] * (x.ndim - 1))


def turn_frames(surface: Surface, angles: Tensor) -> Surface:
    """Return the same surface with the tangent frame of each sample turned by its angle, anticlockwise.

    Parameters
    ----------
    surface : Surface
        Left as it is.
    angles : (n,) real
        In radians.

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
    if "edge_index" in surface:
        q, p = surface.edge_index
        turned.log = surface.log * unit[q].conj()
        turned.transport = surface.transport * unit[q] * unit[p].conj()
    if "frame" in surface and "normal" in surface:
        across = torch.linalg.cross(surface.normal, surface.frame)
        turned.frame = angles.cos()[:, None] * surface.frame + angles.sin()[:, None] * across
    if "vertex_transport" in surface:  # from samples to original vertices, whose frames stay
        turned.vertex_transport = surface.vertex_transport * unit[surface.vertex_sample]
    for name, value in surface.to_dict().items():
        if _at_samples(surface, name) and value.is_complex():
            turned[name] = turn_vectors(value, angles)
    return turned


def move(surface: Surface, rotation: Tensor, translation: Tensor) -> Surface:
    """Return the same surface elsewhere in space, with input features as `moved_features` has them.

    Parameters
    ----------
    surface : Surface
        Left as it is.
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
    """Return the same surface ``factor`` times as large, its support ε with it.

    Input features that are positions grow, too; others stay.

    Examples
    --------
    >>> from fieldconv import Mesh
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> round(float(scale(Surface.from_mesh(square), 2.0).area.sum()), 6)
    4.0
    """
    scaled: Surface = surface.clone()
    for name, power in _POWERS.items():
        if name in surface:
            scaled[name] = surface[name] * factor**power
    if surface.x is not None:
        scaled.x = moved_features(surface.x, surface, scaled)
    return scaled


def moved_features(x: Tensor, before: Surface, after: Surface) -> Tensor:
    """Return features of a surface that was moved or scaled: positions and normals are the new ones.

    Features do not say what they are. Three columns in a row that equal ``before.pos`` are taken for
    positions, three that equal ``before.normal`` for normals; all others stay.

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
    """Return the same surface with its samples listed in another order.

    Parameters
    ----------
    surface : Surface
        Left as it is.
    order : (n,) int64
        Permutation: sample ``order[i]`` becomes sample i.

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
    if "edge_index" in surface:
        q, p = inverse[surface.edge_index]
        edges = torch.argsort(p * len(order) + q)
        renumbered.edge_index = torch.stack([q, p])[:, edges]
        for name in _OF_EDGES:
            renumbered[name] = surface[name][edges]
    if "vertex_sample" in surface:
        renumbered.vertex_sample = inverse[surface.vertex_sample]
    for name in surface.to_dict():
        if _at_samples(surface, name):
            renumbered[name] = surface[name][order]
    return renumbered


def _at_samples(surface: Surface, name: str) -> bool:
    """Whether a tensor has a row for each sample."""
    elsewhere = name in ("edge_index", *_OF_EDGES) or name.startswith("vertex_")
    return not elsewhere and isinstance(surface[name], Tensor) and surface.is_node_attr(name)
