"""What a trained network says about meshes it has never seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from fieldconv.geometry.mesh import Mesh, MeshError
from fieldconv.surface import Surface
from fieldconv.tasks.base import at_vertices, on_device, orientations

if TYPE_CHECKING:
    from fieldconv.models.fcnet import FCNet

Shape = Mesh | str | Path


@dataclass(frozen=True)
class Prediction:
    """What a network says about one mesh of V vertices.

    Attributes
    ----------
    mesh : Mesh
        As it was given, or read.
    labels : () or (V,) int64, or None
        Class of the shape, or part or template vertex at each vertex; −1 at vertices that cannot be used.
        None for networks that give descriptors.
    scores : (C,) or (V, C) float32, or None
        Class probabilities.
    descriptors : (d,) or (V, d) float32
        Descriptors, the bottleneck of a correspondence network, or magnitudes of the last vector features;
        their mean for a classification network.
    class_names : tuple of str
    """

    mesh: Mesh
    labels: NDArray[np.int64] | None
    scores: NDArray[np.float32] | None
    descriptors: NDArray[np.float32]
    class_names: tuple[str, ...] = ()


def predict(model: FCNet, shape: Shape, *, rotations: int = 1) -> Prediction:
    """Apply a network to a mesh, or mesh file, of any resolution and quality.

    Parameters
    ----------
    model : FCNet
    shape : Mesh or path
    rotations : int
        Average over this many orientations of the shape: itself, and turned. Only networks that see
        positions differ between them.
    """
    mesh = shape if isinstance(shape, Mesh) else Mesh.load(shape)
    try:
        usable, new_vertex = mesh.validate(), None
    except MeshError:
        repair = mesh.repair()
        usable, new_vertex = repair.mesh, repair.new_vertex
    surface = Surface.from_mesh(usable, **model.config.surface_settings.to_dict())
    scores, descriptors = _apply(model, surface, rotations)
    if model.config.head == "classification":
        return Prediction(mesh, scores.argmax(), scores, descriptors, model.class_names)  # type: ignore[arg-type]
    descriptors = _at_vertices(surface, descriptors)
    labels = None
    if model.config.head == "labels":
        scores = _at_vertices(surface, scores)
        labels = scores.argmax(1)
    if new_vertex is not None:  # back to the mesh as it was
        lost = new_vertex < 0
        descriptors = np.where(lost[:, None], 0, descriptors[new_vertex])
        if labels is not None:
            scores = np.where(lost[:, None], 0, scores[new_vertex])
            labels = np.where(lost, -1, labels[new_vertex])
    return Prediction(mesh, labels, scores if labels is not None else None, descriptors, model.class_names)


def predict_labels(model: FCNet, shapes: Shape | Iterable[Shape]) -> Any:
    """Labels (or descriptors, if the network gives these) of one shape, or a list for several."""
    if shapes is None or isinstance(shapes, np.ndarray):
        raise TypeError(f"cannot predict on {type(shapes).__name__}; give a Mesh, a file, or several of them")
    if not isinstance(shapes, Mesh | str | Path):
        return [predict_labels(model, shape) for shape in shapes]
    found = predict(model, shapes)
    return found.descriptors if found.labels is None else found.labels


class Match(NamedTuple):
    """A dense map from A to B.

    Attributes
    ----------
    target : (V_A,) int64
        Vertex of B for each vertex of A.
    confidence : (V_A,) float64
        e^{−d/0.1}, where d is how far from itself a vertex arrives that is mapped to B and back.
    """

    target: NDArray[np.int64]
    confidence: NDArray[np.float64]


def match(model: FCNet, a: Shape, b: Shape) -> Match:
    """Map every vertex of A to B: by the nearest descriptor, or by way of the template.

    Parameters
    ----------
    model : FCNet
        Trained for matching or correspondence.
    a, b : Mesh or path
    """
    if model.config.head != "descriptors" and model.task != "correspondence":
        raise ValueError(
            f"a network for {model.task or model.config.head} cannot match shapes; train one for matching or "
            "correspondence"
        )
    meshes = [shape if isinstance(shape, Mesh) else Mesh.load(shape) for shape in (a, b)]
    repairs = [mesh.repair() if mesh._problem else None for mesh in meshes]
    usable = [mesh if repair is None else repair.mesh for mesh, repair in zip(meshes, repairs, strict=True)]
    surfaces = [Surface.from_mesh(mesh, **model.config.surface_settings.to_dict()) for mesh in usable]
    scores, descriptors = zip(*(_apply(model, surface, 1) for surface in surfaces), strict=True)
    if model.config.head == "descriptors":
        one, two = (_at_vertices(s, d) for s, d in zip(surfaces, descriptors, strict=True))
        there, back = _nearest(two, one), _nearest(one, two)
    else:
        one, two = (_at_vertices(s, v) for s, v in zip(surfaces, scores, strict=True))
        there, back = two.argmax(0)[one.argmax(1)], one.argmax(0)[two.argmax(1)]
    positions = usable[0].normalised().vertices
    away = np.linalg.norm(positions - positions[back[there]], axis=1)
    confidence = np.exp(-away / 0.1)
    if repairs[1] is not None:
        there = repairs[1].vertex_map[there]
    if repairs[0] is not None:
        new, lost = repairs[0].new_vertex, repairs[0].new_vertex < 0
        there, confidence = np.where(lost, -1, there[new]), np.where(lost, 0, confidence[new])
    return Match(there.astype(np.int64), confidence)


def _apply(model: FCNet, surface: Surface, rotations: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean probabilities and mean descriptors over orientations, at the samples (or of the shape)."""
    weights = next(model.parameters())
    if weights.dtype != torch.float32:
        raise ValueError(f"the network is of type {weights.dtype}; call model.float() before predicting")
    before, device = model.training, weights.device
    model.eval()
    scores, descriptors = [], []
    try:
        with torch.no_grad():
            for turned in orientations(surface, rotations):
                turned = on_device(turned, device)
                x = model.features(turned)
                outputs = model.head(x, turned).float()
                if model.config.head == "descriptors":
                    described = outputs
                elif model.config.bottleneck is not None and model.config.head == "labels":
                    described = model._label_head("bottleneck").block(x, turned)
                else:
                    described = x.abs()
                    if model.config.head == "classification":
                        described = described.mean(0)
                        outputs = outputs[0]
                scores.append(outputs.softmax(-1).cpu().numpy())
                descriptors.append(described.float().cpu().numpy())
    finally:
        model.train(before)
    return np.mean(scores, 0), np.mean(descriptors, 0)


def _nearest(points: NDArray[np.float32], queries: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.asarray(cKDTree(points).query(queries)[1], np.int64)


def _at_vertices(surface: Surface, values: NDArray[np.float32]) -> NDArray[np.float32]:
    result: NDArray[np.float32] = at_vertices(surface, torch.from_numpy(values)).numpy()
    return result
