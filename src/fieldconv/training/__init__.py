"""Training, evaluation, prediction, checkpoints."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fieldconv.training.api import evaluate, train
    from fieldconv.training.checkpoint import CheckpointError
    from fieldconv.training.diagnose import TrainingError
    from fieldconv.training.prediction import Match, Prediction, match, predict

_HOME = {
    "CheckpointError": "checkpoint",
    "Match": "prediction",
    "Prediction": "prediction",
    "TrainingError": "diagnose",
    "evaluate": "api",
    "match": "prediction",
    "predict": "prediction",
    "train": "api",
}

__all__ = [
    "CheckpointError",
    "Match",
    "Prediction",
    "TrainingError",
    "evaluate",
    "match",
    "predict",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
