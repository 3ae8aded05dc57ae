from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldconv.viz import colours as col

# Machado, Oliveira and Fernandes (2009), severity 1, on linear red, green and blue.
DEFICIENCIES = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def perceived(colours: np.ndarray, deficiency: str) -> np.ndarray:
    """Return OKLab of colours as seen with a colour vision deficiency."""
    c = colours / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.array(DEFICIENCIES[deficiency]).T, 0, 1)
    return col.to_oklab(np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055))


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_sixteen_classes_can_be_told_apart(deficiency: str) -> None:
    lab = perceived(col.categorical(16).astype(float), deficiency)
    apart = np.linalg.norm(lab[:, None] - lab[None], axis=-1)[np.triu_indices(16, 1)]
    assert apart.min() > 0.07  # 0.02 is just noticeable


def test_many_classes_all_differ() -> None:
    assert len(np.unique(col.categorical(60), axis=0)) == 60


@pytest.mark.parametrize("name", ["viridis", "cividis", "magma", "error"])
def test_sequential_ramps_have_monotone_lightness(name: str) -> None:
    lightness = col.to_oklab(col.ramp(name) / 255)[:, 0]
    steps = np.diff(lightness) * np.sign(lightness[-1] - lightness[0])
    assert steps.min() > -2e-3


def test_angle_ramp_is_cyclic_with_even_lightness() -> None:
    lab = col.to_oklab(col.ramp("angle") / 255)
    around = np.linalg.norm(np.diff(np.concatenate([lab, lab[:1]]), axis=0), axis=1)
    assert around.max() < 0.01
    assert np.ptp(lab[:, 0]) < 0.03


def test_unknown_ramp_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"jet.*viridis"):
        col.ramp("jet")


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_oklab_inverts(colour: list[float]) -> None:
    np.testing.assert_allclose(col.from_oklab(col.to_oklab(colour)), colour, atol=1e-6)


def test_look_up_interpolates_and_marks_missing() -> None:
    table = np.array([[0, 0, 0], [100, 200, 50]], np.uint8)
    found = col.look_up(table, [0.0, 0.5, 1.0, 2.0, np.nan])
    np.testing.assert_array_equal(found[:4], [[0, 0, 0], [50, 100, 25], [100, 200, 50], [100, 200, 50]])
    np.testing.assert_array_equal(found[4], col.PLAIN)


def test_field_ramp_shares_hue_but_not_value() -> None:
    """Half as strong a field reaches only half the hue scale, but full brightness."""
    import colorsys

    weak = col.field_ramp(0.5, 1.0)[-1] / 255
    hue, saturation, value = colorsys.rgb_to_hsv(*weak)
    assert saturation == pytest.approx(1)
    assert value == pytest.approx(1)
    assert hue == pytest.approx((1 - 0.5) * 2 / 3, abs=0.01)


def test_position_colours_differ_between_far_points() -> None:
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], float)
    lab = col.to_oklab(col.position_colours(corners) / 255)
    apart = np.linalg.norm(lab[:, None] - lab[None], axis=-1)[np.triu_indices(8, 1)]
    assert apart.min() > 0.1


def test_similar_descriptors_have_similar_colours() -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(size=(50, 8))
    second = first[::-1] + 1e-4 * rng.normal(size=(50, 8))
    a, b = col.descriptor_colours([first, second])
    assert np.abs(a.astype(int) - b[::-1]).max() <= 2
    assert np.ptp(a, axis=0).min() > 60


def test_complex_colours_are_even() -> None:
    """Numbers of one magnitude are equally light; equal steps of phase, and of magnitude, look equal."""
    around = np.exp(1j * np.linspace(0, 2 * np.pi, 25))
    for size in (0.5, 1.0):
        lab = col.to_oklab(col.complex_colours(size * around, 1.0) / 255)
        assert np.ptp(lab[:, 0]) < 0.01
        steps = np.linalg.norm(np.diff(lab, axis=0), axis=1)
        assert np.abs(steps - steps.mean()).max() < 0.003  # what rounding to bytes changes
    outward = col.to_oklab(col.complex_colours(np.linspace(0, 1, 9)[:, None] * around, 1.0) / 255)
    steps = np.linalg.norm(np.diff(outward, axis=0), axis=-1)
    assert np.abs(steps - steps.mean()).max() < 0.004
    np.testing.assert_array_equal(col.complex_colours(9 * around, 1.0), col.complex_colours(around, 1.0))
