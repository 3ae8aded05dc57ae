"""Mesh files: OBJ, OFF, PLY, STL and GLB, read and written without touching the order of the vertices.

The text formats, PLY and STL are parsed here rather than by trimesh, which splits OBJ vertices by their
texture indices and keeps no further PLY properties. What each format can hold:

======  ===========================  ==============  ============  =====================
suffix  positions                    vertex colours  face colours  further vertex data
======  ===========================  ==============  ============  =====================
.ply    exact                        yes             yes           yes
.off    exact                        yes             yes           no
.obj    exact                        yes             no            no
.glb    single precision             yes             no            no
.stl    single precision, unordered  no              no            no
======  ===========================  ==============  ============  =====================

STL has no vertices, only loose triangles: equal corners are joined, in order of first appearance.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldconv._io import atomic_path

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]


class MeshError(ValueError):
    """A mesh, or a mesh file, that cannot be used; the message says why and what to do."""


@dataclass
class Contents:
    """What a mesh file holds: triangles, colours (red, green, blue, alpha) and further vertex data."""

    vertices: Floats
    faces: Ints
    vertex_colours: Bytes | None = None
    face_colours: Bytes | None = None
    vertex_data: dict[str, NDArray[Any]] = field(default_factory=dict)


def read(path: str | Path) -> Contents:
    """Read a mesh file in the format of its suffix.

    Raises
    ------
    MeshError
        Whatever is wrong with the file: the message names it.
    """
    path = Path(path)
    reader = _for_suffix(path, _READERS)
    if path.is_dir():
        raise MeshError(f"{path} is a folder; give one of the mesh files in it")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise MeshError(f"{path} does not exist; check its name and folder") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
        raise MeshError(f"{path} cannot be read ({error}); check its permissions") from error
    try:
        if not data.strip():
            raise MeshError("the file is empty; fetch or export it again")
        contents: Contents = reader(data)
        if len(contents.faces) == 0:
            raise MeshError("the file has no faces; give a mesh, not a point cloud")
        return contents
    except MeshError as error:
        raise MeshError(f"{path}: {error}") from error.__cause__


def write(contents: Contents, path: str | Path) -> list[str]:
    """Write a mesh file in the format of its suffix, whole or not at all.

    Returns what the format could not hold, in words.
    """
    path = Path(path)
    writer = _for_suffix(path, _WRITERS)
    parts = {
        "vertex colours": contents.vertex_colours is not None,
        "face colours": contents.face_colours is not None,
        "vertex data": bool(contents.vertex_data),
    }
    data = writer(contents)
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)
    return [part for part, given in parts.items() if given and part not in _KEPT[path.suffix.lower()]]


def _for_suffix(path: Path, table: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    try:
        return table[path.suffix.lower()]
    except KeyError:
        raise MeshError(
            f"{path}: unknown mesh format {path.suffix!r}; use one of {', '.join(sorted(table))}"
        ) from None


# ---------------------------------------------------------------------------------------------------------
# Shared pieces
# ---------------------------------------------------------------------------------------------------------


def fan(sizes: Ints, corners: Ints) -> tuple[Ints, Ints]:
    """Cut polygons into triangles around their first corner.

    Parameters
    ----------
    sizes : (P,) int64
        Number of corners of each polygon; those with fewer than three give no triangle.
    corners : (sum of sizes,) int64
        Their vertex indices, one polygon after the other.

    Returns
    -------
    faces : (T, 3) int64
    polygon : (T,) int64
        The polygon each triangle comes from.

    Examples
    --------
    >>> fan(np.array([3, 4]), np.array([0, 1, 2, 3, 4, 5, 6]))[0].tolist()
    [[0, 1, 2], [3, 4, 5], [3, 5, 6]]
    """
    first = np.cumsum(sizes) - sizes
    pieces = np.maximum(sizes - 2, 0)
    polygon = np.repeat(np.arange(len(sizes)), pieces)
    second = first[polygon] + 1 + _count_up(pieces)
    return corners[np.stack([first[polygon], second, second + 1], axis=1)], polygon


def _count_up(sizes: Ints) -> Ints:
    """0, 1, …, n − 1 for each n of ``sizes``, one after the other."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def first_equal(rows: NDArray[Any]) -> Ints:
    """(n,) the first row that equals each row; rows with NaN equal none but themselves.

    Examples
    --------
    >>> first_equal(np.array([[1.0, 2], [3, 4], [1, 2]])).tolist()
    [0, 1, 0]
    """
    order = np.lexsort(rows.T[::-1])  # stable: equal rows stay in order of appearance
    ordered = rows[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.empty(len(rows), dtype=np.int64)
    first[order] = order[new][np.cumsum(new) - 1]
    return first


def colours(values: NDArray[Any], fractions: bool) -> Bytes:
    """(n, 4) bytes from (n, 3) or (n, 4) numbers, which are fractions of one or go up to 255."""
    scaled = np.asarray(values, dtype=np.float64) * (255 if fractions else 1)
    result = np.full((len(scaled), 4), 255, dtype=np.uint8)
    result[:, : scaled.shape[1]] = np.clip(np.rint(np.nan_to_num(scaled)), 0, 255)
    return result


class _Words:
    """Words of a text, found without a loop in Python.

    Attributes
    ----------
    line : (W,) int64
        Line number of each word.
    row, first, lengths : (W,), (R,), (R,) int64
        Rows are lines with words: the row of each word, and the first word and number of words of each row.
    """

    def __init__(self, text: bytes, above: int = 0) -> None:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self.text = np.frombuffer(text, dtype=np.uint8)
        self.space = (self.text == 32) | ((self.text >= 9) & (self.text <= 13))
        self.begins = np.flatnonzero(~self.space & np.concatenate([[True], self.space[:-1]]))
        self.line = above + 1 + np.searchsorted(np.flatnonzero(self.text == 10), self.begins)
        new = np.ones(len(self.begins), dtype=bool)
        new[1:] = self.line[1:] != self.line[:-1]
        self.row = np.cumsum(new) - 1
        self.first = np.flatnonzero(new)
        self.lengths = np.diff(np.append(self.first, len(new)))

    def __getitem__(self, word: int) -> bytes:
        begin = self.begins[word]
        return self.text[begin : begin + 400].tobytes().split(None, 1)[0]

    def rows_of(self, keyword: bytes) -> Ints:
        """Rows whose first word is ``keyword``."""
        places = self.begins[self.first]
        end = len(self.text)
        same = np.ones(len(places), dtype=bool)
        for i, letter in enumerate(keyword):
            same &= self.text[np.minimum(places + i, end - 1)] == letter
        after = places + len(keyword)
        same &= (after >= end) | self.space[np.minimum(after, end - 1)]
        return np.flatnonzero(same)

    def numbers(self, first: Ints, lengths: Ints) -> Floats:
        """Numbers of the runs of ``lengths`` words that start at the words ``first``, in order."""
        wanted = np.repeat(first, lengths) + _count_up(lengths)
        if not len(wanted):
            return np.zeros(0)
        chosen = np.zeros(len(self.begins), dtype=bool)
        chosen[wanted] = True
        begin = self.begins[wanted[0]]
        end = self.begins[wanted[-1] + 1] if wanted[-1] + 1 < len(self.begins) else len(self.text)
        text = self.text[begin:end]
        if len(wanted) <= wanted[-1] - wanted[0]:  # blank the words between
            span = slice(wanted[0], wanted[-1] + 1)
            spread = np.diff(np.append(self.begins[span], end))
            text = np.where(np.repeat(chosen[span], spread), text, np.uint8(32))
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # how fromstring says that it stopped early
            try:
                values = np.fromstring(text.tobytes(), dtype=np.float64, sep=" ")
            except (ValueError, DeprecationWarning):
                values = np.zeros(0)
        if len(values) != len(wanted):
            raise self._not_a_number(wanted)
        return values

    def _not_a_number(self, words: Ints) -> MeshError:
        for word in words.tolist():
            try:
                float(self[word])
            except ValueError:
                return MeshError(
                    f"line {self.line[word]}: {_show(self[word])} is not a number; export the file again"
                )
        return MeshError("it has words that are no numbers; export the file again")


def _without_comments(data: bytes) -> bytes:
    data = data.removeprefix(b"\xef\xbb\xbf")
    return re.sub(rb"#[^\r\n]*", b"", data) if b"#" in data else data


def _show(word: bytes) -> str:
    text = word[:30].decode("ascii", errors="replace")
    return repr(text + ("…" if len(word) > 30 else ""))


def _indices(values: Floats, vertices: int, sizes: Ints, lines: Ints | None = None, base: int = 0) -> Ints:
    """Vertex indices, checked before they are cast (NaN and huge numbers have no integer).

    ``sizes`` and ``lines`` are the polygons' numbers of corners and places in the file; ``base`` is what
    the file counts from.
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


def _declared(word: bytes) -> int:
    """A count in a header."""
    if not word.isdigit() or len(word) > 18:
        raise MeshError(f"{_show(word)} in the header is not a count; export the file again")
    return int(word)


def _truncated(what: str) -> MeshError:
    return MeshError(f"the file ends before its {what}; it is truncated, fetch or export it again")


# ---------------------------------------------------------------------------------------------------------
# OFF
# ---------------------------------------------------------------------------------------------------------


def _read_off(data: bytes) -> Contents:
    # Seen in the wild: counts on the header's line, even without a space ("OFF8 6 12").
    data = _without_comments(data)
    header = re.match(rb"\s*(ST)?(C?)(N?)OFF(?![A-Za-z])", data)
    if header is None:
        raise MeshError("an OFF file begins with OFF (or COFF, NOFF, …); this one does not: check its suffix")
    if re.match(rb"\s*BINARY", data[header.end() :]):
        raise MeshError("binary OFF is not supported; convert the file to PLY")
    words = _Words(data[header.end() :], above=data[: header.end()].count(b"\n"))
    if not len(words.first) or words.lengths[0] < 2:
        raise _truncated("counts of vertices and faces")
    n_vertices, n_faces = _declared(words[0]), _declared(words[1])
    if len(words.first) - 1 < n_vertices + n_faces:
        raise _truncated(f"{n_vertices} vertices and {n_faces} faces")
    of_vertices, of_faces = slice(1, 1 + n_vertices), slice(1 + n_vertices, 1 + n_vertices + n_faces)

    first, lengths = words.first[of_vertices], words.lengths[of_vertices]
    table = _equal_rows(words, first, lengths)
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
    named = flat[np.repeat(starts + 1, sizes) + _count_up(sizes)]
    faces, polygon = fan(sizes, _indices(named, n_vertices, sizes, lines))

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


def _equal_rows(words: _Words, first: Ints, lengths: Ints) -> Floats:
    """(V, width) numbers of rows that must have the same number of them, three or more."""
    width = int(lengths[0]) if len(lengths) else 3
    bad = (lengths != width) | (lengths < 3)
    if bad.any():
        at = int(np.argmax(bad))
        line = words.line[first[at] - 1] if not lengths[at] else words.line[first[at]]
        raise MeshError(f"line {line}: a vertex has {lengths[at]} numbers; give all three, or all a colour")
    return words.numbers(first, lengths).reshape(-1, width)


def _write_off(contents: Contents) -> bytes:
    head = "OFF" if contents.vertex_colours is None else "COFF"
    lines = [head, f"{len(contents.vertices)} {len(contents.faces)} 0"]
    lines += _text_rows(contents.vertices, contents.vertex_colours)
    sizes = np.full((len(contents.faces), 1), 3)
    lines += _text_rows(np.concatenate([sizes, contents.faces], axis=1), contents.face_colours)
    return ("\n".join(lines) + "\n").encode()


def _text_rows(*tables: NDArray[Any] | None) -> list[str]:
    """One line per row; ``repr`` writes the shortest text that gives back the same number."""
    columns = [column.tolist() for table in tables if table is not None for column in table.T]
    return [" ".join(map(repr, row)) for row in zip(*columns, strict=True)]


# ---------------------------------------------------------------------------------------------------------
# OBJ
# ---------------------------------------------------------------------------------------------------------


def _read_obj(data: bytes) -> Contents:
    data = re.sub(rb"\\\r?\n", b" ", _without_comments(data))  # a backslash continues the line
    # f position/texture/normal: only the position matters here.
    words = _Words(re.sub(rb"/\S*", b"", data) if b"/" in data else data)
    if not len(words.first):
        raise MeshError("the file has no faces; give a mesh, not a point cloud")

    rows = words.rows_of(b"v")
    first, lengths = words.first[rows] + 1, words.lengths[rows] - 1
    if len(np.unique(lengths)) > 1:  # some have colours: read all without
        lengths = np.minimum(lengths, 3)
    table = _equal_rows(words, first, lengths)
    vertex_colours = None
    if table.shape[1] in (6, 7):
        vertex_colours = colours(table[:, 3:], fractions=bool((table[:, 3:] <= 1).all()))

    face_rows = words.rows_of(b"f")
    first, sizes = words.first[face_rows] + 1, words.lengths[face_rows] - 1
    named = words.numbers(first, sizes)
    # Negative indices count back from the last vertex before the face.
    before = np.repeat(np.searchsorted(rows, face_rows), sizes)
    zero_based = np.where(named < 0, before + named, named - 1)
    corners = _indices(zero_based, len(table), sizes, words.line[first - 1], base=1)
    return Contents(table[:, :3], fan(sizes, corners)[0], vertex_colours)


def _write_obj(contents: Contents) -> bytes:
    rgb = None if contents.vertex_colours is None else contents.vertex_colours / 255
    lines = ["v " + row for row in _text_rows(contents.vertices, rgb)]
    lines += ["f " + row for row in _text_rows(contents.faces + 1)]
    return ("\n".join(lines) + "\n").encode()


# ---------------------------------------------------------------------------------------------------------
# PLY
# ---------------------------------------------------------------------------------------------------------

_PLY_TYPES = {
    **dict.fromkeys(("char", "int8"), "i1"),
    **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"),
    **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"),
    **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"),
    **dict.fromkeys(("double", "float64"), "f8"),
}
_PLY_NAMES = {
    "i1": "char",
    "u1": "uchar",
    "i2": "short",
    "u2": "ushort",
    "i4": "int",
    "u4": "uint",
    "f4": "float",
    "f8": "double",
}


@dataclass
class _Property:
    name: str
    type: str
    count_type: str | None = None  # set for a list


@dataclass
class _Element:
    name: str
    count: int
    properties: list[_Property] = field(default_factory=list)


# A scalar property is read as its (n,) values, a list as its (n,) lengths and all its items.
_Table = dict[str, NDArray[Any] | tuple[Ints, NDArray[Any]]]


def _read_ply(data: bytes) -> Contents:
    style, elements, body = _ply_header(data)
    tables: dict[str, _Table] = {}
    if style == "ascii":
        words = _Words(body, above=len(data[: len(data) - len(body)].splitlines()))
        at = 0
        for element in elements:
            count = element.count if element.properties else 0
            if len(words.first) - at < count:
                raise _truncated(f"{element.count} rows of {element.name}")
            tables[element.name] = _ply_text(element, words, slice(at, at + count))
            at += count
    else:
        order = "<" if style == "binary_little_endian" else ">"
        at = 0
        for element in elements:
            tables[element.name], at = _ply_binary(element, body, at, order)

    vertex, face = tables.get("vertex", {}), tables.get("face", {})
    scalars = {name: value for name, value in vertex.items() if not isinstance(value, tuple)}
    if not {"x", "y", "z"} <= scalars.keys():
        raise MeshError("the PLY header names no vertex positions x, y and z; export the file again")
    vertices = np.stack([scalars.pop(axis).astype(np.float64) for axis in "xyz"], axis=1)
    polygons = face.get("vertex_indices", face.get("vertex_index"))
    if not isinstance(polygons, tuple):
        raise MeshError("the PLY header names no faces (vertex_indices); give a mesh, not a point cloud")
    sizes, corners = polygons
    faces, polygon = fan(sizes, _indices(corners.astype(np.float64), len(vertices), sizes))
    face_colours = _ply_colours(face)
    return Contents(
        vertices,
        faces,
        _ply_colours(scalars),
        None if face_colours is None else face_colours[polygon],
        {name: value for name, value in scalars.items() if name not in _CHANNELS},
    )


_CHANNELS = ("red", "green", "blue", "alpha")


def _ply_colours(table: Any) -> Bytes | None:
    channels = [table[name] for name in _CHANNELS if isinstance(table.get(name), np.ndarray)]
    if len(channels) < 3:
        return None
    return colours(np.stack(channels, axis=1), fractions=channels[0].dtype.kind == "f")


def _ply_header(data: bytes) -> tuple[str, list[_Element], bytes]:
    match = re.match(rb"ply[ \t]*(\r\n|\n|\r)", data)
    if match is None:
        raise MeshError("a PLY file begins with a line 'ply'; this one does not: check its suffix")
    newline = match[1]
    end = re.search(rb"(?:^|[\r\n])end_header[ \t]*" + newline, data)
    if end is None:
        raise _truncated("end_header line")
    style = ""
    elements: list[_Element] = []
    for line in data[: end.start()].split(newline)[1:]:
        words = line.decode("latin-1").split()
        match words:
            case ["format", ("ascii" | "binary_little_endian" | "binary_big_endian") as style, "1.0"]:
                pass
            case ["element", name, count]:
                elements.append(_Element(name, _declared(count.encode("latin-1"))))
            case ["property", "list", count_type, item_type, name] if (
                elements and _PLY_TYPES.get(count_type, "f")[0] != "f" and item_type in _PLY_TYPES
            ):
                elements[-1].properties.append(_Property(name, _PLY_TYPES[item_type], _PLY_TYPES[count_type]))
            case ["property", scalar, name] if elements and scalar in _PLY_TYPES:
                elements[-1].properties.append(_Property(name, _PLY_TYPES[scalar]))
            case [] | ["comment" | "obj_info", *_]:
                pass
            case _:
                raise MeshError(f"PLY header: cannot read {_show(line)}; export the file again")
    if not style:
        raise MeshError("the PLY header has no format line; export the file again")
    return style, elements, data[end.end() :]


def _ply_text(element: _Element, words: _Words, rows: slice) -> _Table:
    first, lengths = words.first[rows], words.lengths[rows]
    flat = words.numbers(first, lengths)
    cursor = np.cumsum(lengths) - lengths
    ends = cursor + lengths

    def check(fits: NDArray[np.bool_]) -> None:
        if not fits.all():
            line = words.line[first[int(np.argmin(fits))]]
            raise MeshError(f"line {line}: too few numbers; export the file again")

    table: _Table = {}
    with np.errstate(all="ignore"):  # a number its type cannot hold: checked where it matters
        for prop in element.properties:
            check(cursor < ends)
            values = flat[cursor]
            cursor = cursor + 1
            if prop.count_type is None:
                table[prop.name] = values.astype(prop.type)
                continue
            check((values >= 0) & (values <= ends - cursor))
            sizes = values.astype(np.int64)
            items = flat[np.repeat(cursor, sizes) + _count_up(sizes)]
            table[prop.name] = sizes, items
            cursor = cursor + sizes
    return table


def _ply_binary(element: _Element, body: bytes, at: int, order: str) -> tuple[_Table, int]:
    """Read an element from ``body[at:]``: at once if all its lists have equal lengths, else row by row."""
    if not element.properties or not element.count:
        empty: _Table = {
            p.name: np.empty(0, p.type)
            if p.count_type is None
            else (np.empty(0, np.int64), np.empty(0, p.type))
            for p in element.properties
        }
        return empty, at
    shortfall = _truncated(f"{element.count} rows of {element.name}")
    first = _ply_rows(element, body, at, order, rows=1)
    if first is None:
        raise shortfall
    lengths = {p.name: int(first[0][p.name][0][0]) for p in element.properties if p.count_type}
    fields: list[Any] = []
    for number, prop in enumerate(element.properties):
        if prop.count_type:
            fields.append((f"n{number}", order + prop.count_type))
        shape = (lengths[prop.name],) if prop.count_type else ()
        fields.append((f"p{number}", order + prop.type, shape))
    row = np.dtype(fields)
    if (len(body) - at) // row.itemsize >= element.count:
        block = np.frombuffer(body, row, element.count, at)
        numbered = list(enumerate(element.properties))
        if all((block[f"n{i}"] == lengths[p.name]).all() for i, p in numbered if p.count_type):
            table: _Table = {}
            for i, prop in numbered:
                values = block[f"p{i}"].astype(prop.type)
                if prop.count_type:
                    sizes = np.full(element.count, lengths[prop.name], dtype=np.int64)
                    table[prop.name] = sizes, values.reshape(-1)
                else:
                    table[prop.name] = values
            return table, at + row.itemsize * element.count
    result = _ply_rows(element, body, at, order, rows=element.count)
    if result is None:
        raise shortfall
    return result


def _ply_rows(element: _Element, body: bytes, at: int, order: str, rows: int) -> tuple[Any, int] | None:
    """Read rows one after the other; None if the file is too short."""
    # Every row takes at least a byte, so a huge declared count ends with the data.
    gathered: list[list[NDArray[Any]]] = [[] for _ in element.properties]
    types = [np.dtype(order + p.type) for p in element.properties]
    counts = [p.count_type and np.dtype(order + p.count_type) for p in element.properties]
    size = len(body)
    for _ in range(rows):
        for values, item, count in zip(gathered, types, counts, strict=True):
            number = 1
            if count:
                if at + count.itemsize > size:
                    return None
                number = int(np.frombuffer(body, count, 1, at)[0])
                at += count.itemsize
            if number < 0 or at + number * item.itemsize > size:
                return None
            values.append(np.frombuffer(body, item, number, at))
            at += number * item.itemsize
    table: _Table = {}
    for prop, values in zip(element.properties, gathered, strict=True):
        joined = np.concatenate(values).astype(prop.type)
        sizes = np.array([len(v) for v in values], dtype=np.int64)
        table[prop.name] = (sizes, joined) if prop.count_type else joined
    return table, at


def _write_ply(contents: Contents) -> bytes:
    columns = dict(zip("xyz", contents.vertices.T, strict=True))
    if contents.vertex_colours is not None:
        columns |= dict(zip(_CHANNELS, contents.vertex_colours.T, strict=True))
    for name, values in contents.vertex_data.items():
        if not re.fullmatch(r"[!-~]+", name) or name in columns:
            raise MeshError(f"vertex data {name!r} cannot be a PLY property; give it one plain word")
        columns[name] = values
    vertex = _ply_block(columns)
    corners = np.dtype([("n", "u1"), ("corners", "<i4", (3,))])
    rgba = [] if contents.face_colours is None else [(name, "u1") for name in _CHANNELS]
    face = np.empty(len(contents.faces), dtype=corners.descr + rgba)
    face["n"], face["corners"] = 3, contents.faces
    for name, values in zip(_CHANNELS, () if not rgba else contents.face_colours.T, strict=False):  # type: ignore[union-attr]
        face[name] = values
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(vertex)}"]
    header += [f"property {_PLY_NAMES[vertex.dtype[name].str[1:]]} {name}" for name in columns]
    header += [f"element face {len(face)}", "property list uchar int vertex_indices"]
    header += [f"property uchar {name}" for name, _ in rgba]
    return "\n".join([*header, "end_header\n"]).encode() + vertex.tobytes() + face.tobytes()


def _ply_block(columns: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Columns as rows of the narrowest PLY types that hold them (PLY has no 64-bit integers)."""
    types = []
    for name, values in columns.items():
        if values.ndim != 1 or values.dtype.kind not in "biuf":
            raise MeshError(f"vertex data {name!r} must be one number per vertex to be saved as PLY")
        kind = values.dtype
        if kind.kind == "b":
            kind = np.dtype("u1")
        elif kind.kind == "f":
            kind = np.dtype("f4" if kind.itemsize <= 4 else "f8")
        elif kind.itemsize == 8:
            low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
            kind = np.dtype("i4" if low >= -(2**31) and high < 2**31 else "f8")
        types.append((name, "<" + kind.str[1:]))
    block = np.empty(len(next(iter(columns.values()))), dtype=types)
    for name, values in columns.items():
        block[name] = values
    return block


# ---------------------------------------------------------------------------------------------------------
# STL
# ---------------------------------------------------------------------------------------------------------

_STL = np.dtype([("normal", "<f4", (3,)), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def _read_stl(data: bytes) -> Contents:
    declared = int.from_bytes(data[80:84], "little")
    # Binary files may also begin with "solid".
    lowered = data.lower()
    if lowered.lstrip()[:5] == b"solid" and b"facet" in lowered and len(data) != 84 + 50 * declared:
        words = _Words(lowered)
        rows = words.rows_of(b"vertex")
        if b"endsolid" not in lowered or len(rows) % 3:
            raise _truncated("last face")
        corners = _equal_rows(words, words.first[rows] + 1, words.lengths[rows] - 1)[:, :3]
    else:
        if len(data) < 84 + 50 * declared or len(data) < 84:
            raise _truncated(f"{declared} faces")
        corners = np.frombuffer(data, _STL, declared, 84)["corners"].reshape(-1, 3).astype(np.float64)
    first = first_equal(corners + 0.0)  # −0 becomes 0
    kept, faces = np.unique(first, return_inverse=True)
    return Contents(corners[kept], faces.reshape(-1, 3).astype(np.int64))


def _write_stl(contents: Contents) -> bytes:
    with np.errstate(all="ignore"):
        corners = contents.vertices[contents.faces].astype(np.float32)
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        unit = np.where(length > 0, normal / length, 0)
    block = np.zeros(len(corners), dtype=_STL)
    block["normal"], block["corners"] = unit, corners
    return b"fieldconv".ljust(80) + len(block).to_bytes(4, "little") + block.tobytes()


# ---------------------------------------------------------------------------------------------------------
# GLB, by trimesh
# ---------------------------------------------------------------------------------------------------------


def _read_glb(data: bytes) -> Contents:
    import io
    import json

    import trimesh

    advice = "the file is not a whole GLB file with triangles; fetch or export it again"
    try:
        scene = json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])
        # trimesh allocates what is declared.
        if any(accessor["count"] > len(data) for accessor in scene.get("accessors", ())):
            raise MeshError(advice)
        mesh = trimesh.load(io.BytesIO(data), file_type="glb", force="mesh", process=False)
        visual = mesh.visual
        coloured = visual.kind == "vertex"
        return Contents(
            np.array(mesh.vertices, dtype=np.float64).reshape(-1, 3),
            np.array(mesh.faces, dtype=np.int64).reshape(-1, 3),
            np.array(visual.vertex_colors, dtype=np.uint8) if coloured else None,
        )
    except MeshError:
        raise
    except Exception as error:  # trimesh raises whatever its parsing runs into
        raise MeshError(advice) from error


def _write_glb(contents: Contents) -> bytes:
    import trimesh

    mesh = trimesh.Trimesh(contents.vertices, contents.faces, process=False, validate=False)
    if contents.vertex_colours is not None:
        mesh.visual = trimesh.visual.ColorVisuals(mesh, vertex_colors=contents.vertex_colours)
    return bytes(mesh.export(file_type="glb"))


_READERS: dict[str, Callable[[bytes], Contents]] = {
    ".obj": _read_obj,
    ".off": _read_off,
    ".ply": _read_ply,
    ".stl": _read_stl,
    ".glb": _read_glb,
}
_WRITERS: dict[str, Callable[[Contents], bytes]] = {
    ".obj": _write_obj,
    ".off": _write_off,
    ".ply": _write_ply,
    ".stl": _write_stl,
    ".glb": _write_glb,
}
_KEPT = {
    ".obj": {"vertex colours"},
    ".off": {"vertex colours", "face colours"},
    ".ply": {"vertex colours", "face colours", "vertex data"},
    ".stl": set[str](),
    ".glb": {"vertex colours"},
}
