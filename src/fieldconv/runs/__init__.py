"""Run folders: settings, log, and an evaluation with its intervals."""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
