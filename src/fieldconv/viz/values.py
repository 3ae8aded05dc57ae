"""Values at the vertices of a mesh: how they are coloured, how they are kept in files.

A shape is kept as a PLY file with one property (or several) for each kind of value, and a JSON file of the
same name beside it, which says what the properties are::

    {"format": "fieldconv shape", "about": {"run": "…", "note": "…", "up": "z"},
     "values": [{"key": "prediction", "name": "Prediction", "kind": "labels", "limits": null,
                 "class_names": ["head", …]}, …]}

Files without JSON are read by the names of their properties.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldconv._io import atomic_path
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.shapefile import load_shape
from fieldconv.tasks.base.vertex_values import Kind, VertexValues
from fieldconv.viz import colours as col
from fieldconv.viz import panels as pan

FORMAT = "fieldconv shape"
MOST_CLASSES = 256  # nobody can tell more of them apart: whole numbers above are shown as numbers
_NO_VALUE = 128  # grey

# Names of the parts in which vectors and colours are kept: PLY properties are single numbers.
_COMPLEX, _SPACE, _CHANNELS = ("re", "im"), ("x", "y", "z"), ("red", "green", "blue")


@dataclass
class Shown:
    """What is shown of one mesh: values to colour it by, and a note above it."""

    values: list[VertexValues] = field(default_factory=list)
    note: str = ""


def colouring(
    values: VertexValues, mesh: Mesh, *, template: Mesh | None = None, largest: float | None = None
) -> pan.Colouring:
    """Return the values as a way to colour a panel of the mesh.

    Parameters
    ----------
    template : Mesh, optional
        Mesh that ``"places"`` refer to.
    largest : float, optional
        Largest number over all meshes that are shown together, for errors and fields.

    Raises
    ------
    ValueError
        If the values are places and there is no template.

    Examples
    --------
    >>> mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    >>> parts = VertexValues(name="Part", kind="labels", values=np.array([0, 1, 1]), class_names=("a", "b"))
    >>> colouring(parts, mesh).names
    ['a', 'b']
    """
    given = values.values
    match values.kind:
        case "labels":
            return pan.labels(values.name, given, values.class_names)
        case "scalar":
            return pan.scalar(values.name, given, limits=values.limits)
        case "error":
            top = values.limits[1] if values.limits is not None else largest
            return pan.error(values.name, given, largest=top)
        case "places":
            if template is None:
                raise ValueError(f"{values.name!r} names vertices of a template; give that mesh, too")
            return pan.carried(values.name, template, given)
        case "field":
            vectors = np.iscomplexobj(given) or given.ndim == 2
            arrows = pan.field_arrows(mesh, given) if vectors else None
            top = values.limits[1] if values.limits is not None else None
            return pan.field(values.name, given, largest=top, largest_of_all=largest, arrows=arrows)
        case "colours":
            return pan.Colours(name=values.name, values=given)
        case "descriptors":
            return pan.Colours(name=values.name, values=col.alike([given])[0])


def coloured_alike(shown: Sequence[Shown]) -> list[Shown]:
    """Return what is shown of several meshes with colours for descriptors that all meshes share.

    Examples
    --------
    >>> rows = [[0.0, 1.0], [2.0, 0.0]]
    >>> both = [VertexValues(name="Network", kind="descriptors", values=own) for own in (rows, rows[::-1])]
    >>> one, other = (shown.values[0].values for shown in coloured_alike([Shown([own]) for own in both]))
    >>> bool((one == other[::-1]).all())
    True
    """
    every = [own.values for one in shown for own in one.values if own.kind == "descriptors"]
    colours = iter(col.alike(every) if every else ())
    return [
        replace(
            one,
            values=[
                replace(own, kind="colours", values=next(colours)) if own.kind == "descriptors" else own
                for own in one.values
            ],
        )
        for one in shown
    ]


def vertex_colours(values: VertexValues, *, template: Mesh | None = None) -> NDArray[np.uint8]:
    """Return (V, 3) colours of the values, grey where there is none.

    Examples
    --------
    >>> vertex_colours(VertexValues(name="Part", kind="labels", values=np.array([0, -1])))
    array([[  0, 114, 178],
           [128, 128, 128]], dtype=uint8)
    """
    given = values.values
    if values.kind == "colours":
        return given.copy()
    if values.kind == "descriptors":
        return col.alike([given])[0]
    if values.kind == "labels":
        palette = col.categorical(max(len(values.class_names), int(given.max(initial=-1)) + 1, 1))
        return np.where((given >= 0)[:, None], palette[np.maximum(given, 0)], np.uint8(_NO_VALUE))
    if values.kind == "places":
        if template is None:
            raise ValueError(f"{values.name!r} names vertices of a template; give that mesh, too")
        known = pan.carried(values.name, template, given).values
        return np.where((given >= 0)[:, None], known, np.uint8(_NO_VALUE))
    scale: pan.Scalar
    match values.kind:
        case "scalar":
            scale = pan.scalar(values.name, given, limits=values.limits)
        case "error":
            scale = pan.error(values.name, given, largest=values.limits[1] if values.limits else None)
        case "field":
            scale = pan.field(values.name, given, largest=values.limits[1] if values.limits else None)
    low, high = scale.limits
    place = (
        (scale.values - low) / (high - low) if high > low else np.where(np.isnan(scale.values), np.nan, 0.5)
    )
    return np.where(np.isnan(place)[:, None], np.uint8(_NO_VALUE), col.look_up(scale.ramp, place))


# --- files


def write_coloured(
    path: str | Path,
    mesh: Mesh,
    values: Sequence[VertexValues],
    *,
    template: Mesh | None = None,
    about: Mapping[str, str] | None = None,
) -> None:
    """Write a mesh as `write_shape` does, with colours of the first of the values.

    Parameters
    ----------
    template : Mesh, optional
        Mesh that ``"places"`` refer to.
    """
    colours = vertex_colours(values[0], template=template)
    coloured = Mesh(mesh.vertices, mesh.faces, vertex_colours=colours, vertex_data=dict(mesh.vertex_data))
    write_shape(path, coloured, values, about=about)


def write_shape(
    path: str | Path,
    mesh: Mesh,
    values: Sequence[VertexValues],
    *,
    about: Mapping[str, str] | None = None,
) -> None:
    """Write a mesh and values at its vertices: a PLY file, and a JSON file of the same name beside it.

    The mesh's own vertex colours are kept, so that any program shows them.

    Parameters
    ----------
    path : path
        PLY file to write.
    about : dict of str to str, optional
        Texts about the shape: ``run`` (whose prediction it is), ``note`` (shown above it), ``up`` (axis).

    Raises
    ------
    ValueError
        If two values have the same key, or a key cannot be a property of a PLY file.

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
        raise ValueError(f"{path}: values at vertices are kept in PLY files; give a name that ends in .ply")
    columns: dict[str, NDArray[Any]] = {}
    for own in values:
        if len(own.values) != len(mesh.vertices):
            raise ValueError(
                f"{path}: {own.name!r} has {len(own.values):,} values but the mesh has "
                f"{len(mesh.vertices):,} vertices; give one per vertex"
            )
        for key, column in _split(own).items():
            if key in columns:
                raise ValueError(f"{path}: two values have the key {key!r}; give each its own")
            columns[key] = column
    kept = {key: data for key, data in mesh.vertex_data.items() if key not in columns and data.ndim == 1}
    description = {
        "format": FORMAT,
        "about": dict(about or {}),
        "values": [
            {
                "key": own.key,
                "name": own.name,
                "kind": own.kind,
                "limits": own.limits,
                "class_names": own.class_names,
            }
            for own in values
        ],
    }
    replace(mesh, vertex_data={**kept, **columns}).save(path)
    with atomic_path(path.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(description, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_shape(path: str | Path) -> tuple[Mesh, list[VertexValues]]:
    """Return a mesh and the values that its file, with the JSON beside it, has for its vertices.

    Any mesh file is read, and clouds of points as `load_shape` joins them. Properties that no JSON describes
    are read by their names.

    Raises
    ------
    ValueError
        If the JSON beside the mesh cannot be read, or does not fit the mesh.
    """
    path = Path(path)
    mesh = load_shape(path)
    data = dict(mesh.vertex_data)
    found = []
    beside = path.with_suffix(".json")
    for entry in _description(path).get("values", []):
        try:
            own = VertexValues(
                name=str(entry["name"]),
                kind=entry["kind"],
                values=_join(entry["kind"], entry["key"], data),
                key=str(entry["key"]),
                limits=entry.get("limits"),
                class_names=tuple(entry.get("class_names") or ()),
            )
        except (KeyError, TypeError, ValueError) as problem:
            missing = f"{problem} is missing" if isinstance(problem, KeyError) else problem
            raise ValueError(f"{beside} does not describe {path.name}: {missing}; write both again") from None
        found.append(own)
    # Where values are described, the colours of the file are only how other programs see the first of them;
    # but those of places cannot be made again without their template.
    own_colours = None if found and found[0].kind != "places" else mesh.vertex_colours
    rest = values_of(replace(mesh, vertex_data=data, vertex_colours=own_colours))
    return replace(mesh, vertex_data={}), found + rest


def known_up(path: str | Path) -> str | None:
    """Return the axis that points up as the JSON beside a mesh says it; None if it does not."""
    try:
        up = read_about(path).get("up")
    except ValueError:  # a damaged file that need not be ours
        return None
    return up if up in ("x", "y", "z") else None


def read_about(path: str | Path) -> dict[str, str]:
    """Return the texts about a shape that `write_shape` wrote beside it; none if there is no JSON.

    Raises
    ------
    ValueError
        If the JSON beside the mesh cannot be read.
    """
    return {str(key): str(text) for key, text in (_description(Path(path)).get("about") or {}).items()}


def values_of(mesh: Mesh) -> list[VertexValues]:
    """Return everything a mesh carries: labels, numbers and colours of its vertices, told by their names.

    Examples
    --------
    >>> mesh = Mesh(np.eye(3), [[0, 1, 2]], vertex_data={"label": [0, 1, 1], "gap_error": [0.1, 0.2, 0.3]})
    >>> [(values.name, values.kind) for values in values_of(mesh)]
    [('Prediction', 'labels'), ('Gap error', 'error')]
    """
    data = {key: values for key, values in mesh.vertex_data.items() if values.ndim == 1}
    found = [_by_name(key, column) for key, column in data.items()]
    if mesh.vertex_colours is not None:
        found.append(
            VertexValues(name="Colours", kind="colours", values=mesh.vertex_colours[:, :3].copy(), key="rgb")
        )
    return found


def _by_name(key: str, values: NDArray[Any]) -> VertexValues:
    """Return what a property without description is, by its name and the kind of its numbers."""
    whole = np.issubdtype(values.dtype, np.integer) or values.dtype == np.bool_
    few = whole and int(values.max(initial=0)) < MOST_CLASSES
    spoken = key.replace("_", " ")
    spoken = spoken[:1].upper() + spoken[1:]
    if whole and key == "match":
        return VertexValues(name="Correspondence", kind="places", values=values, key=key)
    if few:
        name = "Prediction" if key == "label" else spoken
        return VertexValues(name=name, kind="labels", values=values, key=key)
    if key == "confidence":
        return VertexValues(name="Confidence", kind="scalar", values=values, key=key, limits=(0, 1))
    kind: Kind = "error" if "error" in key.lower() and not whole else "scalar"
    return VertexValues(name=spoken, kind=kind, values=values, key=key)


def _split(values: VertexValues) -> dict[str, NDArray[Any]]:
    """Return the columns in which values are kept in a PLY file."""
    given = values.values
    if np.iscomplexobj(given):
        parts = zip(_COMPLEX, (given.real, given.imag), strict=True)
    elif values.kind == "descriptors":
        parts = zip(map(str, range(given.shape[1])), given.T, strict=True)
    elif given.ndim == 2:
        parts = zip(_CHANNELS if values.kind == "colours" else _SPACE, given.T, strict=True)
    else:
        return {values.key: given}
    return {f"{values.key}_{part}": column for part, column in parts}


def _join(kind: str, key: str, data: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Return the values of a key, whose columns are taken out of the data."""
    if kind == "colours":
        return np.stack([data.pop(f"{key}_{part}") for part in _CHANNELS], axis=1).astype(np.uint8)
    if kind == "descriptors":
        names = takewhile(data.__contains__, (f"{key}_{place}" for place in count()))
        return np.stack([data.pop(name) for name in list(names)], axis=1)
    if kind == "field" and key not in data and f"{key}_re" in data:
        return data.pop(f"{key}_re") + 1j * data.pop(f"{key}_im")
    if kind == "field" and key not in data:
        return np.stack([data.pop(f"{key}_{part}") for part in _SPACE], axis=1)
    return data.pop(key)


def _description(path: Path) -> dict[str, Any]:
    """Return the JSON beside a mesh; empty if there is none, or if it is about something else."""
    beside = path.with_suffix(".json")
    if not beside.is_file():
        return {}
    try:
        content = json.loads(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise ValueError(f"{beside} cannot be read ({problem}); delete it or write the shape again") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return {}
    if not isinstance(content.get("values", []), list) or not isinstance(content.get("about", {}), dict):
        raise ValueError(f"{beside} is not as fieldconv writes it; delete it or write the shape again")
    return content
