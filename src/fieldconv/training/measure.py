"""Evaluation of a network on a dataset, its files, and calibration."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import torch

from fieldconv._checked import check_count
from fieldconv._io import write_json
from fieldconv._progress import track
from fieldconv.models import CONFIG
from fieldconv.networks.protocol import Network
from fieldconv.runs.files import write_evaluation
from fieldconv.runs.run import LOG
from fieldconv.tasks import task_named
from fieldconv.tasks.base import Evaluation, Examples, Task
from fieldconv.tasks.base.label_task import fit_temperature
from fieldconv.training.checkpoint import read_config, save_pretrained
from fieldconv.training.fit import NetworkOutputs, check_fit, evaluation_mode, prepared_for

ORIGIN = ("dataset", "up", "benchmark", "preset", "training", "source")  # keys of a checkpoint about its run
MAX_SCORES = 2**24  # to find a temperature with; a random share of each shape's if there are more


def evaluate(
    model: Network,
    data: Examples,
    *,
    rotations: int = 1,
    out: str | Path | None = None,
    run: str | Path | None = None,
    part: str = "test",
    quiet: bool = True,
) -> Evaluation:
    """Measure a network on a dataset.

    Parameters
    ----------
    model : Network
    data : SurfaceDataset
        Prepared again if it was not prepared the way the network needs it.
    rotations : int
        Average over this many orientations of each shape; see `predict`.
    out : path, optional
        Folder to write the numbers, curves and tables to, and a report.
    run : path, optional
        Run folder of the network, for the report; if it is ``out`` itself, its checkpoint keeps the results.
    part : "test", "train" or "all"
        Whether the network was trained on none, all or most of these shapes; written beside the numbers.
    quiet : bool
        Show no progress.

    Returns
    -------
    Evaluation
        ``metrics`` has the numbers, ``curves`` and ``tables`` the rest.

    Examples
    --------
    >>> from fieldconv import FCNet, datasets
    >>> data = datasets.Creatures(meshes=2, vertices=300, progress=False)
    >>> model = FCNet.for_task("segmentation", classes=data.num_classes, preset="tiny")
    >>> 0 <= evaluate(model, data).metrics["accuracy"] <= 1
    True
    """
    check_count("rotations", rotations)
    check_fit(model, data)
    data = prepared_for(model, data)
    result = run_evaluation(model, data, task_named(data.task), rotations=rotations, quiet=quiet)
    result.part = part
    if out is not None:
        from fieldconv.training.evidence import report_on  # matplotlib, which training does not need

        _write_results(result, model, data, Path(out), Path(run or out))
        report_on(out, model, data, result)
        result.folder = Path(out)
    return result


def run_evaluation(
    model: Network, data: Examples, task: Task, *, rotations: int = 1, quiet: bool = False
) -> Evaluation:
    """Evaluate one example at a time, so that no batch size changes anything."""
    with evaluation_mode(model):
        result = task.with_template(model.template).evaluate(
            NetworkOutputs(model, task, rotations),
            data,
            follow=lambda things: track(things, f"Evaluating {task.name}", quiet=quiet),
        )
    result.rotations = rotations
    result.description = task.description()
    return result


def _write_results(result: Evaluation, model: Network, data: Examples, out: Path, run: Path) -> None:
    """Write an evaluation to ``out``, with what a report needs to know of the run if that is elsewhere."""
    write_evaluation(out, result)
    config = read_config(run) if (run / CONFIG).is_file() else {}
    if not config:  # results of a network that was never saved
        write_json(out / CONFIG, {"task": data.task, "data": str(data.name)})
    elif out.resolve() != run.resolve():
        others = {key: value for key, value in config.items() if key not in ("source", "benchmark", "up")}
        write_json(out / CONFIG, {**others, "data": str(data.name)})
        if (run / LOG).is_file():
            shutil.copyfile(run / LOG, out / LOG)
    else:
        about = {key: config[key] for key in ORIGIN if key in config}
        save_pretrained(model, run, about={**about, "metrics": result.to_dict()["metrics"]})


def calibrate(model: Network, data: Examples) -> float:
    """Set the temperature of a network so that its probabilities are likeliest on a dataset; return it.

    Training does so with its validation part. It changes how sure the labels of samples are, not the labels.

    Parameters
    ----------
    model : Network
        For a task whose outputs are scores of classes, such as segmentation; others raise ValueError.
    data : SurfaceDataset
        Shapes that were not learnt from.
    """
    task = task_named(data.task)
    if not task.calibrated:
        raise ValueError(f"a network for {task.name} gives no probabilities, there is nothing to calibrate")
    data = prepared_for(model, data)
    model.temperature = 1.0
    outputs, draw = NetworkOutputs(model, task), np.random.default_rng(0)
    each = max(1, MAX_SCORES // (max(model.config.outputs, 1) * max(len(data), 1)))
    scores, targets = [], []
    with evaluation_mode(model):
        for surface in data:
            own, target = outputs(surface), surface.y
            chosen = torch.from_numpy(draw.permutation(len(target))[:each])
            scores.append(own[chosen])
            targets.append(target[chosen])
    model.temperature = fit_temperature(torch.cat(scores), torch.cat(targets))
    return model.temperature
