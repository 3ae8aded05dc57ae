"""Descriptors that are alike at corresponding points and unlike elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fieldconv._arrays import Array, Bools, Floats
from fieldconv.geometry.spectral.signatures import (
    eigenbasis,
    heat_kernel_signature,
    wave_kernel_signature,
)
from fieldconv.labels.own_folder import lists_pairs
from fieldconv.networks.protocol import Network
from fieldconv.ops import squared_distances
from fieldconv.tasks.base import (
    Chunk,
    Curves,
    Evaluation,
    Examples,
    Follow,
    Metric,
    Outputs,
    PairExample,
    PairMatches,
    TrainingConfig,
)
from fieldconv.tasks.base.evaluation import Record
from fieldconv.tasks.base.metrics import RECALL, PrecisionRecall, precision_recall, random_average_precision
from fieldconv.tasks.base.pair_task import NOTHING_CORRESPONDS, PairTask, corresponding_points, pair_name
from fieldconv.tasks.base.training_config import check_range, shipped_presets
from fieldconv.tasks.base.vertex_values import VertexValues


@dataclass(frozen=True, kw_only=True)
class MatchingConfig(TrainingConfig):
    """Training settings of matching."""

    positives: int = 512
    """Corresponding pairs of points drawn from a pair of meshes, and as many others."""
    margin: float = 5.0
    """Squared distance beyond which descriptors of other points do not repel."""
    soft_negatives: float = 0.2
    """Pairs of other points attract with random weights up to this."""
    farthest: float | None = 20.0
    """Margins beyond which squared distances teach nothing; None for no limit, as in the paper."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, "a whole number from 1 up", lambda n: n >= 1, "positives")
        check_range(self, "a positive number", lambda x: 0 < x < float("inf"), "margin")
        check_range(self, "a number from 0 to below 1", lambda x: 0 <= x < 1, "soft_negatives")
        check_range(self, "a number from 1 up, or None for no limit", lambda x: x >= 1, "farthest")


class Matching(PairTask):
    """Twin network: both surfaces of a pair go through one network, and a twin loss compares descriptors.

    For a pair of points (s, m) with descriptors F and squared distance d = |F(s) − F(m)|², the loss is
    α d + (1 − α) max(0, margin − d), with α = 1 for corresponding points and small and random for others
    (supplement C). The paper sums over pairs; we take the mean, which makes no difference to Adam.
    """

    name, about = "matching", "descriptors by which points of two shapes are matched"
    metrics = (
        Metric("mean_average_precision"),
        Metric("average_precision"),
        Metric("hks_mean_average_precision", "HKS mean average precision"),
        Metric("wks_mean_average_precision", "WKS mean average precision"),
        Metric("average_precision_hks", "average precision HKS"),
        Metric("average_precision_wks", "average precision WKS"),
        Metric("mean_average_precision_scene_ball", "mean average precision, ball on the scene"),
        Metric("average_precision_scene_ball", "average precision, ball on the scene"),
        Metric("median_rank", "median rank", "less", "plain"),
    )
    score = Metric("score", "training pairs in order")
    rank_by = "average_precision"
    curves = Curves(
        title="Precision and recall",
        x="recall",
        y="precision",
        percent=True,
        percent_x=True,
        caption="Mean over test pairs, candidates ranked by descriptor distance.",
    )
    shapes_caption = "Grey to red: how far down the list of nearest descriptors the first right match is."
    presets = shipped_presets("matching")
    Config = MatchingConfig

    # Data

    def recognises(self, root: Path) -> int:
        return 4 if lists_pairs(root) else 0

    # Learning

    def points(
        self, pair: PairExample, draw: np.random.Generator, config: TrainingConfig
    ) -> dict[str, Array]:
        """Return corresponding points, then as many other ones, with their weights α."""
        assert isinstance(config, MatchingConfig)
        count = config.positives
        scene, model = corresponding_points(pair.matches, draw, count)
        scenes, models = (int(n) for n in pair.matches.samples[0])
        other_scene = draw.integers(scenes, size=count)
        other_model = draw.integers(models, size=count)
        # Replace points that do correspond by others.
        partner = np.full(scenes, -1)
        all_scene, partner_model = pair.matches.match.numpy()
        partner[all_scene] = partner_model
        same = partner[other_scene] == other_model
        other_model[same] = (other_model[same] + draw.integers(1, max(models, 2), size=same.sum())) % models
        weight = np.concatenate([np.ones(count), draw.uniform(0, config.soft_negatives, count)])
        return {
            "scene": np.concatenate([scene, other_scene]),
            "model": np.concatenate([model, other_model]),
            "weight": weight.astype(np.float32),
        }

    def loss(self, outputs: Tensor, chunk: Chunk, config: TrainingConfig) -> tuple[Tensor, Tensor | None]:
        assert isinstance(config, MatchingConfig)
        scene, model, weight = (chunk.extra[key] for key in ("scene", "model", "weight"))
        squared = squared_distances(outputs, scene, model)
        # Descriptors on loose specks of a mesh grow without bound; the limit keeps them from dominating.
        limit = None if config.farthest is None else config.farthest * config.margin
        near = squared if limit is None else squared.clamp(max=limit)
        losses = twin_loss(near, weight, config.margin)
        positive = squared.detach()[:, : config.positives]
        negative = squared.detach()[:, config.positives :]
        return losses.mean(1), (positive < negative).float().mean(1)

    # Results

    def evaluate(self, network: Outputs, data: Examples, *, follow: Follow) -> Evaluation:
        own = getattr(network, "title", "network")
        # The key of a pair's number, and of the mean over pairs of these means over points.
        keys = {own: ("average_precision", "mean_average_precision")}
        for name in ("hks", "wks"):
            keys[name.upper()] = (f"average_precision_{name}", f"{name}_mean_average_precision")
        precisions: dict[str, list[Floats]] = {name: [] for name in keys}
        known: dict[str, list[Tensor]] = {}  # a shape is in several pairs
        shapes, at_random = [], []
        for index, pair in enumerate(follow(data)):
            surfaces = (pair.scene, pair.model)
            if any(surface.name not in known for surface in surfaces):
                for surface, mesh in zip(surfaces, data.meshes(index), strict=True):
                    basis, sample = eigenbasis(mesh), surface.sample.numpy()
                    signatures = (heat_kernel_signature(basis), wave_kernel_signature(basis))
                    baselines = [torch.from_numpy(_scale(values)[sample]) for values in signatures]
                    known[surface.name] = [network(surface), *baselines]
            described = [known[surface.name] for surface in surfaces]
            record: Record = {"name": pair_name(pair), "vertices": pair.scene.num_vertices}
            for (name, (key, _)), scene, model in zip(keys.items(), *described, strict=True):
                result = compare(scene, model, pair.matches)
                precisions[name].append(result.precision.mean(0))
                record[key] = float(result.average_precision.mean())
                if name == own:
                    record["median_rank"] = float(np.median(result.first))
            about = compare(described[0][0], described[1][0], pair.matches, ball="scene_ball")
            record["average_precision_scene_ball"] = float(about.average_precision.mean())
            shapes.append(record)
            counts = np.bincount(pair.matches.ball[0].numpy())
            at_random.append(random_average_precision(counts[counts > 0], len(described[1][0])).mean())
        means = [*keys.values(), ("average_precision_scene_ball", "mean_average_precision_scene_ball")]
        return Evaluation(
            self.name,
            {mean: float(np.mean([shape[key] for shape in shapes])) for key, mean in means},
            shapes,
            curves={name: np.stack([RECALL, np.mean(precisions[name], 0)], 1) for name in keys},
            guesses={"mean_average_precision": ("a random order", float(np.mean(at_random)))},
        )

    def evidence(self, network: Network, outputs: Outputs, data: Examples, index: int) -> list[VertexValues]:
        """Return the rank of the first right match of each scene vertex, in percent of all candidates."""
        pair = data[index]
        scene, target = (outputs(surface).double().numpy() for surface in (pair.scene, pair.model))
        right = _right(pair.matches.ball, len(scene), len(target))
        queries = right.any(axis=1)
        squared = (scene[queries] ** 2).sum(1)[:, None] - 2 * scene[queries] @ target.T + (target**2).sum(1)
        rank = np.full(len(scene), np.nan)
        first = precision_recall(squared, right[queries]).first
        rank[queries] = 100 * (first - 1) / max(len(target) - 1, 1)
        at_vertices = rank[pair.scene.vertex_sample[:, 0].numpy()]
        name = "First right match, place in the list in % of all"
        return [VertexValues(name=name, key="rank", kind="error", values=at_vertices)]


def twin_loss(squared: Tensor, weight: Tensor, margin: float) -> Tensor:
    """Return α d + (1 − α) max(0, margin − d) for squared distances d and weights α.

    Examples
    --------
    >>> twin_loss(torch.tensor([2.0, 2.0, 9.0]), torch.tensor([1.0, 0.0, 0.0]), margin=5.0).tolist()
    [2.0, 3.0, 0.0]
    """
    return weight * squared + (1 - weight) * (margin - squared).clamp(min=0)


def _right(ball: Tensor, scene: int, model: int) -> Bools:
    """Return (scene, model) whether samples correspond, from (2, K) corresponding pairs."""
    right = np.zeros((scene, model), bool)
    right[tuple(ball.numpy())] = True
    return right


def compare(scene: Tensor, model: Tensor, matches: PairMatches, *, ball: str = "ball") -> PrecisionRecall:
    """Return precision and recall of descriptors (n, d) of the scene's samples against the model's.

    ``ball`` says what is right: "ball" (drawn on the model) or "scene_ball".
    """
    right = _right(getattr(matches, ball), len(scene), len(model))
    queries = right.any(1)
    if not queries.any():
        raise ValueError(NOTHING_CORRESPONDS)
    distance = torch.cdist(scene[torch.from_numpy(queries)].double(), model.double()).numpy()
    return precision_recall(distance, right[queries])


def _scale(signatures: Floats) -> Floats:
    """Return signatures with the mean size of each scale at 1."""
    return np.asarray(signatures / np.maximum(np.abs(signatures).mean(0), 1e-30), np.float64)
