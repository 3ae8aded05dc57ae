"""The base class of tasks about pairs of shapes: folders, batches of both surfaces, descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from fieldconv._arrays import Array, Ints
from fieldconv.labels.collection import Collection, Item, Sample
from fieldconv.labels.own_folder import OwnFolder, read_pair_folder
from fieldconv.networks.protocol import Head, Network
from fieldconv.surface.batches import batch
from fieldconv.surface.surface import Surface
from fieldconv.tasks.base.evaluation import Evaluation, Record
from fieldconv.tasks.base.examples import Examples, PairExample, PairMatches
from fieldconv.tasks.base.prediction import Decoded, Prediction
from fieldconv.tasks.base.task import Chunk, EmbeddedShape, Follow, Outputs, Task
from fieldconv.tasks.base.training_config import TrainingConfig
from fieldconv.tasks.base.vertex_values import VertexValues

POINTS_PER_PAIR = 512
"""Corresponding points of a pair that a training step compares."""
NOTHING_CORRESPONDS = "a pair of meshes has no corresponding points; check its ground truth"


class PairTask(Task):
    """Descriptors of the two surfaces of a pair, scene and model, compared at some of their samples.

    Both surfaces go through one network. A subclass need only set ``name`` and ``metrics`` and define
    ``loss`` and ``measure_pair``. The samples that ``loss`` compares are in ``chunk.extra``, see `points`.
    """

    layout = (
        "Lines of pairs.txt are a scene and a model; maps/<scene>.<model>.txt has, for each vertex of the\n"
        "scene, the vertex of the model (from 0; −1: none)."
    )
    head: ClassVar[Head] = "descriptors"
    default_outputs: ClassVar[int | None] = 16
    targets: ClassVar[tuple[str, ...]] = ()
    paired = True
    can_match = True

    # Data

    def read_folder(self, folder: OwnFolder) -> Collection:
        return read_pair_folder(folder, self.name)

    def write_sample(self, folder: Path, item: Item, sample: Sample) -> None:
        sample.mesh.save(folder / f"{item.name}.obj")

    def embedded_target(self, shape: EmbeddedShape) -> object:
        return shape.made

    def attach(self, surface: Surface, sample: Sample) -> None:
        """Do nothing: targets belong to pairs, not to surfaces."""

    def outputs(self, data: Examples) -> int | None:
        return None

    # Learning

    def size(self, example: PairExample) -> int:
        return super().size(example.scene) + super().size(example.model)

    def points(
        self, pair: PairExample, draw: np.random.Generator, config: TrainingConfig
    ) -> dict[str, Array]:
        """Return the samples that ``loss`` compares, equally many for each pair.

        ``scene`` and ``model`` index the samples of these surfaces, which correspond by default; other keys
        hold what else ``loss`` needs.
        """
        scene, model = corresponding_points(pair.matches, draw, POINTS_PER_PAIR)
        return {"scene": scene, "model": model}

    def collate(
        self,
        examples: Sequence[PairExample],
        draws: Sequence[np.random.Generator],
        config: TrainingConfig,
        network: Network,
    ) -> Chunk:
        """Return all surfaces as one chunk; ``extra`` has a row of `points` for each pair."""
        surfaces, names, rows = [], [], []
        first = 0
        for pair, draw in zip(examples, draws, strict=True):
            surfaces += [self.augment(side, draw, config, network) for side in (pair.scene, pair.model)]
            names.append(f"{pair.scene.name} and {pair.model.name}")
            points = self.points(pair, draw, config)
            second = first + pair.scene.num_nodes
            rows.append({**points, "scene": points["scene"] + first, "model": points["model"] + second})
            first = second + pair.model.num_nodes
        extra = {key: torch.from_numpy(np.stack([row[key] for row in rows])) for key in rows[0]}
        return Chunk(batch(surfaces), names, extra)

    # Results

    def decode(self, outputs: Tensor, surface: Surface) -> Decoded:
        return Decoded()  # descriptors are the whole answer

    def measure_pair(self, scene: Tensor, model: Tensor, pair: PairExample) -> dict[str, float]:
        """Return the numbers of a test pair, by the keys of ``metrics``, from descriptors of its samples."""
        raise TypeError(
            f"the task {self.name} defines neither measure_pair(scene, model, pair) nor evaluate(…)"
        )

    def record(self, network: Outputs, example: PairExample) -> Record:
        scene, model = example.scene, example.model
        numbers = self.measure_pair(network(scene), network(model), example)
        return {"name": pair_name(example), "vertices": scene.num_vertices, **numbers}

    def evaluate(self, network: Outputs, data: Examples, *, follow: Follow) -> Evaluation:
        known: dict[str, Tensor] = {}

        def cached(surface: Surface) -> Tensor:  # a shape is in several pairs
            if surface.name not in known:
                known[surface.name] = network(surface)
            return known[surface.name]

        return super().evaluate(cached, data, follow=follow)

    def show_all(self, found: Sequence[Prediction]) -> list[list[VertexValues]]:
        """Return the descriptors; equal ones have one colour on all meshes."""
        name = "Descriptors: alike where colours are"
        known = [[] if one.descriptors is None else [one.descriptors] for one in found]
        return [[VertexValues(name=name, kind="descriptors", values=rows) for rows in own] for own in known]

    def correspond(self, one: Prediction, other: Prediction) -> Ints:
        """Return the vertex of the other mesh with the nearest descriptor."""
        return np.asarray(cKDTree(other.descriptors).query(one.descriptors)[1], np.int64)

    def evidence(self, network: Network, outputs: Outputs, data: Examples, index: int) -> list[VertexValues]:
        return []


def pair_name(pair: PairExample) -> str:
    """Return the name of a pair in results."""
    return f"{pair.scene.name} → {pair.model.name}"


def corresponding_points(matches: PairMatches, draw: np.random.Generator, count: int) -> tuple[Ints, Ints]:
    """Return random samples of the scene, and the samples of the model that correspond to them."""
    scene, model = matches.match.numpy()
    if not len(scene):
        raise ValueError(NOTHING_CORRESPONDS)
    chosen = draw.choice(len(scene), count, replace=len(scene) < count)
    return scene[chosen], model[chosen]
