"""Cost of a network on given data: preparation, time and memory of a step, measured in a fresh process.

Memory that earlier runs left behind would hide what a step needs.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from fieldconv._io import read_text, write_json
from fieldconv._memory import give_back_memory, keep_freed_memory
from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.networks import network_named
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.surface.surface import Surface
from fieldconv.tasks import task_named
from fieldconv.training.fit import attach_task
from fieldconv.training.loop import TrainingLoop
from fieldconv.training.run_settings import RunSettings, read_settings
from fieldconv.training.training_run import make_fabric, threads_of

STEPS = 4  # timed together
ROUNDS = 3  # the fastest counts; others are slowed down by something else
MESHES = 3  # whose preparation is timed


@dataclass(frozen=True)
class Cost:
    """Cost of a network."""

    parameters: int  # learnt real numbers
    preparation: float  # seconds to prepare a mesh, the median of a few
    step: float  # seconds of a training step
    memory: int | None  # bytes by which steps make the process larger; None where the system does not tell


def measured_cost(
    settings: RunSettings, place: Path, measure: Callable[[Path, Path], None] | None = None
) -> Cost:
    """Return what a network costs; ``place`` with ".yaml" and ".json" keeps the settings and the result.

    It is measured by ``measure``, by default in a process of its own, unless it was with the same settings.
    """
    asked, kept = place.with_suffix(".yaml"), place.with_suffix(".json")
    before = asked.read_bytes() if asked.is_file() else None
    settings.save(asked)
    if before not in (None, asked.read_bytes()):
        kept.unlink(missing_ok=True)
    if not kept.is_file():
        (measure or _measure_apart)(asked, kept)
    return Cost(**json.loads(read_text(kept)))


def _measure_apart(settings: Path, kept: Path) -> None:
    command = [sys.executable, "-m", "fieldconv.training.comparison.cost", str(settings), str(kept)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        raise ValueError(f"the cost of a step cannot be measured: {last}")


def measure_cost(settings: Path) -> Cost:
    """Measure what the network costs, in this process."""
    content = read_settings(settings)
    run = RunSettings.assemble(content["task"], file=settings)
    task = task_named(run.task)
    surface_settings = run.network.surface_settings
    data = run.source.open(run.task, surface_settings, "train", progress=False)
    run = run.with_outputs(task.outputs(data))
    some = np.unique(np.linspace(0, len(data) - 1, STEPS * run.training.batch).astype(int)).tolist()
    data = data[some]

    meshes = [mesh for k in range(min(MESHES, len(data))) for mesh in data.meshes(k)]
    Surface.prepare(meshes[0], surface_settings)  # compiles what needs compiling
    preparation = float(np.median([_seconds(mesh, surface_settings) for mesh in meshes]))

    model = network_named(run.network_name)(run.network)
    attach_task(model, data)
    config = run.training.changed(epochs=1, reshaped=0, validation=0.0)
    with threads_of(run.machine):
        fabric = make_fabric(run.machine)
        TrainingLoop(model, data[:1], task, config, fabric=fabric, quiet=True).run()  # compiles
        gc.collect()
        give_back_memory()
        keep_freed_memory()
        before, fastest = _peak(reset=True), float("inf")
        for _ in range(ROUNDS):
            row = TrainingLoop(model, data, task, config, fabric=fabric, quiet=True).run()[-1]
            fastest = min(fastest, row["seconds"] / row["step"])
        after = _peak()
    memory = None if before is None or after is None else after - before
    return Cost(model.num_parameters, preparation, fastest, memory)


def _seconds(mesh: Mesh, settings: SurfaceSettings) -> float:
    began = time.perf_counter()
    Surface.prepare(mesh, settings)
    return time.perf_counter() - began


def _peak(*, reset: bool = False) -> int | None:
    """Return the largest size of this process so far in bytes; from now on, if it can be reset."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else 1024 * peak)


if __name__ == "__main__":
    write_json(sys.argv[2], asdict(measure_cost(Path(sys.argv[1]))))
