"""Training, from a network and a dataset, or from the settings of a run.

A run is a checkpoint folder (see `checkpoint`) with

- ``run.yaml``: all settings, fit for ``--config``;
- ``metrics.csv``, ``tensorboard/``: the course of training;
- ``state.safetensors``: what ``--resume`` goes on from;
- ``evaluation/metrics.json``, ``evaluation/*.csv``: results on the test part;
- ``report.html``: all of it to look at.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from fieldconv.datasets.source import DataSource
from fieldconv.networks import network_named
from fieldconv.networks.protocol import Network
from fieldconv.tasks import task_named
from fieldconv.tasks.base import Examples, TrainingConfig
from fieldconv.training.checkpoint import STATE, load, read_config
from fieldconv.training.finetune import start_from
from fieldconv.training.fit import adopt, check_fit, check_network, divided, prepared_for
from fieldconv.training.lock import only_one
from fieldconv.training.loop import Fit
from fieldconv.training.machine import make_fabric, own_randomness, threads_of
from fieldconv.training.settings import FILE, Machine, RunSettings


def train(
    model: Network,
    data: Examples,
    *,
    validation: Examples | None = None,
    preset: str = "default",
    config: TrainingConfig | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    machine: Machine | None = None,
    quiet: bool = False,
    settings: RunSettings | None = None,
    each_epoch: Callable[[dict[str, float]], None] | None = None,
    **changes: Any,
) -> list[dict[str, float]]:
    """Train a network on a dataset; afterwards the network knows its task and classes, and can `predict`.

    Parameters
    ----------
    model : Network
        Trained in place.
    data : SurfaceDataset
        What to learn from; prepared anew if it was not prepared the way the network needs it.
    validation : SurfaceDataset, optional
        To choose the best epoch by; if not given, a share of the data can be kept out for it.
    preset : "paper", "reproduce", "default", "quick" or "tiny"
        The recipe.
    config : TrainingConfig, optional
        The recipe itself, instead of a preset.
    out : path, optional
        Folder for checkpoints and logs, written at every epoch.
    resume : bool
        Go on from the last epoch in ``out``, to the same result as without the interruption.
    machine : Machine, optional
        Devices, processes, precision.
    quiet : bool
        Print nothing.
    settings : RunSettings, optional
        All that a run was started with, to be kept in ``out``.
    each_epoch : callable, optional
        Called at the end of each epoch with what is returned of it.
    **changes
        Any field of `TrainingConfig`, such as ``epochs=5``.

    Returns
    -------
    list of dict
        For each epoch its number, loss, training score, learning rate, seconds, and validation metrics.
    """
    check_network(model)
    if not len(data):
        raise ValueError("there is nothing to train on: the data has no examples")
    check_free(out, resume)
    task, machine = task_named(data.task), machine or Machine()
    recipe = config or task.training_config(preset=preset, smallest_batch=model.smallest_batch)
    recipe = recipe.changed(**changes)
    check_fit(model, data)
    with threads_of(machine), own_randomness():
        fabric = make_fabric(machine)
        data = prepared_for(model, data)
        if validation is not None:
            validation = prepared_for(model, validation)
        elif recipe.validation > 0:
            data, validation = divided(data, recipe.validation, recipe.seed)
        adopt(model, data)
        model.any_density = recipe.copies_shown[1] > 0
        fit = Fit(
            model,
            data,
            task,
            recipe,
            validation=validation,
            out=out,
            resume=resume,
            fabric=fabric,
            quiet=quiet,
            each_epoch=each_epoch,
            about=about(settings) if settings else {"training": recipe.to_dict(), "data": str(data.name)},
        )
        with only_one(out if fabric.is_global_zero else None):
            if settings is not None and out is not None and fabric.is_global_zero:
                settings.save(
                    Path(out) / FILE
                )  # not before: a run that does not fit its state stays as it is
            return fit.run()


def train_from(
    settings: RunSettings,
    out: str | Path,
    *,
    resume: bool = False,
    quiet: bool = False,
    each_epoch: Callable[[dict[str, float]], None] | None = None,
) -> Network:
    """Train as the settings say, into a run folder; return the network, on the CPU."""
    check_free(out, resume)
    fabric: Fabric = make_fabric(
        settings.machine
    )  # before data is prepared, so that each process has its own
    data = settings.source.open(
        settings.task,
        settings.network.surface_settings,
        "train",
        progress=not quiet and fabric.is_global_zero,
    )
    settings = settings.with_outputs(task_named(settings.task).outputs(data))
    with own_randomness():
        torch.manual_seed(settings.training.seed)
        model = network_named(settings.network_name)(settings.network)
        if settings.finetune is not None:
            start_from(model, load(settings.finetune))
        train(
            model,
            data,
            config=settings.training,
            out=out,
            resume=resume,
            machine=settings.machine,
            quiet=quiet,
            settings=settings,
            each_epoch=each_epoch,
        )
    return model.to("cpu")


def check_free(out: str | Path | None, resume: bool) -> None:
    """Raise ValueError if a folder holds a run that is not to be resumed."""
    if out is not None and not resume and (Path(out) / STATE).exists():
        raise ValueError(
            f"{out} holds a run already; add --resume (resume=True) to go on, or choose another folder"
        )


def about(settings: RunSettings) -> dict[str, Any]:
    """Return what a checkpoint says about where it comes from."""
    return {
        **settings.source.about(),
        "preset": settings.preset,
        "training": settings.training.to_dict(),
        "source": settings.source.to_dict(),
    }


def source_of(run: str | Path) -> DataSource:
    """Return where a run had its data from."""
    return DataSource.from_dict(read_config(run).get("source", {}))
