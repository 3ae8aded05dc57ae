"""Datasets: embedded creatures, benchmarks, and anyone's own folder of meshes."""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
