"""Which point of the template is this?"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra

from fieldconv._arrays import Array, Bools, Ints
from fieldconv.geometry.geodesic.distances import all_distances
from fieldconv.geometry.geodesic.geodesic_discs import SOLVER_VERSION
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.topology import edge_graph
from fieldconv.labels.collection import Collection, load_mesh
from fieldconv.labels.label_files import read_vertex_map
from fieldconv.labels.own_folder import OwnFolder, read_with_targets, template_files
from fieldconv.networks.protocol import Network
from fieldconv.surface.cache import SurfaceCache, default_folder, mesh_digest
from fieldconv.surface.views import at_vertices, on_device
from fieldconv.tasks.base import (
    Curves,
    EmbeddedShape,
    Evaluation,
    Examples,
    Follow,
    Metric,
    Outputs,
    Prediction,
)
from fieldconv.tasks.base.label_task import CALIBRATION, LabelTask, Reliability
from fieldconv.tasks.base.metrics import THRESHOLDS, share_within, summarise_errors
from fieldconv.tasks.base.training_config import shipped_presets
from fieldconv.tasks.base.vertex_values import VertexValues

FEATURES = 4
"""Bottleneck features that a report shows."""
MAX_COUNTERPART_DISTANCE = 0.03
"""Along edges of the template at unit area: a place without a vertex that near is missing."""
EXACT_DISTANCE = 0.15
"""Distances on templates are exact up to this, and within about half a percent beyond."""


class Correspondence(LabelTask):
    """A template vertex per point; judged by the geodesic distance, on the template, to the true one."""

    name, about = "correspondence", "a vertex of a template at each vertex"
    layout = (
        "Beside each mesh a .txt file has, for each vertex, the vertex of template.obj (from 0; −1: none)."
    )
    metrics = (
        Metric("within_0.05"),
        Metric("exact"),
        Metric("mean_error", "mean error × 100", "less", "plain"),
        Metric("area_under_curve"),
        CALIBRATION,
    )
    curves = Curves(
        title="Geodesic errors",
        x="geodesic error / √area",
        y="correspondences",
        percent=True,
        caption="Share of points whose match is at most this far from the true one.",
    )
    shapes_caption = "Points of the same colour correspond. Features are coloured by their size."
    presets = shipped_presets("correspondence")
    one_template = True
    can_match = True

    # Data

    def recognises(self, root: Path) -> int:
        return 3 if template_files(root) else 0

    def read_folder(self, folder: OwnFolder) -> Collection:
        entries = folder.entries(self.name)
        folder.note_shared_names(entries)
        templates = template_files(folder.root)
        template = folder.attempt(partial(load_mesh, templates[0])) if templates else None
        if len(templates) != 1:
            folder.problems.append(f"{len(templates)} template meshes; expected one, template.obj")
        count = len(template.vertices) if template is not None else None
        read_map = partial(read_vertex_map, num_targets=count, base=folder.index_base)
        read = partial(read_with_targets, read=read_map)
        items = folder.items_with_targets(entries, read, "vertex map", files=".txt .npy .csv")
        return folder.collect(
            self.name,
            entries,
            items,
            template=partial(load_mesh, templates[0]) if template is not None else None,
        )

    def write_common(self, folder: Path, collection: Collection) -> None:
        if collection.template is not None:
            collection.template().save(folder / "template.obj")

    def embedded_target(self, shape: EmbeddedShape) -> Ints:
        return shape.place()

    # Results

    def evaluate(self, network: Outputs, data: Examples, *, follow: Follow) -> Evaluation:
        assert data.template is not None
        distances = template_distances(data.template)
        all_errors, targets, shapes, reliability = [], [], [], Reliability()
        for surface in follow(data):
            confidence, found = at_vertices(surface, network(surface).softmax(1)).max(1)
            predicted, truth = found.numpy(), surface.vertex_y.numpy()
            known = truth >= 0
            reliability.add(confidence.numpy()[known], (predicted == truth)[known])
            errors = distances[truth[known], predicted[known]]
            all_errors.append(errors)
            targets.append(truth[known])
            shapes.append({"name": surface.name, "vertices": len(truth), **summarise_errors(errors)})
        errors = np.concatenate(all_errors)
        return Evaluation(
            self.name,
            {**summarise_errors(errors), CALIBRATION.key: reliability.error},
            shapes,
            curves={"geodesic error": np.stack([THRESHOLDS, share_within(errors)], 1)},
            guesses=_random_vertices(distances, np.concatenate(targets)),
            intervals=reliability.intervals,
        )

    def correspond(self, one: Prediction, other: Prediction) -> Ints:
        """Return the vertex of the other mesh at which the same template vertex is likeliest."""
        assert one.labels is not None
        assert other.scores is not None
        return np.asarray(other.scores.argmax(0)[one.labels], np.int64)

    def missing_counterparts(self, one: Prediction, other: Prediction) -> Bools | None:
        """Return (V,) where no vertex of the other mesh is near the same place of the template."""
        assert one.labels is not None
        assert other.labels is not None
        if one.template is None:
            return None
        normed = one.template.normalised()
        graph = edge_graph(normed.vertices, normed.faces)
        distance = dijkstra(graph, indices=np.unique(other.labels), min_only=True)
        return np.asarray(distance[one.labels] > MAX_COUNTERPART_DISTANCE)

    def evidence(self, network: Network, outputs: Outputs, data: Examples, index: int) -> list[VertexValues]:
        surface = data[index]
        match = self.decode(outputs(surface), surface).labels
        truth = surface.vertex_y.numpy()
        assert match is not None
        assert data.template is not None
        distances = template_distances(data.template)
        error = np.where(truth >= 0, distances[np.maximum(truth, 0), match], np.nan)
        shown = [
            VertexValues(name="Correspondence", key="match", kind="places", values=match),
            VertexValues(name="Geodesic error", key="error", kind="error", values=error),
        ]
        deep = network.descriptors(on_device(surface, next(network.parameters()).device))
        if deep is not None:
            # The first features rather than the strongest ones, which differ between shapes.
            size = surface.interpolate(deep.float().cpu()).abs().numpy()
            shown += [
                VertexValues(name=f"Feature {k}", key=f"feature_{k}", kind="field", values=size[:, k])
                for k in range(min(FEATURES, size.shape[1]))
            ]
        return shown


def _random_vertices(distances: Array, truth: Array) -> dict[str, tuple[str, float]]:
    """Return the metrics that random vertices of the template reach on average.

    ``distances`` (V, V) are between vertices of the template, ``truth`` (n,) are the right answers.
    """
    share = np.bincount(truth, minlength=len(distances)) / max(len(truth), 1)
    reached = {
        "within_0.05": share @ (distances <= 0.05).mean(1),
        "exact": 1 / len(distances),
        "mean_error": 100 * (share @ distances.mean(1)),
    }
    return {key: ("a random vertex", float(value)) for key, value in reached.items()}


def template_distances(mesh: Mesh, folder: str | Path | None = None) -> NDArray[np.float32]:
    """Return (V, V) geodesic distances on the mesh scaled to unit area; kept in ``folder``, or in the cache.

    Exact up to 0.15, which is where error curves are read; beyond by a front over the triangles, within
    about half a percent. Between components the distance is infinite.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> template_distances(square).round(3)[0].tolist()
    [0.0, 1.0, 1.4140000343322754, 1.0]
    """
    store = SurfaceCache(folder or default_folder())
    key = ["distances", SOLVER_VERSION, EXACT_DISTANCE, mesh_digest(mesh)]
    stored = store.load(key)
    if stored is None:
        stored = {"distances": torch.from_numpy(all_distances(mesh.normalised(), EXACT_DISTANCE))}
        store.save(key, stored)
    distances: NDArray[np.float32] = stored["distances"].numpy()
    return distances
