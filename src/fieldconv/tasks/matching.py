"""Descriptors that are alike at corresponding points and unlike elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor

from fieldconv.geometry.mesh.files import MESH_SUFFIXES
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.spectral.signatures import (
    Eigenbasis,
    eigenbasis,
    heat_kernel_signature,
    wave_kernel_signature,
)
from fieldconv.labels.collection import (
    Collection,
    Item,
    Pair,
    Sample,
    fill_geodesically,
    first_preimage,
    load_mesh,
    mesh_files,
)
from fieldconv.labels.label_files import Ints, read_vertex_map
from fieldconv.labels.own_folder import (
    SIDES,
    Entry,
    OwnFolder,
    by_name,
    check_length,
    read_map,
    template_files,
)
from fieldconv.labels.pairs import read_pairs
from fieldconv.labels.splits import split_groups
from fieldconv.networks.protocol import Network
from fieldconv.ops import squared_distances
from fieldconv.surface.batches import batch
from fieldconv.surface.surface import Surface
from fieldconv.tasks.base import (
    Chunk,
    Curves,
    Decoded,
    EmbeddedShape,
    Evaluation,
    Follow,
    Metric,
    Outputs,
    Prediction,
    Task,
    TrainingConfig,
)
from fieldconv.tasks.base.metrics import RECALL, PrecisionRecall, precision_recall, random_average_precision
from fieldconv.tasks.base.presets import shipped_presets
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
        if self.positives < 1:
            raise ValueError(f"positives is {self.positives}; give a whole number from 1 up")
        if not 0 < self.margin < float("inf"):
            raise ValueError(f"margin is {self.margin}; give a positive number")
        if not 0 <= self.soft_negatives < 1:
            raise ValueError(f"soft_negatives is {self.soft_negatives}; give a number from 0 to below 1")
        if self.farthest is not None and not self.farthest >= 1:
            raise ValueError(f"farthest is {self.farthest}; give a number from 1 up, or None for no limit")


class Matching(Task):
    """Twin network: both surfaces of a pair go through one network, and a twin loss compares descriptors.

    For a pair of points (s, m) with descriptors F and squared distance d = |F(s) − F(m)|², the loss is
    α d + (1 − α) max(0, margin − d), with α = 1 for corresponding points and small and random for others
    (supplement C). The paper sums over pairs; here it is the mean, to which Adam is indifferent.
    """

    name, about = "matching", "descriptors by which points of two shapes are matched"
    layout = (
        "Lines of pairs.txt are a scene and a model; maps/<scene>.<model>.txt has, for each vertex of the\n"
        "scene, the vertex of the model (from 0; −1: none)."
    )
    head = "descriptors"
    default_outputs = 16
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
    targets = ()
    paired = True
    can_match = True

    def __init__(self, baselines: Sequence[str] = ("hks", "wks")) -> None:
        self.baselines = baselines

    # Data

    def recognises(self, root: Path) -> int:
        names = ("pairs.txt", "train_pairs.txt", "test_pairs.txt")
        bases = (root, *(root / side for side in SIDES))
        return 4 if any((base / name).is_file() for base in bases for name in names) else 0

    def read_folder(self, folder: OwnFolder) -> Collection:
        root, split = folder.root, folder.split
        sides = [side for side in SIDES if (root / side).is_dir()]
        places = [root / side for side in sides if split in ("all", side)] if sides else [root]
        if not places:
            folder.problems.append(f"{split}/ is missing")
        items: list[Item] = []
        pairs: list[Pair] = []
        for place in places:
            entries = [folder.entry(path) for path in mesh_files(place) if path.stem != "template"]
            if not entries:
                folder.problems.append(f"no meshes ({', '.join(MESH_SUFFIXES)}) in {place}")
            folder.note_shared_names(entries)
            listed = _listed_pairs(folder, place)
            if place == root and not any((root / f"{side}_pairs.txt").is_file() for side in SIDES):
                groups = [""] * len(listed)
                kept = split_groups(groups, split, test_fraction=folder.test_fraction, seed=folder.seed)
                listed = [listed[i] for i in kept]
            _resolve_pairs(folder, place, entries, listed, items, pairs)
        return Collection(f"folder {root}", self.name, tuple(items), pairs=tuple(pairs))

    def write_sample(self, folder: Path, item: Item, sample: Sample) -> None:
        sample.mesh.save(folder / f"{item.name}.obj")

    def embedded_target(self, shape: EmbeddedShape) -> Any:
        return shape.made

    def attach(self, surface: Surface, sample: Sample) -> None:
        """Put nothing on a surface: what corresponds is known of pairs."""

    def outputs(self, data: Any) -> int | None:
        return None

    # Learning

    def size(self, example: Any) -> int:
        return super().size(example.scene) + super().size(example.model)

    def collate(
        self,
        examples: Sequence[Any],
        draws: Sequence[np.random.Generator],
        config: TrainingConfig,
        network: Network,
    ) -> Chunk:
        assert isinstance(config, MatchingConfig)
        surfaces, names, scenes, models, weights = [], [], [], [], []
        first = 0
        for pair, draw in zip(examples, draws, strict=True):
            surfaces += [self.varied(side, draw, config, network) for side in (pair.scene, pair.model)]
            names.append(f"{pair.scene.name} and {pair.model.name}")
            scene, model, weight = draw_pairs(pair.matches, draw, config)
            scenes.append(scene + first)
            models.append(model + first + pair.scene.num_nodes)
            weights.append(weight)
            first += pair.scene.num_nodes + pair.model.num_nodes
        return Chunk(
            batch(surfaces),
            names,
            {
                "scene": torch.from_numpy(np.stack(scenes)),
                "model": torch.from_numpy(np.stack(models)),
                "weight": torch.from_numpy(np.stack(weights).astype(np.float32)),
            },
        )

    def loss(self, outputs: Tensor, chunk: Chunk, config: TrainingConfig) -> tuple[Tensor, Tensor | None]:
        assert isinstance(config, MatchingConfig)
        scene, model, weight = (chunk.extra[key] for key in ("scene", "model", "weight"))
        squared = squared_distances(outputs, scene, model)
        # On loose specks of a mesh vectors grow without bound; they must not be all that is learnt from.
        limit = None if config.farthest is None else config.farthest * config.margin
        near = squared if limit is None else squared.clamp(max=limit)
        losses = twin_loss(near, weight, config.margin)
        positive = squared.detach()[:, : config.positives]
        negative = squared.detach()[:, config.positives :]
        return losses.mean(1), (positive < negative).float().mean(1)

    # Results

    def decode(self, outputs: Tensor, surface: Surface) -> Decoded:
        return Decoded()  # descriptors say it all

    def evaluate(self, network: Outputs, data: Any, *, follow: Follow) -> Evaluation:
        own = getattr(network, "title", "network")
        names = [own, *(baseline.upper() for baseline in self.baselines)]
        precisions: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        averages: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        kept: dict[Any, list[Tensor]] = {}
        shapes, at_random = [], []
        for index, pair in enumerate(follow(data)):
            surfaces = (pair.scene, pair.model)
            if any(surface.name not in kept for surface in surfaces):  # a shape is in several pairs
                for surface, mesh in zip(surfaces, data.meshes(index), strict=True):
                    basis = eigenbasis(mesh)
                    sample = surface.sample.numpy()
                    known = [signature(baseline, basis)[sample] for baseline in self.baselines]
                    kept[surface.name] = [network(surface), *map(torch.from_numpy, known)]
            described = [kept[surface.name] for surface in surfaces]
            name_of_pair = f"{pair.scene.name} → {pair.model.name}"
            record: dict[str, Any] = {"name": name_of_pair, "vertices": pair.scene.num_vertices}
            for name, scene, model in zip(names, *described, strict=True):
                result = compare(scene, model, pair.matches)
                precisions[name].append(result.precision.mean(0))
                averages[name].append(result.average_precision)
                key = "average_precision" if name == own else f"average_precision_{name.lower()}"
                record[key] = float(result.average_precision.mean())
                if name == own:
                    record["median_rank"] = float(np.median(result.first))
            about = compare(described[0][0], described[1][0], pair.matches, ball="scene_ball")
            record["average_precision_scene_ball"] = float(about.average_precision.mean())
            shapes.append(record)
            counts = np.bincount(pair.matches.ball[0].numpy())
            at_random.append(random_average_precision(counts[counts > 0], len(described[1][0])).mean())
        metrics: dict[str, float] = {}
        for name in names:  # a mean over pairs of means over points
            key = "mean_average_precision" if name == own else f"{name.lower()}_mean_average_precision"
            metrics[key] = float(np.mean([average.mean() for average in averages[name]]))
        about_scene = [shape["average_precision_scene_ball"] for shape in shapes]
        metrics["mean_average_precision_scene_ball"] = float(np.mean(about_scene))
        curves = {name: np.stack([RECALL, np.mean(precisions[name], 0)], 1) for name in names}
        guess = ("a random order", float(np.mean(at_random)))
        return Evaluation(self.name, metrics, shapes, curves=curves, guesses={next(iter(metrics)): guess})

    def show_all(self, found: Sequence[Prediction]) -> list[list[VertexValues]]:
        """Return the descriptors, whose colours are alike where they are, on all meshes together."""
        name = "Descriptors: alike where colours are"
        return [
            []
            if one.descriptors is None
            else [VertexValues(name=name, kind="descriptors", values=one.descriptors)]
            for one in found
        ]

    def correspond(self, one: Prediction, other: Prediction) -> NDArray[np.int64]:
        """Return the vertex of the other mesh with the nearest descriptor."""
        return np.asarray(cKDTree(other.descriptors).query(one.descriptors)[1], np.int64)

    def evidence(self, network: Network, outputs: Outputs, data: Any, index: int) -> list[VertexValues]:
        """Return the rank of the first right match of each scene vertex, in percent of all candidates."""
        pair = data[index]
        scene, target = (outputs(surface).double().numpy() for surface in (pair.scene, pair.model))
        right = np.zeros((len(scene), len(target)), dtype=bool)
        right[tuple(pair.matches.ball.numpy())] = True
        asked = right.any(axis=1)
        squared = (scene[asked] ** 2).sum(1)[:, None] - 2 * scene[asked] @ target.T + (target**2).sum(1)
        rank = np.full(len(scene), np.nan)
        first = precision_recall(squared, right[asked]).first
        rank[asked] = 100 * (first - 1) / max(len(target) - 1, 1)
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


def draw_pairs(
    matches: Any, draw: np.random.Generator, config: MatchingConfig
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return scene samples, model samples and weights α: first corresponding pairs, then as many others."""
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


def compare(scene: Tensor, model: Tensor, matches: Any, *, ball: str = "ball") -> PrecisionRecall:
    """Return precision and recall of descriptors (n, d) of the scene's samples against the model's.

    Right is what ``ball`` of the matches says: "ball" (drawn on the model) or "scene_ball".
    """
    right = np.zeros((len(scene), len(model)), bool)
    right[tuple(getattr(matches, ball).numpy())] = True
    asked = right.any(1)
    if not asked.any():
        raise ValueError("a pair of meshes has no corresponding points; check its ground truth")
    distance = torch.cdist(scene[torch.from_numpy(asked)].double(), model.double()).numpy()
    return precision_recall(distance, right[asked])


def signature(kind: str, basis: Eigenbasis) -> NDArray[np.float64]:
    """Return the heat or wave kernel signature of every vertex, each scale normalised, as a baseline."""
    values = heat_kernel_signature(basis) if kind == "hks" else wave_kernel_signature(basis)
    return np.asarray(values / np.maximum(np.abs(values).mean(0), 1e-30), np.float64)


def _listed_pairs(folder: OwnFolder, place: Path) -> list[tuple[str, int, list[str]]]:
    """(file, line, fields) of the pairs of one side."""
    names = [f"{side}_pairs.txt" for side in SIDES if folder.split in ("all", side)]
    files = [place / name for name in names if (place / name).is_file()] or [place / "pairs.txt"]
    listed = []
    for path in files:
        shown = path.relative_to(folder.root).as_posix()
        if path.is_file():
            rows = read_pairs(path, folder.problems, name=shown)
            listed += [(shown, line, fields) for line, fields in rows]
        else:
            folder.problems.append(f"{shown} is missing; expected lines of two mesh names: scene, model")
    return listed


def _resolve_pairs(
    folder: OwnFolder,
    place_of_meshes: Path,
    entries: list[Entry],
    listed: list[tuple[str, int, list[str]]],
    items: list[Item],
    pairs: list[Pair],
) -> None:
    """Find the meshes and the ground truth of each listed pair."""
    root, base = folder.root, folder.index_base
    known = by_name(entries)
    templates = template_files(place_of_meshes) or template_files(root)
    template = folder.attempt(partial(load_mesh, templates[0])) if templates else None
    place: dict[str, int] = {}
    common: dict[str, Path | None] = {}
    for shown, line, fields in listed:
        two = [known.get(name) for name in fields[:2]]
        for name, entry in zip(fields, two, strict=False):
            if entry is None:
                folder.problems.append(f"{shown}, line {line}: there is no mesh {name}")
        scene, model = two
        if scene is None or model is None:
            continue
        for entry in (scene, model):
            if entry.name not in common:
                common[entry.name] = folder.beside(entry)
        stems = f"{scene.path.stem}.{model.path.stem}"
        candidates = [place_of_meshes / "maps" / f"{stems}{suffix}" for suffix in (".txt", ".npy", ".csv")]
        if len(fields) > 2:
            candidates = [place_of_meshes / fields[2]]
        truth = next((path for path in candidates if path.is_file()), None)
        if truth is None and (len(fields) > 2 or None in (common[scene.name], common[model.name])):
            expected = candidates[0].relative_to(root).as_posix()
            folder.problems.append(f"{shown}, line {line}: no ground truth; expected {expected}")
            continue
        for entry in (scene, model):
            if entry.name not in place:
                place[entry.name] = len(items)
                count = len(template.vertices) if template is not None else None
                items.append(
                    Item(entry.name, partial(_read_common, entry.path, common[entry.name], count, base))
                )
        given = partial(_truth_file, truth, base) if truth else partial(_truth_common, template)
        pairs.append(Pair(place[scene.name], place[model.name], given))


def _read_common(path: Path, map_path: Path | None, num_targets: int | None, base: int) -> Sample:
    return Sample(load_mesh(path), None) if map_path is None else read_map(path, map_path, num_targets, base)


def _truth_file(path: Path, base: int, scene: Sample, model: Sample) -> Ints:
    ids = read_vertex_map(path, num_targets=len(model.mesh.vertices), base=base)
    check_length(path, ids, scene.mesh)
    return ids


def _truth_common(template: Mesh | None, scene: Sample, model: Sample) -> Ints:
    """Go to the common template and back; template vertices the model lacks go to the nearest it has."""
    count = (
        len(template.vertices)
        if template is not None
        else int(max(scene.target.max(), model.target.max())) + 1
    )
    back = first_preimage(model.target, count)
    if template is not None:
        back = fill_geodesically(template, back)
    return np.where(scene.target >= 0, back[scene.target], -1)
