"""The same surface seen otherwise: other tangent frames, elsewhere in space, renumbered, scaled.

What a network says about a shape must not depend on any of these; `fieldconv.testing` checks it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fieldconv.surface.surface import Surface


def turn_vectors(x: Tensor, angles: Tensor) -> Tensor:
    """Components of the vectors ``x`` (n, …) in frames turned by ``angles`` (n,)."""
    turn = torch.polar(torch.ones_like(angles), -angles).to(x)
    return x * turn.reshape(-1, *[1] * (x.ndim - 1))


def turn_frames(surface: Surface, angles: Tensor) -> Surface:
    """The same surface with the tangent frame of each sample turned by its angle, anticlockwise.

    Parameters
    ----------
    surface : Surface
        Left as it is.
    angles : (n,) real
        In radians.
    """
    turned: Surface = surface.clone()
    angles = angles.to(surface.pos)
    unit = torch.polar(torch.ones_like(angles), angles)
    edge_lists = _edge_lists(surface)
    of_edges = {name for names in edge_lists.values() for name in names}
    for name, values in _tensors(surface).items():
        if values.is_complex() and name not in of_edges:
            turned[name] = turn_vectors(values, angles)
    for index, names in edge_lists.items():
        q, p = surface[index]
        if index == "edge_index":
            turned.log = surface.log * unit[q].conj()
            turned.transport = surface.transport * unit[q] * unit[p].conj()
        else:
            for name in (name for name in names if surface[name].is_complex()):
                turned[name] = turn_vectors(surface[name], angles[p])
    if "frame" in surface and "normal" in surface:
        across = torch.linalg.cross(surface.normal, surface.frame)
        turned.frame = angles.cos()[:, None] * surface.frame + angles.sin()[:, None] * across
    if "vertex_transport" in surface:  # from samples to original vertices, whose frames stay
        turned.vertex_transport = surface.vertex_transport * unit[surface.vertex_sample]
    return turned


def move(surface: Surface, rotation: Tensor, translation: Tensor) -> Surface:
    """The same surface elsewhere in space: positions, normals and frames move, features are carried along.

    Parameters
    ----------
    surface : Surface
        Left as it is.
    rotation : (3, 3) real
    translation : (3,) real
    """
    moved: Surface = surface.clone()
    rotation = rotation.to(surface.pos)
    moved.pos = surface.pos @ rotation.T + translation.to(surface.pos)
    for name in ("normal", "frame"):
        if name in surface:
            moved[name] = surface[name] @ rotation.T
    return moved


def scale(surface: Surface, factor: float) -> Surface:
    """The same surface ``factor`` times as large, its support ε with it; features are carried along."""
    scaled: Surface = surface.clone()
    powers = {"pos": 1, "log": 1, "radius": 1, "area": 2, "mass": 2}
    powers |= {"eigenvalues": -2, "eigenfunctions": -1, "eigengradients": -2}
    for name in powers.keys() & surface.keys():
        scaled[name] = surface[name] * factor ** powers[name]
    return scaled


def renumber(surface: Surface, order: Tensor) -> Surface:
    """The same surface with its samples listed in another order.

    Parameters
    ----------
    surface : Surface
        Left as it is.
    order : (n,) int64
        Permutation: sample ``order[i]`` becomes sample i.
    """
    renumbered: Surface = surface.clone()
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(len(order), device=order.device)
    edge_lists = _edge_lists(surface)
    for index, names in edge_lists.items():
        q, p = inverse[surface[index]]
        edges = torch.argsort(p * len(order) + q)
        renumbered[index] = torch.stack([q, p])[:, edges]
        for name in names:
            renumbered[name] = surface[name][edges]
    done = {*edge_lists, *(name for names in edge_lists.values() for name in names)}
    for name, values in _tensors(surface).items():
        if name in done:
            continue
        if name.endswith("_index"):
            renumbered[name] = inverse[values]
        elif surface.is_node_attr(name):
            renumbered[name] = values[order]
    if "vertex_sample" in surface:
        renumbered.vertex_sample = inverse[surface.vertex_sample]
    return renumbered


def _tensors(surface: Surface) -> dict[str, Tensor]:
    """All tensors but the way back to the mesh, by name."""
    return {
        name: value
        for name, value in surface.to_dict().items()
        if isinstance(value, Tensor) and not name.startswith("vertex_")
    }


def _edge_lists(surface: Surface) -> dict[str, list[str]]:
    """The lists of edges of a surface, each with the names of what belongs to its edges."""
    names = list(surface.keys())
    lists = [name for name in names if name.endswith("_index") and surface[name].ndim == 2]
    return {
        index: ["log", "transport", "weight"]
        if index == "edge_index"
        else [name for name in names if name.startswith(index.removesuffix("index")) and name != index]
        for index in lists
    }
