"""Damage as scans have it, other proportions, and the tools they are made with."""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
