"""Colours that people with any colour vision can tell apart.

Colours are (…, 3) uint8 red, green, blue. A *ramp* is a (K, 3) table looked up by a number in [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fieldconv._arrays import Bytes, Floats

PLAIN: tuple[int, int, int] = (200, 207, 217)  # colour of a surface without a value
RAMPS = ("viridis", "cividis", "magma", "error", "diverging", "angle")

# The first seven are Okabe and Ito's; each further one is the colour farthest (OKLab) from all before it
# under normal vision and simulated protanopia, deuteranopia and tritanopia.
_CATEGORIES = bytes.fromhex(
    "0072b2 e69f00 009e73 d55e00 cc79a7 56b4e9 f0e442 7a0000 7af4e9 21377a a63716 9bc89b "
    "854e6f 907ae9 7ad3ff 64374e 214ea6 a6e99b f4bc4e 7ab17a 7a6f59 902121 d39bbc e97a37"
)

_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def categorical(count: int) -> Bytes:
    """Return (count, 3) distinct colours for classes; after 24 they repeat, lighter.

    Examples
    --------
    >>> categorical(2)
    array([[  0, 114, 178],
           [230, 159,   0]], dtype=uint8)
    """
    base = np.frombuffer(_CATEGORIES, np.uint8).reshape(-1, 3).astype(np.float64)
    rounds = np.arange(count) // len(base)
    lighter = 0.75 ** rounds[:, None]
    return _bytes(base[np.arange(count) % len(base)] * lighter + 255 * (1 - lighter))


def ramp(name: str, size: int = 256) -> Bytes:
    """Return the (size, 3) table of a named colour map (see `RAMPS`).

    ``"error"`` runs from grey to red, ``"diverging"`` from blue over white to red, ``"angle"`` is cyclic
    with even lightness; the others are matplotlib's.

    Examples
    --------
    >>> ramp("error", 2)
    array([[214, 218, 224],
           [178,  16,  32]], dtype=uint8)
    """
    if name not in RAMPS:
        raise ValueError(f"no colour map {name!r}; choose one of {', '.join(RAMPS)}")
    t = np.linspace(0, 1, size)
    if name == "error":
        return _between(t, [[214, 218, 224], [240, 170, 120], [178, 16, 32]])
    if name == "diverging":
        return _between(t, [[20, 74, 150], [110, 170, 220], [244, 244, 242], [232, 140, 100], [160, 20, 40]])
    if name == "angle":
        turn = 2 * np.pi * t * (size - 1) / size  # the last entry is followed by the first
        return _bytes(
            255 * from_oklab(np.stack([0.76 + 0 * t, 0.13 * np.cos(turn), 0.13 * np.sin(turn)], -1))
        )
    from matplotlib import colormaps

    return _bytes(255 * colormaps[name](t)[:, :3])


def look_up(table: Bytes, t: ArrayLike) -> Bytes:
    """Return interpolated (…, 3) colours of numbers in [0, 1]; `PLAIN` where the number is NaN."""
    t = np.asarray(t, dtype=np.float64)
    known = ~np.isnan(t)
    place = np.clip(np.where(known, t, 0), 0, 1) * (len(table) - 1)
    low = np.minimum(place.astype(np.int64), max(len(table) - 2, 0))
    high = np.minimum(low + 1, len(table) - 1)
    part = (place - low)[..., None]
    mixed = table[low] * (1 - part) + table[high] * part
    return _bytes(np.where(known[..., None], mixed, PLAIN))


def field_ramp(largest: float, largest_of_all: float, size: int = 256) -> Bytes:
    """Return a (size, 3) table for the magnitudes 0…``largest`` of a vector field.

    As in the paper's FAUST figure, saturation is one, hue is the absolute magnitude on the scale
    0…``largest_of_all`` of all surfaces of a page (blue to red), and value is the magnitude relative to this
    surface's ``largest``. It starts at 0.3, so that the shape is visible where the field is small.

    Examples
    --------
    >>> field_ramp(1.0, 1.0, 3)
    array([[  0,   0,  76],
           [  0, 166,   0],
           [255,   0,   0]], dtype=uint8)
    """
    relative = np.linspace(0, 1, size)
    absolute = relative * (largest / largest_of_all if largest_of_all > 0 else 0)
    return _bytes(255 * _hsv((1 - absolute) * 2 / 3, 0.3 + 0.7 * relative))


def complex_colours(values: ArrayLike, largest: float) -> Bytes:
    """Return (…, 3) colours of complex numbers: hue is the phase, strength the magnitude.

    The colours lie on a cone in OKLab, so that equal differences look equal: zero is light grey, numbers of
    one magnitude are equally light and strong.

    Parameters
    ----------
    values : (…) complex
    largest : float
        Magnitude from which on colours are the strongest.

    Examples
    --------
    >>> complex_colours([0, 1], 1.0)
    array([[242, 242, 242],
           [242, 139, 172]], dtype=uint8)
    """
    numbers = np.asarray(values, dtype=np.complex128)
    size = np.abs(numbers) / (largest or 1.0)
    part = np.where(size > 1, numbers / np.where(size > 0, size, 1), numbers) / (largest or 1.0)
    strength = np.minimum(size, 1)
    lab = np.stack([0.961 - 0.205 * strength, 0.13 * part.real, 0.13 * part.imag], axis=-1)
    return _bytes(255 * from_oklab(lab))


def position_colours(vertices: ArrayLike) -> Bytes:
    """Return (V, 3) colours that vary with position, for example to show a vertex map.

    The two longest sides of the bounding box give the hue, the shortest the lightness.
    """
    vertices = np.asarray(vertices, dtype=np.float64)
    size = np.ptp(vertices, axis=0)
    unit = (vertices - vertices.min(axis=0)) / np.where(size > 0, size, 1)
    high, wide, deep = unit[:, np.argsort(-size, kind="stable")].T
    return _bytes(
        255 * from_oklab(np.stack([0.62 + 0.22 * deep, 0.34 * wide - 0.17, 0.32 * high - 0.16], -1))
    )


def descriptor_colours(descriptors: Sequence[ArrayLike]) -> list[Bytes]:
    """Return the first three principal components of (V, d) descriptors of each mesh as (V, 3) colours.

    All meshes share the components: their colours can be compared.

    Examples
    --------
    >>> [same, other] = descriptor_colours([[[0.0, 1.0], [2.0, 0.0]], [[0.0, 1.0]]])
    >>> bool((same[0] == other[0]).all())
    True
    """
    rows = [np.asarray(own, dtype=np.float64) for own in descriptors]
    every = np.concatenate(rows)
    centre = every.mean(axis=0)
    _, _, axes = np.linalg.svd(every - centre, full_matrices=False)
    main = np.zeros((3, every.shape[1]))
    main[: min(3, len(axes))] = axes[:3]
    spread = (every - centre) @ main.T
    size = np.maximum(np.percentile(np.abs(spread), 97, axis=0), 1e-12)
    result = []
    for own in rows:
        a, b, light = np.clip((own - centre) @ main.T / size, -1, 1).T
        result.append(_bytes(255 * from_oklab(np.stack([0.72 + 0.14 * light, 0.16 * a, 0.16 * b], axis=-1))))
    return result


def to_oklab(colours: ArrayLike) -> Floats:
    """Return (…, 3) OKLab coordinates of (…, 3) sRGB numbers in [0, 1]: distances match what people see."""
    c = np.asarray(colours, dtype=np.float64)
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    lab: Floats = np.cbrt(linear @ _LMS.T) @ _LAB.T
    return lab


def from_oklab(lab: ArrayLike) -> Floats:
    """Return the inverse of `to_oklab`, clipped to what a screen can show."""
    lms = (np.asarray(lab, dtype=np.float64) @ np.linalg.inv(_LAB).T) ** 3
    c = np.clip(lms @ np.linalg.inv(_LMS).T, 0, 1)
    srgb: Floats = np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1 / 2.4) - 0.055)
    return srgb


def _between(t: Floats, stops: list[list[int]]) -> Bytes:
    """Return a ramp through the given colours, even in OKLab."""
    lab = to_oklab(np.array(stops) / 255)
    at = np.linspace(0, 1, len(stops))
    return _bytes(255 * from_oklab(np.stack([np.interp(t, at, channel) for channel in lab.T], -1)))


def _hsv(hue: Floats, value: Floats) -> Floats:
    """Return sRGB of hue and value in [0, 1] with saturation one."""
    turn = (np.asarray(hue)[..., None] * 6 + np.array([5, 3, 1])) % 6
    rgb: Floats = value[..., None] * (1 - np.clip(np.minimum(turn, 4 - turn), 0, 1))
    return rgb


def _bytes(colours: Any) -> Bytes:
    rounded: Bytes = np.clip(np.rint(colours), 0, 255).astype(np.uint8)
    return rounded
