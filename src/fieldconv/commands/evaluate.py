"""`fieldconv evaluate`: a trained network measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import fieldconv as fc
from fieldconv import training
from fieldconv._checked import check_count
from fieldconv.commands.arguments import Run
from fieldconv.commands.output import print_metrics, printed_warnings
from fieldconv.datasets.source import DataSource

SETTINGS = (
    "data",
    "Where the meshes come from; without --data, options not given are those of the run.",
    DataSource,
)


def evaluate_command(
    run: Run,
    /,
    *,
    part: Literal["test", "train", "all"] = "test",
    rotations: int = 1,
    samples: int | None = None,
    out: Path | None = None,
    **changes: Any,
) -> None:
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
    model = fc.load(run)
    if model.task is None:
        raise ValueError(f"{run} does not say which task its network is for, so it cannot be evaluated")
    check_count("rotations", rotations)  # before anything is prepared
    config = training.read_config(run) if run.is_dir() else {}  # the package's networks have no source
    own = DataSource.from_dict(config.get("source", {}))
    other = "data" in changes
    source = DataSource(**changes) if other else replace(own, **changes)
    if not other and source.data is not None and not Path(source.data).exists():
        raise ValueError(
            f"{run} was trained on {source.data}, which is not here; say where it is with --data"
        )
    if out is None and not run.is_dir():
        raise ValueError(f"{run} is not a run folder; give --out FOLDER for the results")
    unlike = source != own or part != "test" or samples is not None
    if out is None and "source" in config and unlike:
        raise ValueError(f"{run} keeps the results of its own test part; give --out FOLDER for others")
    fc.keep_freed_memory()
    data = source.open(model.task, model.surface_settings(samples), part)
    with printed_warnings():
        # The network was trained on no shape of other data.
        part = "test" if other else part
        print_metrics(
            fc.evaluate(model, data, rotations=rotations, out=out or run, run=run, part=part, quiet=False)
        )
