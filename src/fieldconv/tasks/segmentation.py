"""Which part is this point on?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldconv._arrays import Floats, Ints
from fieldconv._io import read_text, write_text
from fieldconv.labels.collection import Collection, Item, Sample, load_mesh, mesh_files
from fieldconv.labels.errors import DatasetError
from fieldconv.labels.label_files import (
    colour_labels,
    label_words,
    mesh_labels,
    read_labels,
    vertex_labels,
)
from fieldconv.labels.own_folder import SIDES, OwnFolder
from fieldconv.networks.protocol import Network
from fieldconv.surface.views import at_vertices, on_device
from fieldconv.tasks.base import EmbeddedShape, Evaluation, Examples, Follow, Metric, Outputs
from fieldconv.tasks.base.label_task import CALIBRATION, RELIABILITY, LabelTask, Reliability
from fieldconv.tasks.base.metrics import (
    accuracy,
    confusion,
    intersection_over_union,
    majority,
    mean_iou,
    sum_interval,
)
from fieldconv.tasks.base.training_config import shipped_presets
from fieldconv.tasks.base.vertex_values import VertexValues

MAX_COLOURS = 256
"""Different vertex colours that can still be meant as labels."""


class Segmentation(LabelTask):
    """A part per point; judged on the samples and on every vertex of the original mesh."""

    name, about = "segmentation", "a part at each vertex"
    layout = (
        "Beside each mesh a .txt file has the label of each vertex: a line of classes.txt, counted from 0."
    )
    metrics = (
        Metric("accuracy"),
        Metric("sample_accuracy"),
        Metric("area_accuracy"),
        Metric("mean_iou", "mean IoU"),
        CALIBRATION,
    )
    curves = RELIABILITY
    shapes_caption = "Worst and best test shapes. Switch between prediction, truth and mistakes."
    presets = shipped_presets("segmentation")

    # Data

    def recognises(self, root: Path) -> int:
        return 2 if any(mesh_files(base) for base in (root, *(root / side for side in SIDES))) else 0

    def read_folder(self, folder: OwnFolder) -> Collection:
        entries = folder.entries(self.name)
        folder.note_shared_names(entries)
        named = _read_classes(folder)
        present: dict[str, set[int]] = {}
        coloured = False
        label_paths = {entry.name: folder.target_file(entry) for entry in entries}
        words = _words(folder, label_paths.values())
        numbers = {name: value for value, name in named.items()} or {w: k for k, w in enumerate(words)}
        for entry in entries:
            label_path, labels = label_paths[entry.name], None
            if label_path is not None:
                labels = folder.attempt(partial(read_labels, label_path, numbers))
            elif (mesh := folder.attempt(partial(load_mesh, entry.path))) is not None:
                labels = folder.attempt(partial(mesh_labels, mesh))
                if labels is None:
                    labels = colour_labels(mesh)
                    coloured = coloured or labels is not None
                if labels is None:
                    expected = entry.path.with_suffix(".txt").relative_to(folder.root).as_posix()
                    folder.problems.append(
                        f"{entry.name}: no labels; expected {expected} (or .npy, .csv, .seg, .eseg), a PLY "
                        "property 'label', or vertex colours"
                    )
            if labels is not None:
                present[entry.name] = set(np.unique(labels).tolist()) - {-1}
        trained = [present[e.name] for e in entries if e.name in present and e.side != "test"]
        occurring = set().union(*trained) or set().union(*present.values())
        if coloured and not named and len(occurring) > MAX_COLOURS:
            folder.problems.append(
                f"{len(occurring)} different vertex colours; expected one colour for each part"
            )

        def name_of(value: int) -> str:
            if not named and value in range(len(words)):
                return words[value]
            return f"#{value:06x}" if coloured else str(value)

        classes = named or {value: name_of(value) for value in sorted(occurring)}
        reason = "it is not in classes.txt" if named else "no training mesh has it"
        order = np.array(list(classes), dtype=np.int64)
        items = []
        for entry in entries:
            unknown = sorted(present.get(entry.name, set()) - set(classes))
            if unknown:
                folder.problems.append(f"{entry.name}: label {name_of(unknown[0])} is unknown: {reason}")
            elif entry.name in present:
                read = partial(_read, entry.path, label_paths[entry.name], order, numbers)
                items.append(Item(entry.name, read, entry.side))
        return folder.collect(self.name, entries, items, class_names=tuple(classes.values()))

    def write_common(self, folder: Path, collection: Collection) -> None:
        write_text(folder / "classes.txt", "".join(f"{name}\n" for name in collection.class_names))

    def embedded_target(self, shape: EmbeddedShape) -> Ints:
        return shape.part

    def embedded_classes(self, kinds: tuple[str, ...], parts: tuple[str, ...]) -> tuple[str, ...]:
        return parts

    # Results

    def evaluate(self, network: Outputs, data: Examples, *, follow: Follow) -> Evaluation:
        classes = data.num_classes
        on_samples, on_vertices, by_area = (np.zeros((len(data), classes, classes)) for _ in range(3))
        shapes, reliability = [], Reliability()
        for k, surface in enumerate(follow(data)):
            scores = network(surface).softmax(1)  # probabilities are averaged at vertices, as predictions do
            confidence, found = at_vertices(surface, scores).max(1)
            predicted, truth = found.numpy(), surface.vertex_y.numpy()
            reliability.add(confidence.numpy()[truth >= 0], (predicted == truth)[truth >= 0])
            own = confusion(truth, predicted, classes)
            on_samples[k] = confusion(surface.y.numpy(), scores.argmax(1).numpy(), classes)
            on_vertices[k] = own
            by_area[k] = confusion(truth, predicted, classes, surface.vertex_area.numpy())
            numbers = {"accuracy": accuracy(own), "mean_iou": mean_iou(own)}
            shapes.append({"name": surface.name, "vertices": len(truth), **numbers})
        measured = {
            "accuracy": (on_vertices, accuracy),
            "sample_accuracy": (on_samples, accuracy),
            "area_accuracy": (by_area, accuracy),
            "mean_iou": (on_vertices, mean_iou),
        }
        names, total = tuple(data.class_names), on_vertices.sum(0)
        metrics, guesses, intervals = {}, {}, {}
        for key, (tables, measure) in measured.items():
            metrics[key] = measure(tables.sum(0))
            guesses[key] = _one_answer(tables.sum(0), measure, names)
            if (interval := sum_interval(tables, measure)) is not None:
                intervals[key] = interval
        return Evaluation(
            self.name,
            {**metrics, CALIBRATION.key: reliability.error},
            shapes,
            {"confusion": total, "iou": intersection_over_union(total)},
            {"confidence": reliability.curve},
            guesses=guesses,
            intervals=intervals | reliability.intervals,
            class_names=names,
        )

    def evidence(self, network: Network, outputs: Outputs, data: Examples, index: int) -> list[VertexValues]:
        surface = data[index]
        found = self.decode(outputs(surface), surface).labels
        truth, names = surface.vertex_y.numpy(), tuple(data.class_names)
        assert found is not None
        wrong = np.where(truth < 0, np.nan, found != truth)
        return [
            VertexValues(name="Prediction", kind="labels", values=found, class_names=names),
            VertexValues(name="Truth", kind="labels", values=truth, class_names=names),
            VertexValues(name="Wrong", kind="error", values=wrong, limits=(0.0, 1.0)),
        ]

    def picture_points(
        self, network: Network, data: Examples, points: int
    ) -> tuple[NDArray[np.float32], Ints] | None:
        """Return features of points on up to twenty test shapes, and their parts."""
        draw = np.random.default_rng(0)
        chosen = draw.permutation(len(data))[:20]
        each = -(-points // len(chosen))
        device = next(network.parameters()).device
        found, parts = [], []
        for k in chosen.tolist():
            surface = data[k]
            deep = network.deep_features(on_device(surface, device))
            if deep is None:
                return None
            rows = deep.float().cpu().numpy()
            chosen_rows = draw.permutation(len(rows))[:each]
            found.append(rows[chosen_rows])
            parts.append(surface.y.numpy()[chosen_rows])
        return np.concatenate(found), np.concatenate(parts)


def _one_answer(
    matrix: Floats, measure: Callable[[Floats], float], names: Sequence[str]
) -> tuple[str, float]:
    """Return the most frequent true class as a way to guess, and the number that it reaches."""
    best, _ = majority(matrix)
    guessed = np.zeros_like(matrix)
    guessed[:, best] = matrix.sum(1)
    return f"always “{names[best]}”", measure(guessed)


def _words(folder: OwnFolder, paths: Iterable[Path | None]) -> list[str]:
    """Return the names that label files use instead of numbers, sorted."""
    found = [folder.attempt(partial(label_words, path)) for path in paths if path is not None]
    by_name = [words for words in found if words is not None]
    if by_name and len(by_name) < len(found):
        folder.problems.append(
            f"{len(by_name)} of {len(found)} files of labels hold names, the others numbers; write all alike"
        )
    return sorted(set().union(*by_name) - {"-1"})


def _read_classes(folder: OwnFolder) -> dict[int, str]:
    """Return names by label from classes.txt: lines are names of 0, 1, …, or a label (#rrggbb) and a name."""
    path = folder.root / "classes.txt"
    if not path.is_file():
        return {}
    lines = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    split = [line.split(maxsplit=1) for line in lines]
    if all(len(fields) == 2 and _label_value(fields[0]) is not None for fields in split):
        classes = {_label_value(value): name for value, name in split}
    else:
        classes = dict(enumerate(lines))
    if len(classes) < len(lines):
        folder.problems.append("classes.txt: a label is listed twice")
    return {value: name for value, name in classes.items() if value is not None}


def _label_value(text: str) -> int | None:
    try:
        return int(text[1:], 16) if text.startswith("#") else int(text)
    except ValueError:
        return None


def _read(path: Path, label_path: Path | None, order: Ints, numbers: Mapping[str, int]) -> Sample:
    """Return a mesh with its labels as positions in ``order``; ``numbers`` are the values of names."""
    mesh = load_mesh(path)
    labels: Ints | None
    if label_path is not None:
        labels = vertex_labels(mesh, read_labels(label_path, numbers), source=str(label_path))
    elif (labels := mesh_labels(mesh)) is None and (labels := colour_labels(mesh)) is None:
        raise DatasetError(str(path), ["has no labels any more"])
    if not len(order):  # no mesh has any label
        return Sample(mesh, np.full(len(labels), -1))
    ranks = np.argsort(order)
    place = ranks[np.searchsorted(order, labels, sorter=ranks).clip(max=len(order) - 1)]
    known = order[place] == labels
    unknown = ~known & (labels != -1)
    if unknown.any():
        vertex = int(unknown.argmax())
        raise DatasetError(str(path), [f"vertex {vertex} has the label {labels[vertex]}, which no class has"])
    return Sample(mesh, np.where(known, place, -1))
