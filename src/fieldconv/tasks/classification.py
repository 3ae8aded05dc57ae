"""What is this shape?"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fieldconv.geometry.damage.damage import Damaged
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.labels.collection import Collection, Item, Sample, load_mesh, natural_order
from fieldconv.labels.own_folder import OwnFolder
from fieldconv.networks.protocol import Network
from fieldconv.surface.surface import Surface
from fieldconv.tasks.base import (
    Chunk,
    Decoded,
    EmbeddedShape,
    Evaluation,
    Examples,
    Follow,
    Metric,
    Outputs,
    Prediction,
    TrainingConfig,
)
from fieldconv.tasks.base.evaluation import Record
from fieldconv.tasks.base.label_task import CALIBRATION, RELIABILITY, LabelTask, Reliability, cross_entropy
from fieldconv.tasks.base.metrics import accuracy, confusion
from fieldconv.tasks.base.training_config import shipped_presets
from fieldconv.tasks.base.vertex_values import VertexValues


class Classification(LabelTask):
    """One class per shape: cross entropy; accuracy and confusion matrix."""

    name, about = "classification", "a class for each shape"
    layout = "Each folder in train/ and test/ is a class."
    head = "classification"
    metrics = (Metric("accuracy"), Metric("confidence"), CALIBRATION)
    curves = RELIABILITY
    presets = shipped_presets("classification")

    # Data

    def recognises(self, root: Path) -> int:
        return 1  # any folder may contain class folders

    def read_folder(self, folder: OwnFolder) -> Collection:
        entries = folder.entries(self.name, by_class=True)
        groups = {entry.group for entry in entries}
        trained = {entry.group for entry in entries if entry.side != "test"}
        for group in sorted(groups - trained) if trained else ():
            folder.problems.append(f"test/{group}: class {group!r} is unknown: it has no meshes to train on")
        classes = sorted(trained or groups, key=natural_order)
        index = {name: i for i, name in enumerate(classes)}
        items = [
            Item(entry.name, partial(_read, entry.path, index[entry.group]), entry.group)
            for entry in entries
            if entry.group in index
        ]
        return folder.collect(self.name, entries, items, class_names=tuple(classes))

    def write_sample(self, folder: Path, item: Item, sample: Sample) -> None:
        sample.mesh.save(folder / item.group / f"{item.name}.obj")

    def embedded_target(self, shape: EmbeddedShape) -> np.int64:
        return np.int64(shape.kind)

    def embedded_classes(self, kinds: tuple[str, ...], parts: tuple[str, ...]) -> tuple[str, ...]:
        return kinds

    def attach(self, surface: Surface, sample: Sample) -> None:
        """Set ``y`` (1,), the class of the shape."""
        surface.y = torch.tensor([int(sample.target)])

    def transfer_target(self, target: object, mesh: Mesh, damage: Damaged) -> object:
        """Return the class, which damage does not change."""
        return target

    # Learning and results

    def loss(self, outputs: Tensor, chunk: Chunk, config: TrainingConfig) -> tuple[Tensor, Tensor | None]:
        target = chunk.surface.y
        losses = cross_entropy(outputs, target, smoothing=config.label_smoothing)
        return losses, (outputs.argmax(1) == target).float()

    def decode(self, outputs: Tensor, surface: Surface) -> Decoded:
        scores = outputs[0].softmax(0).numpy()
        return Decoded(labels=np.asarray(scores.argmax(), np.int64), scores=scores)

    def evaluate(self, network: Outputs, data: Examples, *, follow: Follow) -> Evaluation:
        shapes: list[Record] = []
        reliability = Reliability()
        names = tuple(data.class_names)
        for surface in follow(data):
            scores = self.decode(network(surface), surface).scores
            assert scores is not None
            truth, predicted, confidence = int(surface.y), int(scores.argmax()), float(scores.max())
            right = truth == predicted
            reliability.add([confidence], [right])
            wrong = "" if right else f", predicted {names[predicted]}"
            shapes.append(
                {
                    "name": surface.name,
                    "truth": truth,
                    "predicted": predicted,
                    "accuracy": float(right),
                    "confidence": confidence,
                    "note": f"{names[truth]}{wrong} ({100 * confidence:.0f} %)",
                    # The most confident wrong answer is the worst.
                    "order": confidence if right else -confidence,
                }
            )
        truths, answers = ([shape[key] for shape in shapes] for key in ("truth", "predicted"))
        matrix = confusion(truths, answers, len(names))
        return Evaluation(
            self.name,
            {"accuracy": accuracy(matrix), CALIBRATION.key: reliability.error},
            shapes,
            {"confusion": matrix},
            {"confidence": reliability.curve},
            intervals=reliability.intervals,
            class_names=names,
        )

    def note(self, found: Prediction) -> str:
        summary = self.summary(found)
        return f"{summary['name']} ({100 * float(found.confidence or 0):.0f} %)"

    def summary(self, found: Prediction) -> Record:
        assert found.labels is not None
        label = int(found.labels)
        return {
            "class": label,
            "name": found.name_of(label) or str(label),
            "probability": f"{float(found.confidence or 0):.6f}",
        }

    def evidence(self, network: Network, outputs: Outputs, data: Examples, index: int) -> list[VertexValues]:
        return []  # the mesh alone is shown


def _read(path: Path, label: int) -> Sample:
    return Sample(load_mesh(path), np.int64(label))
