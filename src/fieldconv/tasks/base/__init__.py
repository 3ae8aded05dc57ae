"""The parts of all tasks; `Task` says what a task of your own must define."""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
