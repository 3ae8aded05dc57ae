"""What every task gets from its base class, shown on one that only says what it must."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fieldconv import tasks
from fieldconv.geometry import Mesh
from fieldconv.labels import Sample
from fieldconv.networks import FCNet
from fieldconv.surface import Surface
from fieldconv.tasks import Decoded, Metric, Preset, Task, TrainingConfig
from tests.nn.surfaces import flat_surface
from tests.shapes import icosphere
from tests.tasks.surfaces import three_vertices


class Height(Task):
    """One number at each vertex."""

    name = "height"
    metrics = (Metric("error", "mean error", "less", "plain"),)

    def loss(self, outputs: Tensor, chunk: Any, config: TrainingConfig) -> tuple[Tensor, None]:
        return (outputs[:, 0] - chunk.surface.y).square().mean()[None], None

    def measure(self, found: Decoded, surface: Surface) -> dict[str, Any]:
        return {"error": float(np.abs(found.values - surface.vertex_y.numpy()).mean())}


def augmented_surface(features: str, seed: int = 0, **config: Any) -> tuple[Surface, Surface]:
    """A surface, and what training shows of it."""
    mesh = Mesh(*icosphere(1))
    surface = Surface.from_mesh(mesh, radius=0.5, features=features)
    surface.y = torch.arange(42)
    network = FCNet.for_task("segmentation", classes=3, preset="tiny", features=features)
    return surface, Height().augment(surface, np.random.default_rng(seed), TrainingConfig(**config), network)


def map_between(before: Tensor, after: Tensor) -> Tensor:
    """The linear map that takes the rows of one to those of the other."""
    matrix = torch.linalg.lstsq(before.double(), after.double()).solution
    torch.testing.assert_close(before.double() @ matrix, after.double(), atol=1e-5, rtol=0)
    return matrix


def test_training_turns_positions() -> None:
    matrices = []
    for seed in range(3):
        surface, augmented = augmented_surface("xyz", seed)
        matrix = map_between(surface.x, augmented.x)
        torch.testing.assert_close(matrix.T @ matrix, torch.eye(3).double(), atol=1e-5, rtol=0)
        assert torch.linalg.det(matrix) > 0
        matrices.append(matrix)
    assert (matrices[0] - matrices[1]).abs().max() > 0.1
    again = map_between(*(one.x for one in augmented_surface("xyz", 2)))
    torch.testing.assert_close(again, matrices[2], atol=1e-9, rtol=0)
    surface, augmented = augmented_surface("xyz", rotate=False)
    assert torch.equal(augmented.x, surface.x)


def test_training_turns_uniformly() -> None:
    """Of a uniform rotation every entry has mean 0 and mean square 1/3."""
    pole = flat_surface(3)
    pole.pos = pole.x = torch.eye(3)
    network = FCNet.for_task("segmentation", classes=3, preset="tiny")
    draw = np.random.default_rng(0)
    turned = torch.stack([Height().augment(pole, draw, TrainingConfig(), network).x for _ in range(2000)])
    assert turned.mean(0).abs().max() < 0.06
    assert (turned.square().mean(0) - 1 / 3).abs().max() < 0.04


def test_positions_are_stretched_along_the_axes_once_turned() -> None:
    """The map is R diag(s): its columns are orthogonal, of lengths within 1 ± the stretch."""
    lengths = []
    for seed in range(20):
        surface, augmented = augmented_surface("xyz", seed, stretch=0.3)
        matrix = map_between(surface.x, augmented.x)
        gram = matrix.T @ matrix
        torch.testing.assert_close(gram, torch.diag(gram.diagonal()), atol=1e-5, rtol=0)
        lengths.append(gram.diagonal().sqrt())
    every = torch.stack(lengths)
    assert every.min() >= 0.7 - 1e-5
    assert every.max() <= 1.3 + 1e-5
    assert every.std(dim=1).min() > 0.01  # each axis by its own
    surface, augmented = augmented_surface("xyz", rotate=False, stretch=0.3)
    matrix = map_between(surface.x, augmented.x)
    torch.testing.assert_close(matrix, torch.diag(matrix.diagonal()), atol=1e-6, rtol=0)


def test_normals_turn_with_positions_and_signatures_stay() -> None:
    surface, augmented = augmented_surface("hks+normals+xyz")
    assert torch.equal(augmented.x[:, :16], surface.x[:, :16])
    torch.testing.assert_close(
        map_between(surface.x[:, 16:19], augmented.x[:, 16:19]),
        map_between(surface.x[:, 19:], augmented.x[:, 19:]),
        atol=1e-5,
        rtol=0,
    )
    surface, augmented = augmented_surface("hks", stretch=0.3)
    assert torch.equal(augmented.x, surface.x)


def test_training_shows_what_is_read_and_the_targets() -> None:
    _, augmented = augmented_surface("xyz")
    assert set(augmented.keys()) == {*FCNet.reads, "y"}  # type: ignore[misc]


def test_orientations_are_averaged() -> None:
    one, other = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 8.0]])
    assert Height().combine([one, other]).tolist() == [[2.0, 5.0]]
    vectors = torch.tensor([[1j]]), torch.tensor([[1.0 + 0j]])
    assert Height().combine(vectors).tolist() == [[0.5 + 0.5j]]


def test_values_and_vectors_at_vertices() -> None:
    surface, _ = three_vertices()
    found = Height().decode(torch.tensor([[1.0], [6.0]]), surface).values
    assert found is not None
    assert found.tolist() == pytest.approx([1, 6, 4])
    surface.vertex_transport[2] = torch.tensor([1j, -1, 1, 1])
    vectors = Height().decode(torch.tensor([[1 + 0j, 0], [1j, 2]], dtype=torch.complex64), surface).values
    assert vectors is not None
    np.testing.assert_allclose(vectors, [[1, 0], [1j, 2], [0.4j - 0.6j, -1.2]], atol=1e-6)


def test_targets_follow_the_samples() -> None:
    mesh = Mesh(*icosphere(1))
    surface = Surface.from_mesh(mesh, samples=10, operators=())
    for target, kind in (
        (np.arange(42), torch.int64),
        (np.arange(42) / 2, torch.float32),
        (np.arange(42) * 1j, torch.complex64),
        (np.ones((42, 2)), torch.float32),
    ):
        Height().attach(surface, Sample(mesh, target))
        assert surface.vertex_y.dtype == surface.y.dtype == kind
        assert torch.equal(surface.y, surface.vertex_y[surface.sample])
        np.testing.assert_allclose(surface.vertex_y, target)


def test_evaluation_is_a_mean_over_shapes() -> None:
    surfaces = []
    for count, truth in ((2, 1.0), (4, 3.0)):
        surface = flat_surface(count)
        surface.name, surface.vertex_y = str(count), torch.full((count,), truth)
        surfaces.append(surface)

    class Data(list[Any]):
        class_names = ()

    found = Height().evaluate(lambda s: torch.zeros(len(s.pos), 1), Data(surfaces), follow=iter)
    assert found.metrics == {"error": 2.0}
    assert [(shape["name"], shape["error"]) for shape in found.shapes] == [("2", 1.0), ("4", 3.0)]


def test_what_a_task_must_say() -> None:
    class Bare(Task):
        name, metrics = "bare", ()

    with pytest.raises(TypeError, match=r"the task bare does not define loss\(outputs, chunk, config\)"):
        Bare().loss(torch.zeros(1), SimpleNamespace(), TrainingConfig())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the task bare defines neither measure"):
        Bare().measure(Decoded(), flat_surface(2))
    with pytest.raises(ValueError, match="a network for bare cannot match shapes"):
        Bare().correspond(None, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there are no embedded shapes for bare"):
        Bare().embedded_target(None)  # type: ignore[arg-type]


def test_found_by_name_once_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks.TASKS, "_added", {})
    with pytest.raises(ValueError, match="unknown task 'height'"):
        tasks.task_named("height")
    assert tasks.register(Height) is Height
    assert isinstance(tasks.task_named("height"), Height)
    assert "height" in tasks.task_names()
    assert any(isinstance(task, Height) for task in tasks.all_tasks())


@pytest.mark.parametrize(("vertices", "expected"), [(4000, 0.1), (8000, 0.1), (1000, 0.2), (250, 0.4)])
def test_discs_of_coarser_meshes_hold_as_many_vertices(vertices: int, expected: float) -> None:
    """A quarter of the vertices is half as dense along each axis; finer meshes keep the radius."""
    preset = Preset(surface={"radius": 0.1}, vertices=4000)
    assert preset.radius_for(vertices) == pytest.approx(expected)
