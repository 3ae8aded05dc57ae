"""The changed meshes on which robustness is measured are still closed surfaces of the same shape."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from fieldconv import Mesh
from tests.shapes import icosphere

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from mesh_variants import Variant, flipped, remeshed, subdivided

SPHERE = Mesh(*icosphere(3))  # 642 vertices
VARIANTS = {
    "subdivided": (lambda rng: subdivided(SPHERE, 1100, rng), 1100),
    "flipped": (lambda rng: flipped(SPHERE, 3, rng), 642),
    "remeshed": (lambda rng: remeshed(SPHERE, rng), 642),
}


def make_variant(name: str) -> Variant:
    return VARIANTS[name][0](np.random.default_rng(0))


@pytest.mark.parametrize("name", VARIANTS)
def test_is_the_same_closed_surface(name: str) -> None:
    mesh, origin = make_variant(name)
    report = mesh.check()
    assert report.problems == []
    assert len(mesh.vertices) == VARIANTS[name][1]
    assert len(mesh.vertices) - len(mesh.faces) // 2 == 2  # Euler's formula: still a sphere
    assert mesh.area == pytest.approx(SPHERE.area, rel=0.03)
    spacing = np.linalg.norm(
        SPHERE.vertices[SPHERE.faces[:, 0]] - SPHERE.vertices[SPHERE.faces[:, 1]], axis=1
    )
    away = np.linalg.norm(mesh.vertices - SPHERE.vertices[origin], axis=1)
    assert away.max() < spacing.max()


def test_triangulations_differ() -> None:
    original = {tuple(face) for face in np.sort(SPHERE.faces, axis=1).tolist()}
    mesh, _ = make_variant("flipped")
    kept = sum(tuple(face) in original for face in np.sort(mesh.faces, axis=1).tolist())
    assert 0.2 < kept / len(original) < 0.8
    mesh, origin = make_variant("remeshed")
    assert (np.linalg.norm(mesh.vertices - SPHERE.vertices[origin], axis=1) > 1e-9).mean() > 0.2
