"""What the paper claims of field convolution, each proved on real geometry; docs/claims.md lists them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.spatial import ConvexHull
from tests.nn.surfaces import edges, flat_surface, random_field
from tests.shapes import cylinder, cylinder_chart, grid, torus
from torch import Tensor

from fieldconv import Mesh, Surface
from fieldconv.networks.fcnet import FCNet
from fieldconv.nn import ECHO, FieldConv, LearnedGradient
from fieldconv.testing import turn_frames, turn_vectors

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from scatter_gather import gathering, sensitivity

RADIUS = 0.2


# ---- Commutes with isometries (Section 4, supplement A), and so do ECHO descriptors and whole networks ----


def rigid_motion() -> tuple[Mesh, Mesh]:
    """An uneven torus: on an even one, mirror symmetry leaves a choice between equally short paths."""
    rng = np.random.default_rng(0)
    vertices, faces = torus(around=24, across=10)
    vertices += 0.03 * rng.normal(size=vertices.shape)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    rotation[:, 0] *= np.linalg.det(rotation)
    return Mesh(vertices, faces), Mesh(vertices @ rotation.T + [5, -3, 2], faces)


def bent_plane() -> tuple[Mesh, Mesh]:
    """An irregularly triangulated sheet, flat, and rolled around a prism until its ends almost meet."""
    (vertices, faces), (chart, circumference) = cylinder(sides=8), cylinder_chart(sides=8)
    chart = np.column_stack([chart, np.zeros(len(chart))])
    # Without the last panel, no triangle crosses the seam at which the chart repeats.
    open_faces = faces[chart[faces, 0].max(axis=1) < circumference * 7 / 8 - 1e-9]
    used, renumbered = np.unique(open_faces, return_inverse=True)
    open_faces = renumbered.reshape(-1, 3)
    return Mesh(chart[used], open_faces), Mesh(vertices[used], open_faces)


def bent_strip() -> tuple[Mesh, Mesh]:
    """A strip of squares, flat, and folded by another angle at every column."""
    vertices, faces = grid(30, 6)
    angles = np.cumsum(np.random.default_rng(0).uniform(-0.6, 0.6, 29))
    steps = np.column_stack([np.cos(angles), np.sin(angles)])
    profile = np.concatenate([[[0, 0]], np.cumsum(steps, axis=0)])
    column = vertices[:, 0].astype(int)
    return Mesh(vertices, faces), Mesh(
        np.column_stack([profile[column, 0], vertices[:, 1], profile[column, 1]]), faces
    )


@pytest.fixture(params=[rigid_motion, bent_plane, bent_strip], ids=lambda pair: pair.__name__, scope="module")
def isometric(request: pytest.FixtureRequest) -> tuple[Surface, Surface]:
    """Two isometric surfaces, whose frames are the same edges: vectors keep their components."""
    before, after = request.param()
    assert not np.allclose(before.vertices, after.vertices, atol=0.1)
    surfaces = [Surface.from_mesh(mesh, radius=RADIUS) for mesh in (before, after)]
    scalars = torch.randn(len(surfaces[0].pos), 3, generator=torch.Generator().manual_seed(0))
    for surface in surfaces:
        surface.x = scalars
    return surfaces[0], surfaces[1]


def same(found: Tensor, expected: Tensor, tolerance: float = 1e-4) -> bool:
    return bool((found - expected).abs().max() < tolerance * expected.abs().max())


@pytest.mark.parametrize("filter", ["offset", "real", "complex"])
def test_commutes_with_isometries(isometric: tuple[Surface, Surface], filter: str) -> None:
    before, after = isometric
    x, conv = random_field(before, 4), FieldConv(4, 4, filter=filter)
    assert same(conv(x, after), conv(x, before))


def test_commutes_with_changes_of_frame(isometric: tuple[Surface, Surface]) -> None:
    """dΨ turns each tangent plane by an angle of its own: frames may differ anywhere."""
    before, after = isometric
    x, conv = random_field(before, 4), FieldConv(4, 4)
    angles = torch.rand(len(x)) * 6
    turned = conv(turn_vectors(x, angles), turn_frames(after, angles))
    assert same(turned, turn_vectors(conv(x, before), angles))


@pytest.mark.parametrize("votes", ["vector", "magnitude"])
def test_echo_descriptors_are_invariant(isometric: tuple[Surface, Surface], votes: str) -> None:
    before, after = isometric
    x, echo = random_field(before, 4), ECHO(votes=votes)
    assert same(echo(x, after), echo(x, before))


@pytest.mark.parametrize("task", ["classification", "segmentation", "matching"])
def test_networks_on_intrinsic_features_are_invariant(isometric: tuple[Surface, Surface], task: str) -> None:
    before, after = isometric
    net = FCNet.for_task(task, classes=6, preset="tiny", blocks=3).eval()
    assert same(net(after), net(before), 1e-3)


# ---- No constraint on the filters ----


def scatter(x: Tensor, surface: Surface, f: Callable[[complex], complex]) -> Tensor:
    """Eq. 5 with any function of the plane as a filter, discretised by nothing but the samples."""
    out = torch.zeros_like(x)
    for e, q, p in edges(surface):
        u = complex(x[q] / x[q].abs())
        out[p] += (
            float(surface.weight[e]) * complex(surface.transport[e]) * x[q] * f(complex(surface.log[e]) / u)
        )
    return out


def gather(x: Tensor, surface: Surface, f: Callable[[complex], complex]) -> Tensor:
    """What earlier operators do: the filter is read in the frame of p."""
    number = {(q, p): e for e, q, p in edges(surface)}
    out = torch.zeros_like(x)
    for e, q, p in edges(surface):
        out[p] += (
            float(surface.weight[e])
            * complex(surface.transport[e])
            * x[q]
            * f(complex(surface.log[number[p, q]]))
        )
    return out


def lopsided(z: complex) -> complex:
    """A filter with no symmetry and no band limit."""
    return complex(np.exp(-20 * abs(z - 0.1 - 0.05j)) + 0.3 * (z.real > 0.08) + 0.2j * (z.imag < -0.1))


def test_no_constraint_on_filters() -> None:
    """An arbitrary filter commutes with changes of frame when scattered; gathered, it does not."""
    surface = flat_surface(25)
    x = random_field(surface, 1)[:, 0]
    angles = torch.rand(25, dtype=torch.float64) * 6
    turned_x, turned_surface = turn_vectors(x, angles), turn_frames(surface, angles)
    assert same(
        scatter(turned_x, turned_surface, lopsided), turn_vectors(scatter(x, surface, lopsided), angles), 1e-9
    )
    assert not same(
        gather(turned_x, turned_surface, lopsided), turn_vectors(gather(x, surface, lopsided), angles), 0.1
    )


# ---- Agnostic to connectivity ----


def sphere_through(probes: NDArray[np.float64], count: int, seed: int) -> Mesh:
    """Unit sphere whose first vertices are the probes; the others are spread evenly, and jittered."""
    rng = np.random.default_rng(seed)
    i = np.arange(count) + 0.5
    z, around = 1 - 2 * i / count, np.pi * (1 + 5**0.5) * i
    spread = np.column_stack([np.sqrt(1 - z**2) * np.cos(around), np.sqrt(1 - z**2) * np.sin(around), z])
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    spread = spread @ rotation.T + rng.normal(scale=0.4 * count**-0.5, size=spread.shape)
    spread /= np.linalg.norm(spread, axis=1, keepdims=True)
    clear = np.linalg.norm(spread[:, None] - probes[None], axis=2).min(axis=1) > count**-0.5
    vertices = np.concatenate([probes, spread[clear]])
    faces = ConvexHull(vertices).simplices.astype(np.int64)
    inward = np.linalg.det(vertices[faces]) < 0
    faces[inward] = faces[inward][:, ::-1]
    return Mesh(vertices, faces)


def response_in_space(surface: Surface, layer: torch.nn.Module, probes: int) -> Tensor:
    """The layer's response at the probes, as vectors in space, to a field given by a formula in space."""
    y, z = surface.frame, torch.linalg.cross(surface.normal, surface.frame)
    if isinstance(layer, LearnedGradient):
        x = torch.stack([surface.pos[:, 0] + 1, surface.pos[:, 1] * surface.pos[:, 2]], 1)
    else:
        flow = torch.linalg.cross(torch.tensor([[0.3, -0.2, 1.0]]), 3.5 * surface.pos)
        flow = flow + torch.tensor([0.4, 0.8, -0.3]) * (3.5 * surface.pos[:, :1]) ** 2
        x = torch.complex((flow * y).sum(1), (flow * z).sum(1))[:, None].repeat(1, 2)
        x[:, 1] *= torch.exp(torch.tensor(0.7j))
    out = layer(x, surface)[:probes]
    return out.real[..., None] * y[:probes, None] + out.imag[..., None] * z[:probes, None]


@pytest.fixture(scope="module")
def spheres() -> list[tuple[Surface, Surface]]:
    """Pairs of spheres, each pair finer than the one before, with only the first 20 vertices in common."""
    probes = np.random.default_rng(1).normal(size=(20, 3))
    probes /= np.linalg.norm(probes, axis=1, keepdims=True)

    def surface(count: int, seed: int) -> Surface:
        return Surface.from_mesh(sphere_through(probes, count, seed), radius=0.25)

    return [(surface(count, 1), surface(count, 2)) for count in (150, 500, 1500)]


@pytest.mark.parametrize(
    "layer", [FieldConv(2, 8), LearnedGradient(2, 8)], ids=lambda layer: type(layer).__name__
)
def test_agnostic_to_connectivity(spheres: list[tuple[Surface, Surface]], layer: torch.nn.Module) -> None:
    """Two triangulations of one sphere agree, and agree better the finer they are."""
    torch.manual_seed(0)
    layer.reset_parameters()
    differences = []
    with torch.no_grad():
        for pair in spheres:
            a, b = (response_in_space(surface, layer, 20) for surface in pair)
            differences.append(float((a - b).norm() / a.norm()))
    assert differences[1] < 0.7 * differences[0]
    assert differences[2] < 0.7 * differences[1]
    assert differences[2] < 0.1


# ---- Scattering is less sensitive to frame noise than gathering ----


def smooth_field(surface: Surface) -> Tensor:
    """Turns and grows across the square, within about one support; the same at every sampling."""
    place = torch.complex(surface.pos[:, 0], surface.pos[:, 1])
    frame = torch.complex(surface.frame[:, 0], surface.frame[:, 1])
    waves = torch.polar(1 + place.abs(), 9 * place.real) + torch.polar(place.abs(), -7 * place.imag)
    return (waves * frame.conj())[:, None]


def test_scattering_is_less_sensitive_to_frame_noise_than_gathering() -> None:
    """Its errors average out over the neighbours, so the gap widens as the sampling gets denser."""
    torch.manual_seed(0)
    conv = FieldConv(1, 4).double()
    ratios = []
    for count in (250, 1000):
        surface = flat_surface(count, radius=0.25)
        rows = sensitivity(surface, smooth_field(surface), conv, noise=(0.0, 0.1, 0.4), draws=2)
        assert rows[0][1:] == (0.0, 0.0)
        assert all(scatter < 0.8 * gather for _, scatter, gather in rows[1:])
        ratios.append(rows[1][2] / rows[1][1])
    assert ratios[1] > 1.4 * ratios[0]


def test_the_gathering_variant_is_a_fair_opponent() -> None:
    """It commutes with changes of frame as well, and with m = 0 alone the two are one operator."""
    surface = flat_surface()
    x, angles = random_field(surface, 2), torch.rand(30, dtype=torch.float64) * 6
    conv = FieldConv(2, 2).double()
    turned = gathering(conv, turn_vectors(x, angles), turn_frames(surface, angles))
    assert same(turned, turn_vectors(gathering(conv, x, surface), angles), 1e-9)
    isotropic = FieldConv(2, 2, band_limit=0).double()
    assert same(gathering(isotropic, x, surface), isotropic(x, surface), 1e-9)


# ---- Parameter counts (Section 6.6) ----


def test_parameters_per_convolution() -> None:
    """33 for N = 6 and B = 2, where harmonic surface networks take (N + 1) S² = 28 with two streams."""
    numbers = sum(parameter.numel() for parameter in FieldConv(1, 1, rings=6, band_limit=2).parameters())
    assert numbers == 6 * (2 * 2 + 1) + 2 + 1 == 33
    assert (6 + 1) * 2**2 == 28
