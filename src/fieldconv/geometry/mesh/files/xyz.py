"""XYZ: a line for each point, its position and perhaps its normal or its colour."""

from __future__ import annotations

import numpy as np

from fieldconv.geometry.mesh.files.common import Contents, MeshError, colours
from fieldconv.geometry.mesh.files.text import Words, equal_rows, without_comments


def read(data: bytes) -> Contents:
    words = Words(without_comments(data).replace(b",", b" "))
    rows = words.lengths >= 3  # some writers put the number of points first
    if not rows.any():
        raise MeshError("no line has three numbers; give a line for each point")
    table = equal_rows(words, words.first[rows], words.lengths[rows])
    nothing = np.zeros((0, 3), np.int64)
    if table.shape[1] < 6:
        return Contents(table[:, :3], nothing)
    more = table[:, 3:6]
    if np.allclose(np.linalg.norm(more, axis=1), 1, atol=0.05):
        return Contents(table[:, :3], nothing, vertex_data=dict(zip(("nx", "ny", "nz"), more.T, strict=True)))
    return Contents(table[:, :3], nothing, colours(more, fractions=bool((more <= 1).all())))
