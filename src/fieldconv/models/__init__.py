"""FCNet and its settings."""

from typing import TYPE_CHECKING, Any

from fieldconv.models.config import FCNetConfig

if TYPE_CHECKING:
    from fieldconv.models.fcnet import FCNet

__all__ = ["FCNet", "FCNetConfig"]


def __getattr__(name: str) -> Any:
    """Load torch only when the network itself is asked for."""
    if name == "FCNet":
        from fieldconv.models.fcnet import FCNet

        return FCNet
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
