"""Mesh files and files of values to a page, and to a picture."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldconv.geometry.geodesic.discs import RADIUS
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.tasks.base.vertex_values import VertexValues
from fieldconv.viz import panels as pan
from fieldconv.viz.panels import Panel
from fieldconv.viz.values import MOST_CLASSES, Shown, coloured_alike, colouring, read_about, read_shape
from fieldconv.viz.viewer import write_page

Files = Path | Sequence[Path] | None

MOST_NAMES = 4  # in the title of a page


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
    shown: Sequence[Shown] | None = None,
    template: Mesh | None = None,
    up: str | None = None,
    out: Path | None = None,
    open: bool = True,
    png: Path | None = None,
) -> Path:
    """Show meshes on one page that works offline; their views turn together.

    Files of values hold one line (or row) per vertex: text, or NumPy's ``.npy``. Give one file for each
    mesh, in the same order. Whatever a mesh file itself carries (labels, numbers, colours), described by the
    JSON beside it if there is one, can be chosen on the page too.

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
    shown : sequence of Shown, optional
        Further values and a note for each mesh, such as the prediction of a network; shown first.
    template : Mesh, optional
        Mesh that places among the values refer to; shown before the others.
    up : "x", "y" or "z", optional
        Axis that points up at first; if left out, what is written beside the first mesh, or a guess.
    out : path, optional
        Page to write; ``<first mesh>.html`` in the current folder if left out.
    open : bool
        Whether to open the page in the browser.
    png : path, optional
        Write a static picture too; with ``out`` left out, nothing but the picture.

    Returns
    -------
    Path
        The page, or the picture where only that was asked for.
    """
    if not meshes:
        raise ValueError("no mesh to show; name at least one mesh file")
    if shown is not None and len(shown) != len(meshes):
        raise ValueError(f"values for {len(shown)} meshes but {len(meshes)} meshes; give values for each")
    read = [read_shape(path) for path in meshes]
    loaded = [mesh.validate() for mesh, _ in read]
    if disc is not None:
        panels = [panel for mesh in loaded for panel in pan.disc_panels(mesh.normalised(), disc, radius)]
        caption = "Geodesic polar coordinates around a vertex, and a direction carried along the geodesics."
    else:
        if template is not None and map is not None:
            raise ValueError("these meshes are matched with a template; leave out --map")
        kept = [Shown(values, _note(path)) for path, (_, values) in zip(meshes, read, strict=True)]
        files = {"labels": labels, "scalar": scalar, "error": error, "field": field, "map": map}
        given = coloured_alike(shown) if shown else [Shown() for _ in meshes]
        panels = _panels(loaded, files, given, kept, template)
        caption = ""
    names = list(dict.fromkeys(mesh.name for mesh in loaded))
    title = ", ".join(names) if len(names) <= MOST_NAMES else f"{len(loaded)} shapes"
    up = up or read_about(meshes[0]).get("up")
    if png is not None:
        from fieldconv.viz.picture import write_picture

        write_picture(panels, png, up=up)
        if out is None:
            return Path(png)
    page = write_page(
        panels, out or Path(f"{Path(meshes[0]).stem}.html"), title=title, caption=caption, up=up
    )
    if open:
        webbrowser.open(page.resolve().as_uri())
    return page


def _note(path: Path) -> str:
    """Return what is written beside a mesh about it, in one line."""
    about = read_about(path)
    run = f"predicted by {about['run']}" if about.get("run") else ""
    return ", ".join(filter(None, (about.get("note"), run)))


def _panels(
    meshes: Sequence[Mesh],
    files: dict[str, Files],
    shown: Sequence[Shown],
    kept: Sequence[Shown],
    template: Mesh | None,
) -> list[Panel]:
    """Return one panel per mesh; before them the template.

    Parameters
    ----------
    files : dict
        Files of values by what they hold.
    shown : sequence of Shown
        What the caller gave for each mesh.
    kept : sequence of Shown
        What the file of each mesh holds.
    """
    mapped = files["map"] is not None
    per_mesh = {what: _per_mesh(given, len(meshes), what) for what, given in files.items() if what != "map"}
    per_mesh["map"] = [None, *_per_mesh(files["map"], len(meshes) - 1, "map")]
    largest = _largest(per_mesh["field"], meshes)
    panels = []
    for k, mesh in enumerate(meshes):
        own = {what: paths[k] for what, paths in per_mesh.items()}
        colourings = [
            *_colourings(shown[k].values, mesh, template),
            *_given(mesh, meshes[0], own, mapped, largest),
            *_colourings(kept[k].values, mesh, template),
        ]
        note = ", ".join(filter(None, (shown[k].note, kept[k].note)))
        panels.append(Panel(mesh=mesh, note=note, colourings=colourings))
    if template is not None:
        every = np.arange(len(template.vertices))
        names = [values.name for own in shown for values in own.values if values.kind == "places"]
        places = pan.carried(names[0] if names else "Correspondence", template, every)
        panels.insert(0, Panel(mesh=template, title="Template", colourings=[places]))
    return panels


def _colourings(values: Sequence[VertexValues], mesh: Mesh, template: Mesh | None) -> Iterator[pan.Colouring]:
    """Yield colourings by values; places without a template have no colours."""
    for own in values:
        if own.kind != "places" or template is not None:
            yield colouring(own, mesh, template=template)


def _given(
    mesh: Mesh, first: Mesh, files: dict[str, Path | None], mapped: bool, largest: float
) -> Iterator[pan.Colouring]:
    """Yield colourings by the files that were given for a mesh."""
    count = len(mesh.vertices)
    if (path := files["field"]) is not None:
        vectors = read_field(path, count)
        arrows = pan.field_arrows(mesh, vectors)
        yield pan.field("Field", vectors, largest_of_all=largest, arrows=arrows)
    if mapped:
        path = files["map"]
        match = np.arange(count) if path is None else _whole(_read(path, count), path)
        yield pan.carried("Correspondence", first, match)
    if (path := files["labels"]) is not None:
        classes, names = _read_classes(path, count)
        few = classes.max(initial=0) < MOST_CLASSES
        yield pan.labels("Label", classes, names) if few else pan.scalar("Label", classes)
    if (path := files["scalar"]) is not None:
        yield pan.scalar(_title(path), _column(_read(path, count), path))
    if (path := files["error"]) is not None:
        yield pan.error("Error", _column(_read(path, count), path))


def _largest(files: Sequence[Path | None], meshes: Sequence[Mesh]) -> float:
    """Return the largest magnitude over all fields of the page, which their hues share."""
    sizes = [
        pan.magnitude(read_field(path, len(mesh.vertices))).max(initial=0)
        for path, mesh in zip(files, meshes, strict=True)
        if path is not None
    ]
    return float(max(sizes, default=0))


def _per_mesh(files: Files, count: int, option: str) -> list[Path | None]:
    if files is None:
        return [None] * count
    given: list[Path | None] = [Path(files)] if isinstance(files, str | Path) else [Path(f) for f in files]
    if len(given) != count:
        expected = f"{count} file{'s' if count != 1 else ''}"
        raise ValueError(
            f"--{option} names {len(given)} files; give {expected}, one per mesh in the same order"
        )
    return given


def read_field(path: Path, count: int) -> NDArray[Any]:
    """Return (V,) complex or (V, 3) real vectors of a file."""
    values = _read(path, count)
    if values.ndim == 2 and values.shape[1] == 2:
        values = values[:, 0] + 1j * values[:, 1]
    if np.iscomplexobj(values) and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (count, 3) and not (values.ndim == 1 and np.iscomplexobj(values)):
        raise ValueError(
            f"{path}: a field of shape {values.shape}; give one complex, two or three real numbers per vertex"
        )
    return values


def _read_classes(path: Path, count: int) -> tuple[NDArray[np.int64], list[str]]:
    """Return classes and their names, which are empty where the file has numbers."""
    if path.suffix != ".npy" and path.is_file():
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        words = [word for line in lines if (word := line.split("#")[0].strip())]
        if len(words) == count and any(word[0].isalpha() for word in words):
            names = sorted({word for word in words if word != "-1"})
            number = {"-1": -1} | {name: k for k, name in enumerate(names)}
            return np.array([number[word] for word in words], dtype=np.int64), names
    return _whole(_read(path, count), path), []


def _read(path: Path, count: int) -> NDArray[Any]:
    """Return values of a file, one row per vertex."""
    if not path.exists():
        raise ValueError(f"{path}: no such file")
    if path.suffix == ".npy":
        try:
            values: NDArray[Any] = np.load(path, allow_pickle=False)
        except ValueError as problem:
            raise ValueError(
                f"{path}: not an array of numbers ({problem}); write it with numpy.save"
            ) from None
    else:
        values = _read_text(path)
    if values.ndim == 0 or len(values) != count:
        have = 1 if values.ndim == 0 else len(values)
        raise ValueError(f"{path}: {have:,} rows for a mesh with {count:,} vertices; give one row per vertex")
    return values


def _read_text(path: Path) -> NDArray[np.float64]:
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
    values = np.array(rows)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _column(values: NDArray[Any], path: Path) -> NDArray[Any]:
    """Return one real number per vertex."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or np.iscomplexobj(values):
        raise ValueError(
            f"{path}: values of shape {values.shape}, {values.dtype}; give one number per vertex"
        )
    return values


def _whole(values: NDArray[Any], path: Path) -> NDArray[np.int64]:
    """Return one whole number per vertex."""
    values = _column(values, path)
    rounded = np.rint(values)
    if not np.array_equal(rounded, values):
        row = int(np.flatnonzero(rounded != values)[0])
        raise ValueError(f"{path}: {values[row]} for vertex {row} is not a whole number")
    whole: NDArray[np.int64] = rounded.astype(np.int64)
    return whole


def _title(path: Path) -> str:
    return path.stem.replace("_", " ").capitalize()
