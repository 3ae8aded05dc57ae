"""STL: loose triangles, text and binary; equal corners are joined, in order of first appearance."""

from __future__ import annotations

import numpy as np

from fieldconv.geometry.mesh.files.common import Contents, first_equal, truncated
from fieldconv.geometry.mesh.files.text import Words, equal_rows

KEEPS: set[str] = set()

_STL = np.dtype([("normal", "<f4", (3,)), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read(data: bytes) -> Contents:
    declared = int.from_bytes(data[80:84], "little")
    # Binary files may also begin with "solid".
    lowered = data.lower()
    if lowered.lstrip()[:5] == b"solid" and b"facet" in lowered and len(data) != 84 + 50 * declared:
        words = Words(lowered)
        rows = words.rows_of(b"vertex")
        if b"endsolid" not in lowered or len(rows) % 3:
            raise truncated("last face")
        corners = equal_rows(words, words.first[rows] + 1, words.lengths[rows] - 1)[:, :3]
    else:
        if len(data) < 84:
            raise truncated("header's 84 bytes")
        if len(data) < 84 + 50 * declared:
            raise truncated(f"{declared} faces")
        corners = np.frombuffer(data, _STL, declared, 84)["corners"].reshape(-1, 3).astype(np.float64)
    first = first_equal(corners + 0.0)  # −0 becomes 0
    kept, faces = np.unique(first, return_inverse=True)
    return Contents(corners[kept], faces.reshape(-1, 3).astype(np.int64))


def write(contents: Contents) -> bytes:
    with np.errstate(all="ignore"):
        corners = contents.vertices[contents.faces].astype(np.float32)
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        unit = np.where(length > 0, normal / length, 0)
    block = np.zeros(len(corners), dtype=_STL)
    block["normal"], block["corners"] = unit, corners
    return b"fieldconv".ljust(80) + len(block).to_bytes(4, "little") + block.tobytes()
