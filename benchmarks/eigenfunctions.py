"""Compare the speed and the results of our eigenfunctions with ARPACK.

    python benchmarks/eigenfunctions.py

128 eigenfunctions of embedded creatures, from one factorisation, on one core: ARPACK, as scipy's ``eigsh``
calls it, against `fieldconv.geometry.spectral.lanczos`. Each time is the best of five, taken in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.sparse import diags
from threadpoolctl import threadpool_limits

from fieldconv.datasets.creatures import make_creature
from fieldconv.geometry import laplacian
from fieldconv.geometry.spectral.lanczos import factorise, lowest_eigenpairs
from fieldconv.geometry.spectral.signatures import by_arpack

SIZES = (1000, 5000, 20_000)
COUNT = 128
ROUNDS = 5


def seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def main() -> None:
    table = Table("vertices", "ARPACK", "Lanczos, partly reorthogonalised", "faster", "eigenvalues differ by")
    for size in track(SIZES, "meshes", transient=True):
        mesh = make_creature("quadruped", seed=0, vertices=size).mesh.normalised()
        _, stiffness, mass = laplacian(mesh)
        root = diags(1 / np.sqrt(mass))
        matrix = (root @ stiffness @ root).tocsc()
        with threadpool_limits(1):
            factors = factorise(matrix, 1.0)
            solvers = [
                lambda f=factors, m=matrix: by_arpack(m, f, 1.0, COUNT),
                lambda f=factors, m=matrix: lowest_eigenpairs(m, f, 1.0, COUNT),
            ]
            solvers[1]()  # compile
            runs = [[seconds(solver) for solver in solvers] for _ in range(ROUNDS)]
        arpack, ours = (min(run[solver][0] for run in runs) for solver in range(2))
        values = [result[0] for _, result in runs[0]]
        difference = np.abs(values[0] - values[1]).max() / values[0].max()
        table.add_row(
            f"{size:,}", f"{arpack:.2f} s", f"{ours:.2f} s", f"{arpack / ours:.1f} ×", f"{difference:.0e}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
