"""The base class of tasks. Everything particular to a task is in its own file; the package asks it there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
import scipy
import torch
from numpy.typing import NDArray
from torch import Tensor

from fieldconv._arrays import Bools, Ints
from fieldconv._checked import checked
from fieldconv.geometry.damage.damage import Damaged, carry_vectors
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.labels.collection import Collection, Item, Sample
from fieldconv.labels.label_files import write_numbers
from fieldconv.labels.own_folder import OwnFolder, read_values
from fieldconv.networks.protocol import Head, Network, NetworkConfig
from fieldconv.surface.batches import batch
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.surface.surface import Surface
from fieldconv.surface.views import at_vertices, rotated_features, select, turning_columns
from fieldconv.tasks.base.evaluation import Curves, Evaluation, Record
from fieldconv.tasks.base.examples import Example, Examples
from fieldconv.tasks.base.metric import Metric
from fieldconv.tasks.base.prediction import Decoded, Prediction, write_prediction
from fieldconv.tasks.base.training_config import (
    Preset,
    TrainingConfig,
    merge,
    network_layers,
    shipped_presets,
    surface_values,
    training_layers,
)
from fieldconv.tasks.base.vertex_values import Kind, VertexValues

Outputs = Callable[[Surface], Tensor]
Follow = Callable[[Iterable[Example]], Iterable[Example]]
"""Wraps the loop over a dataset, to show progress."""
Settings = TypeVar("Settings", bound=NetworkConfig)


@dataclass
class Chunk:
    """Examples that go through the network together."""

    surface: Surface
    names: list[str]
    """Names of the examples, for messages."""
    extra: dict[str, Tensor] = field(default_factory=dict)
    """Further tensors that the loss needs."""

    def to(self, device: torch.device) -> Chunk:
        """Return the chunk on a device."""
        if device.type == "cpu":
            return self
        extra = {key: value.to(device) for key, value in self.extra.items()}
        return Chunk(self.surface.to(device), self.names, extra)


@dataclass(frozen=True)
class EmbeddedShape:
    """What a generator knows about a shape that it made; a task takes its target from it."""

    mesh: Mesh
    kind: int
    """Number of its species."""
    part: Ints
    """(V,) part of each vertex."""
    place: Callable[[], Ints]
    """Returns (V,) the corresponding vertex of the template at each vertex, −1 for none."""
    made: object
    """The generator's own shape, for ground truth between two of them."""
    point: Callable[[], NDArray[np.float32]] | None = None
    """Returns (V, 3) the corresponding point of the template at each vertex, if that is known."""


class Task:
    """What a network learns. A subclass, in a file of its own, defines everything particular to a task.

    The defaults fit a task of one number at each vertex, which need only set ``name`` and ``metrics`` and
    define ``loss`` and ``measure``.

    Examples
    --------
    >>> class Thickness(Task):
    ...     name, about = "thickness", "the thickness at each vertex"
    ...     metrics = (Metric("mean_error", better="less", style="plain"),)
    ...
    ...     def loss(self, outputs, chunk, config):
    ...         squared = (outputs[:, 0] - chunk.surface.y).square()
    ...         return squared.mean()[None], None
    ...
    ...     def measure(self, found, surface):
    ...         return {"mean_error": abs(found.values - surface.vertex_y.numpy()).mean()}
    >>> Thickness().training_config(preset="tiny").epochs
    4
    """

    name: ClassVar[str]
    """Name by which it is found."""
    about: ClassVar[str] = ""
    """What it gives, for help texts."""
    layout: ClassVar[str] = "Beside each mesh a .txt file (or .npy, .csv) has a number for each vertex."
    """What a folder for it looks like, for help texts."""
    head: ClassVar[Head] = "labels"
    """What the network must put out, see `NetworkConfig`."""
    default_outputs: ClassVar[int | None] = 1
    """How many outputs where the data does not say; None if the data must say."""
    metrics: ClassVar[tuple[Metric, ...]]
    """Numbers of an evaluation, of shapes and of the training log. The first one chooses the best epoch."""
    score: ClassVar[Metric | None] = None
    """How well a training batch is solved, if `loss` returns that."""
    rank_by: ClassVar[str] = ""
    """The number by which shapes are ranked; the first metric if empty."""
    curves: ClassVar[Curves | None] = None
    """What the curves of an evaluation show."""
    shapes_caption: ClassVar[str] = "Worst and best test shapes."
    """Text above the shapes of a report."""
    presets: ClassVar[Mapping[str, Preset]] = shipped_presets("any other")
    """At least "default" and "tiny"; "paper" follows the paper's text, "reproduce" reaches its numbers."""
    Config: ClassVar[type[TrainingConfig]] = TrainingConfig
    """The class of its training settings; a task may have more fields."""
    targets: ClassVar[tuple[str, ...]] = ("y",)
    """The tensors of a surface that `loss` reads."""
    paired: ClassVar[bool] = False
    """Whether an example is a pair of surfaces."""
    one_template: ClassVar[bool] = False
    """Whether targets are vertices of one template."""
    calibrated: ClassVar[bool] = False
    """Whether outputs are scores of classes, which a temperature can calibrate."""
    can_match: bool = False
    """Whether `correspond` maps one shape to another."""

    # Settings

    def with_template(self, template: Mesh | None) -> Task:
        """Return the task for a network or dataset with this template; most tasks do not depend on it."""
        return self

    def preset(self, name: str) -> Preset:
        """Return the preset of that name; raise ValueError if the task has none."""
        if name not in self.presets:
            raise ValueError(f"unknown preset {str(name)[:60]!r}; choose one of {', '.join(self.presets)}")
        return self.presets[name]

    @property
    def surface_settings(self) -> SurfaceSettings:
        """Settings of the first preset, for meshes that are prepared without a network."""
        return SurfaceSettings(**checked(SurfaceSettings, surface_values(self, next(iter(self.presets)))))

    def training_config(
        self, *, preset: str = "default", smallest_batch: int = 1, **changes: object
    ) -> TrainingConfig:
        """Return the training settings of a preset, with some fields changed; see `training_layers`."""
        layers = training_layers(self, preset, smallest_batch=smallest_batch)
        return self.Config.from_dict(merge(*layers, ("option", changes))[0])

    def network_config(
        self,
        kind: type[Settings],
        *,
        network: str = "",
        classes: int | None = None,
        preset: str = "default",
        **changes: object,
    ) -> Settings:
        """Return the settings of a network for this task, with some fields changed; see `network_layers`."""
        if classes is not None:
            changes = {"outputs": classes, **changes}
        values, _ = merge(*network_layers(self, preset, kind, network=network), ("option", changes))
        if "outputs" not in values:
            raise ValueError(f"{self.name} needs the number of classes; give classes=…")
        return kind.from_dict(values)

    # Data: folders, embedded shapes, targets

    def recognises(self, root: Path) -> int:
        """Return how likely a folder is for this task, 0 for not at all; the likeliest task reads it."""
        return 0

    def read_folder(self, folder: OwnFolder) -> Collection:
        """Return the meshes and targets of a folder; add what is wrong to ``folder.problems``."""
        return read_values(folder, self.name)

    def write_sample(self, folder: Path, item: Item, sample: Sample) -> None:
        """Write one mesh and its target as `read_folder` reads them."""
        sample.mesh.save(folder / f"{item.name}.obj")
        write_numbers(folder / f"{item.name}.txt", sample.target)

    def write_common(self, folder: Path, collection: Collection) -> None:
        """Write the files that a folder has once, such as the names of classes."""

    def embedded_target(self, shape: EmbeddedShape) -> object:
        """Return the target of a generated shape."""
        raise ValueError(f"there are no embedded shapes for {self.name}; give a folder of meshes with --data")

    def embedded_classes(self, kinds: tuple[str, ...], parts: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the classes: those of shapes, or those of parts."""
        return ()

    def attach(self, surface: Surface, sample: Sample) -> None:
        """Put the target on a surface: by default ``vertex_y`` at its vertices, and ``y`` at its samples."""
        target = np.ascontiguousarray(sample.target)
        types = {"i": np.int64, "u": np.int64, "b": np.int64, "c": np.complex64}
        surface.vertex_y = torch.from_numpy(target.astype(types.get(target.dtype.kind, np.float32)))
        surface.y = surface.vertex_y[surface.sample]

    def transfer_target(self, target: object, mesh: Mesh, damage: Damaged) -> object:
        """Return the target of a mesh on its damaged copy; tangent vectors are turned into the new frames."""
        target = np.asarray(target)
        return carry_vectors(target, mesh, damage) if np.iscomplexobj(target) else damage.carry(target)

    def outputs(self, data: Examples) -> int | None:
        """Return how many outputs a network needs for a dataset; None if any number will do."""
        return self.default_outputs

    def named_outputs(self, class_names: Sequence[str], template: Mesh | None) -> int | None:
        """Return how many outputs fit the class names or template of a checkpoint; None if any do."""
        if template is not None:
            return len(template.vertices)
        return len(class_names) or None

    # Learning

    def size(self, example: Example) -> int:
        """Return the size of an example: its edges, or its samples if it has none."""
        return int(example.num_edges or example.num_nodes)

    def collate(
        self,
        examples: Sequence[Example],
        draws: Sequence[np.random.Generator],
        config: TrainingConfig,
        network: Network,
    ) -> Chunk:
        """Return examples as one chunk.

        Each has its own generator in ``draws``: its augmentation does not depend on others or their order.
        """
        shown = [self.augment(one, draw, config, network) for one, draw in zip(examples, draws, strict=True)]
        return Chunk(batch(shown), [example.name for example in examples])

    def augment(
        self, surface: Surface, draw: np.random.Generator, config: TrainingConfig, network: Network
    ) -> Surface:
        """Return what the network reads of a surface, turned and stretched at random."""
        reads = None if network.reads is None else (*network.reads, *self.targets)
        shown = select(surface, reads)
        features = network.config.features
        if turning_columns(surface, features):
            matrix = np.eye(3)
            if config.rotate:
                matrix = scipy.spatial.transform.Rotation.from_quat(draw.normal(size=4)).as_matrix()
            if config.stretch:
                matrix = matrix * draw.uniform(1 - config.stretch, 1 + config.stretch, 3)
            shown.x = rotated_features(surface, matrix, features)
        return shown

    def loss(self, outputs: Tensor, chunk: Chunk, config: TrainingConfig) -> tuple[Tensor, Tensor | None]:
        """Return (examples,) the loss of each, and (examples,) how well each is solved, or None."""
        raise TypeError(f"the task {self.name} does not define loss(outputs, chunk, config)")

    # Results

    def combine(self, outputs: Sequence[Tensor]) -> Tensor:
        """Return the mean output over several orientations of a shape."""
        return torch.stack(list(outputs)).mean(0)

    def decode(self, outputs: Tensor, surface: Surface) -> Decoded:
        """Return the outputs for one surface as answers at the vertices of its mesh."""
        values = at_vertices(surface, outputs).numpy()
        return Decoded(values=values[:, 0] if values.shape[1] == 1 else values)

    def average(self, found: Sequence[Decoded]) -> Decoded:
        """Return the mean answer over several sets of samples, with the likeliest labels."""
        scores = [one.scores for one in found if one.scores is not None]
        values = [one.values for one in found if one.values is not None]
        mean = np.mean(scores, 0) if scores else None
        labels = found[0].labels if mean is None else mean.argmax(-1).astype(np.int64)
        return Decoded(labels, mean, np.mean(values, 0) if values else None)

    def measure(self, found: Decoded, surface: Surface) -> dict[str, float]:
        """Return the numbers of one test shape, by the keys of ``metrics``."""
        raise TypeError(f"the task {self.name} defines neither measure(found, surface) nor evaluate(…)")

    def record(self, network: Outputs, example: Example) -> Record:
        """Return the name, size and numbers of a test shape."""
        found = self.decode(network(example), example)
        return {"name": example.name, "vertices": example.num_vertices, **self.measure(found, example)}

    def evaluate(self, network: Outputs, data: Examples, *, follow: Follow) -> Evaluation:
        """Measure a network on a dataset: by default, the mean over shapes of the numbers of `measure`."""
        shapes = [self.record(network, example) for example in follow(data)]
        keys = [metric.key for metric in self.metrics if shapes and metric.key in shapes[0]]
        metrics = {key: float(np.mean([shape[key] for shape in shapes])) for key in keys}
        return Evaluation(self.name, metrics, shapes, class_names=tuple(data.class_names))

    def description(self) -> Record:
        """Return what the numbers of an evaluation mean, as plain values for reports."""
        known = {metric.key: metric.to_dict() for metric in self.metrics}
        if self.score is not None:
            known["score"] = self.score.to_dict()
        rank_by = self.rank_by or self.metrics[0].key
        described: Record = {"metrics": known, "rank_by": rank_by, "shapes_caption": self.shapes_caption}
        if self.curves is not None:
            described["curves"] = asdict(self.curves)
        return described

    def show(self, found: Prediction) -> list[VertexValues]:
        """Return the values to show at the vertices of a prediction, the most important first."""
        return found.vertex_values()

    def show_all(self, found: Sequence[Prediction]) -> list[list[VertexValues]]:
        """Return the values to show for several predictions side by side."""
        return [self.show(one) for one in found]

    def note(self, found: Prediction) -> str:
        """Return a prediction, or a warning about it, in a few words."""
        return ""

    def summary(self, found: Prediction) -> Record:
        """Return the columns of predictions.csv for a mesh; empty if the task writes no such table."""
        return {}

    def write(self, found: Prediction, folder: Path, name: str, *, descriptors: bool = True) -> None:
        """Write arrays and tables of a prediction; its coloured mesh is written elsewhere."""
        write_prediction(found, self.show(found), folder, name, descriptors=descriptors)

    def correspond(self, one: Prediction, other: Prediction) -> Ints:
        """Return (V,) the vertex of the other mesh at each vertex of the first."""
        raise ValueError(f"a network for {self.name} cannot match shapes")

    def missing_counterparts(self, one: Prediction, other: Prediction) -> Bools | None:
        """Return (V,) whether each vertex has no counterpart; None if only a round trip can tell."""
        return None

    def evidence(self, network: Network, outputs: Outputs, data: Examples, index: int) -> list[VertexValues]:
        """Return the values that a report shows on a test shape: prediction, truth and error."""
        surface = data[index]
        found = self.decode(outputs(surface), surface)
        if found.values is None or found.values.ndim != 1:
            return []
        truth = surface.vertex_y.numpy()
        kind: Kind = "field" if np.iscomplexobj(found.values) else "scalar"
        low, high = float(np.nanmin(truth.real)), float(np.nanmax(truth.real))
        limits = None if kind == "field" else (low, max(high, low + 1e-12))
        return [
            VertexValues(name="Prediction", kind=kind, values=found.values, limits=limits),
            VertexValues(name="Truth", kind=kind, values=truth, limits=limits),
            VertexValues(name="Error", kind="error", values=np.abs(found.values - truth)),
        ]

    def picture_points(
        self, network: Network, data: Examples, points: int
    ) -> tuple[NDArray[np.float32], Ints] | None:
        """Return (n, d) features of points on test shapes and (n,) their classes, for a plane picture."""
        return None
