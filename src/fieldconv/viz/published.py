"""Published results of the paper's benchmarks, to stand beside one's own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Benchmark:
    """A benchmark's name as datasets spell it, what is measured, and results as (method, share).

    Where ``results`` is empty, results were published as curves only.
    """

    name: str
    task: str
    metric: str
    source: str
    results: tuple[tuple[str, float], ...] = ()


BENCHMARKS = (
    Benchmark(
        "SHREC'11",
        "classification",
        "accuracy",
        "10 training meshes per class, mean of three samplings",
        (
            ("Field convolutions (paper)", 0.992),
            ("DiffusionNet", 0.989),
            ("MeshWalker", 0.971),
            ("HSN", 0.961),
            ("MeshCNN", 0.910),
            ("GWCNN", 0.903),
        ),
    ),
    Benchmark(
        "human segmentation set",
        "segmentation",
        "accuracy",
        "test bodies of SHREC'07",
        (
            ("Field convolutions (paper)", 0.929),
            ("MeshWalker", 0.927),
            ("MeshCNN", 0.923),
            ("DiffusionNet", 0.915),
            ("HSN", 0.911),
            ("SNGC", 0.910),
            ("PointNet++", 0.908),
        ),
    ),
    Benchmark("remeshed FAUST", "correspondence", "within_0.05", "published as curves only"),
    Benchmark("SHREC'19", "matching", "mean_average_precision", "published as curves only"),
)


def benchmark_of(task: str | None, data: str) -> Benchmark | None:
    """The benchmark that a dataset's name begins with.

    Examples
    --------
    >>> benchmark_of("classification", "SHREC'11 in data/shrec").metric
    'accuracy'
    """
    return next((b for b in BENCHMARKS if b.task == task and data.startswith(b.name)), None)
