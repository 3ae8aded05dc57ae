"""Where on the template is this point? As a place between its vertices, however many they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor

from fieldconv._arrays import Array, Bools, Floats, Ints
from fieldconv._io import write_array
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.topology import components
from fieldconv.geometry.resample.sampling import farthest_point_samples
from fieldconv.geometry.spectral.embedding import geodesic_embedding, nearest_in_triangles
from fieldconv.labels.collection import Collection, Item, Sample, load_mesh
from fieldconv.labels.errors import DatasetError
from fieldconv.labels.own_folder import OwnFolder, template_files
from fieldconv.networks.protocol import Network
from fieldconv.nn.pooling import mean_per_shape
from fieldconv.surface.surface import Surface
from fieldconv.surface.views import at_vertices
from fieldconv.tasks.base import (
    Chunk,
    Decoded,
    EmbeddedShape,
    Examples,
    Metric,
    Prediction,
    Task,
    TrainingConfig,
)
from fieldconv.tasks.base.training_config import shipped_presets
from fieldconv.tasks.base.vertex_values import VertexValues, confidence_values

ANCHORS = 512
"""Points of the template that are the network's classes."""
ANCHOR_SPREAD = 0.03
"""Width, at unit area, of the Gaussian by which anchors share a training point."""
ANCHORS_PER_POINT = 6
"""Number of anchors that share a training point."""
PLACE_WIDTH = 0.06
"""Width, at unit area, of the Gaussian by which anchors around the likeliest one count for a place."""
GEODESIC_DIMENSIONS = 8
"""Dimensions of the layout in which straight distances are geodesic; positions at rest are three more."""
LOW_CONFIDENCE, MEDIUM_CONFIDENCE = 0.5, 0.85
"""Mean confidence below which a shape is hardly, and not quite, like the template."""
SECOND_SHAPE_SHARE = 0.3
"""Area of a piece, as a share of the largest one, from which it counts as a second shape."""
MIN_COVERAGE, ANCHOR_COVERAGE = 0.8, 0.2
"""Share of the template below which a part is missing; share of an anchor's area from which it is covered."""


class TemplatePoints(Task):
    """A place on a template at each vertex, and the parts that the template has there.

    The template is embedded in a space where straight distances are nearly geodesic (`geodesic_embedding`,
    beside the positions at rest). Some hundred of its points, the anchors, are the network's classes. The
    place of a point is the mean of the anchors around the likeliest one, and its answer is the nearest point
    of the template. So there are no thousands of scores, and answers lie between vertices.

    `TemplateParts` reads the same outputs as parts: one network answers both tasks. The shipped network is
    such a one, called ``body-points`` with this task and ``bodies`` with the other.
    """

    name, about = "template-points", "a point of a template at each vertex, with its parts"
    layout = (
        "Beside each mesh a .npy file has, for each vertex, its position on template.ply: (V, 3), NaN where\n"
        "there is none. Integer properties label_0, label_1 … of the template's vertices are its parts."
    )
    default_outputs = None
    metrics = (
        Metric("within_0.05"),
        Metric("mean_error", "mean error × 100", "less", "plain"),
        Metric("part_accuracy"),
    )
    score = Metric("score", "training points on the right anchor")
    shapes_caption = "Points of one colour correspond."
    presets = shipped_presets("template-points")
    one_template = True

    def __init__(self, template: Mesh | None = None) -> None:
        self.template = template
        self.can_match = template is not None  # through the template

    def with_template(self, template: Mesh | None) -> Task:
        return type(self)(template)

    @property
    def places(self) -> Places:
        """The embedded template."""
        if self.template is None:
            raise ValueError(f"{self.name} needs a template; the network or the data has none")
        return places_of(self.template)

    # Data

    def read_folder(self, folder: OwnFolder) -> Collection:
        entries = folder.entries(self.name)
        folder.note_shared_names(entries)
        templates = template_files(folder.root)
        if len(templates) != 1:
            folder.problems.append(f"{len(templates)} template meshes; expected one, template.ply")
        items = folder.items_with_targets(entries, _read, "positions on the template", files=".npy")
        template = partial(_load_template, templates[0]) if len(templates) == 1 else None
        names = part_names(template()) if template is not None else ()
        return folder.collect(self.name, entries, items, class_names=names, template=template)

    def embedded_target(self, shape: EmbeddedShape) -> object:
        return super().embedded_target(shape) if shape.point is None else shape.point()

    def embedded_classes(self, kinds: tuple[str, ...], parts: tuple[str, ...]) -> tuple[str, ...]:
        return parts

    def write_sample(self, folder: Path, item: Item, sample: Sample) -> None:
        sample.mesh.save(folder / f"{item.name}.ply")
        write_array(folder / f"{item.name}.npy", sample.target)

    def write_common(self, folder: Path, collection: Collection) -> None:
        if collection.template is not None:
            collection.template().save(folder / "template.ply")

    def outputs(self, data: Examples) -> int | None:
        return self.named_outputs((), data.template)

    def named_outputs(self, class_names: Sequence[str], template: Mesh | None) -> int | None:
        if template is None:
            return None
        places = places_of(template)
        return places.labels + len(places.anchors)

    # Learning

    def collate(
        self,
        examples: Sequence[Surface],
        draws: Sequence[np.random.Generator],
        config: TrainingConfig,
        network: Network,
    ) -> Chunk:
        """Put examples together, with the targets of their points: anchors, their shares, and parts."""
        assert network.template is not None
        chunk = super().collate(examples, draws, config, network)
        anchors, shares, labels = places_of(network.template).targets(chunk.surface.y.numpy())
        chunk.extra |= {
            "anchors": torch.from_numpy(anchors),
            "shares": torch.from_numpy(shares.astype(np.float32)),
            "labels": torch.from_numpy(labels),
            "starts": torch.tensor(places_of(network.template).starts),
        }
        return chunk

    def loss(self, outputs: Tensor, chunk: Chunk, config: TrainingConfig) -> tuple[Tensor, Tensor | None]:
        """Return the cross entropy with the anchors around a point, and with its parts at each level."""
        anchors, shares, labels = (chunk.extra[key] for key in ("anchors", "shares", "labels"))
        starts = chunk.extra["starts"].tolist()
        scores = outputs[:, starts[-1] :].log_softmax(1)
        losses = -(shares * scores.gather(1, anchors)).sum(1)
        for level, (first, last) in enumerate(pairwise(starts)):
            own = outputs[:, first:last].log_softmax(1)
            losses = losses - 0.5 * own.gather(1, labels[:, level : level + 1])[:, 0]
        known = shares[:, 0] > 0
        right = (scores.detach().argmax(1) == anchors[:, 0]).float()
        losses = torch.where(known, losses, 0.0)
        return mean_per_shape(losses, known, chunk.surface), mean_per_shape(right, known, chunk.surface)

    # Results

    def locate(self, outputs: Tensor, surface: Surface) -> NDArray[np.float32]:
        """Return (V, d + 1) places in the embedding, and their confidence."""
        places = self.places
        likely = outputs[:, places.starts[-1] :].softmax(1)
        around = torch.from_numpy(places.around)
        mode = (likely @ around).argmax(1)
        near = likely * around[mode]
        mass = near.sum(1, keepdim=True)
        place = near @ torch.from_numpy(places.anchor_place) / mass.clamp(min=1e-12)
        confidence = (likely * (around[mode] > np.exp(-2))).sum(1, keepdim=True)
        return at_vertices(surface, torch.cat([place, confidence], 1)).numpy().astype(np.float32)

    def decode(self, outputs: Tensor, surface: Surface) -> Decoded:
        """Return the nearest vertex of the template; ``values`` are the places, then the confidence."""
        return self._nearest(self.locate(outputs, surface))

    def average(self, found: Sequence[Decoded]) -> Decoded:
        """Return the mean of the places near the most confident one."""
        return self._nearest(self.average_places(found))

    def _nearest(self, values: NDArray[np.float32]) -> Decoded:
        """Return places with the vertices of the template that are nearest to them."""
        return Decoded(labels=self.places.tree.query(values[:, :-1])[1].astype(np.int64), values=values)

    def average_places(self, found: Sequence[Decoded]) -> NDArray[np.float32]:
        """Return (V, d + 1) the mean places and their mean confidence; places far away count as 0."""
        place = np.stack([self._place(one) for one in found])
        confidence = np.stack([self._confidence(one) for one in found])
        best = place[confidence.argmax(0), np.arange(place.shape[1])]
        share = np.where(np.linalg.norm(place - best, axis=2) <= PLACE_WIDTH, np.maximum(confidence, 1e-6), 0)
        mean = (share[:, :, None] * place).sum(0) / share.sum(0)[:, None]
        return np.column_stack([mean, share.mean(0)]).astype(np.float32)

    def parts_at(self, labels: Ints) -> Ints:
        """Return the part, of the first level, for labels of `decode`."""
        return np.asarray(self.places.vertex_labels[labels, 0])

    def measure(self, found: Decoded, surface: Surface) -> dict[str, float]:
        """Return errors as straight distances in the embedding, which are nearly geodesic."""
        assert found.values is not None
        assert found.labels is not None
        truth = surface.vertex_y.numpy()
        known = np.isfinite(truth).all(1)
        place, labels = self.places.at_positions(truth[known])
        distance = np.linalg.norm(self._place(found)[known] - place, axis=1)
        within, mean = float((distance <= 0.05).mean()), 100 * float(distance.mean())
        numbers = {"within_0.05": within, "mean_error": mean}
        if self.places.labels:
            numbers["part_accuracy"] = float((self.parts_at(found.labels[known]) == labels[:, 0]).mean())
        return numbers

    def _place(self, found: Decoded | Prediction) -> NDArray[np.float32]:
        """Return (V, d) the places of a prediction's vertices; NaN where there is none."""
        assert found.values is not None
        return np.asarray(found.values[:, : self.places.dims])

    def _confidence(self, found: Decoded | Prediction) -> Floats:
        """Return (V,) the confidence in these places."""
        assert found.values is not None
        return np.asarray(np.nan_to_num(found.values[:, self.places.dims]), np.float64)

    def points(self, found: Prediction) -> tuple[Ints, Floats, Floats]:
        """Return triangle, barycentric coordinates and position on the template, of each vertex."""
        places = self.places
        place = np.nan_to_num(self._place(found))
        nearest = places.tree.query(place)[1]
        triangle, weights, _ = nearest_in_triangles(place, places.place, places.mesh.faces, vertex=nearest)
        position = np.einsum("nc,ncd->nd", weights, places.mesh.vertices[places.mesh.faces[triangle]])
        return triangle, weights, position

    def note(self, found: Prediction) -> str:
        areas, faces = _usable_part(found.mesh, np.asarray(np.isfinite(self._place(found)).all(1)))
        confidence = float(self._confidence(found) @ areas)
        mean = f"(mean confidence {100 * confidence:.0f} %)"
        if confidence < LOW_CONFIDENCE:
            return f"hardly like the template {mean}; do not rely on this result"
        notes = []
        if confidence < MEDIUM_CONFIDENCE:
            notes.append(f"not quite like the template {mean}; look before you rely on it")
        pieces = np.bincount(components(len(areas), faces), weights=areas)
        shapes = int((pieces > SECOND_SHAPE_SHARE * pieces.max()).sum())
        if shapes > 1:
            notes.append(f"{shapes} pieces of similar size, but one shape is expected in a mesh")
        elif self.places.coverage(self._place(found), areas) < MIN_COVERAGE:
            notes.append("a large part of the template seems to be missing")
        return "; ".join(notes)

    def show(self, found: Prediction) -> list[VertexValues]:
        assert found.labels is not None
        return [
            VertexValues(name="Template vertex", key="label", kind="places", values=found.labels),
            confidence_values(self._confidence(found)),
        ]

    def write(self, found: Prediction, folder: Path, name: str, *, descriptors: bool = True) -> None:
        """Write also NAME.points.npy: triangle, weights and position on the template of each vertex."""
        super().write(found, folder, name, descriptors=descriptors)
        write_array(Path(folder) / f"{name}.points.npy", np.column_stack(self.points(found)))

    def correspond(self, one: Prediction, other: Prediction) -> Ints:
        """Return the vertex of the other mesh whose place on the template is nearest."""
        tree = cKDTree(np.nan_to_num(self._place(other), nan=1e6))
        return np.asarray(tree.query(np.nan_to_num(self._place(one)))[1], np.int64)


class Places:
    """A template whose vertices know their places in the embedding, see `embed_template`."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        data = mesh.vertex_data
        columns = sorted((key for key in data if key.startswith("place_")), key=lambda key: int(key[6:]))
        # (T, d) place of each vertex in the embedding.
        self.place = np.stack([data[key] for key in columns], 1).astype(np.float64)
        self.dims = int(self.place.shape[1])
        number = data["anchor"]
        order = np.argsort(np.where(number < 0, len(number), number), kind="stable")
        self.anchors = order[: number.max() + 1]  # (A,) vertices
        levels = [data[key] for key in sorted(data) if key.startswith("label_")]
        none = np.zeros((len(self.place), 0))
        # (T, levels) parts at each level, counted from 0 in each.
        self.vertex_labels = np.column_stack([none, *levels]).astype(np.int64)
        # Where each level begins in the outputs, and last the anchors.
        self.starts = [0, *np.cumsum(self.vertex_labels.max(0, initial=-1) + 1).tolist()]
        self.labels = int(self.starts[-1])  # part labels, of all levels together
        self.anchor_place: NDArray[np.float32] = self.place[self.anchors].astype(np.float32)
        distance = np.linalg.norm(self.anchor_place[:, None] - self.anchor_place[None], axis=2)
        # (A, A) weights of anchors in one another's places.
        self.around = np.asarray(np.exp(-0.5 * (distance / PLACE_WIDTH) ** 2), np.float32)
        self.tree, self.anchor_tree = cKDTree(self.place), cKDTree(self.anchor_place)
        self.tree_at_rest = cKDTree(mesh.vertices)

    def coverage(self, place: Array, areas: Floats) -> float:
        """Return the share of the template's area that vertices with these places cover."""
        own = self.mesh.normalised().vertex_areas

        def of_anchors(places: Array, weights: Floats) -> Floats:
            nearest = self.anchor_tree.query(np.nan_to_num(places))[1]
            return np.asarray(np.bincount(nearest, weights, len(self.anchors)), np.float64)

        wanted = of_anchors(self.place, own)
        return float(wanted[of_anchors(place, areas) > ANCHOR_COVERAGE * wanted].sum() / own.sum())

    def at_positions(self, positions: Array) -> tuple[Floats, Ints]:
        """Return (n, d) places and (n, levels) parts of positions on the template at rest."""
        distance, near = self.tree_at_rest.query(np.asarray(positions, np.float64), k=3)
        share = 1 / (distance + 1e-9)
        share /= share.sum(1, keepdims=True)
        place = np.einsum("nk,nkd->nd", share, self.place[near])
        return place, self.vertex_labels[near[:, 0]]

    def targets(self, positions: Array) -> tuple[Ints, Floats, Ints]:
        """Return (n, 6) anchors around each position, their shares (0 for NaN), and (n, levels) parts."""
        known = np.asarray(np.isfinite(positions).all(1))
        place, labels = self.at_positions(np.where(known[:, None], positions, 0))
        many = min(ANCHORS_PER_POINT, len(self.anchors))
        distance, near = self.anchor_tree.query(place, k=many)
        weight = np.exp(-0.5 * (distance**2 - distance[:, :1] ** 2) / ANCHOR_SPREAD**2)
        return near.astype(np.int64), known[:, None] * weight / weight.sum(1, keepdims=True), labels


def _usable_part(mesh: Mesh, usable: Bools) -> tuple[Floats, Ints]:
    """Return (V,) shares of the area, 0 at unusable vertices, and the faces between usable ones."""
    if mesh.problem is None:
        return mesh.vertex_areas / mesh.area, mesh.faces
    inside = ((mesh.faces >= 0) & (mesh.faces < len(usable))).all(1)
    faces = mesh.faces[inside]
    faces = faces[usable[faces].all(1)]
    sides = mesh.vertices[faces[:, 1:]] - mesh.vertices[faces[:, :1]]
    size = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    areas = np.bincount(faces.ravel(), np.repeat(size, 3), len(usable))
    return areas / max(areas.sum(), 1e-300), faces


@lru_cache(maxsize=4)
def places_of(template: Mesh) -> Places:
    """Return the embedding that a template's vertices hold."""
    if "anchor" not in template.vertex_data:
        raise ValueError(
            f"{template.name or 'the template'} is not embedded; call tasks.template_points.embed_template"
        )
    return Places(template)


def embed_template(template: Mesh, anchors: int = ANCHORS) -> Mesh:
    """Return the template with what `TemplatePoints` needs to know about its vertices.

    These are ``place_0`` … in the embedding, and ``anchor``: its number, or −1. They are stored with the
    mesh, since another machine might compute them mirrored.
    """
    mesh = template.normalised()
    place = np.hstack([geodesic_embedding(mesh, GEODESIC_DIMENSIONS), mesh.vertices])
    number = np.full(len(place), -1)
    chosen = farthest_point_samples(mesh, min(anchors, len(place)))
    number[chosen] = np.arange(len(chosen))
    data = {f"place_{k}": place[:, k].astype(np.float32) for k in range(place.shape[1])}
    data["anchor"] = number.astype(np.int16 if len(chosen) < 2**15 else np.int32)
    return Mesh(
        template.vertices, template.faces, template.name, vertex_data={**template.vertex_data, **data}
    )


def part_names(template: Mesh) -> tuple[str, ...]:
    """Return names for the parts of a template without names: their numbers."""
    starts = places_of(template).starts
    return tuple(str(k) for first, last in pairwise(starts) for k in range(last - first))


@lru_cache(maxsize=4)
def _load_template(path: Path) -> Mesh:
    mesh = load_mesh(path)
    return mesh if "anchor" in mesh.vertex_data else embed_template(mesh)


def _read(path: Path, positions_path: Path) -> Sample:
    mesh = load_mesh(path)
    positions = np.load(positions_path, allow_pickle=False)
    if positions.shape != mesh.vertices.shape:
        wrong = f"has shape {positions.shape}; expected {mesh.vertices.shape}, a row per vertex"
        raise DatasetError(str(positions_path), [wrong])
    return Sample(mesh, positions.astype(np.float32))
