"""Metrics in words and figures for people: tables, progress, reports."""

from __future__ import annotations

import math


def words(name: str) -> str:
    """A metric's name for people.

    Examples
    --------
    >>> words("mean_iou"), words("validation_accuracy"), words("within_0.05"), words("mean_error")
    ('mean IoU', 'validation accuracy', 'within 0.05', 'mean error × 100')
    """
    if name == "score":  # what the training log calls it
        return "training score"
    name = name.replace("mean_error", "mean_error_×_100")
    spoken = {"iou": "IoU", "hks": "HKS", "wks": "WKS", "mse": "MSE"}
    return " ".join(spoken.get(word, word) for word in name.split("_"))


def number(key: str, value: float | None) -> str:
    """A metric for people: shares in percent, others with four digits.

    Examples
    --------
    >>> number("accuracy", 0.9291), number("mean_error", 2.345678), number("loss", None)
    ('92.9 %', '2.346', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    plain = ("loss", "mean_error", "median_rank", "learning_rate", "seconds", "epoch")
    if key.endswith(plain) or not 0 <= value <= 1:
        return f"{value:.4g}"
    return f"{100 * value:.1f} %"
