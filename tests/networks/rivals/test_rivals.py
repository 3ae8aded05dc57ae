"""What holds for each of the networks with real features."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

import shapes
from fieldconv.geometry import Mesh
from fieldconv.networks import Network, network_named
from fieldconv.networks.rivals.shared.scalar import RowNorm
from fieldconv.surface import Surface, SurfaceCache
from fieldconv.surface import batch as surface_batch

NAMES = ["acscnn", "deltaconv", "diffusionnet", "pointnet2"]
TASKS = ["classification", "segmentation", "matching"]


def tiny(name: str, task: str = "segmentation", **changes: Any) -> Network:
    torch.manual_seed(0)
    return network_named(name).for_task(task, classes=5, preset="tiny", **changes).eval()


def bumpy(subdivisions: int = 2, seed: int = 0) -> Mesh:
    """A sphere with bumps, on which no two vertices are alike."""
    vertices, faces = shapes.icosphere(subdivisions)
    draw = np.random.default_rng(seed)
    return Mesh(vertices * (1 + 0.2 * draw.random((len(vertices), 1))), faces)


def prepared(net: Network, mesh: Mesh) -> Surface:
    return Surface.from_mesh(mesh, **net.config.surface_settings.to_dict())


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_its_members(name: str, task: str) -> None:
    """Meshes of several components, with fewer vertices than eigenfunctions, with a vertex without faces."""
    lonely = np.concatenate([shapes.cube()[0], [[9.0, 9.0, 9.0]]])
    meshes = [bumpy(), Mesh(*shapes.two_components()), Mesh(lonely, shapes.cube()[1]), bumpy(1, seed=3)]
    net = tiny(name, task)
    surfaces = [prepared(net, mesh) for mesh in meshes]
    together, alone = net(surface_batch(surfaces)), torch.cat([net(s) for s in surfaces])
    assert together.isfinite().all()
    assert together.shape == (4 if task == "classification" else sum(s.num_nodes for s in surfaces), 5)
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", NAMES)
def test_learns_from_every_parameter(name: str, task: str) -> None:
    net = tiny(name, task).train()
    net(surface_batch([prepared(net, bumpy(seed=seed)) for seed in (0, 1)])).square().sum().backward()
    for parameter_name, parameter in net.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name
        assert parameter.grad.abs().max() > 0, parameter_name


@pytest.mark.parametrize("samples", [None, 100])
@pytest.mark.parametrize("name", NAMES)
def test_numbering_does_not_matter(name: str, samples: int | None) -> None:
    """Nor that of the mesh, from which operators are made."""
    mesh = bumpy(3)
    order = np.random.default_rng(0).permutation(len(mesh.vertices))
    other = Mesh(mesh.vertices[order], np.argsort(order)[mesh.faces])
    net = tiny(name, samples=samples)
    one, two = prepared(net, mesh), prepared(net, other)
    found = one.interpolate(net(one))[torch.from_numpy(order)]
    torch.testing.assert_close(two.interpolate(net(two)), found, atol=2e-3, rtol=1e-3)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", NAMES)
def test_descriptors_are_what_outputs_are_made_of(name: str, task: str) -> None:
    net = tiny(name, task)
    surface = prepared(net, bumpy())
    outputs, described = net.with_descriptors(surface)
    torch.testing.assert_close(outputs, net(surface))
    torch.testing.assert_close(described, net.descriptors(surface))
    if task == "matching":
        torch.testing.assert_close(described, outputs)
    elif task == "classification":
        torch.testing.assert_close(net.head(described[None]), outputs)
    else:
        torch.testing.assert_close(net.head(described), outputs)


@pytest.mark.parametrize("name", NAMES)
def test_copies_and_saved_states_agree(name: str) -> None:
    net = tiny(name)
    surface = prepared(net, bumpy())
    other = type(net)(type(net.config).from_dict(net.config.to_dict())).eval()
    other.load_state_dict(net.state_dict())
    for same in (copy.deepcopy(net), other):
        assert torch.equal(same(surface), net(surface))


@pytest.mark.parametrize("name", NAMES)
def test_no_discs_are_computed(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from fieldconv.surface import parts

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("nobody asked for discs")

    monkeypatch.setattr(parts, "geodesic_discs", refuse)
    net, cache = tiny(name), SurfaceCache(tmp_path)
    surface = cache.surface(bumpy(), net.config.surface_settings)
    assert "edge_index" not in surface
    assert set(cache.paths(bumpy(), net.config.surface_settings)) == {"samples", *net.config.operators}
    assert net(surface).shape == (162, 5)
    assert set(net.reads or ()) <= set(surface.keys())


def test_normalisation_is_torchs_after_some_steps_and_sooner_of_use() -> None:
    """Features of variance 10⁻⁴: evaluation is right after one step, where torch's own is off by 1."""
    torch.manual_seed(0)
    ours, theirs = RowNorm(3), torch.nn.BatchNorm1d(3)
    x = 2 + 0.01 * torch.randn(50, 3)
    torch.testing.assert_close(ours(x), theirs(x))
    assert float(ours.eval()(x).detach().std()) == pytest.approx(1, abs=0.1)
    assert float(theirs.eval()(x).detach().std()) < 0.1
    for layer in (ours.train(), theirs.train()):
        torch.manual_seed(1)
        for _ in range(200):
            layer(torch.randn(50, 3))
    torch.testing.assert_close(ours.running_var, theirs.running_var)
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    assert ours.num_batches_tracked == 201


@pytest.mark.parametrize("name", NAMES)
def test_its_recipe_is_one(name: str) -> None:
    from fieldconv.tasks import TrainingConfig

    kind = network_named(name)
    assert kind.recipe
    config = TrainingConfig.for_task("segmentation", **kind.recipe)
    assert {key: getattr(config, key) for key in kind.recipe} == dict(kind.recipe)


@pytest.mark.parametrize("name", NAMES)
def test_says_which_heads_it_has(name: str) -> None:
    kind = network_named(name)
    if "vectors" not in kind.heads:  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match=f"{name} has no head 'vectors'"):
            kind(kind.Config(head="vectors"))


@pytest.mark.parametrize("name", ["deltaconv", "diffusionnet"])
def test_positions_reach_to_distance_one_on_each_shape(name: str) -> None:
    small, long = (Surface.from_mesh(bumpy(k), features="rim+xyz") for k in (1, 2))
    long.x[:, 1] *= 3
    found = tiny(name, features="rim+xyz").inputs(surface_batch([small, long]))
    for own, surface in zip(found.split([len(small.x), len(long.x)]), (small, long), strict=True):
        radius = max(float(np.linalg.norm(row)) for row in surface.x[:, 1:].numpy())
        torch.testing.assert_close(own[:, 1:], surface.x[:, 1:] / radius)
        torch.testing.assert_close(own[:, :1], surface.x[:, :1])


@pytest.mark.parametrize("name", ["deltaconv", "diffusionnet"])
def test_inputs_that_are_no_positions_stay_as_they_are(name: str) -> None:
    surface = Surface.from_mesh(bumpy(), features="hks")
    assert torch.equal(tiny(name, features="hks").inputs(surface), surface.x)
    own = Surface.from_mesh(bumpy(), features=np.ones((len(surface.x), 3)))
    net = network_named(name).for_task("segmentation", classes=5, preset="tiny", in_channels=3)
    assert torch.equal(net.inputs(own), own.x)
