"""`fieldconv cache`: what is kept on disk."""

from __future__ import annotations

from typing import Literal

import fieldconv as fc


def cache_command(action: Literal["size", "clear"] = "size", /, folder: str | None = None) -> None:
    """Show the size of what is kept (prepared surfaces, distances on templates), or clear it.

    Clearing leaves what other processes are writing. $FIELDCONV_CACHE names another folder or an address such
    as s3://bucket/surfaces; $FIELDCONV_CACHE_LIMIT is the size it may have, such as 20GB, or none.

    Args:
        action: What to do.
        folder: Folder or address to use instead of the user's cache folder.
    """
    store = fc.SurfaceCache(folder)
    count, size = store.clear() if action == "clear" else store.size()
    done = "removed from" if action == "clear" else "in"
    limit = "no limit" if store.limit is None else f"limit {store.limit / 1e9:.3g} GB"
    print(f"{count} files, {size / 1e6:.1f} MB, {done} {store.folder} ({limit})")
