"""The cells of an ECHO descriptor."""

from __future__ import annotations

import functools


@functools.lru_cache
def disc_cells(radial_samples: int) -> tuple[int, ...]:
    """Return the cells of the padded square image that belong to the disc, and last the cell at the centre.

    The image has 2R + 2 pixels a side, one more than the disc all round, so every vote finds four pixels.
    """
    if radial_samples < 1:
        raise ValueError(f"radial_samples must be at least 1, got {radial_samples}.")
    side = 2 * radial_samples + 2
    middle = [pixel - radial_samples - 0.5 for pixel in range(side)]
    inside = [a * a + b * b <= radial_samples**2 for b in middle for a in middle]
    return (*(pixel for pixel, is_inside in enumerate(inside) if is_inside), side * side)
