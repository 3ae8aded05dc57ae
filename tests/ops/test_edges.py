"""Sorted edges are kept between calls, and never outlive what they were made from."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest
import torch
from tests.nn.surfaces import flat_surface, random_field

from fieldconv.ops import _edges, field_aggregate


@pytest.fixture
def sorts(monkeypatch):
    """Counts how often edges are sorted."""
    calls = []
    sort = _edges._sort
    monkeypatch.setattr(_edges, "_sort", lambda *args: calls.append(args) or sort(*args))
    return calls


def run(surface, rings=3, backend="fast", spacing="linear"):
    x = random_field(surface, 2)
    return field_aggregate(x, surface, rings=rings, band_limit=1, backend=backend, spacing=spacing)


def test_sorted_once_for_all_layers_and_the_backward_pass(sorts) -> None:
    surface = flat_surface(10)
    x = random_field(surface, 2).requires_grad_()
    for _ in range(3):
        field_aggregate(x, surface, rings=3, band_limit=1).abs().sum().backward()
    field_aggregate(x, surface, rings=3, band_limit=2)
    assert len(sorts) == 1
    run(surface, rings=4)
    run(surface, rings=4, spacing="equal_area")
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
def test_changes_are_noticed(change, mode) -> None:
    with mode():
        surface = flat_surface(10)
        before = run(surface)
        change(surface)
        after = run(surface)
        assert not torch.equal(before, after)
        torch.testing.assert_close(after, run(surface, backend="torch"))


def test_kept_under_inference_mode(sorts) -> None:
    with torch.inference_mode():
        surface = flat_surface(10)
        run(surface)
        run(surface)
    assert len(sorts) == 1


def test_freed_with_the_surface() -> None:
    gc.collect()  # what earlier tests have left
    surface = flat_surface(10)
    before = len(_edges._entries)
    run(surface)
    assert len(_edges._entries) == before + 1
    del surface
    gc.collect()
    assert len(_edges._entries) == before


def test_says_when_features_and_surface_do_not_belong_together() -> None:
    surface = flat_surface(10)
    with pytest.raises(ValueError, match="one row of features per point"):
        field_aggregate(random_field(surface, 2)[:7], surface, rings=3, band_limit=1, backend="fast")
