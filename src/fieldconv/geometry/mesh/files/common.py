"""Common parts of the readers and writers of all formats."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fieldconv._arrays import Array, Bools, Bytes, Floats, Ints

MAX_CORNERS = 10_000  # of a face: all its triangles would meet in one vertex
MAX_LETTERS = 300  # of a message: files may hold words of any length


class MeshError(ValueError):
    """A mesh, or a mesh file, that cannot be used.

    Examples
    --------
    >>> from fieldconv import Mesh
    >>> try:
    ...     Mesh([[0, 0, 0]], [[0, 0, 1]])
    ... except MeshError as error:
    ...     print(error)
    mesh: a face names vertex 1; indices run from 0 to 0
    """


@dataclass
class Contents:
    """Contents of a mesh file: triangles, colours (red, green, blue, alpha) and further vertex data."""

    vertices: Floats
    faces: Ints
    vertex_colours: Bytes | None = None
    face_colours: Bytes | None = None
    vertex_data: dict[str, Array] = field(default_factory=dict)


_WEB_PAGE = "a web page; open it in a browser to read what the server said, and fetch the mesh again"
# First bytes of files that servers, archives and version control put in the place of a mesh.
_OTHER_KINDS = {
    b"<!doctype": _WEB_PAGE,
    b"<html": _WEB_PAGE,
    b"version https://git-lfs": "a Git LFS pointer, not the mesh itself; run `git lfs pull`",
    b"pk\x03\x04": "a ZIP archive; unpack it first",
    b"\x1f\x8b": "compressed (gzip); unpack it first",
}


def check_kind(data: bytes) -> None:
    """Raise MeshError if a file is of another kind that often takes the place of a mesh."""
    beginning = data[:200].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for start, what in _OTHER_KINDS.items():
        if beginning.startswith(start):
            raise MeshError(f"this is not a mesh but {what}")


def fan(sizes: Ints, corners: Ints) -> tuple[Ints, Ints]:
    """Return the triangles (T, 3) of polygons, cut around their first corner, and the polygon of each (T,).

    ``sizes`` (P,) are the numbers of corners of the polygons, ``corners`` the vertex indices, one polygon
    after the other. Polygons with fewer than three corners give no triangle.

    Examples
    --------
    >>> fan(np.array([3, 4]), np.array([0, 1, 2, 3, 4, 5, 6]))[0].tolist()
    [[0, 1, 2], [3, 4, 5], [3, 5, 6]]
    """
    if len(sizes) and sizes.max() > MAX_CORNERS:
        raise MeshError(
            f"face {int(np.argmax(sizes))} has {sizes.max():,} corners, more than {MAX_CORNERS:,}; cut it "
            "into triangles and export it again"
        )
    if (sizes == 3).all():
        return corners.reshape(-1, 3), np.arange(len(sizes))
    first = np.cumsum(sizes) - sizes
    pieces = np.maximum(sizes - 2, 0)
    polygon = np.repeat(np.arange(len(sizes)), pieces)
    second = first[polygon] + 1 + count_up(pieces)
    return corners[np.stack([first[polygon], second, second + 1], axis=1)], polygon


def count_up(sizes: Ints) -> Ints:
    """0, 1, …, n − 1 for each n of ``sizes``, one after the other."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def first_equal(rows: Floats | Ints) -> Ints:
    """(n,) the first row that equals each row; rows with NaN equal none but themselves.

    Examples
    --------
    >>> first_equal(np.array([[1.0, 2], [3, 4], [1, 2]])).tolist()
    [0, 1, 0]
    """
    digest = np.sort(_digests(rows))
    if (digest[1:] != digest[:-1]).all():  # the usual case, found in a fraction of the time
        return np.arange(len(rows))
    order = np.lexsort(rows.T[::-1])  # stable: equal rows stay in order of appearance
    ordered = rows[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.empty(len(rows), dtype=np.int64)
    first[order] = order[new][np.cumsum(new) - 1]
    return first


def repeats_row(rows: Floats | Ints) -> Bools:
    """(n,) whether a row equals an earlier one."""
    return np.asarray(first_equal(rows) != np.arange(len(rows)))


def _digests(rows: Floats | Ints) -> NDArray[np.uint64]:
    """(n,) a hash of each row."""
    bits = np.ascontiguousarray(rows + rows.dtype.type(0)).view(np.uint64)  # no negative zeros
    digest = np.zeros(len(rows), np.uint64)
    for column in bits.T:
        digest = (digest ^ column) * np.uint64(0x9E3779B97F4A7C15)
        digest ^= digest >> np.uint64(29)
    return digest


def colours(values: Array, fractions: bool) -> Bytes:
    """(n, 4) bytes from (n, 3) or (n, 4) numbers, which are fractions of one or go up to 255."""
    scaled = np.asarray(values, dtype=np.float64) * (255 if fractions else 1)
    result = np.full((len(scaled), 4), 255, dtype=np.uint8)
    result[:, : scaled.shape[1]] = np.clip(np.rint(np.nan_to_num(scaled)), 0, 255)
    return result


def quote(word: bytes) -> str:
    text = word[:30].decode("ascii", errors="replace")
    return repr(text + ("…" if len(word) > 30 else ""))


def vertex_indices(
    values: Floats, vertices: int, sizes: Ints, lines: Ints | None = None, base: int = 0
) -> Ints:
    """Return numbers as vertex indices; raise MeshError if one is out of range.

    ``sizes`` and ``lines`` are the polygons' numbers of corners and lines, ``base`` is the first index in the
    file.
    """
    bad = ~((values >= 0) & (values < vertices) & (values == np.floor(values)))
    if bad.any():
        at = int(np.argmax(bad))
        polygon = int(np.searchsorted(np.cumsum(sizes), at, side="right"))
        where = f"line {lines[polygon]}: " if lines is not None else ""
        raise MeshError(
            f"{where}a face names vertex {values[at] + base:g}, but vertices run from {base} to "
            f"{vertices - 1 + base}; export the file again"
        )
    return values.astype(np.int64)


def parse_count(word: bytes) -> int:
    """Return a count in a header."""
    if not word.isdigit() or len(word) > 18:
        raise MeshError(f"{quote(word)} in the header is not a count; export the file again")
    return int(word)


def truncated(what: str) -> MeshError:
    return MeshError(f"the file ends before its {what}; it is truncated, fetch or export it again")
