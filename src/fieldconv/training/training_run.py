"""Training of a network on a dataset, or from the settings of a run: its folder, devices and processes.

A run is a checkpoint folder (see `fieldconv.models`) with

- ``run.yaml``: all settings, fit for ``--config``;
- ``metrics.csv``, ``tensorboard/``: the course of training;
- ``state.safetensors``: what ``--resume`` goes on from;
- ``evaluation/metrics.json``, ``evaluation/*.csv``: results on the test part;
- ``report.html``: all of it on a page.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from filelock import FileLock, Timeout
from lightning_fabric import Fabric

from fieldconv._checked import Plain
from fieldconv._io import read_text, write_json
from fieldconv.networks import network_named
from fieldconv.networks.protocol import Network
from fieldconv.tasks import task_named
from fieldconv.tasks.base import Examples, TrainingConfig
from fieldconv.training.checkpoint import STATE, load
from fieldconv.training.fit import attach_task, check_fit, check_network, divide, prepared_for, start_from
from fieldconv.training.loop import TrainingLoop
from fieldconv.training.run_settings import FILE, Machine, RunSettings

LOCK, HOLDER = ".lock", ".lock.json"


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
        The examples; prepared again if it was not prepared the way the network needs it.
    validation : SurfaceDataset, optional
        Data by which the best epoch is chosen; if not given, the recipe may keep out a share of the data.
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
        Everything a run was started with; kept in ``out``.
    each_epoch : callable, optional
        Called with the row of each finished epoch.
    **changes
        Any field of `TrainingConfig`, such as ``epochs=5``.

    Returns
    -------
    list of dict
        For each epoch its number, loss, training score, learning rate, seconds, and validation metrics.

    Examples
    --------
    >>> from fieldconv import FCNet, datasets
    >>> data = datasets.Creatures(meshes=2, vertices=300, progress=False)
    >>> model = FCNet.for_task("segmentation", classes=data.num_classes, preset="tiny")
    >>> history = train(model, data, preset="tiny", epochs=1, quiet=True)
    >>> len(history), model.task
    (1, 'segmentation')
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
            data, validation = divide(data, recipe.validation, recipe.seed)
        attach_task(model, data)
        model.any_density = recipe.copies_shown[1] > 0
        loop = TrainingLoop(
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
            about=_about(settings) if settings else {"training": recipe.to_dict(), "data": str(data.name)},
        )
        with run_lock(out if fabric.is_global_zero else None):
            # The settings are written last: a run that does not fit its state stays as it is.
            if settings is not None and out is not None and fabric.is_global_zero:
                settings.save(Path(out) / FILE)
            return loop.run()


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
    fabric = make_fabric(settings.machine)  # before data is prepared, so that each process prepares its own
    progress = not quiet and fabric.is_global_zero
    prepared = settings.network.surface_settings
    data = settings.source.open(settings.task, prepared, "train", progress=progress)
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
            machine=settings.machine,
            settings=settings,
            out=out,
            resume=resume,
            quiet=quiet,
            each_epoch=each_epoch,
        )
    return model.to("cpu")


def check_free(out: str | Path | None, resume: bool) -> None:
    """Raise ValueError if a folder holds a run that is not to be resumed."""
    if out is not None and not resume and (Path(out) / STATE).exists():
        raise ValueError(
            f"{out} holds a run already; add --resume (resume=True) to go on, or choose another folder"
        )


def _about(settings: RunSettings) -> Plain:
    """Return the origin of a network for its checkpoint."""
    return {
        **settings.source.about(),
        "preset": settings.preset,
        "training": settings.training.to_dict(),
        "source": settings.source.to_dict(),
    }


@contextmanager
def run_lock(out: str | Path | None) -> Iterator[None]:
    """Keep other processes from training into a folder; raise ValueError if one does already.

    The system takes the lock away when the process ends, however it ends.
    """
    if out is None:
        yield
        return
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise ValueError(
            f"{folder} is in use: {_holder(folder)} trains there; wait for it, or choose another folder"
        ) from None
    try:
        began = time.strftime("%Y-%m-%d %H:%M:%S")
        write_json(folder / HOLDER, {"process": os.getpid(), "machine": platform.node(), "since": began})
        yield
    finally:
        (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


def _holder(folder: Path) -> str:
    try:
        held = json.loads(read_text(folder / HOLDER))
        return f"process {held['process']} on {held['machine']} since {held['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def make_fabric(machine: Machine) -> Fabric:
    """Return Lightning Fabric for the machine, after it has started the other processes, if any.

    Fabric sets environment variables for several processes, and leaves them set.
    """
    accelerator = machine.accelerator
    mps = torch.backends.mps.is_available()
    available = {"cuda": torch.cuda.is_available(), "gpu": torch.cuda.is_available() or mps, "mps": mps}
    if not available.get(accelerator, True):
        raise ValueError(
            f"there is no {accelerator} device that torch {torch.__version__} can use here; leave out "
            "--accelerator, or give cpu"
        )
    if accelerator == "auto":
        accelerator = "cuda" if available["cuda"] else "cpu"
    try:
        fabric = Fabric(
            accelerator=accelerator,
            devices=int(machine.devices) if machine.devices.isdecimal() else machine.devices,
            num_nodes=machine.num_nodes,
            strategy=machine.strategy,
            precision=machine.precision,
        )
    except Exception as error:  # of many types
        raise ValueError(
            f"accelerator {accelerator}, devices {machine.devices}, strategy {machine.strategy}, precision "
            f"{machine.precision} do not work here: {' '.join(str(error).split())}"
        ) from None
    if fabric.world_size > 1 and os.name == "nt":
        os.environ.setdefault("USE_LIBUV", "0")  # as importing Fabric does: torch for Windows may lack libuv
    fabric.launch()
    if fabric.world_size > 1:
        atexit.unregister(_leave_processes)
        atexit.register(_leave_processes)
    return fabric


def is_first_process() -> bool:
    """Return whether this process is the only one of a run, or the first of several."""
    return not dist.is_initialized() or dist.get_rank() == 0


def _leave_processes() -> None:
    """End the group of processes, which Fabric leaves open for the next run.

    Its threads must end before the interpreter does. Otherwise a process that has finished its work may abort
    while it exits, and its launcher then kills the others and reports a failure.
    """
    if dist.is_initialized():
        dist.destroy_process_group()


@contextmanager
def threads_of(machine: Machine) -> Iterator[None]:
    """Set the number of torch's threads inside the block, and restore it afterwards."""
    before = torch.get_num_threads()
    if machine.threads:
        torch.set_num_threads(machine.threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def own_randomness() -> AbstractContextManager[None]:
    """Restore torch's random state after the block, which may seed it."""
    return torch.random.fork_rng(devices=range(torch.cuda.device_count()))
