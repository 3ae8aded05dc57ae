"""The prediction of a network for one mesh, and its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fieldconv._arrays import Array, Floats, Ints
from fieldconv._io import write_array, write_csv
from fieldconv.geometry.mesh.check import Oddities
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.tasks.base.vertex_values import Kind, VertexValues, confidence_values

if TYPE_CHECKING:
    from fieldconv.viz.notebook import Display


class Decoded(NamedTuple):
    """A network's outputs as answers, for a shape or for each vertex of its mesh."""

    labels: Ints | None = None
    """() class of the shape, or (V,) part or template vertex at each vertex."""
    scores: NDArray[np.float32] | None = None
    """(C,) or (V, C) probabilities of the classes."""
    values: Array | None = None
    """(k,), (V,) or (V, k) numbers, or complex tangent vectors in the frames of `tangent_frames`."""

    def at(self, new_vertex: Ints) -> Decoded:
        """Return the answers for a mesh whose vertex i is vertex ``new_vertex[i]`` here, −1 for none."""
        missing = new_vertex < 0

        def moved(values: Array | None, fill: float) -> Array | None:
            if values is None:
                return None
            mask = missing.reshape(-1, *[1] * (values.ndim - 1))
            return np.where(mask, np.array(fill, values.dtype), values[new_vertex])

        return Decoded(moved(self.labels, -1), moved(self.scores, 0), moved(self.values, np.nan))


@dataclass(frozen=True)
class Prediction:
    """The prediction of a network for one mesh of V vertices.

    Labels, scores and values are those of `Decoded`; −1, 0 and NaN at vertices that cannot be used.
    """

    mesh: Mesh
    """The mesh as it was read."""
    labels: Ints | None
    scores: NDArray[np.float32] | None
    descriptors: NDArray[np.float32] | None
    """(d,) or (V, d) features by which shapes or points are compared; zero where there are none."""
    class_names: tuple[str, ...] = ()
    values: Array | None = None
    template: Mesh | None = None
    """The mesh whose vertices the labels are."""
    input: Oddities | None = None
    """What was odd about the mesh, and whether it was repaired."""

    @property
    def answer(self) -> Array | None:
        """The labels; else the values; else the descriptors."""
        known = (found for found in (self.labels, self.values, self.descriptors) if found is not None)
        return next(known, None)

    @property
    def confidence(self) -> Floats | None:
        """Probability of the label of the shape, or at each vertex; 0 where there is none."""
        if self.labels is None or self.scores is None:
            return None
        if self.labels.ndim == 0:
            return np.asarray(self.scores[int(self.labels)], np.float64)
        likely = self.scores[np.arange(len(self.labels)), self.labels]
        return np.where(self.labels >= 0, likely, 0).astype(np.float64)

    def vertex_values(self) -> list[VertexValues]:
        """Return the values to show at the vertices: labels, their confidence, and numbers."""
        kind: Kind
        shown = []
        if self.labels is not None and self.labels.ndim:
            name, kind = ("Prediction", "labels") if self.template is None else ("Correspondence", "places")
            names = self.class_names
            shown = [VertexValues(name=name, key="label", kind=kind, values=self.labels, class_names=names)]
            if self.confidence is not None:
                shown.append(confidence_values(self.confidence))
        if self.values is None or self.values.shape[:1] != (len(self.mesh.vertices),):
            return shown
        kind = "field" if np.iscomplexobj(self.values) else "scalar"
        columns = self.values.reshape(len(self.values), -1).T
        if len(columns) == 1:
            return [*shown, VertexValues(name="Value", kind=kind, values=columns[0])]
        if shown:  # only the task knows what further columns mean
            return shown
        return [VertexValues(name=f"Value {k}", kind=kind, values=v) for k, v in enumerate(columns)]

    def show(self, *, height: int = 460) -> Display:
        """Show the mesh in a notebook, coloured by the prediction, below its class if it has one."""
        from fieldconv.viz.notebook import show_values

        note = ""
        if self.labels is not None and self.labels.ndim == 0:
            name = self.name_of(int(self.labels)) or str(int(self.labels))
            note = name if self.confidence is None else f"{name}, {100 * float(self.confidence):.0f} % sure"
        return show_values(self.mesh, self.vertex_values(), note=note, template=self.template, height=height)

    def _repr_html_(self) -> str:
        from fieldconv.viz.notebook import MAX_INLINE_VERTICES, table

        if len(self.mesh.vertices) <= MAX_INLINE_VERTICES and self.mesh.problem is None:
            return self.show()._repr_html_()
        rows = {"mesh": self.mesh.name, "vertices": len(self.mesh.vertices)}
        return table(rows, caption="Large or damaged: .show() draws it.")

    def name_of(self, label: int) -> str:
        """Return the name of a class; an empty text if it has none."""
        return self.class_names[label] if 0 <= label < len(self.class_names) else ""


def write_prediction(
    found: Prediction, shown: Sequence[VertexValues], folder: Path, name: str, *, descriptors: bool
) -> None:
    """Write the arrays of a prediction, and a table of its vertices whose columns are ``shown``.

    Files are ``folder/name.npy`` (labels or values), ``.csv``, ``.probabilities.npy`` and
    ``.descriptors.npy``, as far as there is something to write.
    """
    if descriptors and found.descriptors is not None:
        write_array(folder / f"{name}.descriptors.npy", found.descriptors)
    if found.labels is not None:
        if found.labels.ndim:
            write_array(folder / f"{name}.npy", found.labels)
        if found.scores is not None and found.class_names:  # a template has thousands
            write_array(folder / f"{name}.probabilities.npy", found.scores)
    elif found.values is not None:
        write_array(folder / f"{name}.npy", found.values)
    if shown:
        _write_table(found, shown, folder / f"{name}.csv")


def _write_table(found: Prediction, shown: Sequence[VertexValues], path: Path) -> None:
    """Write a row for each vertex, with the names of labels."""
    columns: list[str] = ["vertex"]
    cells: list[Sequence[object]] = [range(len(found.mesh.vertices))]
    for values in shown:
        if values.kind == "colours":
            continue
        if values.kind in ("labels", "places"):
            numbers = values.values.tolist()
            columns += [values.key, "name" if "name" not in columns else f"{values.key}_name"]
            names = dict(enumerate(values.class_names))
            cells += [numbers, [names.get(number, "") for number in numbers]]
        elif np.iscomplexobj(values.values):
            columns += [f"{values.key}_real", f"{values.key}_imaginary"]
            cells += [[f"{v:.6g}" for v in part] for part in (values.values.real, values.values.imag)]
        else:
            rows = values.values.reshape(len(found.mesh.vertices), -1)
            several = [f"{values.key}_{k}" for k in range(rows.shape[1])]
            columns += [values.key] if rows.shape[1] == 1 else several
            cells += [[f"{v:.6f}" for v in rows[:, k]] for k in range(rows.shape[1])]
    write_csv(path, columns, zip(*cells, strict=True))
