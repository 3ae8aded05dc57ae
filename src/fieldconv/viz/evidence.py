"""What the report shows of an evaluation, written to the run folder: shapes in 3-D, features, t-SNE."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fieldconv._io import atomic_path
from fieldconv.geometry.mesh import Mesh
from fieldconv.viz.runs import EVALUATION, score

if TYPE_CHECKING:
    from torch import Tensor

    from fieldconv.models.fcnet import FCNet
    from fieldconv.tasks.base import Evaluation

VertexData = dict[str, NDArray[Any]]


def write_evidence(
    run: str | Path,
    evaluation: Evaluation,
    model: FCNet,
    data: Any,
    *,
    shapes: int = 4,
    features: int = 4,
    points: int = 1000,
) -> None:
    """Write what an evaluation looks like, beside its numbers, to a run folder; the report reads it.

    Parameters
    ----------
    run : path
        Run folder.
    evaluation : Evaluation
        Of ``model`` on ``data``.
    model : FCNet
    data : SurfaceDataset
        The test set, prepared as the network needs it.
    shapes : int
        How many of the worst and best shapes to keep.
    features : int
        How many bottleneck features to keep, for correspondence.
    points : int
        How many descriptors t-SNE arranges, for segmentation; 0 for none.
    """
    import torch

    folder = Path(run) / EVALUATION
    records = evaluation.to_dict()["shapes"]
    order = sorted(range(len(data)), key=lambda k: score(evaluation.task, records[k]))
    chosen = order if len(order) <= shapes else order[: shapes // 2] + order[-(shapes - shapes // 2) :]
    shutil.rmtree(folder / "shapes", ignore_errors=True)  # none of an earlier evaluation may stay
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            for k in chosen:
                _keep_shape(folder / "shapes", k, evaluation.task, model, data, features)
            if evaluation.task == "segmentation" and points:
                _keep_descriptors(folder / "descriptors.npz", model, data, points)
    finally:
        model.train(training)


def _keep_shape(folder: Path, k: int, task: str, model: FCNet, data: Any, features: int) -> None:
    """Write one shape with what the network says about its vertices."""
    mesh, *others = data.meshes(k)
    example = data[k]
    if task == "segmentation":
        own = _segmentation(model, example)
    elif task == "correspondence":
        own = _correspondence(model, example, data.template, features)
    elif task == "matching":
        own = _matching(model, example)
        others[0].save(folder / f"{k}-model.ply")
    else:
        own = {}
    replace(mesh, vertex_data=own, vertex_colours=None, face_colours=None).save(folder / f"{k}.ply")


def _segmentation(model: FCNet, surface: Any) -> VertexData:
    from fieldconv.tasks.base import at_vertices

    scores = at_vertices(surface, _outputs(model, surface).softmax(1))
    return {
        "prediction": scores.argmax(1).numpy().astype(np.int32),
        "truth": surface.vertex_y.numpy().astype(np.int32),
    }


def _correspondence(model: FCNet, surface: Any, template: Mesh, features: int) -> VertexData:
    from fieldconv.cache import default_folder
    from fieldconv.tasks.base import at_vertices
    from fieldconv.tasks.distances import template_distances

    scores = at_vertices(surface, _outputs(model, surface).softmax(1))
    match, truth = scores.argmax(1).numpy(), surface.vertex_y.numpy()
    error = template_distances(template, default_folder())[np.maximum(truth, 0), match]
    own: VertexData = {
        "match": match.astype(np.int32),
        "error": np.where(truth >= 0, error, np.nan).astype(np.float32),
    }
    if model.config.bottleneck is not None:
        deep = surface.interpolate(model.bottleneck(_at_home(model, surface)).float().cpu()).abs().numpy()
        # The first features, not each shape's strongest: they must be the same on all shapes.
        for channel in range(min(features, deep.shape[1])):
            own[f"feature_{channel}"] = deep[:, channel].astype(np.float32)
    return own


def _matching(model: FCNet, pair: Any) -> VertexData:
    """Rank of the first right match of each scene vertex, as a share of all candidates."""
    from fieldconv.tasks.metrics import precision_recall

    scene, target = (_outputs(model, surface).double().numpy() for surface in (pair.scene, pair.model))
    right = np.zeros((len(scene), len(target)), dtype=bool)
    right[tuple(pair.matches.ball.numpy())] = True
    asked = right.any(axis=1)
    squared = (scene[asked] ** 2).sum(1)[:, None] - 2 * scene[asked] @ target.T + (target**2).sum(1)
    rank = np.full(len(scene), np.nan)
    rank[asked] = (precision_recall(squared, right[asked]).first - 1) / max(len(target) - 1, 1)
    return {"rank": rank[pair.scene.vertex_sample[:, 0].numpy()].astype(np.float32)}


def _keep_descriptors(path: Path, model: FCNet, data: Any, points: int) -> None:
    """Arrange ECHO descriptors of points on test shapes in the plane, if scikit-learn is there."""
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        return
    draw = np.random.default_rng(0)
    chosen = draw.permutation(len(data))[:20]
    each = -(-points // len(chosen))
    found, parts = [], []
    for k in chosen.tolist():
        surface = data[k]
        deep = model.echo_descriptors(_at_home(model, surface)).float().cpu().flatten(1).numpy()
        kept = draw.permutation(len(deep))[:each]
        found.append(deep[kept])
        parts.append(surface.y.numpy()[kept])
    descriptors, labels = np.concatenate(found), np.concatenate(parts)
    rounded = np.round(descriptors / max(np.abs(descriptors).max(), 1e-30), 5)
    if len(np.unique(rounded, axis=0)) < 10:  # those of a network that has collapsed would crash t-SNE
        return
    from threadpoolctl import threadpool_limits

    # Thirty main directions say nearly all, much faster; threads would only compete.
    centred = descriptors - descriptors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    with threadpool_limits(1):
        perplexity = min(30.0, (len(descriptors) - 1) / 3)
        arranged = TSNE(perplexity=perplexity, init="pca", max_iter=500, random_state=0).fit_transform(
            centred @ axes[:, -30:]
        )
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez_compressed(file, points=arranged.astype(np.float32), labels=labels.astype(np.int32))


def _outputs(model: FCNet, surface: Any) -> Tensor:
    return model(_at_home(model, surface)).float().cpu()  # type: ignore[no-any-return]


def _at_home(model: FCNet, surface: Any) -> Any:
    """The surface on the network's device."""
    from fieldconv.tasks.base import on_device

    return on_device(surface, next(model.parameters()).device)
