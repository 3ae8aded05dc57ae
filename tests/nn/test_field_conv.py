from __future__ import annotations

import cmath
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fieldconv.nn import FieldConv
from fieldconv.surface import batch as surface_batch
from fieldconv.testing import assert_equivariant
from tests.nn.surfaces import edges, flat_surface, random_field, ring_weights


def by_the_paper(conv: FieldConv, x: torch.Tensor, surface: Any) -> torch.Tensor:
    """Eq. 7, one neighbour, frequency, radius and pair of channels at a time."""
    b = conv.band_limit
    out = torch.zeros(len(x), conv.out_channels, dtype=x.dtype)
    for e, q, p in edges(surface):
        w, phi_pq = float(surface.weight[e]), cmath.phase(complex(surface.transport[e]))
        r, theta = cmath.polar(complex(surface.log[e]))
        psi = ring_weights(r / float(surface.radius), conv.rings, conv.spacing)
        for c in range(conv.in_channels):
            rho, phi = cmath.polar(complex(x[q, c]))
            for o in range(conv.out_channels):
                for m in range(-b, b + 1):
                    f_m = sum(psi[n] * coefficient(conv, m, n, c, o) for n in range(conv.rings))
                    seen = cmath.exp(1j * m * (theta - phi)) if r > 0 or m == 0 else 0
                    out[p, o] += w * rho * cmath.exp(1j * (phi + phi_pq)) * f_m * seen
    return out


def coefficient(conv: FieldConv, m: int, n: int, c: int, o: int) -> complex:
    """e^{iβ_|m|} f_m at radius n, read from the parameters."""
    b, weight = conv.band_limit, conv.weight.detach()
    if conv.filter == "complex":
        return complex(weight[m + b, n, c, o], weight[m + b + 2 * b + 1, n, c, o])
    f = complex(weight[abs(m), n, c, o], weight[abs(m) + b, n, c, o] if m else 0)
    f = f.conjugate() if m < 0 else f
    return f * cmath.exp(1j * float(conv.offset.detach()[abs(m), c, o])) if conv.offset is not None else f


@pytest.mark.parametrize("filter", ["offset", "real", "complex"])
@pytest.mark.parametrize(
    ("rings", "band_limit", "spacing"), [(3, 2, "linear"), (2, 1, "equal_area"), (1, 0, "linear")]
)
def test_is_equation_7(filter: str, rings: int, band_limit: int, spacing: str) -> None:
    surface = flat_surface(9, radius=0.5)
    x = random_field(surface, 2)
    conv = FieldConv(2, 3, rings=rings, band_limit=band_limit, filter=filter, spacing=spacing).double()
    torch.testing.assert_close(conv(x, surface), by_the_paper(conv, x, surface), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize(("rings", "band_limit"), [(6, 2), (3, 1), (6, 1), (4, 0)])
def test_parameters_per_pair_of_channels(rings: int, band_limit: int) -> None:
    def count(filter: str) -> int:
        conv = FieldConv(5, 7, rings=rings, band_limit=band_limit, filter=filter)
        return sum(parameter.numel() for parameter in conv.parameters()) // 35

    assert count("offset") == rings * (2 * band_limit + 1) + band_limit + 1
    assert count("real") == rings * (2 * band_limit + 1)
    assert count("complex") == 2 * rings * (2 * band_limit + 1)


def test_real_filters_are_real() -> None:
    """f(z) = Σ f_m e^{imθ} has no imaginary part, for every angle."""
    real, imaginary = FieldConv(2, 2, rings=3, band_limit=2, filter="real").coefficients()
    angles = torch.linspace(0, 6, 7)
    turns = torch.polar(torch.ones(7), angles)[:, None] ** torch.arange(-2, 3)
    values = torch.einsum("am,mnco->anco", turns, torch.complex(real, imaginary))
    assert values.imag.abs().max() < 1e-6
    assert values.real.abs().max() > 0.1


@pytest.mark.parametrize("filter", ["offset", "real", "complex"])
def test_does_not_depend_on_frames(filter: str) -> None:
    assert_equivariant(FieldConv(3, 4, filter=filter).double(), flat_surface(), tolerance=1e-12)


def test_gradients() -> None:
    surface = flat_surface(7, radius=0.5)
    conv = FieldConv(2, 2, rings=2, band_limit=2).double()
    x = random_field(surface, 2).requires_grad_()
    parameters = [parameter.detach().requires_grad_() for parameter in conv.parameters()]

    def run(x: torch.Tensor, weight: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(conv, {"weight": weight, "offset": offset}, (x, surface))

    assert torch.autograd.gradcheck(run, (x, *parameters))


@pytest.mark.parametrize("spacing", ["linear", "equal_area"])
@pytest.mark.parametrize("filter", ["offset", "real", "complex"])
def test_starts_so_that_smooth_fields_keep_their_magnitude(filter: str, spacing: str) -> None:
    """A constant field on a disc of the plane, seen from its centre: E |out|² ≈ |x|² over many filters."""
    torch.manual_seed(0)
    count = 2000
    radius = torch.sqrt((torch.arange(count) + 0.5) / count)
    angle = torch.arange(count) * torch.pi * (1 + 5**0.5)
    spiral = torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
    hub = SimpleNamespace(  # edges to the centre only
        edge_index=torch.stack([torch.arange(1, count + 1), torch.zeros(count, dtype=torch.int64)]),
        log=-torch.complex(*spiral.T),
        transport=torch.ones(count, dtype=torch.complex64),
        weight=torch.full((count,), 1 / count),
        radius=torch.ones(1),
    )
    x = torch.ones(count + 1, 8, dtype=torch.complex64)
    conv = FieldConv(8, 2000, filter=filter, spacing=spacing)
    with torch.no_grad():
        power = conv(x, hub)[0].abs().square().mean()
    assert float(power) == pytest.approx(1, abs=0.25)  # rings blend into each other, shares do not


def test_is_homogeneous() -> None:
    """(aX) * f = a (X * f) for a > 0: scaling keeps directions."""
    surface = flat_surface()
    x, conv = random_field(surface, 3), FieldConv(3, 2).double()
    torch.testing.assert_close(conv(2.5 * x, surface), 2.5 * conv(x, surface))


def test_zero_vectors() -> None:
    surface = flat_surface(12, radius=0.6)
    x = random_field(surface, 2)
    x[:4], x[4, 0] = 0, 0
    x.requires_grad_()
    conv = FieldConv(2, 2).double()
    out = conv(x, surface)
    out.abs().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in conv.parameters())
    everything = conv(torch.zeros_like(x), surface)
    assert (everything == 0).all()


def test_a_batch_is_its_members() -> None:
    surfaces = [flat_surface(n, radius=radius, seed=n) for n, radius in ((20, 0.4), (9, 0.5), (1, 0.3))]
    fields = [random_field(surface, 3, seed=i) for i, surface in enumerate(surfaces)]
    conv = FieldConv(3, 2).double()
    together = conv(torch.cat(fields), surface_batch(surfaces))
    alone = torch.cat([conv(x, surface) for x, surface in zip(fields, surfaces, strict=True)])
    torch.testing.assert_close(together, alone)


def test_says_which_filters_there_are() -> None:
    with pytest.raises(ValueError, match="offset, real, complex"):
        FieldConv(1, 1, filter="gabor")  # type: ignore[arg-type]


@pytest.mark.parametrize("x", [torch.zeros(4, 5, dtype=torch.complex64), torch.zeros(4, 16)])
def test_wrong_features_are_explained(x: torch.Tensor) -> None:
    with pytest.raises(ValueError, match=r"give \(n, 16\) complex numbers"):
        FieldConv(16, 32)(x, flat_surface())
