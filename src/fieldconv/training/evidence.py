"""The evidence of an evaluation: shapes and points beside its numbers, and the pages that show them."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.networks.protocol import Network
from fieldconv.nn import FieldConv
from fieldconv.runs.files import read_run, write_descriptors
from fieldconv.runs.run import Run, partner_file, shape_file, worst_and_best
from fieldconv.surface.surface import Surface
from fieldconv.tasks import task_named
from fieldconv.tasks.base import Evaluation, Examples
from fieldconv.training.checkpoint import load
from fieldconv.training.fit import NetworkOutputs, evaluation_mode
from fieldconv.viz import filter_page, report_page
from fieldconv.viz.figures import arrange
from fieldconv.viz.values import known_up, write_shape

MAX_POINTS = 1000  # descriptors in the picture


def report_on(
    out: str | Path, model: Network, data: Examples | None, result: Evaluation | None
) -> Path | None:
    """Write pictures and the report page of a run; a failure to draw must not fail the run."""
    try:
        if data is not None and result is not None:
            write_evidence(out, result, model, data)
        return write_report([out])
    except Exception as error:
        warnings.warn(f"no report was written: {error!r}", stacklevel=2)
        return None


def write_report(runs: Sequence[str | Path], out: str | Path | None = None) -> Path:
    """Write the page of one run or several."""
    return report_page.write_report([describe_run(run) for run in runs], out)


def write_figures(runs: Sequence[str | Path], folder: str | Path) -> list[Path]:
    """Write the plots of runs as PNG and PDF for print."""
    return report_page.write_figures([describe_run(run) for run in runs], folder)


def describe_run(folder: str | Path) -> Run:
    """Return a run, described by its task if its folder does not say what its numbers mean."""
    run = read_run(folder)
    try:
        return run.with_description(task_named(run.task).description()) if run.task else run
    except ValueError:  # a task of a package that is not installed here
        return run


def write_evidence(
    out: str | Path, result: Evaluation, model: Network, data: Examples, *, shapes: int = 4
) -> None:
    """Write the worst and best shapes of an evaluation, ``shapes`` in all, and some points, to its folder."""
    out, task = Path(out), task_named(result.task).with_template(model.template)
    run = Run(evaluation=result)
    chosen = worst_and_best([run.goodness(shape) for shape in run.shapes], shapes)
    shutil.rmtree(shape_file(out, 0).parent, ignore_errors=True)  # of an earlier evaluation
    with evaluation_mode(model):
        outputs = NetworkOutputs(model, task)
        for k in chosen:
            mesh, *partners = data.meshes(k)
            plain = replace(mesh, vertex_data={}, vertex_colours=None, face_colours=None)
            write_shape(shape_file(out, k), plain, task.evidence(model, outputs, data, k))
            for partner in partners:
                partner.save(partner_file(shape_file(out, k)))
        points = task.picture_points(model, data, MAX_POINTS)
    if points is not None:
        arranged = arrange(*points)
        if arranged is not None:
            write_descriptors(out, arranged, points[1])


def write_filters(
    run: str | Path,
    out: str | Path | None = None,
    *,
    mesh: str | Path | None = None,
    most: int = 16,
    up: str | None = None,
) -> Path:
    """Write a page of a network's filters and, with a mesh, of what each block responds to on it.

    Parameters
    ----------
    run : path
        Run or checkpoint folder.
    out : path, optional
        ``filters.html`` in the run folder if left out.
    mesh : path, optional
        Mesh to apply the network to.
    most : int
        At most this many input and output channels of each convolution.
    up : "x", "y" or "z", optional
        Axis that points up at first; if left out, as it is known of the mesh.
    """
    model = load(run)
    layers = [
        (_layer_name(path), part) for path, part in model.named_modules() if isinstance(part, FieldConv)
    ]
    if not layers:
        raise ValueError(f"{run} holds a {type(model).__name__}, which has no field convolutions to show")
    loaded = Mesh.load(mesh).validate() if mesh is not None else None
    responses = []
    if loaded is not None:
        surface = Surface.prepare(loaded, model.surface_settings())
        with evaluation_mode(model):
            responses = [
                (name, surface.interpolate(field).numpy()) for name, field in model.responses(surface).items()
            ]
    return filter_page.write_filters(
        out or Path(run) / "filters.html",
        title=f"Filters of {Path(run).resolve().name}",
        filters=[(name, conv.images()) for name, conv in layers],
        responses=responses,
        mesh=loaded,
        most=most,
        up=up or (known_up(mesh) if mesh is not None else None),
    )


def _layer_name(path: str) -> str:
    """Return the path of a module in words: "blocks.0.conv1" is "block 1 first convolution"."""
    convolutions = {"conv1": "first convolution", "conv2": "second convolution", "conv": "last convolution"}
    known = {"blocks": "block", "head": "", "block": "ECHO block,", **convolutions}
    words = (str(int(word) + 1) if word.isdecimal() else known.get(word, word) for word in path.split("."))
    return " ".join(filter(None, words))
