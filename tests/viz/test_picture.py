from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fieldconv.geometry import Mesh
from fieldconv.viz import Camera, Panel, render, write_picture
from fieldconv.viz import panels as pan
from fieldconv.viz.camera import frame
from fieldconv.viz.picture import _rasterise, polar_colours


def test_rasteriser_agrees_with_a_loop_over_pixels() -> None:
    rng = np.random.default_rng(0)
    at, inverse = rng.random((12, 2)) * 20, 1 / (3 + rng.random(12))
    faces = rng.permutation(12).reshape(4, 3)
    seen, weights = _rasterise(at, inverse, faces, 20, 20)
    for row in range(20):
        for column in range(20):
            best, expected, expected_weights = 0.0, -1, np.zeros(3)
            for f, face in enumerate(faces):
                system = np.vstack([at[face].T, np.ones(3)])
                flat = np.linalg.solve(system, [column + 0.5, row + 0.5, 1])
                near = flat @ inverse[face]
                if flat.min() >= 0 and near > best:
                    best, expected, expected_weights = near, f, flat * inverse[face] / near
            assert seen[row, column] == expected
            np.testing.assert_allclose(weights[row, column], expected_weights, atol=1e-9)


def test_a_ball_is_a_disc_of_the_colour_of_its_side(ball: Mesh) -> None:
    """The near side of a ball is visible, and the outline is a circle."""
    panel = Panel(mesh=ball, colourings=[pan.labels("Side", (ball.vertices[:, 2] > 0).astype(int))])
    picture = render(panel, 120, 120, camera=Camera(np.eye(3)))
    inside = picture[..., 3] > 128
    across = np.sqrt(inside.sum() * 4 / np.pi)
    assert across == pytest.approx(0.92 * 120, rel=0.03)
    middle = picture[60, 60, :3].astype(float)
    orange = np.array([230, 159, 0])  # second colour of the palette
    np.testing.assert_allclose(middle / middle.max(), orange / orange.max(), atol=0.12)


def test_background_is_clear(ball: Mesh) -> None:
    assert render(Panel(mesh=ball), 40, 40)[0, 0, 3] == 0


def test_missing_values_are_plain(ball: Mesh) -> None:
    empty = pan.Scalar(
        name="x", values=np.full(162, np.nan), limits=(0, 1), ramp=np.array([[255, 0, 0]] * 2, np.uint8)
    )
    np.testing.assert_array_equal(
        render(Panel(mesh=ball, colourings=[empty]), 40, 40), render(Panel(mesh=ball), 40, 40)
    )


def test_polar_colours_repeat_after_a_turn_and_mark_zero() -> None:
    angle = np.linspace(0.3, 5, 7)
    here = polar_colours(0.35 * np.cos(angle), 0.35 * np.sin(angle), 0.01)
    again = polar_colours(0.35 * np.cos(angle + 2 * np.pi), 0.35 * np.sin(angle + 2 * np.pi), 0.01)
    np.testing.assert_allclose(here, again, atol=0.01)
    assert polar_colours(np.array([0.5]), np.array([0.0]), 0.01).max() == pytest.approx(0.15)


@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_up_is_up(ball: Mesh, up: str) -> None:
    axis = np.eye(3)["xyz".index(up)]
    camera = Camera.home(Panel(mesh=ball), up=up)
    np.testing.assert_allclose(camera.turn @ camera.turn.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(camera.turn) == pytest.approx(1)
    right, above, _ = camera.turn @ axis
    assert above > 0.9
    assert right == pytest.approx(0, abs=1e-12)


def test_focus_is_seen_from_above(ball: Mesh) -> None:
    panel = Panel(mesh=ball, focus=(30, 0.3))
    camera = Camera.home(panel)
    np.testing.assert_allclose(camera.turn @ ball.vertex_normals[30], [0, 0, 1], atol=1e-9)
    centre, scale = frame(ball, panel.focus)
    np.testing.assert_array_equal(centre, ball.vertices[30])
    assert scale == pytest.approx(2, rel=0.01)


def test_picture_file_holds_all_panels(ball: Mesh, tmp_path: Path) -> None:
    from PIL import Image

    height = pan.scalar("Height $h$", ball.vertices[:, 1])
    side = pan.labels("Side", (ball.vertices[:, 0] > 0).astype(int), ["_left", "$right"])
    polar, arrows = pan.disc_panels(ball, 3, 0.6)
    panels = [
        Panel(mesh=ball, colourings=[height], title="50 % $"),
        Panel(mesh=ball, colourings=[side]),
        polar,
        arrows,
    ]
    write_picture(panels, tmp_path / "all.png", columns=2, size=1.5, dpi=60)
    picture = np.asarray(Image.open(tmp_path / "all.png").convert("RGB"))
    assert picture.shape[1] == 180
    for half in (picture[:, :90], picture[:, 90:]):
        assert (half.min(axis=2) < 200).mean() > 0.1
