from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldconv.tasks.base.metric import metric_of
from fieldconv.viz import Metric


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("mean_iou", "mean IoU"),
        ("validation_accuracy", "validation accuracy"),
        ("within_0.05", "within 0.05"),
        ("hks_mean_average_precision", "HKS mean average precision"),
        ("score", "training score"),
    ],
)
def test_keys_are_put_into_words(key: str, words: str) -> None:
    assert metric_of(key).label == words


@pytest.mark.parametrize(
    ("key", "better", "style"),
    [
        ("validation_loss", "less", "plain"),
        ("mean_error", "less", "plain"),
        ("median_rank", "less", "plain"),
        ("learning_rate", None, "plain"),
        ("seconds", None, "plain"),
        ("epoch", None, "plain"),
        ("accuracy", "more", "percent"),
        ("anything", "more", "percent"),
    ],
)
def test_unknown_keys_are_guessed_by_how_they_end(key: str, better: str | None, style: str) -> None:
    found = metric_of(key)
    assert (found.better, found.style) == (better, style)


@pytest.mark.parametrize(
    ("style", "value", "text"),
    [
        ("percent", 0.9291, "92.9 %"),
        ("percent", 0.0, "0.0 %"),
        ("percent", 1.0, "100.0 %"),
        ("percent", 1.5, "1.5"),  # not a share
        ("percent", -0.25, "-0.25"),
        ("plain", 0.9291, "0.9291"),
        ("plain", 2.345678, "2.346"),
        ("plain", None, "–"),
        ("percent", math.nan, "–"),
        ("percent", math.inf, "–"),
    ],
)
def test_values_as_people_read_them(style: str, value: float | None, text: str) -> None:
    assert Metric("x", style=style).text(value) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(("style", "text"), [("percent", "92.9 ± 1.2 %"), ("plain", "0.9291 ± 0.012")])
def test_a_mean_is_read_with_its_spread(style: str, text: str) -> None:
    assert Metric("x", style=style).text_with_spread(0.9291, 0.012) == text  # type: ignore[arg-type]


@given(
    st.builds(
        Metric,
        st.text(),
        st.text(),
        st.sampled_from(["more", "less", None]),
        st.sampled_from(["percent", "plain"]),
    )
)
def test_metrics_survive_a_file(metric: Metric) -> None:
    assert Metric.from_dict(metric.key, metric.to_dict()) == metric


@pytest.mark.parametrize("wrong", [{"better": "higher"}, {"style": "%"}])
def test_unknown_words_in_a_file_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"metric 'x'.*choose"):
        Metric.from_dict("x", wrong)


def test_known_metrics_also_name_their_validation() -> None:
    known = {"rmse": Metric("rmse", "RMSE in mm", "less", "plain")}
    assert metric_of("rmse", known) is known["rmse"]
    assert metric_of("validation_rmse", known) == Metric(
        "validation_rmse", "validation RMSE in mm", "less", "plain"
    )


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_goodness_follows_the_direction(a: float, b: float) -> None:
    more, less = Metric("x", better="more"), Metric("x", better="less")
    assert (more.goodness(a) > more.goodness(b)) == (a > b)
    assert (less.goodness(a) > less.goodness(b)) == (a < b)
    assert less.goodness(a) > less.goodness(None)
    assert more.goodness(a) > more.goodness(math.nan)
