"""Places on a template: targets, decoding, and parts, against what is known of a template of our own."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fieldconv.datasets import SurfaceDataset
from fieldconv.geometry import Mesh
from fieldconv.labels import Collection, Item, Sample
from fieldconv.networks import FCNet
from fieldconv.surface import Surface, ToSurface
from fieldconv.tasks import Chunk, Decoded, Prediction, TemplateParts, TemplatePoints, TrainingConfig
from fieldconv.tasks.template_points import embed_template, places_of
from fieldconv.training import load, match, predict, train
from shapes import icosphere


@pytest.fixture(scope="module")
def template() -> Mesh:
    """An egg: below and above its equator, and in eighths."""
    vertices, faces = icosphere(3)
    points = np.asarray(vertices, float) * [1, 1.3, 1.7]
    data = {"label_0": (points[:, 2] > 0).astype(np.uint8), "label_1": (points > 0) @ np.array([1, 2, 4])}
    return embed_template(Mesh(points, faces, vertex_data=data), anchors=150)


def ideal(template: Mesh, positions: np.ndarray) -> torch.Tensor:
    """Outputs of a network that knows the truth."""
    places = places_of(template)
    anchors, shares, labels = places.targets(positions)
    scores = torch.full((len(positions), places.labels + len(places.anchors)), -30.0)
    rows = torch.arange(len(positions))
    scores[rows[:, None], places.labels + torch.from_numpy(anchors)] = torch.from_numpy(shares).log().float()
    for level, start in enumerate(places.starts[:-1]):
        scores[rows, start + torch.from_numpy(labels[:, level])] = 0.0
    return scores


def test_shares_are_weights_of_the_nearest_anchors(template: Mesh) -> None:
    places = places_of(template)
    anchors, shares, labels = places.targets(template.vertices[places.anchors])
    assert np.array_equal(anchors[:, 0], np.arange(len(places.anchors)))
    assert np.allclose(shares.sum(1), 1)
    assert (np.diff(shares, axis=1) <= 0).all()
    assert np.array_equal(labels, places.vertex_labels[places.anchors])
    unknown = places.targets(np.full((2, 3), np.nan))[1]
    assert (unknown == 0).all()


def test_perfect_scores_are_decoded_to_the_right_places(template: Mesh) -> None:
    surface = Surface.from_mesh(template, radius=0.2)
    outputs = ideal(template, template.vertices)
    found = TemplatePoints(template).decode(outputs, surface)
    assert found.labels is not None
    assert found.values is not None
    unit = template.normalised().vertices
    away = np.linalg.norm(unit[found.labels] - unit, axis=1)
    edge = np.sqrt(1 / len(unit))
    assert away.mean() < edge  # far less than the distance of anchors, √(1/150)
    parts = TemplateParts(template).decode(outputs, surface)
    assert parts.labels is not None
    assert np.array_equal(parts.labels, template.vertex_data["label_0"])
    assert parts.values is not None
    assert np.array_equal(parts.values[:, -1], template.vertex_data["label_1"])


def test_points_lie_where_the_places_are(template: Mesh) -> None:
    task, places = TemplatePoints(template), places_of(template)
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(3 * np.ones(3), len(template.faces))
    place = np.einsum("nc,ncd->nd", weights, places.place[template.faces])
    values = np.column_stack([place, np.ones(len(place))]).astype(np.float32)
    found = Prediction(template, None, None, None, values=values, template=template)
    _, _, position = task.points(found)
    truth = np.einsum("nc,ncd->nd", weights, template.vertices[template.faces])
    assert np.abs(position - truth).max() < 1e-3


def test_mean_of_places_leaves_out_those_of_another_opinion(template: Mesh) -> None:
    task, places = TemplatePoints(template), places_of(template)
    place = places.place.astype(np.float32)
    near = place + np.float32(0.01)
    far = np.roll(place, len(place) // 2, axis=0)
    apart = np.linalg.norm(far - place, axis=1) > 0.1
    confidence = [np.full((len(place), 1), share, np.float32) for share in (0.6, 0.2, 0.4)]
    found = [Decoded(values=np.hstack([p, s])) for p, s in zip((place, near, far), confidence, strict=True)]
    values = task.average(found).values
    assert values is not None
    assert apart.mean() > 0.5
    expected = (0.6 * place + 0.2 * near) / 0.8
    assert np.abs(values[apart, :-1] - expected[apart]).max() < 1e-5
    assert np.abs(values[apart, -1] - 0.8 / 3).max() < 1e-6


def test_loss_is_least_for_the_truth_and_ignores_unknown_points(template: Mesh) -> None:
    task, places = TemplatePoints(template), places_of(template)
    positions = template.vertices.copy()
    positions[::2] = np.nan
    anchors, shares, labels = places.targets(positions)
    surface = Surface.from_mesh(template, radius=0.2)
    extra = {
        "anchors": torch.from_numpy(anchors),
        "shares": torch.from_numpy(shares).float(),
        "labels": torch.from_numpy(labels),
        "starts": torch.tensor(places.starts),
    }
    chunk, config = Chunk(surface, ["egg"], extra), TrainingConfig()
    best = ideal(template, template.vertices)
    worse = best + torch.randn(best.shape, generator=torch.Generator().manual_seed(0))
    other = best.clone()
    other[::2] = torch.randn(best[::2].shape)
    least, score = task.loss(best, chunk, config)
    assert score is not None
    assert score.item() == pytest.approx(1)
    assert least < task.loss(worse, chunk, config)[0]
    assert torch.equal(least, task.loss(other, chunk, config)[0])
    entropy = -(shares * np.log(np.maximum(shares, 1e-300))).sum(1)[1::2].mean()
    assert least.item() == pytest.approx(entropy, rel=1e-3)


def test_learns_predicts_and_matches(template: Mesh, tmp_path: Path) -> None:
    def egg(k: int) -> Sample:
        return Sample(Mesh(template.vertices * [1, 1, 1 + 0.05 * k], template.faces), template.vertices)

    items = tuple(Item(f"egg-{k}", partial(egg, k)) for k in range(3))
    names = ("below", "above", *map(str, range(8)))
    collection = Collection("eggs", "template-points", items, names, template=lambda: template)
    seen: dict[str, Any] = {"radius": 0.3, "samples": 120, "features": "xyz"}
    data = SurfaceDataset(collection, pre_transform=ToSurface(**seen), cache=False)
    model = FCNet.for_task("template-points", classes=TemplatePoints().outputs(data), preset="tiny", **seen)
    run = tmp_path / "run"
    history = train(model, data, epochs=2, rotate=False, quiet=True, out=run, validation=data[:1])
    assert history[1]["loss"] < history[0]["loss"]
    again = load(run)
    assert again.template is not None
    assert np.array_equal(again.template.vertex_data["anchor"], template.vertex_data["anchor"])
    found = predict(again, template, out=tmp_path / "found", name="egg")
    assert found.labels is not None
    assert np.load(tmp_path / "found" / "egg.points.npy").shape == (len(template.vertices), 7)
    assert match(again, template, template, refine=True).points is not None
