"""Published results of the paper's benchmarks, to stand beside one's own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Benchmark:
    """A benchmark's names in run folders and for people, what is measured, results as (method, share).

    Where ``results`` is empty, results were published as curves only.
    """

    key: str
    name: str
    task: str
    metric: str
    source: str
    results: tuple[tuple[str, float], ...] = ()


BENCHMARKS = (
    Benchmark(
        "shrec11",
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
        "human_seg",
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
    Benchmark("faust", "remeshed FAUST", "correspondence", "within_0.05", "published as curves only"),
    Benchmark("shrec19", "SHREC'19", "matching", "mean_average_precision", "published as curves only"),
)


def benchmark_of(task: str | None, data: str) -> Benchmark | None:
    """The benchmark that a dataset is, by its key, or by its name followed by where it is.

    Examples
    --------
    >>> benchmark_of("classification", "shrec11").name
    "SHREC'11"
    >>> benchmark_of("matching", "SHREC'19 in data").key
    'shrec19'
    """
    for benchmark in BENCHMARKS:
        named = data == benchmark.name or data.startswith(f"{benchmark.name} in ")
        if benchmark.task == task and (data == benchmark.key or named):
            return benchmark
    return None
