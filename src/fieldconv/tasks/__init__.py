"""Tasks, found by name: each file here holds one, with everything particular to it."""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
