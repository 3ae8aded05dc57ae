"""`fieldconv cache`: what is kept on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import tyro


def cache(
    action: tyro.conf.Positional[Literal["size", "clear"]] = "size", /, folder: Path | None = None
) -> None:
    """Size of what is kept (prepared surfaces, distances on templates), or clear it.

    Args:
        action: What to do.
        folder: Another folder than the user's cache folder.
    """
    from fieldconv.surface.cache import SurfaceCache

    store = SurfaceCache(folder)
    count, size = store.clear() if action == "clear" else store.size()
    done = "removed from" if action == "clear" else "in"
    print(f"{count} files, {size / 1e6:.1f} MB, {done} {store.folder}")
