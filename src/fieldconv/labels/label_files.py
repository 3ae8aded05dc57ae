"""Labels and vertex maps in files: reading them, and turning edge and face labels into vertex labels."""

from __future__ import annotations

import csv
import difflib
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fieldconv._arrays import Array, Bools, Floats, Ints
from fieldconv._io import atomic_path, read_text
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.geometry.mesh.topology import FaceEdges
from fieldconv.labels.errors import DatasetError

MAX_EXACT_FLOAT = 2**53  # larger floating-point numbers skip whole numbers
MAX_LABEL = 2**31 - 1  # colours are labels, too
LABEL_SUFFIXES = (".eseg", ".seg", ".txt", ".csv", ".npy", ".vts")
LABEL_PROPERTIES = ("label", "labels", "part", "segment", "class")


def read_integers(path: str | Path) -> Ints:
    """Read a file of integers: one a line (text), a ``label`` column (.csv), or a 1-D array (.npy).

    Blank lines and lines that begin with ``#`` are skipped. In a .csv with a ``vertex`` column the rows may
    be in any order. Numbers such as 3.0 count as integers; all others are errors.

    Raises
    ------
    DatasetError
        Names the file and the line or vertex that is not an integer of 64 bits.
    """
    path = Path(path)
    with _reading(path):
        if path.suffix == ".npy":
            return _as_integers(_read_array(path), path)
        if path.suffix != ".csv":
            try:  # the quick way; where it fails, the slow one names the line
                with warnings.catch_warnings():  # older versions of NumPy only warn of other numbers
                    warnings.simplefilter("error", DeprecationWarning)
                    return _as_integers(np.loadtxt(path, np.int64, ndmin=1, encoding="utf-8-sig"), path)
            except (ValueError, OverflowError, DeprecationWarning):
                pass
        return np.array([_integer(text, path, line) for line, text in _cells(path)], dtype=np.int64)


def label_words(path: str | Path) -> list[str] | None:
    """Return the labels in a file of names (text, or a ``label`` column of .csv); None if it has numbers."""
    path = Path(path)
    if path.suffix not in (".txt", ".csv", ".seg"):
        return None
    with _reading(path):
        words = [text for _, text in _cells(path)]
    if words and words[0] != "-1" and _is_number(words[0]):
        return None
    named = [word for word in words if not _is_number(word)]
    return words if len(named) > len(words) / 2 else None  # else numbers, one of them mistyped


def read_labels(path: str | Path, numbers: Mapping[str, int]) -> Ints:
    """Read labels: integers, or names, which ``numbers`` maps to integers; −1 means none.

    Raises
    ------
    DatasetError
        Names the file and the first unknown name, or the vertex whose label is out of range.
    """
    words = label_words(path)
    if words is None:
        return _in_range(read_integers(path), path)
    known = {**numbers, "-1": -1}
    for place, word in enumerate(words, start=1):
        if word not in known:
            near = difflib.get_close_matches(word, numbers, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ", which is not in classes.txt"
            raise DatasetError(path, f"label {place} is {word!r}{hint}")
    return np.array([known[word] for word in words], dtype=np.int64)


def read_numbers(path: str | Path) -> Array:
    """Read a file of real numbers, a row per vertex: text, .csv with a line of names, or .npy (complex, too).

    Returns
    -------
    (V,) or (V, k)

    Raises
    ------
    DatasetError
        Names the file, and the first row that is not finite.
    """
    path = Path(path)
    with _reading(path):
        if path.suffix == ".npy":
            values = _read_array(path)
        elif path.suffix == ".csv":
            lines = read_text(path).splitlines()
            named = bool(lines) and not all(_is_number(cell) for cell in lines[0].split(","))
            values = np.loadtxt(lines, delimiter=",", skiprows=int(named), ndmin=1, encoding="utf-8")
        else:
            values = np.loadtxt(path, ndmin=1, encoding="utf-8-sig")
    if values.dtype.kind not in "fiuc" or values.ndim not in (1, 2):
        raise DatasetError(path, f"holds {values.dtype} of shape {values.shape}; expected a row per vertex")
    finite = np.isfinite(values).reshape(len(values), -1).all(1)
    if not finite.all():
        raise DatasetError(path, f"vertex {int(finite.argmin())} has a value that is not finite")
    return np.asarray(values.astype(np.complex128 if values.dtype.kind == "c" else np.float64))


def write_numbers(path: str | Path, values: Array) -> None:
    """Write a number per line, or a row of them; whole numbers as such."""
    values = np.asarray(values)
    with atomic_path(path) as temporary:
        np.savetxt(temporary, values, fmt="%d" if values.dtype.kind in "iub" else "%.9g", encoding="utf-8")


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise DatasetError for whatever damaged bytes make a reader raise."""
    try:
        yield
    except DatasetError:
        raise
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise DatasetError(path, f"cannot be read ({text})") from None


def _read_array(path: Path) -> Array:
    """Read a .npy file; one that declares more than it holds takes no memory."""
    values = np.load(path, allow_pickle=False, mmap_mode="r")
    if not isinstance(values, np.ndarray):  # an archive of several under the wrong name
        values.close()
        raise DatasetError(path, "is an .npz archive; expected one array, as np.save writes it")
    return np.array(values)


def _as_integers(values: Array, path: str | Path) -> Ints:
    if values.ndim != 1:
        raise DatasetError(path, f"has shape {values.shape}; expected one integer per row")
    kind = values.dtype.kind
    if kind not in "ibuf":
        raise DatasetError(path, f"holds {values.dtype} values; expected integers")
    if kind == "f":
        with np.errstate(invalid="ignore"):  # NaN and infinity fail both
            whole = (np.abs(values) <= MAX_EXACT_FLOAT) & (values == np.round(values))
        _refuse(~whole, values, path, "an integer")
    elif kind == "u":
        _refuse(values > np.iinfo(np.int64).max, values, path, "an integer")
    return values.astype(np.int64)


def _in_range(labels: Ints, path: str | Path) -> Ints:
    _refuse((labels < -1) | (labels > MAX_LABEL), labels, path, f"0 to {MAX_LABEL}, or -1 for none")
    return labels


def _refuse(
    wrong: Bools,
    values: Array,
    path: str | Path,
    expected: str,
    *,
    what: str = "the label of vertex",
    base: int = 0,
) -> None:
    """Raise DatasetError that names the first wrong value, if there is one; places count from ``base``."""
    if wrong.any():
        first = int(wrong.argmax())
        raise DatasetError(path, f"{what} {first + base} is {values[first]}; expected {expected}")


def _cells(path: Path) -> list[tuple[int, str]]:
    """Line and text of the label of each vertex."""
    if path.suffix != ".csv":
        lines = enumerate(read_text(path).splitlines(), start=1)
        return [(number, text) for number, line in lines if (text := line.split("#")[0].strip())]
    with open(path, encoding="utf-8-sig", newline="") as handle:
        stripped = ([cell.strip() for cell in row] for row in csv.reader(handle))
        rows = [(number, row) for number, row in enumerate(stripped, start=1) if any(row)]
    if not rows:
        return []
    header = [cell.lower() for cell in rows[0][1]]
    named = not all(_is_number(cell) for cell in header)
    if not named:
        header = ["label"] if len(header) == 1 else ["vertex", "label"]
    elif "label" not in header:
        raise DatasetError(path, f"line {rows[0][0]} names no column 'label'; expected 'vertex,label'")
    cells: list[tuple[int, str]] = []
    vertices: list[int] = []
    for number, row in rows[named:]:
        if len(row) < len(header):
            expected = ",".join(header)[:100]
            raise DatasetError(path, f"line {number} has {len(row)} columns; expected '{expected}'")
        cells.append((number, row[header.index("label")]))
        if "vertex" in header:
            vertices.append(_integer(row[header.index("vertex")], path, number))
    if "vertex" not in header:
        return cells
    if sorted(vertices) != list(range(len(vertices))):
        raise DatasetError(
            path, f"the vertex column does not name each of 0…{len(vertices) - 1} exactly once"
        )
    return [cells[row] for row in np.argsort(vertices)]


def _integer(text: str, path: Path, line: int) -> int:
    if re.fullmatch(r"[+-]?[0-9]{1,19}", text):
        value = int(text)
        if -(2**63) <= value < 2**63:
            return value
    elif re.fullmatch(r"[+-]?[0-9]{1,20}\.?[0-9]{0,20}([eE][+-]?[0-9]{1,3})?", text):
        number = float(text)  # some writers put 3.0 for 3
        if abs(number) <= MAX_EXACT_FLOAT and number == int(number):
            return int(number)
    raise DatasetError(path, f"line {line} is {text[:40]!r}; expected one integer")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def edges_in_file_order(faces: Ints) -> Ints:
    """Return (E, 2) edges in the order of ``.eseg`` files: face by face, sides (0,1), (1,2), (2,0).

    Examples
    --------
    >>> edges_in_file_order(np.array([[0, 1, 2], [2, 1, 3]])).tolist()
    [[0, 1], [1, 2], [0, 2], [1, 3], [2, 3]]
    """
    edges = FaceEdges(faces, int(faces.max(initial=0)) + 1)
    return edges.unique[_file_order(edges)]


def _file_order(edges: FaceEdges) -> Ints:
    """(E,) edges in the order in which the faces first name them."""
    return np.argsort(edges.order[edges.begins])


def vertex_labels(mesh: Mesh, labels: Ints, *, source: str = "labels") -> Ints:
    """Return labels of the vertices of ``mesh``, from labels of its vertices, faces or edges.

    The number of labels tells which of the three they are. A vertex takes the label of most of the area
    around it: a face votes with its area, an edge with a third of its faces' area. Ties go to the smaller
    label, vertices without a face get −1.

    Parameters
    ----------
    mesh : Mesh
    labels : (V,), (F,) or (E,) int64
        Edges are counted as `edges_in_file_order` does.
    source : str
        Named in the error when the count fits none of the three.

    Returns
    -------
    (V,) int64

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 2, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> vertex_labels(square, np.array([5, 7])).tolist()  # the second triangle is the larger one
    [7, 5, 7, 7]
    """
    count = len(mesh.vertices)
    if len(labels) == count:
        return labels
    if len(labels) == len(mesh.faces):
        return _vote(mesh.faces, labels, mesh.face_areas, count)
    edges = FaceEdges(mesh.faces, count)
    if len(labels) == len(edges.unique):
        order = _file_order(edges)
        areas = np.bincount(edges.edge_of, np.repeat(mesh.face_areas / 3, 3)).astype(np.float64, copy=False)
        return _vote(edges.unique[order], labels, areas[order], count)
    raise DatasetError(
        source,
        f"has {len(labels)} labels; expected {count} (one per vertex of {mesh.name or 'the mesh'}), "
        f"{len(mesh.faces)} (per face) or {len(edges.unique)} (per edge)",
    )


def _vote(cells: Ints, labels: Ints, weights: Floats, num_vertices: int) -> Ints:
    """Each cell (row of vertex ids) gives its weight to its label at each of its vertices."""
    values, rank = np.unique(labels, return_inverse=True)
    ballot = (cells * len(values) + rank.reshape(-1, 1)).ravel()
    # Only pairs of a vertex and a label that occur: a table of all would not fit for many labels.
    cast, number = np.unique(ballot, return_inverse=True)
    votes = np.bincount(number.reshape(-1), np.repeat(weights, cells.shape[1]))
    vertex, label = np.divmod(cast, len(values))
    order = np.lexsort((label, -votes, vertex))
    chosen, first = np.unique(vertex[order], return_index=True)
    result = np.full(num_vertices, -1, np.int64)
    result[chosen] = values[label[order[first]]]
    return result


def mesh_labels(mesh: Mesh) -> Ints | None:
    """Return the labels in a mesh file (a vertex property label, part, segment or class), or None."""
    for name in LABEL_PROPERTIES:
        if name in mesh.vertex_data:
            values = np.asarray(mesh.vertex_data[name])
            values = values.reshape(-1) if values.size == len(mesh.vertices) else values
            return _in_range(_as_integers(values, mesh.name or "mesh"), mesh.name or "mesh")
    return None


def colour_labels(mesh: Mesh) -> Ints | None:
    """Return labels by vertex colour, 0xRRGGBB as an integer; None if the mesh has less than two colours."""
    if mesh.vertex_colours is None:
        return None
    red, green, blue = mesh.vertex_colours[:, :3].T.astype(np.int64)
    labels: Ints = (red << 16) | (green << 8) | blue
    return labels if len(np.unique(labels)) > 1 else None


def read_vertex_map(path: str | Path, *, num_targets: int | None = None, base: int = 0) -> Ints:
    """Read a vertex map: one vertex id per line; in the file ids count from ``base``, in the result from 0.

    −1 means “none”, and 0 in files that count from 1; both become −1.

    Raises
    ------
    DatasetError
        If an id is below −1, or beyond the ``num_targets`` vertices there are.
    """
    ids = read_integers(path)
    _refuse(ids < -1, ids, path, "ids, or -1 for none", what="entry", base=1)
    if num_targets is not None:
        last = num_targets - 1 + base
        expected = f"ids {base}…{last} (counted from {base}, {num_targets} vertices)"
        _refuse(ids > last, ids, path, expected, what="entry", base=1)
    return np.maximum(ids - base, -1)
