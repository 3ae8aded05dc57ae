"""What a network costs on given data: preparation, time and memory of a step, measured in a fresh process.

A process of its own, because the memory that earlier runs have left behind would hide what a step needs.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from fieldconv.geometry.mesh.mesh import Mesh
from fieldconv.surface.settings import SurfaceSettings
from fieldconv.surface.surface import Surface

EXAMPLES = 4  # steps of which the time is taken
ROUNDS = 3  # the fastest counts: others are slowed down by something else
MESHES = 3


@dataclass(frozen=True)
class Cost:
    """What a network costs.

    Attributes
    ----------
    parameters : int
        Learnt real numbers.
    preparation : float
        Seconds to prepare a mesh, the median of a few.
    step : float
        Seconds of a training step.
    memory : int or None
        Bytes by which training steps made the process larger; None where the system does not tell.
    """

    parameters: int
    preparation: float
    step: float
    memory: int | None


def measured_cost(settings: Path, kept: Path) -> Cost:
    """Return what the network of a run's settings costs, measured once and then kept in a file.

    Parameters
    ----------
    settings : path
        A ``run.yaml``.
    kept : path
        JSON file of the result.
    """
    if not kept.is_file():
        command = [sys.executable, "-m", "fieldconv.training.comparison.cost", str(settings), str(kept)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
            raise ValueError(f"the cost of a step cannot be measured: {last}")
    return Cost(**json.loads(kept.read_text(encoding="utf-8")))


def measure_cost(settings: Path) -> Cost:
    """Return what the network costs, here and now."""
    from fieldconv._memory import give_back_memory, keep_freed_memory
    from fieldconv.networks import network_named
    from fieldconv.tasks import task_named
    from fieldconv.training.fit import adopt
    from fieldconv.training.loop import Fit
    from fieldconv.training.machine import make_fabric, threads_of
    from fieldconv.training.settings import RunSettings, read_settings

    content = read_settings(settings)
    run = RunSettings.assemble(content["task"], file=settings)
    task = task_named(run.task)
    surface_settings = run.network.surface_settings
    data = run.source.open(run.task, surface_settings, "train", progress=False)
    run = run.with_outputs(task.outputs(data))
    some = np.unique(np.linspace(0, len(data) - 1, EXAMPLES * run.training.batch).astype(int)).tolist()
    data = data[some]

    meshes = [mesh for k in range(min(MESHES, len(data))) for mesh in data.meshes(k)]
    Surface.prepare(meshes[0], surface_settings)  # compiles what needs compiling
    preparation = float(np.median([_seconds(mesh, surface_settings) for mesh in meshes]))

    model = network_named(run.network_name)(run.network)
    adopt(model, data)
    config = run.training.changed(epochs=1, reshaped=0, validation=0.0)
    with threads_of(run.machine):
        fabric = make_fabric(run.machine)
        Fit(model, data[:1], task, config, fabric=fabric, quiet=True).run()  # compiles
        gc.collect()
        give_back_memory()
        keep_freed_memory()
        before, fastest = _peak(reset=True), float("inf")
        for _ in range(ROUNDS):
            row = Fit(model, data, task, config, fabric=fabric, quiet=True).run()[-1]
            fastest = min(fastest, row["seconds"] / row["step"])
        after = _peak()
    memory = None if before is None or after is None else after - before
    return Cost(model.num_parameters, preparation, fastest, memory)


def _seconds(mesh: Mesh, settings: SurfaceSettings) -> float:
    began = time.perf_counter()
    Surface.prepare(mesh, settings)
    return time.perf_counter() - began


def _peak(*, reset: bool = False) -> int | None:
    """The largest size of this process so far, in bytes; since now, if it can be reset."""
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
    from fieldconv._io import write_json

    write_json(sys.argv[2], asdict(measure_cost(Path(sys.argv[1]))))
