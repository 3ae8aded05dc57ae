"""Evaluations of the four tasks on shapes of a few vertices, worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from fieldconv.geometry import Mesh
from fieldconv.tasks import Classification, Correspondence, Decoded, Matching, Prediction, Segmentation
from tests.handmade import strip
from tests.nn.surfaces import flat_surface
from tests.tasks.surfaces import three_vertices


class Data(list[Any]):
    """Surfaces, and what a dataset knows about them."""

    def __init__(self, surfaces: list[Any], **known: Any) -> None:
        super().__init__(surfaces)
        self.__dict__.update(known)


def follow(things: Any) -> Any:
    return things


def test_segmentation() -> None:
    """Of three vertices (areas 1/2, 1/3, 1/6) the last one is wrong; of the two samples none."""
    surface, outputs = three_vertices()
    surface.name, surface.y = "one", torch.tensor([0, 1])
    surface.vertex_y, surface.vertex_area = torch.tensor([0, 1, 0]), torch.tensor([1 / 2, 1 / 3, 1 / 6])
    other, _ = three_vertices()
    other.name, other.y = "two", torch.tensor([0, -1])
    other.vertex_y, other.vertex_area = torch.tensor([0, -1, 1]), torch.tensor([1 / 3, 1 / 3, 1 / 3])
    data = Data([surface, other], num_classes=2, class_names=("head", "tail"))
    found = Segmentation().evaluate(lambda _: outputs, data, follow=follow)
    assert found.tables["confusion"].tolist() == [[2, 1], [0, 2]]
    assert found.metrics["accuracy"] == pytest.approx(4 / 5)
    assert found.metrics["sample_accuracy"] == 1
    assert found.metrics["area_accuracy"] == pytest.approx((1 / 2 + 1 / 3 + 2 / 3) / (1 + 2 / 3))
    assert found.metrics["mean_iou"] == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert [shape["name"] for shape in found.shapes] == ["one", "two"]
    assert [shape["accuracy"] for shape in found.shapes] == pytest.approx([2 / 3, 1])
    assert [shape["mean_iou"] for shape in found.shapes] == pytest.approx([1 / 2, 1])
    assert found.class_names == ("head", "tail")
    # Of five known vertices three are heads; always answering that, the IoU of tails is 0.
    assert found.guesses["accuracy"] == ("always “head”", pytest.approx(3 / 5))
    assert found.guesses["mean_iou"] == ("always “head”", pytest.approx((3 / 5 + 0) / 2))
    assert found.guesses["area_accuracy"][1] == pytest.approx(1 / (1 + 2 / 3))
    assert found.intervals == {}  # of two shapes nothing can be said
    many = Data(20 * [surface, other], num_classes=2, class_names=("head", "tail"))
    found = Segmentation().evaluate(lambda _: outputs, many, follow=follow)
    assert set(found.intervals) == {*found.guesses, "calibration_error"}
    for key, (low, high) in found.intervals.items():
        assert low - 1e-9 <= found.metrics[key] <= high + 1e-9, key
    assert 2 / 3 < found.intervals["accuracy"][0] < found.intervals["accuracy"][1] < 1


def test_correspondence() -> None:
    """On a strip of four unit squares, vertex 2i at (i, 0): errors are distances along it, over √area = 2."""
    surface, _ = three_vertices()
    template = Mesh(*strip(4))
    outputs = torch.full((2, 10), -100.0)
    outputs[0, 4], outputs[1, 8] = 100.0, 5.0  # at (2, 0), very sure, and at (4, 0)
    outputs[1, :8], outputs[1, 9] = 0.0, 0.0
    surface.name, surface.vertex_y = "strip", torch.tensor([4, 6, 8])
    unknown, _ = three_vertices()
    unknown.name, unknown.vertex_y = "unknown", torch.tensor([-1, -1, 0])
    data = Data([surface, unknown], template=template, class_names=())
    found = Correspondence().evaluate(lambda _: outputs, data, follow=follow)
    # Predicted 4, 8, 8 on both; the unknown ones do not count, though distances[-1] could be read.
    errors = np.array([0, 1 / 2, 0, 2])
    assert found.metrics["exact"] == pytest.approx(2 / 4)
    assert found.metrics["within_0.05"] == pytest.approx(2 / 4)
    assert found.metrics["mean_error"] == pytest.approx(100 * errors.mean(), rel=1e-2)
    assert [shape["exact"] for shape in found.shapes] == pytest.approx([2 / 3, 0])
    assert [shape["mean_error"] for shape in found.shapes] == pytest.approx([100 / 6, 200], rel=1e-2)
    curve = found.curves["geodesic error"]
    assert curve[-1].tolist() == [0.25, 0.5]


def test_classification_ranks_sure_mistakes_last() -> None:
    data = Data([], class_names=("cat", "dog"))
    scores = {"sure": [0.0, 3.0], "unsure": [0.0, 0.1], "wrong": [0.5, 0.0], "very wrong": [4.0, 0.0]}
    for name in scores:
        surface = flat_surface(2)
        surface.name, surface.y = name, torch.tensor([1])
        data.append(surface)
    found = Classification().evaluate(
        lambda surface: torch.tensor([scores[surface.name]]), data, follow=follow
    )
    assert found.metrics["accuracy"] == 0.5
    assert found.tables["confusion"].tolist() == [[0, 0], [2, 2]]
    ranked = sorted(found.shapes, key=lambda shape: shape["order"])
    assert [shape["name"] for shape in ranked] == ["very wrong", "wrong", "unsure", "sure"]
    sure = 1 / (1 + np.exp(-3))
    assert found.shapes[0]["confidence"] == pytest.approx(sure)
    assert found.shapes[0]["note"] == "dog (95 %)"
    assert found.shapes[3]["note"] == "dog, predicted cat (98 %)"


def test_matching_is_a_mean_over_pairs_of_means_over_points() -> None:
    """A pair of two points, all right, and one of four points of which the descriptors know nothing."""
    pairs, known = [], {}
    for count in (2, 4):
        names = [f"{side} {count}" for side in ("scene", "model")]
        sides = [SimpleNamespace(name=name, sample=torch.arange(count), num_vertices=count) for name in names]
        ids = torch.arange(count).repeat(2, 1)
        pairs.append(
            SimpleNamespace(scene=sides[0], model=sides[1], matches=SimpleNamespace(ball=ids, scene_ball=ids))
        )
        for name in names:
            known[name] = torch.arange(float(count))[:, None] if count == 2 else torch.zeros(count, 1)
    data = Data(pairs)
    data.meshes = lambda index: (Mesh(*strip(1)), Mesh(*strip(1)))
    found = Matching().evaluate(lambda surface: known[surface.name], data, follow=follow)
    assert found.metrics["mean_average_precision"] == pytest.approx((1 + 1 / 4) / 2)
    assert [shape["average_precision"] for shape in found.shapes] == pytest.approx([1, 1 / 4])
    assert [shape["median_rank"] for shape in found.shapes] == [1, 4]
    # One right candidate is equally likely at every rank.
    expected = ((1 + 1 / 2) / 2 + (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4) / 2
    assert found.guesses == {"mean_average_precision": ("a random order", pytest.approx(expected))}


def prediction(**known: Any) -> Prediction:
    nothing = dict.fromkeys(("labels", "scores", "descriptors"))
    return Prediction(mesh=Mesh(*strip(1)), **{**nothing, **known})


def test_correspondence_of_two_meshes_goes_by_the_template() -> None:
    """Vertex of the other mesh at which the template vertex of mine is likeliest."""
    one = prediction(labels=np.array([2, 0, 1]), scores=np.eye(3, dtype=np.float32)[[2, 0, 1]])
    other = prediction(
        labels=np.array([0, 0, 1, 2]),
        scores=np.array([[0.5, 0.1, 0.4], [0.6, 0.2, 0.2], [0.1, 0.7, 0.2], [0.3, 0.2, 0.5]], np.float32),
    )
    assert Correspondence().correspond(one, other).tolist() == [3, 1, 2]


def test_matching_of_two_meshes_goes_by_the_nearest_descriptor() -> None:
    one = prediction(descriptors=np.array([[0.0], [5.0], [9.0]], np.float32))
    other = prediction(descriptors=np.array([[8.0], [1.0], [20.0], [4.0]], np.float32))
    assert Matching().correspond(one, other).tolist() == [1, 3, 0]


def test_answers_for_a_mesh_that_lost_vertices() -> None:
    """Vertex i of the given mesh is vertex new_vertex[i] of the repaired one, or none."""
    found = Decoded(np.array([5, 6, 7]), np.eye(3, dtype=np.float32), np.array([1.0, 2.0, 3.0]))
    moved = found.at(np.array([2, -1, 0, 0]))
    assert moved.labels is not None
    assert moved.labels.tolist() == [7, -1, 5, 5]
    assert moved.scores is not None
    assert moved.scores.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0], [1, 0, 0]]
    np.testing.assert_array_equal(moved.values, [3, np.nan, 1, 1])
    assert Decoded().at(np.array([0, -1])) == Decoded()


def test_confidence_is_the_probability_of_the_answer() -> None:
    scores = np.array([[0.2, 0.8], [0.9, 0.1], [0.0, 0.0]], np.float32)
    each = prediction(labels=np.array([1, 0, -1]), scores=scores, class_names=("a", "b"))
    assert each.confidence is not None
    assert each.confidence.tolist() == pytest.approx([0.8, 0.9, 0])
    whole = prediction(labels=np.asarray(1), scores=scores[0])
    assert whole.confidence == pytest.approx(0.8)
    assert (each.name_of(1), each.name_of(-1), each.name_of(2)) == ("b", "", "")
    assert prediction(descriptors=scores).answer is scores


def test_guessing_places_is_the_mean_over_all_of_them() -> None:
    from fieldconv.tasks.correspondence import _random_vertices

    line = np.abs(np.subtract.outer([0.0, 0.04, 1.0], [0.0, 0.04, 1.0]))
    found = _random_vertices(line, np.array([0, 0, 2]))
    # From the first place two of three are within 0.05, from the last one of three.
    assert found["within_0.05"] == ("a random vertex", pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3))
    assert found["exact"][1] == pytest.approx(1 / 3)
    assert found["mean_error"][1] == pytest.approx(100 * (2 * 1.04 / 3 + 1.96 / 3) / 3)
