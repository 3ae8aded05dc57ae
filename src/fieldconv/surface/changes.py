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
    angles = angles.to(surface.log.real)
    unit = torch.polar(torch.ones_like(angles), angles)
    q, p = surface.edge_index
    turned.log = surface.log * unit[q].conj()
    turned.transport = surface.transport * unit[q] * unit[p].conj()
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
    for name, power in (("pos", 1), ("log", 1), ("radius", 1), ("area", 2)):
        scaled[name] = surface[name] * factor**power
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
    q, p = inverse[surface.edge_index]
    edges = torch.argsort(p * len(order) + q)
    for name in surface.to_dict():
        if name == "edge_index":
            renumbered.edge_index = torch.stack([q, p])[:, edges]
        elif name == "vertex_sample":
            renumbered.vertex_sample = inverse[surface.vertex_sample]
        elif name.startswith("vertex_") or not isinstance(surface[name], Tensor):
            continue
        elif name in ("log", "transport", "weight"):
            renumbered[name] = surface[name][edges]
        elif surface.is_node_attr(name):
            renumbered[name] = surface[name][order]
    return renumbered
