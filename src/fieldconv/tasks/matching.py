"""Descriptors that are alike at corresponding points and unlike elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fieldconv.geometry.spectral import (
    Eigenbasis,
    eigenbasis,
    heat_kernel_signature,
    wave_kernel_signature,
)
from fieldconv.tasks.base import Chunk, Evaluation, Follow, Network, Task, joined, varied
from fieldconv.tasks.metrics import RECALL, PrecisionRecall, precision_recall
from fieldconv.tasks.presets import TrainingConfig


class Matching(Task):
    """Twin network: both surfaces of a pair go through one network, and a twin loss compares descriptors.

    For a pair of points (s, m) with descriptors F and squared distance d = |F(s) − F(m)|², the loss is
    α d + (1 − α) max(0, margin − d), with α = 1 for corresponding points and small and random for others
    (supplement C). The paper sums over pairs; here it is the mean, to which Adam is indifferent.
    """

    name, metric = "matching", "mean_average_precision"

    def __init__(self, baselines: Sequence[str] = ("hks", "wks")) -> None:
        self.baselines = baselines

    def edges(self, example: Any) -> int:
        return int(example.scene.num_edges + example.model.num_edges)

    def collate(
        self, examples: Sequence[Any], draws: Sequence[np.random.Generator], config: TrainingConfig
    ) -> Chunk:
        surfaces, names, scenes, models, weights = [], [], [], [], []
        first = 0
        for pair, draw in zip(examples, draws, strict=True):
            surfaces += [varied(pair.scene, draw, config), varied(pair.model, draw, config)]
            names.append(f"{pair.scene.name} and {pair.model.name}")
            scene, model, weight = draw_pairs(pair.matches, draw, config)
            scenes.append(scene + first)
            models.append(model + first + pair.scene.num_nodes)
            weights.append(weight)
            first += pair.scene.num_nodes + pair.model.num_nodes
        return Chunk(
            joined(surfaces),
            names,
            {
                "scene": torch.from_numpy(np.stack(scenes)),
                "model": torch.from_numpy(np.stack(models)),
                "weight": torch.from_numpy(np.stack(weights).astype(np.float32)),
            },
        )

    def loss(self, outputs: Tensor, chunk: Chunk, config: TrainingConfig) -> tuple[Tensor, Tensor]:
        scene, model, weight = (chunk.extra[key] for key in ("scene", "model", "weight"))
        squared = (outputs[scene] - outputs[model]).square().sum(-1)
        # On loose specks of a mesh vectors grow without bound; they must not be all that is learnt from.
        losses = twin_loss(squared.clamp(max=20 * config.margin), weight, config.margin)
        positive = squared.detach()[:, : config.positives]
        negative = squared.detach()[:, config.positives :]
        return losses.mean(1), (positive < negative).float().mean(1)

    def evaluate(self, network: Network, data: Any, *, follow: Follow) -> Evaluation:
        names = ["FCNet", *(baseline.upper() for baseline in self.baselines)]
        precisions: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        averages: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        kept: dict[Any, list[Tensor]] = {}
        shapes = []
        for index, pair in enumerate(follow(data)):
            surfaces = (pair.scene, pair.model)
            if any(surface.name not in kept for surface in surfaces):  # a shape is in several pairs
                for surface, mesh in zip(surfaces, data.meshes(index), strict=True):
                    basis = eigenbasis(mesh)
                    own = [signature(baseline, basis)[surface.sample.numpy()] for baseline in self.baselines]
                    kept[surface.name] = [network(surface), *map(torch.from_numpy, own)]
            described = [kept[surface.name] for surface in surfaces]
            record: dict[str, Any] = {"name": f"{pair.scene.name} → {pair.model.name}"}
            for name, scene, model in zip(names, *described, strict=True):
                result = compare(scene, model, pair.matches)
                precisions[name].append(result.precision.mean(0))
                averages[name].append(result.average_precision)
                key = "average_precision" if name == "FCNet" else f"average_precision_{name.lower()}"
                record[key] = float(result.average_precision.mean())
                if name == "FCNet":
                    record["median_rank"] = float(np.median(result.first))
            shapes.append(record)
        metrics = {}
        for name in names:  # a mean over pairs of means over points
            key = "mean_average_precision" if name == "FCNet" else f"{name.lower()}_mean_average_precision"
            metrics[key] = float(np.mean([average.mean() for average in averages[name]]))
        curves = {name: np.stack([RECALL, np.mean(precisions[name], 0)], 1) for name in names}
        return Evaluation(self.name, metrics, shapes, curves=curves)


def twin_loss(squared: Tensor, weight: Tensor, margin: float) -> Tensor:
    """α d + (1 − α) max(0, margin − d) for squared distances d and weights α.

    Examples
    --------
    >>> twin_loss(torch.tensor([2.0, 2.0, 9.0]), torch.tensor([1.0, 0.0, 0.0]), margin=5.0).tolist()
    [2.0, 3.0, 0.0]
    """
    return weight * squared + (1 - weight) * (margin - squared).clamp(min=0)


def draw_pairs(
    matches: Any, draw: np.random.Generator, config: TrainingConfig
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Scene samples, model samples and weights α: first the corresponding pairs, then as many others."""
    scene, model = matches.match.numpy()
    count = config.positives
    if not len(scene):
        raise ValueError("a pair of meshes has no corresponding points; check its ground truth")
    chosen = draw.choice(len(scene), count, replace=len(scene) < count)
    scenes, models = (int(n) for n in matches.samples[0])
    other_scene = draw.integers(scenes, size=count)
    other_model = draw.integers(models, size=count)
    # Not the point that does correspond: step on to another one.
    partner = np.full(scenes, -1)
    partner[scene] = model
    same = partner[other_scene] == other_model
    other_model[same] = (other_model[same] + draw.integers(1, max(models, 2), size=same.sum())) % models
    weight = np.concatenate([np.ones(count), draw.uniform(0, config.soft_negatives, count)])
    return np.concatenate([scene[chosen], other_scene]), np.concatenate([model[chosen], other_model]), weight


def compare(scene: Tensor, model: Tensor, matches: Any) -> PrecisionRecall:
    """Precision and recall of descriptors (n, d) of the scene's samples against the model's."""
    right = np.zeros((len(scene), len(model)), bool)
    right[matches.ball[0].numpy(), matches.ball[1].numpy()] = True
    asked = right.any(1)
    if not asked.any():
        raise ValueError("a pair of meshes has no corresponding points; check its ground truth")
    distance = torch.cdist(scene[torch.from_numpy(asked)].double(), model.double()).numpy()
    return precision_recall(distance, right[asked])


def signature(kind: str, basis: Eigenbasis) -> NDArray[np.float64]:
    """Heat or wave kernel signature of every vertex, each scale normalised, as a baseline."""
    values = heat_kernel_signature(basis) if kind == "hks" else wave_kernel_signature(basis)
    return np.asarray(values / np.maximum(np.abs(values).mean(0), 1e-30), np.float64)
