from __future__ import annotations

import pytest

from fieldconv.ops import echo_votes, field_aggregate
from fieldconv.ops.compiled import aggregate_kernels as compiled
from fieldconv.ops.pointwise import magnitude_relu
from fieldconv.ops.portable import aggregate_torch as portable
from tests.nn.surfaces import flat_surface, random_field

SURFACE = flat_surface(6)
X = random_field(SURFACE, 2)


@pytest.fixture
def used(monkeypatch):
    """The backends that were used, in order: each of them prepares its edges for a sum."""
    calls = []

    def counted(name: str, usual):
        return lambda *args: calls.append(name) or usual(*args)

    monkeypatch.setattr(compiled, "sorted_edges", counted("compiled", compiled.sorted_edges))
    monkeypatch.setattr(portable, "matrices", counted("torch", portable.matrices))
    return calls


def aggregate(**options):
    return field_aggregate(X, SURFACE, rings=2, band_limit=0, **options)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("", "compiled"), ("auto", "compiled"), ("torch", "torch"), ("compiled", "compiled")],
)
def test_the_variable_says_what_auto_means(used, monkeypatch, value: str, expected: str) -> None:
    monkeypatch.setenv("FIELDCONV_BACKEND", value)
    aggregate()
    aggregate(backend="torch")
    aggregate(backend="compiled")
    assert used == [expected, "torch", "compiled"]


def test_without_the_variable_kernels_are_used(used, monkeypatch) -> None:
    monkeypatch.delenv("FIELDCONV_BACKEND", raising=False)
    aggregate()
    assert used == ["compiled"]


def test_other_values_of_the_variable(monkeypatch) -> None:
    monkeypatch.setenv("FIELDCONV_BACKEND", "cuda")
    for run in (aggregate, lambda: echo_votes(X, SURFACE), lambda: magnitude_relu(X, X[0].real.contiguous())):
        with pytest.raises(
            ValueError, match=r"^FIELDCONV_BACKEND must be auto, torch or compiled, got cuda\.$"
        ):
            run()
