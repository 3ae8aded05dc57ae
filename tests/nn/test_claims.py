"""What the paper claims of field convolution, each proved on real geometry; docs/claims.md lists them.

Layers and networks are the package's own. On two shapes that are compared, everything is computed on each
shape from its mesh alone: discs, tangent frames, and the heat kernel signatures that networks see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fieldconv import Surface
from fieldconv.networks import FCNet
from fieldconv.nn import ECHO, FieldConv, LearnedGradient
from fieldconv.testing import turn_frames, turn_vectors
from tests.nn.gathered import gathering, sensitivity
from tests.nn.isometries import PAIRS, PROBES, Seen, egg, flat_and_rolled
from tests.nn.surfaces import edges, flat_surface, random_field, ring_weights

Pair = tuple[Seen, Seen]
HEADS = ("labels", "classification", "descriptors", "vectors")
FAULTS: dict[str, Callable[[Surface], dict[str, Tensor]]] = {
    "no transport": lambda surface: {"transport": torch.ones_like(surface.transport)},
    "transport backwards": lambda surface: {"transport": surface.transport.conj()},
    "mirrored logarithms": lambda surface: {"log": surface.log.conj()},
}


def faulty(one: Seen, fault: str) -> Seen:
    """The surface with something wrong about its discs."""
    surface = one.surface.clone()
    surface.update(FAULTS[fault](surface))
    return replace(one, surface=surface)


def network(head: Any, seed: int = 0) -> FCNet:
    """A network on heat kernel signatures."""
    torch.manual_seed(seed)
    return FCNet.for_task(
        "segmentation", classes=6, preset="tiny", blocks=3, head=head, features="hks"
    ).eval()


@torch.no_grad()
def answers(one: Seen, module: nn.Module) -> Tensor:
    """What a network or lift says of the signatures, in the chart."""
    found = module(one.surface) if isinstance(module, FCNet) else module(one.surface.x, one.surface)
    return one.to_chart(found) if len(found) == len(one.number) else found


@torch.no_grad()
def difference(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


# ---- Commutes with isometries (Section 4, supplement A), and so do ECHO descriptors and whole networks ----


@pytest.fixture(params=PAIRS, ids=lambda pair: pair.__name__, scope="module")
def isometric(request: pytest.FixtureRequest) -> Pair:
    """Two isometric surfaces, each prepared from its own mesh."""
    before, after = request.param()
    gap = before.to_chart(before.surface.pos) - after.to_chart(after.surface.pos)
    assert gap.norm(dim=1).max() > 0.1
    return before, after


@pytest.mark.parametrize("filter", ["offset", "real", "complex"])
def test_commutes_with_isometries(isometric: Pair, filter: str) -> None:
    field = random_field(isometric[0].surface, 4)
    conv = FieldConv(4, 4, filter=filter)
    before, after = (one.to_chart(conv(one.to_frames(field), one.surface)) for one in isometric)
    assert difference(after, before) < 1e-5


@pytest.mark.parametrize("fault", FAULTS)
def test_does_not_commute_with_faulty_discs(isometric: Pair, fault: str) -> None:
    """The control: the comparison above would notice."""
    field = random_field(isometric[0].surface, 4)
    conv = FieldConv(4, 4)
    wrong = faulty(isometric[1], fault)
    before, after = (one.to_chart(conv(one.to_frames(field), one.surface)) for one in (isometric[0], wrong))
    assert difference(after, before) > 0.5


def test_commutes_with_changes_of_frame(isometric: Pair) -> None:
    """dΨ turns each tangent plane by an angle of its own: frames may differ anywhere."""
    surface = isometric[1].surface
    x, conv = random_field(surface, 4), FieldConv(4, 4)
    angles = torch.rand(len(x)) * 6
    turned = conv(turn_vectors(x, angles), turn_frames(surface, angles))
    assert difference(turned, turn_vectors(conv(x, surface), angles)) < 1e-5


def test_intrinsic_features_are_the_same_on_both(isometric: Pair) -> None:
    before, after = (one.to_chart(one.surface.x) for one in isometric)
    assert before.std(0).max() > 0.1  # they say something
    assert difference(after, before) < 1e-5


def test_learned_gradients_commute_with_isometries(isometric: Pair) -> None:
    lift = LearnedGradient(16, 4)
    before, after = (answers(one, lift) for one in isometric)
    assert difference(after, before) < 1e-4


@pytest.mark.parametrize("votes", ["vector", "magnitude"])
def test_echo_descriptors_are_invariant(isometric: Pair, votes: str) -> None:
    lift, echo = LearnedGradient(16, 4), ECHO(votes=votes)
    before, after = (one.to_chart(echo(lift(one.surface.x, one.surface), one.surface)) for one in isometric)
    assert difference(after, before) < 1e-4


@pytest.mark.parametrize("head", HEADS)
def test_networks_on_intrinsic_features_are_invariant(isometric: Pair, head: str) -> None:
    """Real outputs are the same on both shapes, vectors correspond."""
    net = network(head)
    before, after = (answers(one, net) for one in isometric)
    assert difference(after, before) < 1e-4
    for fault in FAULTS:
        assert difference(answers(faulty(isometric[1], fault), net), before) > 0.1, fault


# ---- No constraint on the filters ----


def value(conv: FieldConv, z: complex) -> Tensor:
    """(in, out) the layer's filters at a place z of the unit disc: Σ f_m(r) e^{imθ}, its mean at z = 0."""
    orders = range(-conv.band_limit, conv.band_limit + 1)
    angular = [(z / abs(z)) ** m if z else float(m == 0) for m in orders]
    radial = ring_weights(abs(z), conv.rings)
    factors = torch.outer(*(torch.tensor(part, dtype=torch.complex128) for part in (angular, radial)))
    return torch.einsum("mn,mnco->co", factors, torch.complex(*conv.coefficients()))


def gathered(conv: FieldConv, x: Tensor, surface: Surface) -> Tensor:
    """What earlier operators do: the filter is read where p sees q, in the frame of p."""
    number = {(q, p): e for e, q, p in edges(surface)}
    out = torch.zeros(len(x), conv.out_channels, dtype=x.dtype)
    for e, q, p in edges(surface):
        place = complex(surface.log[number[p, q]]) / float(surface.radius)
        out[p] += surface.weight[e] * surface.transport[e] * x[q] @ value(conv, place)
    return out


@torch.no_grad()
def test_no_constraint_on_filters() -> None:
    """Arbitrary complex filters up to a high frequency commute when scattered; gathered, they do not."""
    torch.manual_seed(0)
    surface = flat_surface(25)
    conv = FieldConv(2, 2, rings=8, band_limit=6, filter="complex").double()
    for turn in (1j, -1, -1j):  # no symmetry: a turn by a quarter changes the filter beyond recognition
        z = 0.5 + 0.3j
        assert (value(conv, z * turn) - value(conv, z)).abs().min() > 0.1
    x, angles = random_field(surface, 2), torch.rand(25, dtype=torch.float64) * 6
    turned_x, turned_surface = turn_vectors(x, angles), turn_frames(surface, angles)
    expected = turn_vectors(conv(x, surface), angles)
    assert difference(conv(turned_x, turned_surface), expected) < 1e-12
    expected = turn_vectors(gathered(conv, x, surface), angles)
    assert difference(gathered(conv, turned_x, turned_surface), expected) > 0.5


# ---- Agnostic to connectivity, and to isometry at the same time ----


@pytest.fixture(scope="module")
def sheets() -> list[Pair]:
    """A flat sheet, and another triangulation of it rolled to a cone; each pair finer than the one before."""
    return [flat_and_rolled(count) for count in (150, 500, 1500)]


def wave(one: Seen) -> Tensor:
    """A vector field given by a formula in the chart."""
    x, y = one.chart.real, one.chart.imag
    return torch.stack([torch.polar(1 + y, 4 * x), one.chart - 0.5 - 0.8j * one.chart.abs() ** 2], 1)


def on_sheet(one: Seen, module: nn.Module) -> Tensor:
    """What a layer or network says at the probes, which both sheets share; of the whole shape if of that."""
    if isinstance(module, LearnedGradient | FCNet):
        return answers(one, module)[: len(PROBES)]
    with torch.no_grad():
        return one.to_chart(module(one.to_frames(wave(one)), one.surface))[: len(PROBES)]


def assert_converges(differences: list[float], least: float) -> None:
    """Each level is closer than the one before, the last as close as stated."""
    assert differences[1] < 0.7 * differences[0]
    assert differences[2] < 0.7 * differences[1]
    assert differences[2] < least


@pytest.mark.parametrize(
    ("make", "least"),
    [
        (lambda: FieldConv(2, 8), 0.12),
        (lambda: LearnedGradient(16, 8), 0.12),
        (lambda: ECHO(), 0.12),
        *(
            (lambda head=head: network(head), least)
            for head, least in zip(HEADS, (0.06, 0.01, 0.06, 0.1), strict=True)
        ),
    ],
    ids=["FieldConv", "LearnedGradient", "ECHO", *(f"FCNet {head}" for head in HEADS)],
)
def test_agnostic_to_connectivity(sheets: list[Pair], make: Callable[[], nn.Module], least: float) -> None:
    """Two triangulations of one sheet, one of them bent, agree; better the finer they are."""
    torch.manual_seed(0)
    module = make()
    found = [[on_sheet(one, module) for one in pair] for pair in sheets]
    assert_converges([difference(rolled, flat) for flat, rolled in found], least)
    for fault in FAULTS:
        wrong = on_sheet(faulty(sheets[-1][1], fault), module)
        assert difference(wrong, found[-1][0]) > 3 * least, fault


@pytest.fixture(scope="module")
def eggs() -> list[tuple[Surface, Surface]]:
    """Pairs of eggs, each pair finer than the one before, with only the first 20 vertices in common."""
    probes = np.random.default_rng(1).normal(size=(20, 3))
    probes /= np.linalg.norm(probes, axis=1, keepdims=True)
    return [
        tuple(Surface.from_mesh(egg(probes, count, seed), radius=0.25, features="hks") for seed in (1, 2))
        for count in (150, 500, 1500)
    ]  # type: ignore[misc]


def in_space(surface: Surface, conv: FieldConv) -> Tensor:
    """The layer's response at the probes, as vectors in space, to a field given by a formula in space."""
    y, z = surface.frame, torch.linalg.cross(surface.normal, surface.frame)
    flow = torch.linalg.cross(torch.tensor([[0.3, -0.2, 1.0]]), 3.5 * surface.pos)
    flow = flow + torch.tensor([0.4, 0.8, -0.3]) * (3.5 * surface.pos[:, :1]) ** 2
    x = torch.complex((flow * y).sum(1), (flow * z).sum(1))[:, None]
    out = conv(torch.cat([x, x * torch.exp(torch.tensor(0.7j))], 1), surface)[:20]
    return out.real[..., None] * y[:20, None] + out.imag[..., None] * z[:20, None]


@torch.no_grad()
def test_agnostic_to_connectivity_where_it_is_curved(eggs: list[tuple[Surface, Surface]]) -> None:
    torch.manual_seed(0)
    conv, net = FieldConv(2, 8), network("labels")
    vectors = [[in_space(surface, conv) for surface in pair] for pair in eggs]
    assert_converges([difference(one, other) for one, other in vectors], 0.15)
    scores = [[net(surface)[:20] for surface in pair] for pair in eggs]
    assert_converges([difference(one, other) for one, other in scores], 0.1)


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
    assert difference(turned, turn_vectors(gathering(conv, x, surface), angles)) < 1e-12
    isotropic = FieldConv(2, 2, band_limit=0).double()
    assert difference(gathering(isotropic, x, surface), isotropic(x, surface)) < 1e-12


# ---- Parameter counts (Section 6.6) ----


def test_parameters_per_convolution() -> None:
    """33 for N = 6 and B = 2, where harmonic surface networks take (N + 1) S² = 28 with two streams."""
    numbers = sum(parameter.numel() for parameter in FieldConv(1, 1, rings=6, band_limit=2).parameters())
    assert numbers == 6 * (2 * 2 + 1) + 2 + 1 == 33
    assert (6 + 1) * 2**2 == 28
