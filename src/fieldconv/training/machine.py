"""The devices and processes of a run."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import torch
import torch.distributed as dist
from lightning_fabric import Fabric

from fieldconv.training.settings import Machine


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
