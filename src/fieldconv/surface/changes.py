"""The same surface seen otherwise: other tangent frames, elsewhere in space, renumbered, scaled.

What a network says about a shape must not depend on any of these; `fieldconv.testing` checks it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from fieldconv.surface.parts import rows_of
from fieldconv.surface.surface import Surface
from fieldconv.surface.views import FAR


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
    for prefix, samples in _edge_sets(surface).items():
        q, p = samples[surface[f"{prefix}edge_index"]]
        turned[f"{prefix}log"] = surface[f"{prefix}log"] * unit[q].conj()
        turned[f"{prefix}transport"] = surface[f"{prefix}transport"] * unit[q] * unit[p].conj()
    if "coarse_carry" in surface:
        parent = surface.coarse_sample[surface.coarse_parent]
        turned.coarse_carry = surface.coarse_carry * unit[parent] * unit.conj()
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
    powers = {"pos": 1, "log": 1, "radius": 1, "area": 2}
    for name in surface.to_dict():
        power = powers.get(name.rpartition("_")[2], 0)  # coarse_log is a length like log
        if power and not name.startswith(FAR):
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
    of_edges = {f"{prefix}{name}" for prefix in _edge_sets(surface) for name in _OF_EDGES}
    for name in surface.to_dict():
        if rows_of(name) == "sample" and not name.endswith("edge_index"):
            renumbered[name] = inverse[surface[name]]
        elif name in of_edges or name.startswith(FAR) or not isinstance(surface[name], Tensor):
            continue
        elif surface.is_node_attr(name):
            renumbered[name] = surface[name][order]
    for prefix in _edge_sets(surface):
        if rows_of(f"{prefix}edge_index") == "sample":
            q, p = inverse[surface[f"{prefix}edge_index"]]
            edges = torch.argsort(p * len(order) + q)
            renumbered[f"{prefix}edge_index"] = torch.stack([q, p])[:, edges]
            for name in _OF_EDGES[1:]:
                if f"{prefix}{name}" in surface:
                    renumbered[f"{prefix}{name}"] = surface[f"{prefix}{name}"][edges]
    return renumbered


_OF_EDGES = ("edge_index", "log", "transport", "weight")


def _edge_sets(surface: Surface) -> dict[str, Tensor]:
    """What the names of each set of edges begin with, and the samples that it numbers."""
    found = {}
    for name in surface.to_dict():
        if name.endswith("edge_index"):
            rows = rows_of(name) or "sample"
            every = torch.arange(len(surface.pos), device=surface.pos.device)
            found[name.removesuffix("edge_index")] = every if rows == "sample" else surface[rows]
    return found
