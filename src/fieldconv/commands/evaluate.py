"""`fieldconv evaluate`: a trained network measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from fieldconv.commands.arguments import Arguments, Run
from fieldconv.commands.results import print_metrics, printed_warnings
from fieldconv.datasets.source import DataSource


def arguments_for(words: Sequence[str], program: str) -> Arguments:
    """Return the command's arguments, with those of `DataSource`."""
    arguments = Arguments(evaluate_command, program)
    about = "Where the meshes come from; without --data, options not given are those of the run."
    arguments.add_settings("data", about, DataSource)
    return arguments


def evaluate_command(
    run: Run,
    /,
    *,
    part: Literal["test", "train", "all"] = "test",
    rotations: int = 1,
    samples: int | None = None,
    out: Path | None = None,
    **changes: Any,
) -> int:
    """Measure a trained network: a table of metrics, and JSON, curves and a report in the run's folder.

    $ fieldconv evaluate RUN
    $ fieldconv evaluate RUN --data OTHER_MESHES --part all --out RESULT

    Args:
        run: Run or checkpoint folder, or the name of a network that `fieldconv models` lists.
        part: Part of the data to use.
        rotations: Average over this many orientations of each shape; slower, a little better.
        samples: Samples on each shape, instead of as many as the network was trained with.
        out: Folder for the results; RUN if not given, which takes only results of its own test part.
    """
    from fieldconv import keep_freed_memory
    from fieldconv.surface.views import check_rotations
    from fieldconv.training.checkpoint import load, read_config
    from fieldconv.training.measure import evaluate
    from fieldconv.training.run import source_of

    model = load(run)
    if model.task is None:
        raise ValueError(f"{run} does not say which task its network is for, so it cannot be evaluated")
    check_rotations(rotations)  # before anything is prepared
    own = source_of(run)
    if "data" in changes:
        source = DataSource(**changes)
    else:
        source = replace(own, **changes)
        if source.data is not None and not Path(source.data).exists():
            raise ValueError(
                f"{run} was trained on {source.data}, which is not here; say where it is with --data"
            )
    if (
        out is None
        and "source" in read_config(run)
        and (source != own or part != "test" or samples is not None)
    ):
        raise ValueError(f"{run} keeps the results of its own test part; give --out FOLDER for others")
    keep_freed_memory()
    data = source.open(model.task, model.surface_settings(samples), part)
    with printed_warnings():
        # Of other data, no shape was trained on.
        known = "test" if "data" in changes else part
        result = evaluate(model, data, rotations=rotations, out=out or run, run=run, part=known, quiet=False)
        print_metrics(result)
    return 0
