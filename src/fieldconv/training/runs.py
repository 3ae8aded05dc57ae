"""Run folders: what the command line trains, evaluates and finds again.

A run is a checkpoint folder (see `checkpoint`) with

- ``run.yaml``: all settings, fit for ``--config``;
- ``metrics.csv``, ``tensorboard/``: the course of training;
- ``state.safetensors``: what ``--resume`` goes on from;
- ``evaluation/metrics.json``, ``evaluation/*.csv``: results on the test part;
- ``report.html``: all of it to look at.
"""

from __future__ import annotations

import fnmatch
import re
import shutil
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from fieldconv._io import atomic_path
from fieldconv.datasets.problems import DatasetError
from fieldconv.models.config import Task
from fieldconv.settings import SurfaceSettings
from fieldconv.tasks import task_named
from fieldconv.tasks.base import Evaluation
from fieldconv.training.api import adopt, check_fit, divided
from fieldconv.training.checkpoint import CONFIG, STATE, read_config, save_pretrained, write_json
from fieldconv.training.loop import LOG, Fit, make_fabric, run_evaluation
from fieldconv.training.settings import FILE, DataSource, RunSettings

if TYPE_CHECKING:
    from fieldconv.models.fcnet import FCNet

EVALUATION = "evaluation"
# As the report knows them.
_NAMES = {
    "SHREC'11": "shrec11",
    "human segmentation": "human_seg",
    "remeshed FAUST": "faust",
    "SHREC'19": "shrec19",
    "SHREC'19 humans": "shrec19_humans",
}


def open_data(
    source: DataSource, task: Task, settings: SurfaceSettings, part: str, *, progress: bool = True
) -> Any:
    """The training or test part of a data source, prepared with these settings."""
    from fieldconv.datasets import Creatures, open_dataset
    from fieldconv.surface import ToSurface

    options: dict[str, Any] = {"pre_transform": ToSurface(**settings.to_dict()), "progress": progress}
    if source.data is None:
        # One species, so that more of it are needed; else the dataset's own number.
        meshes = source.meshes or (40 if task == "correspondence" else None)
        if meshes is not None and part == "test":
            meshes = max(2 if task == "matching" else 1, round(meshes / 5))
        return Creatures(
            task,
            split=part,  # type: ignore[arg-type]
            meshes=meshes,
            vertices=source.vertices,
            species=source.species,
            difficulty=source.difficulty,
            seed=source.split_seed,
            **options,
        )
    if source.hold_out is None:
        return open_dataset(source.data, task, split=part, seed=source.split_seed, **options)  # type: ignore[arg-type]
    data = open_dataset(source.data, task, split="train", seed=source.split_seed, **options)
    kept, held = data.holding_out(partial(held_out, source.hold_out, seed=source.split_seed))
    for side, which in ((kept, "to train on"), (held, "to test on")):
        if not len(side):
            raise ValueError(f"--hold-out {source.hold_out} leaves nothing of {source.data} {which}")
    return {"train": kept, "test": held, "all": data}[part]


def held_out(pattern: str, names: list[str], seed: int = 0) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which names a range of numbers, a share in percent (drawn with ``seed``) or a pattern means.

    Examples
    --------
    >>> held_out("1:", ["a.obj", "b.obj", "c.obj"]).tolist()
    [False, True, True]
    >>> held_out("B*", ["a.obj", "b.obj", "c.obj"]).tolist()
    [False, True, False]
    >>> sum(held_out("30%", list("abcdefghij"))).item()
    3
    """
    inside = np.zeros(len(names), bool)
    numbers = re.fullmatch(r"(\d*):(\d*)", pattern)
    share = re.fullmatch(r"(\d+(?:\.\d*)?)%", pattern)
    if share:
        count = round(len(names) * float(share[1]) / 100)
        inside[np.random.default_rng(seed).permutation(len(names))[:count]] = True
    elif numbers:
        inside[slice(*(int(n) if n else None for n in numbers.groups()))] = True
    else:
        inside[:] = [fnmatch.fnmatchcase(name.lower(), pattern.lower()) for name in names]
    return inside


def train_run(settings: RunSettings, out: str | Path, *, resume: bool = False, quiet: bool = False) -> FCNet:
    """Train as the settings say, into a run folder; gives the network."""
    from fieldconv.models.fcnet import FCNet

    out = Path(out)
    if (out / STATE).is_file() and not resume:
        raise ValueError(f"{out} holds a run already; add --resume to go on, or choose another folder")
    fabric = make_fabric(settings.machine)
    task = task_named(settings.task)
    data = open_data(
        settings.source,
        settings.task,
        settings.network.surface_settings,
        "train",
        progress=not quiet and fabric.is_global_zero,
    )
    if settings.task != "matching":
        settings = settings.with_outputs(data.num_classes)
    torch.manual_seed(settings.training.seed)
    model = FCNet(settings.network)
    check_fit(model, data)
    adopt(model, data)
    validation = None
    if settings.training.validation > 0:
        data, validation = divided(data, settings.training.validation, settings.training.seed)
    fit = Fit(
        model,
        data,
        task,
        settings.training,
        validation=validation,
        out=out,
        resume=resume,
        fabric=fabric,
        about=about(settings),
        quiet=quiet,
    )
    if fabric.is_global_zero:  # not before: a run that does not fit its state must stay as it is
        out.mkdir(parents=True, exist_ok=True)
        settings.save(out / FILE)
    fit.run()
    if not fabric.is_global_zero:
        raise SystemExit(0)  # the first process does the rest
    return model.to("cpu")


def about(settings: RunSettings) -> dict[str, Any]:
    """What a checkpoint says about where it comes from."""
    name = "creatures"
    if settings.source.data is not None:
        from fieldconv.datasets.check import detect_layout

        name = _NAMES.get(detect_layout(settings.source.data), Path(settings.source.data).name)
    return {
        "dataset": name,
        "preset": settings.preset,
        "training": settings.training.to_dict(),
        "source": settings.to_dict()["source"],
    }


def source_of(run: str | Path) -> DataSource:
    """Where a run had its data from."""
    return DataSource.from_dict(read_config(run).get("source", {}))


def evaluate_run(
    model: FCNet, run: str | Path, data: Any, out: str | Path, *, rotations: int = 1, quiet: bool = False
) -> Evaluation:
    """Measure a network and write the numbers, curves and tables to ``out/evaluation``.

    If ``out`` is not the run itself, it gets what a report needs to know of the run.
    """
    check_fit(model, data)
    result = run_evaluation(model, data, task_named(data.task), rotations=rotations, quiet=quiet)
    run, home = Path(run), Path(out)
    out = home / EVALUATION
    write_json(out / "metrics.json", result.to_dict())
    for name, curve in result.curves.items():
        _write_table(out / f"curve_{_slug(name)}.csv", ["x", "y"], curve.tolist())
    if "confusion" in result.tables:
        rows = [
            [name, *row]
            for name, row in zip(result.class_names, result.tables["confusion"].tolist(), strict=True)
        ]
        _write_table(out / "confusion.csv", ["truth", *result.class_names], rows)
    columns = list(result.shapes[0]) if result.shapes else []
    _write_table(out / "shapes.csv", columns, [[shape[c] for c in columns] for shape in result.shapes])
    content = read_config(run)
    if home.resolve() != run.resolve():
        elsewhere = {key: value for key, value in content.items() if key != "source"}
        write_json(home / CONFIG, {**elsewhere, "data": data.name})
        if (run / LOG).is_file():
            shutil.copyfile(run / LOG, home / LOG)
    else:
        keep = ("dataset", "preset", "training", "source")
        metrics = result.to_dict()["metrics"]
        save_pretrained(
            model, run, about={**{k: content[k] for k in keep if k in content}, "metrics": metrics}
        )
    return result


def write_report(run: str | Path, model: FCNet, data: Any, result: Evaluation | None) -> Path | None:
    """Pictures and the report page; a failure to draw must not fail the run."""
    try:
        from fieldconv.viz import report

        if result is not None:
            from fieldconv.viz.evidence import write_evidence

            write_evidence(run, result, model, data)
        return Path(report.write_report(run))
    except Exception as error:
        warnings.warn(f"no report was written: {error!r}", stacklevel=2)
        return None


def open_test(source: DataSource, task: Task, settings: SurfaceSettings) -> tuple[Any, str]:
    """The test part, or None and why there is none."""
    try:
        return open_data(source, task, settings, "test"), ""
    except DatasetError as error:
        return None, str(error).splitlines()[0]


def _write_table(path: Path, columns: list[str], rows: list[list[Any]]) -> None:
    import csv

    with atomic_path(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


def _slug(name: str) -> str:
    return re.sub(r"\W+", "_", name.lower())
