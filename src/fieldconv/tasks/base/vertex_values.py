"""Values at the vertices of a mesh, described for those who write or draw them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fieldconv._arrays import Array

Kind = Literal["labels", "scalar", "error", "places", "field", "colours", "descriptors"]


@dataclass(frozen=True, eq=False, kw_only=True)
class VertexValues:
    """A value at every vertex of a mesh.

    ``kind`` says what the values are:

    - ``"labels"``: (V,) int, a class; −1 means none.
    - ``"scalar"``: (V,) float, a number; NaN means none.
    - ``"error"``: (V,) float, a number shown from grey to red; NaN means none.
    - ``"places"``: (V,) int, a vertex of a template mesh, coloured by its position there; −1 means none.
    - ``"field"``: vectors: (V,) complex in the tangent frames, (V, 3) in space, or (V,) lengths alone.
    - ``"colours"``: (V, 3) uint8.
    - ``"descriptors"``: (V, d) float, coloured alike where they are alike, on all meshes shown together.

    Examples
    --------
    >>> VertexValues(name="Wall shear stress", kind="scalar", values=np.zeros(4)).key
    'wall_shear_stress'
    """

    name: str
    """What the values are, for people, e.g. "Prediction"."""
    kind: Kind
    values: Array
    key: str = ""
    """Short name in files; made from the name if empty."""
    limits: tuple[float, float] | None = None
    """Numbers at the ends of the colour scale; by default the smallest and largest value."""
    class_names: tuple[str, ...] = ()
    """Names of the classes of ``"labels"``."""

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ValueError(f"{self.name!r} is of kind {self.kind!r}; choose one of {', '.join(_KINDS)}")
        values = np.asarray(self.values)
        expected, fits = _KINDS[self.kind]
        if values.ndim not in (1, 2) or not fits(values):
            raise ValueError(
                f"{self.name!r} has values of shape {values.shape} and type {values.dtype}; "
                f"{self.kind} are {expected}"
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "key", self.key or slug(self.name))
        object.__setattr__(self, "class_names", tuple(str(name) for name in self.class_names))
        if self.limits is not None:
            low, high = self.limits
            object.__setattr__(self, "limits", (float(low), float(high)))


def are_whole(values: Array) -> bool:
    return values.ndim == 1 and values.dtype.kind in "iub"


def _are_real(values: Array) -> bool:
    return values.ndim == 1 and values.dtype.kind != "c"


# The values of each kind: a description and a test.
_KINDS: dict[str, tuple[str, Callable[[Array], bool]]] = {
    "labels": ("(V,) whole numbers", are_whole),
    "scalar": ("(V,) real numbers", _are_real),
    "error": ("(V,) real numbers", _are_real),
    "places": ("(V,) whole numbers", are_whole),
    "field": ("(V,) complex or (V, 3) real numbers", lambda v: v.ndim == 1 or v.shape[1] == 3),
    "colours": ("(V, 3) bytes", lambda v: v.shape[1:] == (3,) and v.dtype == np.uint8),
    "descriptors": ("(V, d) real numbers", lambda v: v.ndim == 2 and v.dtype.kind != "c"),
}


def confidence_values(confidence: Array) -> VertexValues:
    """Return (V,) probabilities of the answers, with the name and scale that all tasks share."""
    return VertexValues(
        name="Confidence", key="probability", kind="scalar", values=confidence, limits=(0.0, 1.0)
    )


def slug(name: str) -> str:
    """Return a name as one plain word for files.

    Examples
    --------
    >>> slug("Wall shear stress (Pa)"), slug("Größe")
    ('wall_shear_stress_pa', 'grosse')
    """
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_") or "values"
