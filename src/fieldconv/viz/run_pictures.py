"""Pictures of the test shapes that a run has kept: one for each way to colour them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fieldconv.viz.panels import Panel
from fieldconv.viz.picture import write_picture
from fieldconv.viz.run_folder import Run, shape_panels


def write_shape_pictures(run: Run, folder: str | Path) -> list[Path]:
    """Write the worst and best test shapes of a run as PNG, once for each way to colour them.

    Parts by truth and prediction, features at corresponding points, how far down the list the first right
    match is: what there is depends on the task.

    Parameters
    ----------
    run : Run
    folder : path

    Returns
    -------
    list of paths
        ``shapes_<what>.png``.
    """
    panels = shape_panels(run)
    names = list(dict.fromkeys(colouring.name for panel in panels for colouring in panel.colourings))
    return [
        write_picture(coloured_by(name, panels), Path(folder) / f"shapes_{_slug(name)}.png", up=run.up)
        for name in names
    ]


def coloured_by(name: str, panels: Sequence[Panel]) -> list[Panel]:
    """Return the panels that can be coloured so, and plain ones, such as the other mesh of a pair."""
    shown = []
    for panel in panels:
        own = [colouring for colouring in panel.colourings if colouring.name == name]
        if own or not panel.colourings:
            shown.append(replace(panel, colourings=own))
    return shown


def _slug(name: str) -> str:
    """Return the first words of a name, for a file.

    Examples
    --------
    >>> _slug("First right match, place in the list in % of all")
    'first_right_match'
    """
    return re.sub(r"\W+", "_", re.split("[,:]", name.lower())[0]).strip("_")
