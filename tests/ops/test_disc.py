from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fieldconv.ops import ring_radii
from fieldconv.ops.disc import ring_weights
from tests.nn.surfaces import ring_weights as by_the_paper

spacings = st.sampled_from(["linear", "equal_area"])


def test_linear_rings_are_evenly_spaced() -> None:
    assert ring_radii(5).tolist() == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])


def test_equal_area_rings_cut_the_disc_into_equal_areas() -> None:
    squares = ring_radii(6, "equal_area").square()
    torch.testing.assert_close(squares.diff(), torch.full((5,), 1 / 6, dtype=torch.float64))


@given(st.integers(1, 9), spacings, st.floats(0, 1))
def test_weights_interpolate_linearly(rings: int, spacing: str, r: float) -> None:
    lower, fraction = ring_weights(torch.tensor([r], dtype=torch.float64), rings, spacing)
    weights = torch.zeros(rings + 1, dtype=torch.float64)
    weights[lower] += 1 - fraction
    weights[lower + 1] += fraction
    assert 0 <= fraction <= 1
    assert weights[:rings].tolist() == pytest.approx(by_the_paper(r, rings, spacing), abs=1e-12)


def test_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="rings must be at least 1"):
        ring_radii(0)
    with pytest.raises(ValueError, match='"linear" or "equal_area"'):
        ring_radii(3, "log")  # type: ignore[arg-type]
