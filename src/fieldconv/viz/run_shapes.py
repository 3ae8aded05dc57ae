"""Panels and pictures of the worst and best test shapes in a run folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.runs.run import Run, partner_file, worst_and_best
from fieldconv.tasks.base.vertex_values import VertexValues
from fieldconv.viz.panels import Panel, magnitude
from fieldconv.viz.picture import write_picture
from fieldconv.viz.values import colourings, read_shape, template_panels


def shape_panels(run: Run) -> list[Panel]:
    """Return at most four panels of the worst and best shapes in the run folder, worst first."""
    files = run.shape_files()
    template = None if run.template_file is None else Mesh.load(run.template_file)
    pairs = any(partner_file(path).exists() for _, path in files)
    max_shapes = 2 if pairs else 3 if template is not None else 4  # leaves room for partners or the template
    files = [files[k] for k in worst_and_best(range(len(files)), max_shapes)]
    shapes = []
    for place, path in files:
        mesh, values = read_shape(path)
        shapes.append((run.shapes[place], mesh, _with_mistakes(run, values), path))
    every = [own for _, _, values, _ in shapes for own in values]
    panels = template_panels(template, every)
    largest = _largest(every)
    for place, (record, mesh, values, path) in enumerate(shapes):
        standing = "worst" if place < len(shapes) // 2 else "best"
        title, _, other = str(record.get("name", mesh.name)).partition(" → ")
        text = run.describe(record)
        note = ": ".join(filter(None, (standing, text))) if len(shapes) > 1 else text
        own = colourings(values, mesh, template, largest)
        panels.append(Panel(mesh=mesh, title=title, note=note, colourings=own))
        if partner_file(path).exists():
            partner, _ = read_shape(partner_file(path))
            panels.append(Panel(mesh=partner, title=other, note="matched with the one before"))
    return panels


def _largest(every: Sequence[VertexValues]) -> dict[str, float]:
    """Return the largest error, or length of a vector, over all shapes by the key of the values."""
    largest: dict[str, float] = {}
    for own in every:
        if own.kind in ("error", "field"):
            sizes = magnitude(own.values) if own.kind == "field" else own.values
            largest[own.key] = max(largest.get(own.key, 0.0), float(np.nanmax(sizes, initial=0)))
    return largest


def write_shape_pictures(run: Run, folder: str | Path) -> list[Path]:
    """Write the worst and best test shapes of a run: ``shapes_<what>.png`` for each way to colour them."""
    panels = shape_panels(run)
    names = list(dict.fromkeys(colouring.name for panel in panels for colouring in panel.colourings))
    return [
        write_picture(coloured_by(name, panels), Path(folder) / f"shapes_{_slug(name)}.png", up=run.up)
        for name in names
    ]


def coloured_by(name: str, panels: Sequence[Panel]) -> list[Panel]:
    """Return the panels with a colouring of that name, and plain ones, such as the other mesh of a pair."""
    chosen = []
    for panel in panels:
        own = [colouring for colouring in panel.colourings if colouring.name == name]
        if own or not panel.colourings:
            chosen.append(replace(panel, colourings=own))
    return chosen


def _slug(name: str) -> str:
    """Return the words of a name before a comma or colon, for a file name.

    Examples
    --------
    >>> _slug("First right match, place in the list in % of all")
    'first_right_match'
    """
    return re.sub(r"\W+", "_", re.split("[,:]", name.lower())[0]).strip("_")


def _with_mistakes(run: Run, values: Sequence[VertexValues]) -> list[VertexValues]:
    """Name the classes of labels, and add where the prediction differs from the truth."""
    classes = tuple(run.class_names)
    named = [
        replace(own, class_names=classes) if own.kind == "labels" and not own.class_names else own
        for own in values
    ]
    labels = {own.key: own.values for own in named if own.kind == "labels"}
    keys = [own.key for own in named]
    if not {"prediction", "truth"} <= labels.keys() or "wrong" in keys:
        return named
    wrong = np.where(labels["truth"] < 0, np.nan, labels["prediction"] != labels["truth"])
    mistakes = VertexValues(name="Wrong", kind="error", values=wrong, key="wrong", limits=(0, 1))
    place = max(keys.index("prediction"), keys.index("truth")) + 1
    return [*named[:place], mistakes, *named[place:]]
