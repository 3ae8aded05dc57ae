"""Filters as pictures on the disc."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
import torch

from fieldconv.nn import FieldConv


@pytest.mark.parametrize("kind", ["offset", "real", "complex"])
@pytest.mark.parametrize("spacing", ["linear", "equal_area"])
def test_pictures_are_the_fourier_series(kind: str, spacing: str) -> None:
    """Each pixel against the series summed by hand, with the radial profile interpolated by NumPy."""
    torch.manual_seed(0)
    conv = FieldConv(2, 3, rings=4, band_limit=2, filter=kind, spacing=spacing)
    images = np.asarray(conv.images(size=7))
    real, imaginary = (part.detach().numpy() for part in conv.coefficients())
    radii = np.arange(1, 5) / 4
    if spacing == "equal_area":
        radii = np.sqrt(radii)
    for row in range(7):
        for column in range(7):
            x, y = -1 + column / 3, 1 - row / 3
            r, theta = math.hypot(x, y), math.atan2(y, x)
            if r > 1:
                assert np.isnan(images[:, :, row, column]).all()
                continue
            for o in range(3):
                for c in range(2):
                    total = 0j
                    for k, m in enumerate(range(-2, 3)):
                        profile = complex(
                            np.interp(r, radii, real[k, :, c, o]), np.interp(r, radii, imaginary[k, :, c, o])
                        )
                        total += profile * cmath.exp(1j * m * theta)
                    assert images[o, c, row, column] == pytest.approx(total, abs=1e-5)


def test_real_filters_are_real() -> None:
    images = np.asarray(FieldConv(1, 1, filter="real").images())
    assert images.shape == (1, 1, 49, 49)
    assert np.nanmax(np.abs(images.imag)) < 1e-6
