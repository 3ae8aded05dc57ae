"""OFF: text, with colours (COFF), normals (NOFF) and texture coordinates (STOFF)."""

from __future__ import annotations

import re

import numpy as np

from fieldconv.geometry.mesh.files.common import (
    Contents,
    MeshError,
    colours,
    count_up,
    fan,
    parse_count,
    truncated,
    vertex_indices,
)
from fieldconv.geometry.mesh.files.text import Words, equal_rows, text_rows, without_comments

KEEPS = {"vertex colours", "face colours"}


def read(data: bytes) -> Contents:
    # Some files have the counts on the header's line, even without a space ("OFF8 6 12").
    data = without_comments(data)
    header = re.match(rb"\s*(ST)?(C?)(N?)OFF(?![A-Za-z])", data)
    if header is None:
        raise MeshError("an OFF file begins with OFF (or COFF, NOFF, …); this one does not: check its suffix")
    if re.match(rb"\s*BINARY", data[header.end() :]):
        raise MeshError("binary OFF is not supported; convert the file to PLY")
    words = Words(data[header.end() :], above=data[: header.end()].count(b"\n"))
    if not len(words.first) or words.lengths[0] < 2:
        raise truncated("counts of vertices and faces")
    n_vertices, n_faces = parse_count(words[0]), parse_count(words[1])
    if len(words.first) - 1 < n_vertices + n_faces:
        raise truncated(f"{n_vertices} vertices and {n_faces} faces")
    of_vertices, of_faces = slice(1, 1 + n_vertices), slice(1 + n_vertices, 1 + n_vertices + n_faces)

    first, lengths = words.first[of_vertices], words.lengths[of_vertices]
    table = equal_rows(words, first, lengths)
    after = 6 if header[3] else 3  # NOFF: a normal follows the position
    colour_width = table.shape[1] - after - (2 if header[1] else 0)  # STOFF: texture coordinates come last
    vertex_colours = None
    if colour_width in (3, 4):
        texts = [words[int(first[0]) + after + i] for i in range(colour_width)]
        vertex_colours = colours(table[:, after : after + colour_width], fractions=b"." in b"".join(texts))

    first, lengths = words.first[of_faces], words.lengths[of_faces]
    flat = words.numbers(first, lengths)
    starts = np.cumsum(lengths) - lengths
    lines = words.line[first]
    sizes = flat[starts]
    bad = ~((sizes >= 0) & (sizes < lengths) & (sizes == np.floor(sizes)))
    if bad.any():
        line = lines[int(np.argmax(bad))]
        raise MeshError(f"line {line}: the face has fewer corners than it declares; export the file again")
    sizes = sizes.astype(np.int64)
    named = flat[np.repeat(starts + 1, sizes) + count_up(sizes)]
    faces, polygon = fan(sizes, vertex_indices(named, n_vertices, sizes, lines))

    face_colours = None
    extra = lengths - 1 - sizes
    coloured = np.flatnonzero(extra >= 3)  # a single number names an entry of a colour map: not kept
    if len(coloured):
        channels = min(4, int(extra[coloured].min()))
        at = (1 + sizes)[coloured, None] + np.arange(channels)
        texts = [words[int(word)] for word in first[coloured[0]] + at[0]]
        rgba = np.full((n_faces, 4), 255, dtype=np.uint8)
        rgba[coloured] = colours(flat[starts[coloured, None] + at], fractions=b"." in b"".join(texts))
        face_colours = rgba[polygon]
    return Contents(table[:, :3], faces, vertex_colours, face_colours)


def write(contents: Contents) -> bytes:
    head = "OFF" if contents.vertex_colours is None else "COFF"
    lines = [head, f"{len(contents.vertices)} {len(contents.faces)} 0"]
    lines += text_rows(contents.vertices, contents.vertex_colours)
    sizes = np.full((len(contents.faces), 1), 3)
    lines += text_rows(np.concatenate([sizes, contents.faces], axis=1), contents.face_colours)
    return ("\n".join(lines) + "\n").encode()
