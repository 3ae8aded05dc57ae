"""PLY: text and binary, with all scalar properties of the vertices."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from fieldconv._arrays import Array, Bools, Bytes, Ints
from fieldconv.geometry.mesh.files.common import (
    Contents,
    MeshError,
    colours,
    count_up,
    fan,
    parse_count,
    quote,
    truncated,
    vertex_indices,
)
from fieldconv.geometry.mesh.files.text import Words

KEEPS = {"vertex colours", "face colours", "vertex data"}

_TYPES = {
    **dict.fromkeys(("char", "int8"), "i1"),
    **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"),
    **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"),
    **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"),
    **dict.fromkeys(("double", "float64"), "f8"),
}
_NAMES = {code: name for name, code in reversed(_TYPES.items())}  # the first of each: the original names
_CHANNELS = ("red", "green", "blue", "alpha")
MAX_PROPERTIES = 1000  # of an element, and elements of a file: more take very long to read


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
_Table = dict[str, Array | tuple[Ints, Array]]


def read(data: bytes) -> Contents:
    style, elements, body = _header(data)
    tables: dict[str, _Table] = {}
    at = 0
    if style == "ascii":
        words = Words(body, above=len(data[: len(data) - len(body)].splitlines()))
        for element in elements:
            count = element.count if element.properties else 0
            if len(words.first) - at < count:
                raise truncated(f"{element.count} rows of {element.name}")
            tables[element.name] = _text(element, words, slice(at, at + count))
            at += count
    else:
        order = "<" if style == "binary_little_endian" else ">"
        for element in elements:
            tables[element.name], at = _binary(element, body, at, order)

    vertex, face = tables.get("vertex", {}), tables.get("face", {})
    scalars = {name: value for name, value in vertex.items() if not isinstance(value, tuple)}
    if not {"x", "y", "z"} <= scalars.keys():
        raise MeshError("the PLY header names no vertex positions x, y and z; export the file again")
    vertices = np.stack([scalars.pop(axis).astype(np.float64) for axis in "xyz"], axis=1)
    nothing = np.zeros(0, np.int64)
    polygons = face.get("vertex_indices", face.get("vertex_index"))
    if face and not isinstance(polygons, tuple):
        raise MeshError("the PLY header names no faces (vertex_indices); export the file again")
    sizes, corners = polygons if isinstance(polygons, tuple) else (nothing, nothing)  # or a cloud of points
    faces, polygon = fan(sizes, vertex_indices(corners.astype(np.float64), len(vertices), sizes))
    face_colours = _colours(face)
    return Contents(
        vertices,
        faces,
        _colours(scalars),
        None if face_colours is None else face_colours[polygon],
        {name: value for name, value in scalars.items() if name not in _CHANNELS},
    )


def _colours(table: Any) -> Bytes | None:
    channels = [table[name] for name in _CHANNELS if isinstance(table.get(name), np.ndarray)]
    if len(channels) < 3:
        return None
    return colours(np.stack(channels, axis=1), fractions=channels[0].dtype.kind == "f")


def _header(data: bytes) -> tuple[str, list[_Element], bytes]:
    match = re.match(rb"ply[ \t]*(\r\n|\n|\r)", data)
    if match is None:
        raise MeshError("a PLY file begins with a line 'ply'; this one does not: check its suffix")
    newline = match[1]
    end = re.search(rb"(?:^|[\r\n])end_header[ \t]*" + newline, data)
    if end is None:
        raise truncated("end_header line")
    style = ""
    elements: list[_Element] = []
    for line in data[: end.start()].split(newline)[1:]:
        words = line.decode("latin-1").split()
        match words:
            case ["format", ("ascii" | "binary_little_endian" | "binary_big_endian") as style, "1.0"]:
                pass
            case ["element", name, count]:
                elements.append(_Element(name, parse_count(count.encode("latin-1"))))
            case ["property", "list", count_type, item_type, name] if (
                elements and _TYPES.get(count_type, "f")[0] != "f" and item_type in _TYPES
            ):
                elements[-1].properties.append(_Property(name, _TYPES[item_type], _TYPES[count_type]))
            case ["property", scalar, name] if elements and scalar in _TYPES:
                elements[-1].properties.append(_Property(name, _TYPES[scalar]))
            case [] | ["comment" | "obj_info", *_]:
                pass
            case _:
                raise MeshError(f"PLY header: cannot read {quote(line)}; export the file again")
    if not style:
        raise MeshError("the PLY header has no format line; export the file again")
    if max([len(elements), *(len(element.properties) for element in elements)]) > MAX_PROPERTIES:
        raise MeshError(f"the PLY header names more than {MAX_PROPERTIES} properties; export the file again")
    for element in elements:
        if len({prop.name for prop in element.properties}) < len(element.properties):
            raise MeshError(f"the PLY header names a property of {element.name} twice; export the file again")
    return style, elements, data[end.end() :]


def _text(element: _Element, words: Words, rows: slice) -> _Table:
    first, lengths = words.first[rows], words.lengths[rows]
    flat = words.numbers(first, lengths)
    cursor = np.cumsum(lengths) - lengths
    ends = cursor + lengths

    def check(fits: Bools) -> None:
        if not fits.all():
            line = words.line[first[int(np.argmin(fits))]]
            raise MeshError(f"line {line}: too few numbers; export the file again")

    table: _Table = {}
    for prop in element.properties:
        check(cursor < ends)
        values = flat[cursor]
        cursor = cursor + 1
        if prop.count_type is None:
            table[prop.name] = values.astype(prop.type)
            continue
        check((values >= 0) & (values <= ends - cursor))
        sizes = values.astype(np.int64)
        table[prop.name] = sizes, flat[np.repeat(cursor, sizes) + count_up(sizes)]
        cursor = cursor + sizes
    return table


def _binary(element: _Element, body: bytes, at: int, order: str) -> tuple[_Table, int]:
    """Read an element from ``body[at:]``: at once if all its lists have equal lengths, else row by row."""
    count = element.count if element.properties else 0
    table, end = _rows(element, body, at, order, min(count, 1))
    if count < 2:
        return table, end
    fields: list[tuple[str, str, tuple[int, ...]]] = []
    for number, prop in enumerate(element.properties):
        shape: tuple[int, ...] = ()
        if prop.count_type:
            shape = (int(table[prop.name][0][0]),)
            fields.append((f"n{number}", order + prop.count_type, ()))
        fields.append((f"p{number}", order + prop.type, shape))
    row = np.dtype(fields)
    if (len(body) - at) // row.itemsize < count:
        return _rows(element, body, at, order, count)
    block = np.frombuffer(body, row, count, at)
    for number, prop in enumerate(element.properties):
        values = block[f"p{number}"].astype(prop.type)
        if prop.count_type is None:
            table[prop.name] = values
            continue
        if (block[f"n{number}"] != values.shape[1]).any():
            return _rows(element, body, at, order, count)
        table[prop.name] = np.full(count, values.shape[1]), values.reshape(-1)
    return table, at + row.itemsize * count


def _rows(element: _Element, body: bytes, at: int, order: str, rows: int) -> tuple[_Table, int]:
    """Read rows whose lists may differ in length."""
    # Every row takes at least a byte, so a huge declared count ends with the data.
    places: list[list[int]] = [[] for _ in element.properties]
    sizes: list[list[int]] = [[] for _ in element.properties]
    little: Literal["little", "big"] = "little" if order == "<" else "big"
    steps = [
        (place.append, size.append, int(p.type[1]), int(p.count_type[1]) if p.count_type else 0,
         (p.count_type or "u")[0] == "i")
        for place, size, p in zip(places, sizes, element.properties, strict=True)
    ]  # fmt: skip
    end, read = len(body), int.from_bytes
    for _ in range(rows):
        for add_place, add_size, width, count_width, signed in steps:
            number = 1
            if count_width:
                number = read(body[at : at + count_width], little, signed=signed)
                at += count_width
            add_place(at)
            add_size(number)
            at += number * width
            if number < 0 or at > end:
                raise truncated(f"{element.count} rows of {element.name}")
    raw = np.frombuffer(body, np.uint8)
    table: _Table = {}
    for prop, place, size in zip(element.properties, places, sizes, strict=True):
        counts, width = np.array(size, np.int64), int(prop.type[1])
        begins = np.repeat(np.array(place, np.int64), counts) + count_up(counts) * width
        values = raw[begins[:, None] + np.arange(width)].reshape(-1).view(order + prop.type).astype(prop.type)
        table[prop.name] = (counts, values) if prop.count_type else values
    return table, at


def write(contents: Contents) -> bytes:
    columns = dict(zip("xyz", contents.vertices.T, strict=True))
    if contents.vertex_colours is not None:
        columns |= dict(zip(_CHANNELS, contents.vertex_colours.T, strict=True))
    for name, values in contents.vertex_data.items():
        if not re.fullmatch(r"[!-~]+", name) or name in {*columns, *_CHANNELS}:
            raise MeshError(f"vertex data {name!r} cannot be a PLY property; give it one plain word")
        columns[name] = values
    vertex = _block(columns)
    corners = np.dtype([("n", "u1"), ("corners", "<i4", (3,))])
    rgba = [] if contents.face_colours is None else [(name, "u1") for name in _CHANNELS]
    face = np.empty(len(contents.faces), dtype=corners.descr + rgba)
    face["n"], face["corners"] = 3, contents.faces
    if contents.face_colours is not None:
        for name, values in zip(_CHANNELS, contents.face_colours.T, strict=True):
            face[name] = values
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(vertex)}"]
    header += [f"property {_NAMES[vertex.dtype[name].str[1:]]} {name}" for name in columns]
    header += [f"element face {len(face)}", "property list uchar int vertex_indices"]
    header += [f"property uchar {name}" for name, _ in rgba]
    return "\n".join([*header, "end_header\n"]).encode() + vertex.tobytes() + face.tobytes()


def _block(columns: dict[str, Array]) -> Array:
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
