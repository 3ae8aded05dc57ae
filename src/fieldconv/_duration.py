"""A duration in words."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Return a duration in words.

    Examples
    --------
    >>> duration(7.25), duration(33), duration(125), duration(7300)
    ('7.2 s', '33 s', '2 min 5 s', '2 h 1 min')
    """
    if seconds < 59.5:
        return f"{seconds:.{1 if seconds < 9.95 else 0}f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
