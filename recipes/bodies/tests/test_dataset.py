"""Bodies as a dataset: every task takes its own target from them, and none is known by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fieldconv.geometry import Mesh
from recipes.bodies.dataset import body_collection
from recipes.bodies.parts import FINE_PARTS, PARTS
from recipes.bodies.sample import BodySample, BodyTemplate
from shapes import icosphere


@pytest.fixture(scope="module")
def body() -> BodySample:
    """A ball in place of a body, each of whose vertices lies in a triangle of a larger ball."""
    vertices, faces = icosphere(1)
    numbers, random = np.arange(len(vertices)), np.random.default_rng(0)
    weights = random.dirichlet(np.ones(3), len(vertices)).astype(np.float32).astype(float)
    return BodySample(
        Mesh(vertices, faces), numbers % len(PARTS), numbers % len(FINE_PARTS), numbers, weights
    )


@pytest.fixture
def folder(tmp_path: Path, body: BodySample) -> Path:
    vertices, faces = icosphere(2)
    labels = np.arange(len(vertices))
    shape = BodyTemplate(Mesh(2 * vertices, faces), labels % len(PARTS), labels % len(FINE_PARTS))
    shape.save(tmp_path / "template.npz")
    body.save(tmp_path / "body-000007.npz")
    return tmp_path


@pytest.mark.parametrize("task", ["segmentation", "correspondence", "template-points", "classification"])
def test_each_task_takes_its_own_target(task: str, folder: Path, body: BodySample) -> None:
    found = body_collection(task, folder, [7])
    target = found.items[0].read().target
    template = BodyTemplate.load(folder / "template.npz")
    expected = {
        "segmentation": (body.labels, PARTS, False),
        "correspondence": (template.nearest(body), (), True),
        "template-points": (template.positions(body).astype(np.float32), (*PARTS, *FINE_PARTS), True),
        "classification": (0, ("person",), False),
    }
    truth, names, on_template = expected[task]
    np.testing.assert_array_equal(target, truth)
    assert found.class_names == names
    assert (found.template is not None) == on_template


def test_a_task_that_learns_from_pairs_has_no_bodies(folder: Path) -> None:
    with pytest.raises(ValueError, match="pairs"):
        body_collection("matching", folder, [7])
