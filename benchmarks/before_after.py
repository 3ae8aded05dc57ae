"""Speed of two versions of the package in one run: does a change cost time?

    git clone . ../before && git -C ../before checkout REVISION
    python benchmarks/before_after.py ../before [--rounds 15] [--cases WORD …]

Each version runs in its own process, with the benchmarks of its checkout. The two take turns at every case,
so that a busy moment affects both. Times are processor times on one thread. A row gives the median time of
each, the median of the ratios after / before, and the middle half of the ratios.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STEPS = {
    "segmentation": {"vertices": 1024, "degree": 116, "classes": 8},
    "correspondence": {"vertices": 5000, "degree": 70, "classes": 5000},
}
TASKS = ("classification", "segmentation", "correspondence", "matching")
CASES = [
    "discs, local",
    "discs, front",
    "signatures",
    "convolution, segmentation",
    "convolution, correspondence",
    "ECHO",
    "training step, segmentation",
    "training step, correspondence",
    *(f"epoch, {task}" for task in TASKS),
    "predict, million vertices",
]


def serve(checkout: Path) -> None:
    """Run the cases named on standard input, and print the processor time of each."""
    sys.path[:0] = [str(checkout / "benchmarks"), str(checkout / "src")]
    import torch

    torch.set_num_threads(1)
    prepare, prepared = case_makers(), dict[str, Callable[[], Any]]()
    for line in sys.stdin:
        name = line.strip()
        if name not in prepared:
            torch.manual_seed(0)
            prepared[name] = prepare[name]()
            prepared[name]()  # compiles, and allocates memory
        began = time.process_time()
        prepared[name]()
        print(f"took {time.process_time() - began}", flush=True)


def case_makers() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Return a function for each case, which prepares it and returns the function to time."""
    import numpy as np
    import torch

    import fieldconv as fc
    import geodesics
    import layers
    from fieldconv.tasks import task_named

    try:
        from fieldconv.geometry import geodesic_discs, heat_kernel_signature
    except ImportError:  # older versions
        from fieldconv.geometry.geodesics import geodesic_discs

        from fieldconv.geometry.spectral import heat_kernel_signature

    def discs(count: int, radius: float, every: int, solver: str) -> Callable[[], Any]:
        mesh = geodesics.sphere_mesh(count).normalised()
        return lambda: geodesic_discs(mesh, radius, np.arange(0, count, every), solver=solver)

    def signatures() -> Callable[[], Any]:
        mesh = geodesics.sphere_mesh(4999).normalised()
        return lambda: heat_kernel_signature(mesh)

    def step(task: str, vertices: int, degree: int, classes: int) -> Callable[[], Any]:
        surface = layers.torus(vertices, degree)
        net = layers.FCNet.for_task(task, classes=classes, preset="paper")
        optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
        target = torch.randint(classes, (vertices,))

        def run() -> None:
            optimiser.zero_grad()
            layers.cross_entropy(net(surface), target).mean().backward()
            optimiser.step()

        return run

    def epoch(task: str) -> Callable[[], Any]:
        data = fc.datasets.Creatures(task, meshes=8, species=["quadruped"], progress=False)
        model = fc.FCNet.for_task(task, classes=task_named(task).outputs(data), preset="quick")
        return lambda: fc.train(model, data, preset="quick", epochs=1, quiet=True)

    def predict(count: int) -> Callable[[], Any]:
        mesh, bodies = geodesics.sphere_mesh(count), fc.load("bodies")
        return lambda: fc.predict(bodies, mesh)

    return {
        "discs, local": lambda: discs(4999, 0.05, 4, "local"),
        "discs, front": lambda: discs(10_000, 0.2, 50, "front"),
        "signatures": signatures,
        **{f"convolution, {k}": lambda v=v: layers.conv_pass(False, **v) for k, v in layers.CONV.items()},
        "ECHO": lambda: layers.echo_pass(False, **layers.VOTES),
        **{f"training step, {k}": lambda k=k, v=v: step(k, **v) for k, v in STEPS.items()},
        **{f"epoch, {task}": lambda task=task: epoch(task) for task in TASKS},
        "predict, million vertices": lambda: predict(1_000_000),
    }


class Version:
    """A checkout, run in its own process."""

    def __init__(self, checkout: Path) -> None:
        threads = dict.fromkeys(
            ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
        )
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(checkout), "--serve"],
            env={**os.environ, **threads, "PYTHONPATH": str(checkout / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def seconds(self, case: str) -> float:
        assert self.process.stdin
        assert self.process.stdout
        print(case, file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("took "):
                return float(line.split()[1])
        raise SystemExit(f"the process ended at {case}")

    def close(self) -> None:
        self.process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path, help="a checkout of the version to compare with")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cases", nargs="+", default=[""], metavar="WORD", help="only these cases")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.before)
    import numpy as np

    cases = [case for case in CASES if any(word in case for word in options.cases)]
    versions = [Version(options.before.resolve()), Version(ROOT)]
    print(f"{'':<32}{'before':>10}{'after':>10}{'ratio':>8}   middle half", flush=True)
    for case in cases:
        times = np.empty((options.rounds, 2))
        for turn in range(-1, options.rounds):  # the first one compiles
            for k in (0, 1) if turn % 2 else (1, 0):
                times[turn, k] = versions[k].seconds(case)
        before, after = 1000 * np.median(times, axis=0)
        low, ratio, high = np.percentile(times[:, 1] / times[:, 0], [25, 50, 75])
        row = f"{before:>7.1f} ms{after:>7.1f} ms{ratio:>8.3f}   {low:.3f} to {high:.3f}"
        print(f"{case:<32}{row}", flush=True)
    for version in versions:
        version.close()


if __name__ == "__main__":
    main()
