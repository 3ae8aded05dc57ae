"""Networks on surfaces, found by name: `fcnet` is ours, `rivals` holds all others."""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
