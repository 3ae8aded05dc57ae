"""What a run folder holds: settings, log, and an evaluation with its intervals; read and written here."""

from fieldconv._lazy import lazy

__getattr__, __dir__ = lazy(__name__, __file__)
