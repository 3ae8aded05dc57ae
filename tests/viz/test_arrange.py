from __future__ import annotations

import numpy as np
import pytest

from fieldconv.viz.figures import arrange


def test_separate_groups_stay_separate() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 20)
    descriptors = 100 * np.eye(3, 40)[labels] + rng.normal(size=(60, 40))
    points = arrange(descriptors, labels)
    assert points is not None
    assert points.shape == (60, 2)
    nearest = np.linalg.norm(points[:, None] - points[None], axis=-1) + 1e9 * np.eye(60)
    assert (labels[nearest.argmin(axis=1)] == labels).all()


def test_too_few_distinct_points_give_no_picture() -> None:
    varied = np.random.default_rng(0).normal(size=(30, 4))
    assert arrange(np.zeros((30, 4)), np.zeros(30)) is None  # a network that has collapsed
    assert arrange(varied, np.full(30, -1)) is None
    with pytest.raises(ValueError, match="30 descriptors and 3 labels"):
        arrange(varied, np.zeros(3))
