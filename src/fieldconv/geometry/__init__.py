"""Shapes to numbers: NumPy in, NumPy out, no torch."""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
