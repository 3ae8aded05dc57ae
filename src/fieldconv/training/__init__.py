"""Training, evaluation, prediction, checkpoints: what the command line and Python both call."""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
