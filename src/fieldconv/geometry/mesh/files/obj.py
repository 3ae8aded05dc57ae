"""OBJ: positions, their colours, and faces; textures, normals and materials are ignored."""

from __future__ import annotations

import re

import numpy as np

from fieldconv.geometry.mesh.files.common import Contents, colours, fan, vertex_indices
from fieldconv.geometry.mesh.files.text import Words, equal_rows, text_rows, without_comments

KEEPS = {"vertex colours"}


def read(data: bytes) -> Contents:
    data = re.sub(rb"\\\r?\n", b" ", without_comments(data))  # a backslash continues the line
    # f position/texture/normal: only the position matters here.
    words = Words(re.sub(rb"/\S*", b"", data) if b"/" in data else data)
    rows = words.rows_of(b"v")
    first, lengths = words.first[rows] + 1, words.lengths[rows] - 1
    if len(np.unique(lengths)) > 1:  # some have colours: read all without
        lengths = np.minimum(lengths, 3)
    table = equal_rows(words, first, lengths)
    vertex_colours = None
    if table.shape[1] in (6, 7):
        vertex_colours = colours(table[:, 3:], fractions=bool((table[:, 3:] <= 1).all()))

    face_rows = words.rows_of(b"f")
    first, sizes = words.first[face_rows] + 1, words.lengths[face_rows] - 1
    named = words.numbers(first, sizes)
    # Negative indices count back from the last vertex before the face.
    before = np.repeat(np.searchsorted(rows, face_rows), sizes)
    zero_based = np.where(named < 0, before + named, named - 1)
    corners = vertex_indices(zero_based, len(table), sizes, words.line[first - 1], base=1)
    return Contents(table[:, :3], fan(sizes, corners)[0], vertex_colours)


def write(contents: Contents) -> bytes:
    rgb = None
    if contents.vertex_colours is not None:
        opaque = (contents.vertex_colours[:, 3] == 255).all()
        rgb = contents.vertex_colours[:, : 3 if opaque else 4] / 255  # few readers know a fourth
    lines = ["v " + row for row in text_rows(contents.vertices, rgb)]
    lines += ["f " + row for row in text_rows(contents.faces + 1)]
    return ("\n".join(lines) + "\n").encode()
