"""Values derived from a surface are cached between calls, and never outlive the surface."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest
import torch

from fieldconv.ops import echo_votes, field_aggregate, geometry
from fieldconv.ops.compiled import sorted_edges as edges
from fieldconv.ops.portable import aggregate_torch as aggregate
from tests.nn.surfaces import flat_surface, random_field

both = pytest.mark.parametrize("backend", ["torch", "compiled"])


@pytest.fixture
def sorts(monkeypatch):
    """Counts how often edges are sorted."""
    calls = []
    for module in (edges, aggregate):
        monkeypatch.setattr(
            module, "_sort", lambda *args, sort=module._sort: calls.append(args) or sort(*args)
        )
    return calls


def run(surface, rings=3, backend="compiled", spacing="linear"):
    x = random_field(surface, 2)
    return field_aggregate(x, surface, rings=rings, band_limit=1, backend=backend, spacing=spacing)


@both
def test_sorted_once_for_all_layers_and_the_backward_pass(sorts, backend) -> None:
    surface = flat_surface(10)
    x = random_field(surface, 2).requires_grad_()
    for _ in range(3):
        field_aggregate(x, surface, rings=3, band_limit=1, backend=backend).abs().sum().backward()
    field_aggregate(x, surface, rings=3, band_limit=2, backend=backend)
    assert len(sorts) == 1
    run(surface, rings=4, backend=backend)
    run(surface, rings=4, spacing="equal_area", backend=backend)
    assert len(sorts) == 3


def pickled(surface):
    return pickle.loads(pickle.dumps(surface))  # noqa: S301


def test_copies_share(sorts) -> None:
    surface = flat_surface(10)
    run(surface)
    run(copy.copy(surface))
    assert len(sorts) == 1


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled, lambda surface: surface.clone()])
def test_deep_copies_give_the_same(duplicate) -> None:
    surface = flat_surface(10)
    expected = run(surface)
    torch.testing.assert_close(run(duplicate(surface)), expected, rtol=0, atol=0)


def replace_log(surface):
    surface.log = surface.log * 1j


def turn_in_place(surface):
    surface.log *= 1j


def replace_transport(surface):
    surface.transport = -surface.transport


def weight_in_place(surface):
    surface.weight[3] = 7


def grow(surface):
    surface.radius = 2 * surface.radius


def renumber(surface):
    surface.edge_index = surface.edge_index.flip(0)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize(
    "change", [replace_log, turn_in_place, replace_transport, weight_in_place, grow, renumber]
)
@both
def test_changes_are_noticed(change, mode, backend) -> None:
    with mode():
        surface = flat_surface(10)
        before = run(surface, backend=backend)
        change(surface)
        after = run(surface, backend=backend)
        assert not torch.equal(before, after)
        torch.testing.assert_close(after, run(surface.clone(), backend=backend))


def test_kept_under_inference_mode(sorts) -> None:
    with torch.inference_mode():
        surface = flat_surface(10)
        run(surface)
        run(surface)
    assert len(sorts) == 1


@both
def test_freed_with_the_surface(backend) -> None:
    gc.collect()  # what earlier tests have left
    surface = flat_surface(10)
    before = len(geometry._entries)
    run(surface, backend=backend)
    echo_votes(random_field(surface, 2), surface, backend=backend)
    assert len(geometry._entries) == before + 1
    del surface
    gc.collect()
    assert len(geometry._entries) == before


@both
def test_says_when_features_and_surface_do_not_belong_together(backend) -> None:
    surface = flat_surface(10)
    with pytest.raises(ValueError, match="one row of features per point"):
        field_aggregate(random_field(surface, 2)[:7], surface, rings=3, band_limit=1, backend=backend)
    with pytest.raises(ValueError, match="one row of features per point"):
        echo_votes(random_field(surface, 2)[:7], surface, backend=backend)
