"""Surfaces of real meshes, in double precision, for tests of networks that need more than discs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from fieldconv import Mesh, Surface
from tests.shapes import torus


def bumpy_torus(around: int = 20, across: int = 9, seed: int = 0) -> Mesh:
    """A torus without any symmetry."""
    vertices, faces = torus(around=around, across=across)
    return Mesh(vertices + 0.05 * np.random.default_rng(seed).normal(size=vertices.shape), faces)


def surface_of(
    mesh: Mesh, operators: Sequence[str], *, radius: float = 0.3, samples: int | None = None
) -> Surface:
    """The surface of a mesh, with everything in double precision."""
    surface = Surface.from_mesh(mesh, radius=radius, samples=samples, operators=operators)
    for name, tensor in surface.to_dict().items():
        if tensor.is_complex():
            # Unit numbers stay of unit length, which single precision gives only to seven digits.
            exact = tensor.to(torch.complex128)
            unit = name.endswith(("transport", "carry", "direction"))
            surface[name] = exact / exact.abs().where(exact != 0, 1) if unit else exact
        elif tensor.is_floating_point():
            surface[name] = tensor.double()
    return surface
