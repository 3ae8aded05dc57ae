"""Panels and pictures of a run's test shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fieldconv.runs import read_run
from fieldconv.viz.run_shapes import coloured_by, shape_panels, write_shape_pictures
from tests.viz.runs import PARTS, write_run


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("segmentation", {"shapes_prediction.png", "shapes_truth.png"}),
        ("correspondence", {"shapes_geodesic_error.png"}),
        ("matching", {"shapes_first_right_match.png"}),
    ],
)
def test_every_colouring_is_a_picture(tmp_path: Path, task: str, expected: set[str]) -> None:
    run = read_run(write_run(tmp_path / "run", task))
    written = write_shape_pictures(run, tmp_path / "figures")
    assert {path.name for path in written} >= expected
    names = {colouring.name for panel in shape_panels(run) for colouring in panel.colourings}
    assert len(written) == len(names)
    pixels = [np.asarray(Image.open(path).convert("RGB")) for path in written]
    for one in pixels:
        assert (one != 255).any(axis=2).mean() > 0.02  # there is something to see
    for other in pixels[1:]:
        assert other.shape != pixels[0].shape or (other != pixels[0]).any()


def test_shapes_have_the_colouring_and_partners_stay_plain(tmp_path: Path) -> None:
    panels = shape_panels(read_run(write_run(tmp_path / "run", "matching")))
    name = next(panel.colourings[0].name for panel in panels if panel.colourings)
    shown = coloured_by(name, panels)
    assert len(shown) == len(panels)
    assert [[c.name for c in panel.colourings] for panel in shown] == [
        [name] if panel.colourings else [] for panel in panels
    ]
    assert all(not panel.colourings for panel in coloured_by("no such thing", panels))


def test_a_run_without_shapes_has_no_pictures(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", "segmentation")
    for path in (run / "evaluation" / "shapes").iterdir():
        path.unlink()
    assert write_shape_pictures(read_run(run), tmp_path / "figures") == []


@pytest.mark.parametrize("described", [True, False])
def test_shapes_show_truth_prediction_and_mistakes(tmp_path: Path, described: bool) -> None:
    run = read_run(write_run(tmp_path / "run", "segmentation", described=described))
    panels = shape_panels(run)
    assert [panel.title for panel in panels] == ["shape 0", "shape 1", "shape 8", "shape 9"]
    assert panels[0].note == "worst: accuracy 70.0 %"
    prediction, truth, wrong = panels[0].colourings
    assert [c.name for c in panels[0].colourings] == ["Prediction", "Truth", "Wrong"]
    np.testing.assert_array_equal(wrong.values, prediction.values != truth.values)
    assert truth.names == PARTS


@pytest.mark.parametrize("described", [True, False])
def test_features_share_their_hues(tmp_path: Path, described: bool) -> None:
    """The same magnitude has the same hue on all shapes, so the largest of all is common."""
    run = read_run(write_run(tmp_path / "run", "correspondence", described=described))
    panels = shape_panels(run)
    assert panels[0].title == "Template"
    first, second = (next(c for c in panel.colourings if c.name == "Feature 2") for panel in panels[1:])
    strongest = max((first, second), key=lambda c: c.limits[1])
    assert strongest.ramp[-1].tolist() == [255, 0, 0]


def test_pairs_stand_side_by_side(tmp_path: Path) -> None:
    panels = shape_panels(read_run(write_run(tmp_path / "run", "matching")))
    assert [panel.title for panel in panels] == ["shape 0", "1", "shape 5", "6"]
    assert panels[0].note == "worst: average precision 20.0 %"
