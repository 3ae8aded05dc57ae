"""Compute discs of many odd meshes; report failures and the slowest.

    python benchmarks/odd_meshes.py [--count 100000] [--first 0] [--limit 1.0] [--workers 1]

Each mesh is made from its seed by tests/odd_meshes.py and scaled to unit area; then all its discs are
computed, at a random radius. A mesh fails if a solver takes more processor time than the
limit, or if its discs are not finite, symmetric, within the radius and around their centres. Failures are
listed with their seeds; ``--first SEED --count 1`` repeats one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import odd_meshes
from fieldconv.geometry import Discs, Mesh, geodesic_discs

SOLVERS = ("local", "front")
MAX_SECONDS = 30.0  # without a result; then a worker is stopped

console = Console(width=110)


@dataclass
class Outcome:
    """Outcome of one odd mesh: seconds of its slowest solver, and the problem, if any."""

    seed: int
    seconds: float = 0.0
    vertices: int = 0
    refused: bool = False
    problem: str = ""


def compute_discs(seed: int) -> Outcome:
    """Compute the discs of an odd mesh by all solvers."""
    vertices, faces, radius = odd_meshes.odd_mesh(seed)
    mesh = Mesh(vertices, faces)
    outcome = Outcome(seed, vertices=len(vertices))
    mesh = mesh if mesh.problem else mesh.normalised()
    if mesh.problem:
        outcome.refused = True
        return outcome
    for solver in SOLVERS:
        began = time.process_time()
        discs = geodesic_discs(mesh, radius, solver=solver)
        outcome.seconds = max(outcome.seconds, time.process_time() - began)
        outcome.problem = outcome.problem or problem_of(discs, len(mesh.vertices), radius)
    return outcome


def problem_of(discs: Discs, count: int, radius: float) -> str:
    if not all(np.isfinite(values).all() for values in (discs.distance, discs.angle, discs.transport)):
        return "not finite"
    if (discs.distance > radius).any():
        return "beyond the radius"
    if np.count_nonzero(discs.centres == discs.targets) != count:
        return "a disc without its centre"
    key, mirrored = discs.centres * count + discs.targets, discs.targets * count + discs.centres
    order = np.argsort(mirrored)
    if not (np.array_equal(key, mirrored[order]) and np.array_equal(discs.distance, discs.distance[order])):
        return "not symmetric"
    return ""


def work(seeds: range, results: Connection) -> None:
    """Send an `Outcome` for each seed."""
    warnings.simplefilter("ignore")
    tetrahedron = Mesh(np.eye(4, 3), [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    for solver in SOLVERS:
        geodesic_discs(tetrahedron, 1.0, solver=solver)  # compiles
    results.send(None)
    for seed in seeds:
        try:
            results.send(compute_discs(seed))
        except Exception as error:
            results.send(Outcome(seed, problem=f"{type(error).__name__}: {error}"))


def campaign(seeds: range, workers: int) -> list[Outcome]:
    """Run all seeds in several processes; the seed of a process that is silent for too long fails."""
    outcomes: list[Outcome] = []
    lanes: dict[Connection, tuple[multiprocessing.Process, range, float]] = {}

    def start(rest: range) -> None:
        if len(rest):
            ours, theirs = multiprocessing.Pipe(duplex=False)
            process = multiprocessing.Process(target=work, args=(rest, theirs), daemon=True)
            process.start()
            theirs.close()
            lanes[ours] = (process, rest, time.monotonic() + 300)  # it may compile first

    for lane in range(workers):
        start(seeds[lane::workers])
    with Progress(console=console) as progress:
        bar = progress.add_task("meshes", total=len(seeds))
        while lanes:
            for results in wait(list(lanes), timeout=1):
                process, rest, _ = lanes[results]
                try:
                    outcome = results.recv()
                except EOFError:  # the process ended or crashed
                    del lanes[results]
                    process.join()
                    if len(rest):
                        outcomes.append(
                            Outcome(rest[0], problem=f"the process ended with {process.exitcode}")
                        )
                        start(rest[1:])
                    continue
                if outcome is not None:
                    outcomes.append(outcome)
                    rest = rest[1:]
                lanes[results] = (process, rest, time.monotonic() + MAX_SECONDS)
                progress.update(bar, completed=len(outcomes))
            for results, (process, rest, deadline) in list(lanes.items()):
                if len(rest) and time.monotonic() > deadline and not results.poll():
                    process.kill()
                    del lanes[results]
                    outcomes.append(Outcome(rest[0], MAX_SECONDS, problem="stopped"))
                    start(rest[1:])
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--limit", type=float, default=1.0, help="seconds of processor time")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    outcomes = campaign(range(options.first, options.first + options.count), options.workers)
    for outcome in outcomes:
        if not outcome.problem and outcome.seconds > options.limit:
            outcome.problem = "too slow"
    failed = [outcome for outcome in outcomes if outcome.problem]
    refused = sum(outcome.refused for outcome in outcomes)
    seconds = np.array([outcome.seconds for outcome in outcomes if not outcome.refused])
    table = Table("meshes", "refused", "failed", "mean", "99.9 % below", "slowest", title="Odd meshes")
    table.add_row(
        f"{len(outcomes):,}",
        f"{refused:,}",
        f"{len(failed):,}",
        f"{seconds.mean():.4f} s",
        f"{np.quantile(seconds, 0.999):.2f} s",
        f"{seconds.max():.2f} s",
    )
    console.print(table)
    slowest = max(outcomes, key=lambda outcome: outcome.seconds)
    console.print(f"slowest: seed {slowest.seed}, {slowest.vertices} vertices")
    for outcome in failed[:50]:
        console.print(f"seed {outcome.seed}: {outcome.problem} ({outcome.seconds:.2f} s)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
