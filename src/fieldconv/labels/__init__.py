"""What lies on disk beside a mesh: labels, splits, pairs; read and checked without torch."""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
