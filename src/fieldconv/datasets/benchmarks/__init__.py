"""Benchmark sets, each in a file of its own: layout, task, splits, published results.

Packages of others add theirs with entry points of the group ``fieldconv.datasets.benchmarks``.
"""

from __future__ import annotations

from pathlib import Path

from fieldconv._registry import Registry
from fieldconv.datasets.benchmarks.benchmark import Benchmark

BENCHMARKS: Registry[Benchmark] = Registry("benchmark", __name__, lambda: Benchmark, helpers=("benchmark",))


def benchmark_in(root: str | Path) -> type[Benchmark] | None:
    """Return the benchmark whose layout a folder has, or None."""
    root = Path(root)
    if not root.is_dir():
        return None
    known = sorted(BENCHMARKS.all(), key=lambda benchmark: benchmark.generic)
    return next((benchmark for benchmark in known if benchmark.detect(root)), None)
