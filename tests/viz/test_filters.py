from __future__ import annotations

import cmath
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from fieldconv.geometry.mesh import Mesh
from fieldconv.models.fcnet import FCNet
from fieldconv.nn.field_conv import FieldConv
from fieldconv.viz.filters import convolutions, filter_images, response_panels, write_filters
from viz.browser import Browser
from viz.test_viewer import LOADS


@pytest.fixture
def model() -> FCNet:
    torch.manual_seed(0)
    model = FCNet.for_task("segmentation", classes=3, preset="tiny")
    model.task, model.class_names = "segmentation", ("a", "b", "c")
    return model


@pytest.mark.parametrize("kind", ["offset", "real", "complex"])
@pytest.mark.parametrize("spacing", ["linear", "equal_area"])
def test_pictures_are_the_fourier_series(kind: str, spacing: str) -> None:
    """Each pixel against the series summed by hand, with the radial profile interpolated by NumPy."""
    torch.manual_seed(0)
    conv = FieldConv(2, 3, rings=4, band_limit=2, filter=kind, spacing=spacing)
    images = filter_images(conv, size=7)
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
    images = filter_images(FieldConv(1, 1, filter="real"))
    assert np.nanmax(np.abs(images.imag)) < 1e-6


def test_convolutions_are_named_in_order(model: FCNet) -> None:
    names = [name for name, _ in convolutions(model)]
    assert names[:2] == ["block 1 first convolution", "block 1 second convolution"]
    assert names[-1] == "ECHO block, last convolution"


def test_responses_are_the_blocks_outputs(model: FCNet, ball: Mesh) -> None:
    panels = response_panels(model, ball)
    assert [panel.title for panel in panels] == [f"Block {k + 1}" for k in range(len(model.blocks))]
    strengths = [colouring.values.mean() for colouring in panels[0].colourings]
    assert strengths == sorted(strengths, reverse=True)
    assert panels[0].colourings[0].arrows is not None


def test_filter_page(model: FCNet, ball: Mesh, browser: Browser, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path / "run")
    ball.save(tmp_path / "ball.ply")
    path = write_filters(tmp_path / "run", mesh=tmp_path / "ball.ply")
    assert path == tmp_path / "run" / "filters.html"
    inside = [hit for hit in LOADS.findall(path.read_text()) if hit.strip().lower() not in ("src=", "src =")]
    assert inside == []
    browser.open(path, ready="window.fieldconv && fieldconv.ready")
    assert browser.errors == []
    assert browser.requests == [path.as_uri()]
    broken = "[...document.images].filter(i => !i.complete || !i.naturalWidth).length"
    assert browser.run(broken) == 0
    assert browser.run("document.images.length") == len(convolutions(model))
