"""The name, format and direction of a measured number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Better = Literal["more", "less"] | None
Style = Literal["percent", "plain"]

_VALIDATION = "validation_"
_ACRONYMS = {"iou": "IoU", "hks": "HKS", "wks": "WKS", "mse": "MSE", "rmse": "RMSE"}
# Endings of keys without a description.
_LESS_IS_BETTER = ("loss", "error", "rank")
_NEITHER_IS_BETTER = ("learning_rate", "seconds", "epoch")


@dataclass(frozen=True)
class Metric:
    """A measured number: its key in files, and how people read it.

    Examples
    --------
    >>> metric = Metric("mean_iou")
    >>> metric.label, metric.text(0.9291), metric.text_with_spread(0.9291, 0.012), metric.text(None)
    ('mean IoU', '92.9 %', '92.9 ± 1.2 %', '–')
    """

    key: str
    """Name in files, such as "mean_iou"."""
    title: str = ""
    """Name for people; made from the key if empty."""
    better: Better = "more"
    """Which direction is better; None if neither is."""
    style: Style = "percent"
    """With "percent", shares between 0 and 1 are written in percent; other values are written plainly."""

    @property
    def label(self) -> str:
        """The name for people: the title, or the key in words."""
        return self.title or " ".join(_ACRONYMS.get(word, word) for word in self.key.split("_"))

    def text(self, value: float | None) -> str:
        """Return the value as people read it; a dash if there is none."""
        if value is None or not math.isfinite(value):
            return "–"
        if self.style == "percent" and 0 <= value <= 1:
            return f"{100 * value:.1f} %"
        return f"{value:.4g}"

    def text_with_spread(self, mean: float, spread: float) -> str:
        """Return a mean and a standard deviation as people read them."""
        if self.style == "percent" and 0 <= mean <= 1:
            return f"{100 * mean:.1f} ± {100 * spread:.1f} %"
        return f"{mean:.4g} ± {spread:.2g}"

    def goodness(self, value: float | None) -> float:
        """Return a number that is larger for better values, and lowest where there is no value."""
        if value is None or math.isnan(value):
            return -math.inf
        return -value if self.better == "less" else value

    def to_dict(self) -> dict[str, str | None]:
        """Return all but the key as plain values for JSON."""
        return {"title": self.title, "better": self.better, "style": self.style}

    @classmethod
    def from_dict(cls, key: str, values: Mapping[str, Any]) -> Metric:
        """Return the metric that `to_dict` described; raise ValueError if a value is not allowed."""
        better, style = values.get("better", "more"), values.get("style", "percent")
        if better not in ("more", "less", None):
            raise ValueError(f"metric {key!r}: better is {better!r}; choose 'more', 'less' or null")
        if style not in get_args(Style):
            raise ValueError(f"metric {key!r}: style is {style!r}; choose 'percent' or 'plain'")
        return cls(key, str(values.get("title", "")), better, style)


def metric_of(key: str, known: Mapping[str, Metric] = {}) -> Metric:
    """Return the known metric of a key, or a metric guessed from the key.

    A key ``validation_<key>`` is the known metric of ``<key>``, measured on the validation part.

    Examples
    --------
    >>> known = {"gap": Metric("gap", "gap in mm", "less", "plain")}
    >>> metric_of("validation_gap", known).label, metric_of("validation_gap", known).better
    ('validation gap in mm', 'less')
    >>> metric_of("median_rank")
    Metric(key='median_rank', title='', better='less', style='plain')
    """
    if key in known:
        return known[key]
    if key.startswith(_VALIDATION) and (own := known.get(key.removeprefix(_VALIDATION))) is not None:
        return Metric(key, f"validation {own.label}", own.better, own.style)
    if key == "score":  # its name in the training log
        return Metric(key, "training score")
    if key.endswith(_LESS_IS_BETTER):
        return Metric(key, better="less", style="plain")
    if key.endswith(_NEITHER_IS_BETTER):
        return Metric(key, better=None, style="plain")
    return Metric(key)


def count(number: int, what: str) -> str:
    """Return a number with what it counts, in the singular or plural.

    Examples
    --------
    >>> count(1, "epoch"), count(1200, "shape"), count(3, "vertex")
    ('1 epoch', '1,200 shapes', '3 vertices')
    """
    several = "vertices" if what == "vertex" else f"{what}s"
    return f"{number:,} {what if number == 1 else several}"
