"""Show mesh files and files of values on a page or in a picture."""

from __future__ import annotations

import webbrowser
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fieldconv._arrays import Array, Floats, Ints
from fieldconv.geometry.geodesic.discs import RADIUS
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.tasks.base.vertex_values import VertexValues
from fieldconv.viz import panels as pan
from fieldconv.viz.panels import Panel
from fieldconv.viz.values import (
    MeshValues,
    colourings,
    labels_or_numbers,
    read_about,
    read_shape,
    share_descriptor_colours,
    template_panels,
)
from fieldconv.viz.viewer import write_page

Files = Path | Sequence[Path] | None

MAX_TITLE_NAMES = 4


def view(
    meshes: Sequence[Path],
    *,
    labels: Files = None,
    scalar: Files = None,
    field: Files = None,
    map: Files = None,
    error: Files = None,
    disc: int | None = None,
    radius: float = RADIUS,
    shown: Sequence[MeshValues] | None = None,
    template: Mesh | None = None,
    up: str | None = None,
    out: Path | None = None,
    open: bool = True,
    png: Path | None = None,
) -> Path:
    """Show meshes on one page that works offline; their views turn together.

    Files of values hold one line (or row) per vertex: text, or NumPy's ``.npy``. Give one file for each
    mesh, in the same order. The labels, numbers and colours in a mesh file itself, which the JSON beside it
    may describe, can be chosen on the page as well.

    Parameters
    ----------
    meshes : sequence of paths
    labels : path or paths
        A class per vertex, counted from 0, or its name; negative means none.
    scalar, error : path or paths
        A number per vertex; errors run from grey to red.
    field : path or paths
        A vector per vertex: complex or two columns (in the tangent frames), or three columns (in space).
    map : path or paths
        For each mesh after the first: which vertex of the first mesh, counted from 0, each of its vertices
        corresponds to.
    disc : int, optional
        Show the geodesic disc of this vertex, on the mesh scaled to unit area.
    radius : float
        Radius of the disc.
    shown : sequence of MeshValues, optional
        Further values and a note for each mesh, such as the prediction of a network; shown first.
    template : Mesh, optional
        Mesh that places among the values refer to; shown before the others.
    up : "x", "y" or "z", optional
        Axis that points up at first; if left out, that of the JSON beside the first mesh, or a guess.
    out : path, optional
        Page to write; ``<first mesh>.html`` in the current folder if left out.
    open : bool
        Whether to open the page in the browser.
    png : path, optional
        Write a static picture as well; without ``out``, only the picture.

    Returns
    -------
    Path
        The page, or the picture if only that is written.
    """
    if not meshes:
        raise ValueError("no mesh to show; name at least one mesh file")
    if shown is not None and len(shown) != len(meshes):
        raise ValueError(f"values for {len(shown)} meshes but {len(meshes)} meshes; give values for each")
    loaded = [read_shape(path) for path in meshes]
    about = [read_about(path) for path in meshes]
    valid = [mesh.validate() for mesh, _ in loaded]
    caption = ""
    if disc is not None:
        panels = [panel for mesh in valid for panel in pan.disc_panels(mesh.normalised(), disc, radius)]
        caption = "Geodesic polar coordinates around a vertex, and a direction carried along the geodesics."
    else:
        if template is not None and map is not None:
            raise ValueError("these meshes are matched with a template; leave out --map")
        in_files = [
            MeshValues(values, _note(texts)) for texts, (_, values) in zip(about, loaded, strict=True)
        ]
        options = {"field": field, "map": map, "labels": labels, "scalar": scalar, "error": error}
        in_options = _read_options(options, valid)
        first = share_descriptor_colours(shown) if shown else [MeshValues() for _ in meshes]
        panels = _panels(valid, first, in_options, in_files, template)
    names = list(dict.fromkeys(mesh.name for mesh in valid))
    title = ", ".join(names) if len(names) <= MAX_TITLE_NAMES else f"{len(valid)} shapes"
    up = up or about[0].get("up")
    if png is not None:
        from fieldconv.viz.picture import write_picture

        write_picture(panels, png, up=up)
        if out is None:
            return Path(png)
    out = out or Path(f"{Path(meshes[0]).stem}.html")
    page = write_page(panels, out, title=title, caption=caption, up=up)
    if open:
        webbrowser.open(page.resolve().as_uri())
    return page


def _note(about: dict[str, str]) -> str:
    """Return the texts beside a mesh in one line."""
    run = f"predicted by {about['run']}" if about.get("run") else ""
    return ", ".join(filter(None, (about.get("note"), run)))


def _panels(
    meshes: Sequence[Mesh],
    first: Sequence[MeshValues],
    in_options: Sequence[Sequence[VertexValues]],
    in_files: Sequence[MeshValues],
    template: Mesh | None,
) -> list[Panel]:
    """Return one panel per mesh; before them the template.

    Each mesh has first the values that the caller gives, then those in files of their own, whose places are
    vertices of the first mesh, and then those in the mesh file.
    """
    # All meshes share the hues of these fields.
    sizes = [pan.magnitude(own.values) for values in in_options for own in values if own.kind == "field"]
    largest = {"field": float(max((size.max(initial=0) for size in sizes), default=0))}
    panels = template_panels(template, (own for given in (*first, *in_files) for own in given.values))
    for mesh, given, values, own in zip(meshes, first, in_options, in_files, strict=True):
        every = [
            *colourings(given.values, mesh, template),
            *colourings(values, mesh, meshes[0], largest),
            *colourings(own.values, mesh, template),
        ]
        note = ", ".join(filter(None, (given.note, own.note)))
        panels.append(Panel(mesh=mesh, note=note, colourings=every))
    return panels


def _read_options(options: dict[str, Files], meshes: Sequence[Mesh]) -> list[list[VertexValues]]:
    """Return the values of each mesh from files, as the options of `view` name them."""
    result: list[list[VertexValues]] = [[] for _ in meshes]
    for option, files in options.items():
        if files is None:
            continue
        paths = [Path(file) for file in ([files] if isinstance(files, str | Path) else files)]
        expected = len(meshes) - (option == "map")  # the first mesh is mapped to itself
        if len(paths) != expected:
            raise ValueError(
                f"--{option} names {len(paths)} files; give {expected} file{'s' if expected != 1 else ''}, "
                "one per mesh in the same order"
            )
        per_mesh = [None, *paths] if option == "map" else paths
        for own, path, mesh in zip(result, per_mesh, meshes, strict=True):
            own.append(_read_values(option, path, len(mesh.vertices)))
    return result


def _read_values(option: str, path: Path | None, count: int) -> VertexValues:
    """Return the values of one mesh from a file; without a file, map its vertices to themselves."""
    if path is None:
        return VertexValues(name="Correspondence", kind="places", values=np.arange(count))
    match option:
        case "field":
            return VertexValues(name="Field", kind="field", values=_read_field(path, count))
        case "map":
            return VertexValues(name="Correspondence", kind="places", values=_read_integers(path, count))
        case "labels":
            labels, names = _read_labels(path, count)
            kind = labels_or_numbers(labels)
            return VertexValues(name="Label", kind=kind, values=labels, class_names=tuple(names))
        case "error":
            return VertexValues(name="Error", kind="error", values=_read_column(path, count))
    name = path.stem.replace("_", " ").capitalize()
    return VertexValues(name=name, kind="scalar", values=_read_column(path, count))


def _read_field(path: Path, count: int) -> Array:
    """Return (V,) complex or (V, 3) real vectors of a file."""
    values = _read(path, count)
    if values.ndim == 2 and values.shape[1] == 2:
        values = values[:, 0] + 1j * values[:, 1]
    if values.shape != (count, 3) and not (values.ndim == 1 and np.iscomplexobj(values)):
        raise ValueError(
            f"{path}: a field of shape {values.shape}; give one complex, two or three real numbers per vertex"
        )
    return values


def _read_labels(path: Path, count: int) -> tuple[Ints, list[str]]:
    """Return classes and their names; no names if the file has numbers."""
    if path.suffix != ".npy" and path.is_file():
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        words = [word for line in lines if (word := line.split("#")[0].strip())]
        if len(words) == count and any(word[0].isalpha() for word in words):
            names = sorted({word for word in words if word != "-1"})
            number = {"-1": -1} | {name: k for k, name in enumerate(names)}
            return np.array([number[word] for word in words], dtype=np.int64), names
    return _read_integers(path, count), []


def _read(path: Path, count: int) -> Array:
    """Return values of a file, one number or row per vertex."""
    if not path.exists():
        raise ValueError(f"{path}: no such file")
    if path.suffix == ".npy":
        try:
            values: Array = np.load(path, allow_pickle=False)
        except ValueError as problem:
            raise ValueError(
                f"{path}: not an array of numbers ({problem}); write it with numpy.save"
            ) from None
    else:
        values = _read_text(path)
    if values.ndim == 0 or len(values) != count:
        have = 1 if values.ndim == 0 else len(values)
        raise ValueError(f"{path}: {have:,} rows for a mesh with {count:,} vertices; give one row per vertex")
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _read_text(path: Path) -> Floats:
    rows: list[list[float]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        words = line.split("#")[0].replace(",", " ").split()
        try:
            row = [float(word) for word in words]
        except ValueError:
            raise ValueError(
                f"{path}, line {number}: {line.strip()!r} is not a number; give one row per vertex"
            ) from None
        if row and rows and len(row) != len(rows[0]):
            raise ValueError(
                f"{path}, line {number}: {len(row)} numbers where the lines before have {len(rows[0])}"
            )
        if row:
            rows.append(row)
    return np.array(rows)


def _read_column(path: Path, count: int) -> Array:
    """Return one real number per vertex."""
    values = _read(path, count)
    if values.ndim != 1 or np.iscomplexobj(values):
        raise ValueError(
            f"{path}: values of shape {values.shape}, {values.dtype}; give one number per vertex"
        )
    return values


def _read_integers(path: Path, count: int) -> Ints:
    """Return one whole number per vertex."""
    values = _read_column(path, count)
    rounded = np.rint(values)
    if not np.array_equal(rounded, values):
        row = int(np.flatnonzero(rounded != values)[0])
        raise ValueError(f"{path}: {values[row]} for vertex {row} is not a whole number")
    whole: Ints = rounded.astype(np.int64)
    return whole
