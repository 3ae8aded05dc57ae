from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from fieldconv import _compiled
from fieldconv._compiled import NumbaMissing
from fieldconv.ops import backend, echo_votes, field_aggregate
from fieldconv.ops.compiled import aggregate_kernels as compiled
from fieldconv.ops.magnitude_relu import magnitude_relu
from fieldconv.ops.portable import aggregate_torch as portable
from tests.nn.surfaces import flat_surface, random_field
from tests.ops import without_numba

ROOT = Path(__file__).parents[2]
SURFACE = flat_surface(6)
X = random_field(SURFACE, 2)


@pytest.fixture
def used(monkeypatch):
    """The backends that were used, in order, seen by what each of them prepares for a sum."""
    calls = []

    def counted(name: str, usual):
        return lambda *args: calls.append(name) or usual(*args)

    monkeypatch.setattr(compiled, "sums_of", counted("compiled", compiled.sums_of))
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


def test_compiled_needs_numba(used, monkeypatch) -> None:
    monkeypatch.setattr(backend, "HAVE_NUMBA", False)
    monkeypatch.setenv("FIELDCONV_BACKEND", "compiled")
    with pytest.raises(NumbaMissing, match=r"^[^\n]*pip install numba$"):
        aggregate()
    with pytest.raises(NumbaMissing):
        aggregate(backend="compiled")
    monkeypatch.setenv("FIELDCONV_BACKEND", "auto")
    aggregate()
    assert used == ["torch"]


def test_a_kernel_without_numba_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(_compiled, "HAVE_NUMBA", False)
    add = _compiled.kernel(lambda a, b: a + b)
    with pytest.raises(ImportError, match=r"^[^\n]*pip install numba$"):
        add(1, 2)


def test_everything_runs_without_numba(tmp_path, monkeypatch) -> None:
    file = tmp_path / "found.npz"
    environment = {key: value for key, value in os.environ.items() if key != "FIELDCONV_BACKEND"}
    command = [sys.executable, "-m", "tests.ops.without_numba", str(file)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    monkeypatch.setenv("FIELDCONV_BACKEND", "compiled")
    expected = without_numba.results()
    with np.load(file) as found:
        assert set(found) == set(expected)
        for name, values in expected.items():
            torch.testing.assert_close(
                torch.from_numpy(found[name]),
                torch.from_numpy(values),
                rtol=1e-9,
                atol=1e-11,
                msg=lambda text, name=name: f"{name}: {text}",
            )
