"""What all tasks are made of: see `Task` for what a task of your own must define."""

from fieldconv.tasks.base.evaluation import Curves, Evaluation
from fieldconv.tasks.base.prediction import Decoded, Prediction
from fieldconv.tasks.base.recipe import (
    LETTER,
    MODERN,
    REPRODUCE,
    REPRODUCED,
    SAMPLED,
    SCANNED,
    TRIAL,
    Preset,
    TrainingConfig,
)
from fieldconv.tasks.base.task import Chunk, EmbeddedShape, Follow, Outputs, Task
from fieldconv.viz.metric import Metric

__all__ = [
    "LETTER",
    "MODERN",
    "REPRODUCE",
    "REPRODUCED",
    "SAMPLED",
    "SCANNED",
    "TRIAL",
    "Chunk",
    "Curves",
    "Decoded",
    "EmbeddedShape",
    "Evaluation",
    "Follow",
    "Metric",
    "Outputs",
    "Prediction",
    "Preset",
    "Task",
    "TrainingConfig",
]
