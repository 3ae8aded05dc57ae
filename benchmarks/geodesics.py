"""Accuracy and speed of geodesic discs, as tables.

    python benchmarks/geodesics.py [--faust FOLDER] [--tables accuracy speed growth]

Speed is the ratio of two timings in the same run, on all cores: potpourri3d's log map and transport (its
default, and the strategy of the paper) against the local solver. FAUST rows need the remeshed
FAUST shapes (``tr_reg_000.off`` …); without them speed is measured on a sphere with as many vertices.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import threading
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))  # in a wheel, shapes.py is beside it
import shapes
from fieldconv.geometry import Discs, Mesh, geodesic_discs, heat_discs, tangent_frames
from fieldconv.geometry.geodesic.discs import wrap_angle

console = Console(width=110)


def titled(title: str, *columns: str) -> Table:
    return Table(*columns, title=title, title_justify="left", title_style="bold")


def sphere_mesh(count: int) -> Mesh:
    """Return a unit sphere with ``count`` evenly spread vertices and an irregular triangulation."""
    from scipy.spatial import ConvexHull

    number = np.arange(count) + 0.5
    height, around = 1 - 2 * number / count, np.pi * (1 + 5**0.5) * number
    ring = np.sqrt(1 - height**2)
    points = np.stack([ring * np.cos(around), ring * np.sin(around), height], 1)
    faces = ConvexHull(points).simplices
    a, b, c = (points[faces[:, k]] for k in range(3))
    inward = (np.cross(b - a, c - a) * a).sum(1) < 0
    faces[inward] = faces[inward, ::-1]
    return Mesh(points, faces)


def sphere_errors(mesh: Mesh, discs: Discs) -> list[str]:
    """Return the relative error of r (mean, worst), and the mean errors of θ and of the transport."""
    unit = mesh.vertices
    apart = discs.centres != discs.targets
    p, q = discs.centres[apart], discs.targets[apart]
    distance = np.arccos(np.clip((unit[p] * unit[q]).sum(1), -1, 1))
    frames, _ = tangent_frames(mesh)
    first = frames - (frames * unit).sum(1, keepdims=True) * unit
    second = np.cross(unit, first)

    def angle(a, b):
        return np.arctan2((unit[b] * second[a]).sum(1), (unit[b] * first[a]).sum(1))

    radial = abs(discs.distance[apart] / distance - 1)
    turned = angle(q, p) + np.pi - angle(p, q)
    return [
        f"{radial.mean():.3%}",
        f"{radial.max():.3%}",
        f"{abs(wrap_angle(discs.angle[apart] - angle(p, q))).mean():.5f}",
        f"{abs(wrap_angle(discs.transport[apart] - turned)).mean():.5f}",
    ]


def accuracy(faust: Path | None) -> None:
    mesh = Mesh(*shapes.icosphere(4))
    some = np.arange(0, len(mesh.vertices), 13)
    table = titled(
        "Unit sphere, 2,562 vertices, discs of 0.7, against the closed form",
        "solver",
        "r: mean",
        "worst",
        "θ (rad)",
        "transport (rad)",
    )
    solvers = {
        "local": lambda m, radius, s: geodesic_discs(m, radius, s),
        "front": lambda m, radius, s: geodesic_discs(m, radius, s, solver="front"),
        "potpourri3d, default": lambda m, radius, s: heat_discs(m, radius, s),
        "potpourri3d, as in the paper": lambda m, radius, s: heat_discs(m, radius, s, strategy="VectorHeat"),
    }
    for name, solve in solvers.items():
        table.add_row(name, *sphere_errors(mesh, solve(mesh, 0.7, some)))
    console.print(table)

    table = titled(
        "Developable surfaces, irregular triangles: relative error of r, local solver",
        "surface",
        "pairs",
        "r: mean",
        "worst",
        "exact to 1e-6",
    )
    plane = Mesh(*shapes.plane(3000))
    discs = geodesic_discs(plane, 0.15)
    true = np.linalg.norm(plane.vertices[discs.centres] - plane.vertices[discs.targets], axis=1)
    table.add_row("plane, random Delaunay", *_exactness(discs, true))
    cylinder = Mesh(*shapes.cylinder(points=100))
    chart, around = shapes.cylinder_chart(points=100)
    discs = geodesic_discs(cylinder, 0.5)
    step = chart[discs.targets] - chart[discs.centres]
    step[:, 0] -= around * np.round(step[:, 0] / around)
    table.add_row("cylinder", *_exactness(discs, np.linalg.norm(step, axis=1)))
    cone = Mesh(*shapes.cone(points=100))
    polar, total = shapes.cone_chart(points=100)
    outside = np.flatnonzero(polar[:, 0] > 0.75)
    discs = geodesic_discs(cone, 0.3, outside, outside)
    turn = polar[discs.targets, 1] - polar[discs.centres, 1]
    turn -= total * np.round(turn / total)
    flat = polar[discs.targets, 0] * np.exp(1j * turn) - polar[discs.centres, 0]
    table.add_row("cone, away from its tip", *_exactness(discs, abs(flat)))
    console.print(table)

    if faust is None:
        console.print("FAUST rows left out: give --faust FOLDER with tr_reg_000.off, …\n")
        return
    from pygeodesic.geodesic import PyGeodesicAlgorithmExact

    table = titled(
        "Remeshed FAUST, three meshes, against exact polyhedral distances (pygeodesic)",
        "ε",
        "solver",
        "pairs",
        "r: mean",
        "99th percentile",
    )
    meshes = [Mesh.load(faust / f"tr_reg_{number:03}.off").normalised() for number in (0, 33, 71)]
    for radius in (0.05, 0.2):
        for name, solve in solvers.items():
            errors = []
            for mesh in meshes:
                centres = np.arange(11, len(mesh.vertices), len(mesh.vertices) // 20)
                exact = PyGeodesicAlgorithmExact(mesh.vertices, mesh.faces)
                discs = solve(mesh, radius, centres)
                for number, source in enumerate(centres):
                    rows = slice(discs.offsets[number], discs.offsets[number + 1])
                    targets = discs.targets[rows]
                    true = exact.geodesicDistances(np.array([source]), None)[0][targets]
                    apart = targets != source
                    errors.append(abs(discs.distance[rows][apart] / true[apart] - 1))
            error = np.concatenate(errors)
            table.add_row(
                f"{radius}", name, f"{len(error):,}", f"{error.mean():.2%}", f"{np.percentile(error, 99):.2%}"
            )
        table.add_section()
    console.print(table)


def _exactness(discs: Discs, true: np.ndarray) -> list[str]:
    apart = discs.centres != discs.targets
    error = abs(discs.distance[apart] / true[apart] - 1)
    return [f"{apart.sum():,}", f"{error.mean():.1e}", f"{error.max():.1e}", f"{(error < 1e-6).mean():.2%}"]


def speed(faust: Path | None) -> None:
    mesh = Mesh.load(faust / "tr_reg_000.off") if faust is not None else sphere_mesh(4999)
    mesh = mesh.normalised()
    geodesic_discs(mesh, 0.05, sources=[0])  # compiles
    count = len(mesh.vertices)
    some = np.arange(0, count, 20)
    rows: dict[str, float] = {}
    # Taking turns, so that a busy moment affects all. Each source costs one heat solve, so some are enough.
    for _ in range(3):
        began = time.perf_counter()
        discs = geodesic_discs(mesh, 0.05)
        rows["local"] = min(rows.get("local", np.inf), time.perf_counter() - began)
        for name, strategy in {"default": "AffineLocal", "as in the paper": "VectorHeat"}.items():
            began = time.perf_counter()
            heat_discs(mesh, 0.05, some, strategy=strategy)
            taken = (time.perf_counter() - began) * count / len(some)
            rows[name] = min(rows.get(name, np.inf), taken)
    table = titled(
        f"All discs of {count:,} vertices, ε = 0.05, {len(discs):,} pairs, warm", "solver", "seconds", "ratio"
    )
    table.add_row(
        "potpourri3d log map + transport, default",
        f"{rows['default']:.2f}",
        f"{rows['default'] / rows['local']:.0f}×",
    )
    table.add_row(
        "potpourri3d log map + transport, as in the paper",
        f"{rows['as in the paper']:.2f}",
        f"{rows['as in the paper'] / rows['local']:.0f}×",
    )
    table.add_row("local", f"{rows['local']:.2f}", "1×")
    console.print(table)

    if faust is None:
        mesh = sphere_mesh(10_000).normalised()
    count = len(mesh.vertices)
    sources = np.arange(0, count, count // 200)
    table = titled(
        f"Large discs: {len(sources)} of {count:,} vertices, ε = 0.2", "solver", "seconds", "µs per pair"
    )
    for solver in ("local", "front"):
        geodesic_discs(mesh, 0.2, [0], solver=solver)  # compiles
        began = time.perf_counter()
        discs = geodesic_discs(mesh, 0.2, sources, solver=solver)
        taken = time.perf_counter() - began
        table.add_row(solver, f"{taken:.2f}", f"{1e6 * taken / len(discs):.2f}")
    console.print(table)


class PeakMemory:
    """Peak of the resident memory above that at the start, sampled by a thread."""

    def __enter__(self) -> PeakMemory:
        import psutil

        self.process = psutil.Process()
        self.base = self.peak = self.process.memory_info().rss
        self.running = True
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self) -> None:
        while self.running:
            self.peak = max(self.peak, self.process.memory_info().rss)
            time.sleep(0.002)

    def __exit__(self, *_: object) -> None:
        self.running = False
        self.thread.join()

    @property
    def extra(self) -> int:
        return self.peak - self.base


def growth() -> None:
    table = titled(
        "Growth at a fixed number of neighbours (sphere, about 70 each)",
        "vertices",
        "pairs",
        "neighbours",
        "seconds",
        "µs per pair",
        "peak / output",
    )
    if importlib.util.find_spec("psutil") is None:
        console.print("Growth left out: pip install psutil\n")
        return
    for count in (5_000, 20_000, 80_000, 160_000):
        mesh = sphere_mesh(count).normalised()
        radius = np.sqrt(70 / count / np.pi)
        began = time.perf_counter()
        with PeakMemory() as memory:
            discs = geodesic_discs(mesh, radius)
        taken = time.perf_counter() - began
        arrays = (discs.offsets, discs.targets, discs.distance, discs.angle, discs.transport)
        output = sum(array.nbytes for array in arrays)
        table.add_row(
            f"{count:,}",
            f"{len(discs):,}",
            f"{len(discs) / count:.0f}",
            f"{taken:.2f}",
            f"{1e6 * taken / len(discs):.2f}",
            f"{memory.extra / output:.1f}",
        )
        del discs
    console.print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faust", type=Path, help="folder of remeshed FAUST shapes")
    parser.add_argument(
        "--tables",
        nargs="+",
        default=["accuracy", "speed", "growth"],
        choices=["accuracy", "speed", "growth"],
    )
    options = parser.parse_args()
    if "accuracy" in options.tables:
        accuracy(options.faust)
    if "speed" in options.tables:
        speed(options.faust)
    if "growth" in options.tables:
        growth()
