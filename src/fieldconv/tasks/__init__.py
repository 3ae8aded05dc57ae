"""What can be learnt, found by name: each file here holds one task, all that is particular to it."""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
