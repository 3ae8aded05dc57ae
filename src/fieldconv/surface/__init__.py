"""What a network sees of a shape: samples, features, geodesic discs; prepared once and kept on disk."""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
