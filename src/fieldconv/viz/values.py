"""Colour the values at the vertices of a mesh, write them to files and read them.

A PLY file holds a mesh and one or several properties for each kind of value. A JSON file of the same name
describes the properties::

    {"format": "fieldconv shape", "about": {"run": "…", "note": "…", "up": "z"},
     "values": [{"key": "prediction", "name": "Prediction", "kind": "labels", "limits": null,
                 "class_names": ["head", …]}, …]}

Without the JSON file, the names of the properties say what they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from fieldconv._arrays import Array, Bytes
from fieldconv._io import atomic_path
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.shapefile import load_shape
from fieldconv.tasks.base.vertex_values import Kind, VertexValues, are_whole
from fieldconv.viz import colours as col
from fieldconv.viz import panels as pan

FORMAT = "fieldconv shape"
MAX_CLASSES = 256  # colours of more classes cannot be told apart: they are shown as numbers
_NO_VALUE = 128  # grey, in files

# Suffixes of the properties of vectors and colours: each PLY property is a single number.
_COMPLEX, _SPACE, _CHANNELS = ("re", "im"), ("x", "y", "z"), ("red", "green", "blue")


@dataclass
class MeshValues:
    """Values by which one mesh is coloured, and a note above it."""

    values: Sequence[VertexValues] = ()
    note: str = ""


def colouring(
    values: VertexValues,
    mesh: Mesh | None = None,
    *,
    template: Mesh | None = None,
    largest: float | None = None,
) -> pan.Colouring:
    """Return the colouring of a mesh by its values; without the mesh, vectors have no arrows.

    Places refer to the template. ``largest`` is the largest error, or length of a vector, on the page.

    Examples
    --------
    >>> parts = VertexValues(name="Part", kind="labels", values=np.array([0, 1, 1]), class_names=("a", "b"))
    >>> colouring(parts).names
    ['a', 'b']
    """
    name, array = values.name, values.values
    upper_limit = None if values.limits is None else values.limits[1]
    match values.kind:
        case "labels":
            return pan.labels(name, array, values.class_names)
        case "scalar":
            return pan.scalar(name, array, limits=values.limits)
        case "error":
            return pan.error(name, array, largest=largest if upper_limit is None else upper_limit)
        case "places":
            if template is None:
                raise ValueError(f"{name!r} names vertices of a template; give that mesh, too")
            return pan.match_colours(name, template, array)
        case "field":
            vectors = np.iscomplexobj(array) or array.ndim == 2
            arrows = pan.field_arrows(mesh, array) if vectors and mesh is not None else None
            return pan.field(name, array, largest=upper_limit, largest_of_all=largest, arrows=arrows)
        case "colours":
            return pan.Colours(name=name, values=array)
        case "descriptors":
            return pan.Colours(name=name, values=col.descriptor_colours([array])[0])


def colourings(
    values: Iterable[VertexValues],
    mesh: Mesh,
    template: Mesh | None,
    largest: Mapping[str, float] = {},
) -> list[pan.Colouring]:
    """Return the colourings of a mesh by its values; without a template, places are left out.

    ``largest`` is by the keys of the values.
    """
    return [
        colouring(own, mesh, template=template, largest=largest.get(own.key))
        for own in values
        if own.kind != "places" or template is not None
    ]


def template_panels(template: Mesh | None, values: Iterable[VertexValues]) -> list[pan.Panel]:
    """Return a panel of the template, if there is one and any of the values are places on it."""
    name = next((own.name for own in values if own.kind == "places"), None)
    if template is None or name is None:
        return []
    places = pan.match_colours(name, template, np.arange(len(template.vertices)))
    return [pan.Panel(mesh=template, title="Template", colourings=[places])]


def share_descriptor_colours(shown: Sequence[MeshValues]) -> list[MeshValues]:
    """Replace the descriptors of several meshes by colours that all meshes share.

    Examples
    --------
    >>> rows = [[0.0, 1.0], [2.0, 0.0]]
    >>> both = [VertexValues(name="Network", kind="descriptors", values=own) for own in (rows, rows[::-1])]
    >>> one, other = share_descriptor_colours([MeshValues([own]) for own in both])
    >>> bool((one.values[0].values == other.values[0].values[::-1]).all())
    True
    """
    descriptors = [own.values for one in shown for own in one.values if own.kind == "descriptors"]
    colours = iter(col.descriptor_colours(descriptors) if descriptors else ())

    def coloured(own: VertexValues) -> VertexValues:
        return replace(own, kind="colours", values=next(colours)) if own.kind == "descriptors" else own

    return [replace(one, values=[coloured(own) for own in one.values]) for one in shown]


def vertex_colours(values: VertexValues, *, template: Mesh | None = None) -> Bytes:
    """Return (V, 3) colours of the values; vertices without a value are grey.

    Examples
    --------
    >>> vertex_colours(VertexValues(name="Part", kind="labels", values=np.array([0, -1])))
    array([[  0, 114, 178],
           [128, 128, 128]], dtype=uint8)
    """
    match colouring(values, template=template):
        case pan.Labels(values=classes, colours=palette):
            colours, known = palette[np.maximum(classes, 0)], classes >= 0
        case pan.Scalar(values=numbers) as scale:
            colours, known = scale.colours_at(numbers), ~np.isnan(numbers)
        case pan.Colours(values=colours, match=match):
            known = np.full(len(colours), True) if match is None else match >= 0
    return np.where(known[:, None], colours, np.uint8(_NO_VALUE))


# --- files


def write_shape(
    path: str | Path,
    mesh: Mesh,
    values: Sequence[VertexValues],
    *,
    about: Mapping[str, str] | None = None,
) -> None:
    """Write a mesh and values at its vertices: a PLY file, and a JSON file of the same name beside it.

    The file keeps the vertex colours of the mesh, which any program shows. Raise ValueError if two values
    have the same key, or a key cannot be a property of a PLY file.

    Parameters
    ----------
    path : path
        PLY file to write.
    about : dict of str to str, optional
        Texts about the shape: ``run`` (whose prediction it is), ``note`` (shown above it), ``up`` (axis).

    Examples
    --------
    >>> import tempfile
    >>> mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> height = VertexValues(name="Height", kind="scalar", values=mesh.vertices[:, 1])
    >>> path = Path(tempfile.mkdtemp()) / "triangle.ply"
    >>> write_shape(path, mesh, [height])
    >>> read_shape(path)[1][0].values.tolist()
    [0.0, 0.0, 1.0]
    """
    path = Path(path)
    if path.suffix.lower() != ".ply":
        raise ValueError(f"{path}: only PLY files hold values at vertices; give a name that ends in .ply")
    columns: dict[str, Array] = {}
    for own in values:
        if len(own.values) != len(mesh.vertices):
            raise ValueError(
                f"{path}: {own.name!r} has {len(own.values):,} values but the mesh has "
                f"{len(mesh.vertices):,} vertices; give one per vertex"
            )
        for key, column in _columns(own).items():
            if key in columns:
                raise ValueError(f"{path}: two values have the key {key!r}; give each its own")
            columns[key] = column
    others = {key: data for key, data in mesh.vertex_data.items() if key not in columns and data.ndim == 1}
    fields = ("key", "name", "kind", "limits", "class_names")
    description = {
        "format": FORMAT,
        "about": dict(about or {}),
        "values": [{name: getattr(own, name) for name in fields} for own in values],
    }
    replace(mesh, vertex_data={**others, **columns}).save(path)
    with atomic_path(path.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(description, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_shape(path: str | Path) -> tuple[Mesh, list[VertexValues]]:
    """Return a mesh and the values that its file, with the JSON beside it, has for its vertices.

    Any mesh file can be read, and clouds of points, which `load_shape` joins. The names of properties that
    no JSON describes say what they are. Raise ValueError if the JSON cannot be read or does not fit the mesh.
    """
    path = Path(path)
    mesh = load_shape(path)
    data = dict(mesh.vertex_data)
    described = []
    for entry in _description(path).get("values", []):
        try:
            own = VertexValues(
                name=str(entry["name"]),
                kind=entry["kind"],
                values=_pop_values(entry["kind"], entry["key"], data),
                key=str(entry["key"]),
                limits=entry.get("limits"),
                class_names=tuple(entry.get("class_names") or ()),
            )
        except (KeyError, TypeError, ValueError) as problem:
            missing = f"{problem} is missing" if isinstance(problem, KeyError) else problem
            raise ValueError(
                f"{path.with_suffix('.json')} does not describe {path.name}: {missing}; write both again"
            ) from None
        described.append(own)
    # The colours of a described file repeat the first values for other programs. Only those of places
    # are needed: they cannot be made again without their template.
    own_colours = None if described and described[0].kind != "places" else mesh.vertex_colours
    others = values_of(replace(mesh, vertex_data=data, vertex_colours=own_colours))
    return replace(mesh, vertex_data={}), described + others


def known_up(path: str | Path) -> str | None:
    """Return the axis that points up according to the JSON beside a mesh, or None."""
    try:
        up = read_about(path).get("up")
    except ValueError:  # a damaged file, perhaps of another program
        return None
    return up if up in ("x", "y", "z") else None


def read_about(path: str | Path) -> dict[str, str]:
    """Return the texts about a shape that `write_shape` wrote beside it; none if there is no JSON."""
    return {str(key): str(text) for key, text in (_description(Path(path)).get("about") or {}).items()}


def values_of(mesh: Mesh) -> list[VertexValues]:
    """Return the labels, numbers and colours of a mesh's vertices, which their names describe.

    Examples
    --------
    >>> mesh = Mesh(np.eye(3), [[0, 1, 2]], vertex_data={"label": [0, 1, 1], "gap_error": [0.1, 0.2, 0.3]})
    >>> [(values.name, values.kind) for values in values_of(mesh)]
    [('Prediction', 'labels'), ('Gap error', 'error')]
    """
    result = [_by_name(key, column) for key, column in mesh.vertex_data.items() if column.ndim == 1]
    if mesh.vertex_colours is not None:
        colours = mesh.vertex_colours[:, :3].copy()
        result.append(VertexValues(name="Colours", kind="colours", values=colours, key="rgb"))
    return result


def labels_or_numbers(values: Array) -> Kind:
    """Return the kind of numbers at vertices: labels if they are whole and few enough."""
    return "labels" if are_whole(values) and int(values.max(initial=0)) < MAX_CLASSES else "scalar"


def _by_name(key: str, values: Array) -> VertexValues:
    """Return a property as values, whose kind follows from its name and the type of its numbers."""
    name, kind, limits = key.replace("_", " "), labels_or_numbers(values), None
    name = name[:1].upper() + name[1:]
    whole = are_whole(values)
    if key == "match" and whole:
        name, kind = "Correspondence", "places"
    elif kind == "labels":
        name = "Prediction" if key == "label" else name
    elif key == "confidence":
        limits = (0.0, 1.0)
    elif "error" in key.lower() and not whole:
        kind = "error"
    return VertexValues(name=name, kind=kind, values=values, key=key, limits=limits)


def _columns(values: VertexValues) -> dict[str, Array]:
    """Return the values as columns of a PLY file."""
    array = values.values
    if np.iscomplexobj(array):
        parts = zip(_COMPLEX, (array.real, array.imag), strict=True)
    elif values.kind == "descriptors":
        parts = zip(map(str, range(array.shape[1])), array.T, strict=True)
    elif array.ndim == 2:
        parts = zip(_CHANNELS if values.kind == "colours" else _SPACE, array.T, strict=True)
    else:
        return {values.key: array}
    return {f"{values.key}_{part}": column for part, column in parts}


def _pop_values(kind: str, key: str, data: dict[str, Array]) -> Array:
    """Return the values of a key and remove their columns from the data."""
    if kind == "colours":
        return np.stack([data.pop(f"{key}_{part}") for part in _CHANNELS], axis=1).astype(np.uint8)
    if kind == "descriptors":
        names = takewhile(data.__contains__, (f"{key}_{place}" for place in count()))
        return np.stack([data.pop(name) for name in list(names)], axis=1)
    if kind != "field" or key in data:
        return data.pop(key)
    if f"{key}_re" in data:
        complex_values: Array = data.pop(f"{key}_re") + 1j * data.pop(f"{key}_im")
        return complex_values
    return np.stack([data.pop(f"{key}_{part}") for part in _SPACE], axis=1)


def _description(path: Path) -> dict[str, Any]:
    """Return the JSON beside a mesh; empty if there is none, or if another program wrote it."""
    description_file = path.with_suffix(".json")
    if not description_file.is_file():
        return {}
    advice = "delete it or write the shape again"
    try:
        content = json.loads(description_file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise ValueError(f"{description_file} cannot be read ({problem}); {advice}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return {}
    if not isinstance(content.get("values", []), list) or not isinstance(content.get("about", {}), dict):
        raise ValueError(f"{description_file} is not as fieldconv writes it; {advice}")
    return content
