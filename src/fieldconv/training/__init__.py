"""Training, evaluation, prediction, checkpoints: what the command line and Python both call."""

from typing import TYPE_CHECKING

from fieldconv._lazy import lazy

if TYPE_CHECKING:
    from fieldconv.tasks.base.prediction import Prediction as Prediction
    from fieldconv.training.calibrating import calibrate as calibrate
    from fieldconv.training.checkpoint import CheckpointError as CheckpointError
    from fieldconv.training.checkpoint import load as load
    from fieldconv.training.comparison import Comparison as Comparison
    from fieldconv.training.comparison import compare as compare
    from fieldconv.training.diagnose import TrainingError as TrainingError
    from fieldconv.training.evaluating import evaluate as evaluate
    from fieldconv.training.prediction import Match as Match
    from fieldconv.training.prediction import match as match
    from fieldconv.training.prediction import predict as predict
    from fieldconv.training.run import train as train
    from fieldconv.training.settings import Machine as Machine
    from fieldconv.training.settings import RunSettings as RunSettings

__getattr__, __dir__ = lazy(
    __name__,
    {
        "CheckpointError": "checkpoint",
        "Comparison": "comparison",
        "Machine": "settings",
        "Match": "prediction",
        "Prediction": "fieldconv.tasks.base.prediction",
        "RunSettings": "settings",
        "TrainingError": "diagnose",
        "calibrate": "calibrating",
        "compare": "comparison",
        "evaluate": "evaluating",
        "load": "checkpoint",
        "match": "prediction",
        "predict": "prediction",
        "train": "run",
    },
)
