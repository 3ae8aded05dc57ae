from __future__ import annotations

import pytest
import torch

from fieldconv.ops import echo_size, echo_votes
from fieldconv.surface import batch as surface_batch
from tests.nn.surfaces import flat_surface, random_field
from tests.ops import paper

both = pytest.mark.parametrize("backend", ["torch", "compiled"])
kinds = pytest.mark.parametrize("votes", ["vector", "magnitude"])


def test_sizes_of_the_paper() -> None:
    assert echo_size(3) == 33
    assert echo_size(2) == 13
    with pytest.raises(ValueError, match="at least 1"):
        echo_size(0)


@both
@kinds
@pytest.mark.parametrize(("radial_samples", "channels"), [(1, 2), (2, 5), (3, 1)])
def test_is_the_papers_voting(backend, votes, radial_samples, channels) -> None:
    surface = flat_surface(14, radius=0.4)
    x = random_field(surface, channels)
    x[3] = 0
    options = {"radial_samples": radial_samples, "votes": votes}
    expected = paper.echo(x, surface, **options)
    found = echo_votes(x, surface, **options, backend=backend)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)


@both
@kinds
def test_single_precision(backend, votes) -> None:
    exact = flat_surface(20, radius=0.4)
    x = random_field(exact, 18)  # more than one vector of channels
    expected = paper.echo(x, exact, 3, votes)
    surface = flat_surface(20, radius=0.4, dtype=torch.float32)
    found = echo_votes(x.to(torch.complex64), surface, votes=votes, backend=backend)
    assert found.dtype == torch.float32
    assert (found - expected).abs().max() < 1e-5 * expected.abs().max()


@both
@kinds
@pytest.mark.parametrize("radial_samples", [1, 3])
def test_gradients(backend, votes, radial_samples) -> None:
    surface = flat_surface(5, radius=0.6)
    x = random_field(surface, 1).requires_grad_()

    def function(x):
        return echo_votes(x, surface, radial_samples=radial_samples, votes=votes, backend=backend)

    assert torch.autograd.gradcheck(function, x)
    assert torch.autograd.gradgradcheck(function, x, fast_mode=True)


@both
@kinds
def test_the_vertex_itself_votes_for_the_centre(backend, votes) -> None:
    surface = flat_surface(8, radius=0.0)
    x = random_field(surface, 2)
    found = echo_votes(x, surface.update({"radius": torch.ones(1)}), votes=votes, backend=backend)
    torch.testing.assert_close(found[..., -1], x.abs())
    assert not found[..., :-1].any()


@both
@kinds
def test_zero_tiny_and_huge_vectors(backend, votes) -> None:
    surface = flat_surface(10, dtype=torch.float32)
    x = random_field(surface, 4)
    x[0], x[1], x[2] = 0, 1e-42, 1e30
    x.requires_grad_()
    out = echo_votes(x, surface, votes=votes, backend=backend)
    assert out.isfinite().all()
    out.sum().backward()
    assert x.grad.isfinite().all()
    assert not x.grad[:2].any()  # no direction, no place to vote for


def test_backends_agree_on_gradients_of_larger_surfaces() -> None:
    surface = flat_surface(60)
    for votes in ("vector", "magnitude"):
        gradients = []
        for backend in ("torch", "compiled"):
            x = random_field(surface, 17).requires_grad_()
            echo_votes(x, surface, votes=votes, backend=backend).square().sum().backward()
            gradients.append(x.grad)
        torch.testing.assert_close(*gradients)


@both
def test_invalid_edges_write_inside_the_image(backend) -> None:
    """NaN and infinite places must not make the sums write outside their memory."""
    surface = flat_surface(10)
    surface.log[3] = complex("nan")
    surface.log[4] = complex("inf")
    surface.log[5] *= 1e6
    x = random_field(surface, 2)
    x[2] = complex("nan")
    out = echo_votes(x.requires_grad_(), surface, backend=backend)
    out.nansum().backward()


@both
@kinds
def test_nan_is_not_hidden(backend, votes) -> None:
    surface = flat_surface(10)
    surface.weight[3] = float("nan")
    out = echo_votes(random_field(surface, 2), surface, votes=votes, backend=backend)
    assert out[surface.edge_index[1, 3]].isnan().any()


@both
def test_surfaces_of_different_radii_in_a_batch(backend) -> None:
    parts = [flat_surface(9, radius=0.5, seed=1), flat_surface(12, radius=0.3, seed=2)]
    batch = surface_batch(parts)
    x = random_field(batch, 3)
    alone = [echo_votes(part, s, backend=backend) for part, s in zip(x.split([9, 12]), parts, strict=True)]
    torch.testing.assert_close(echo_votes(x, batch, backend=backend), torch.cat(alone))


@both
@kinds
def test_no_edges_and_strided_features(backend, votes) -> None:
    x = torch.ones(6, 4, dtype=torch.complex64).T[::2].requires_grad_()
    out = echo_votes(x, paper.no_edges(2), votes=votes, backend=backend)
    out.sum().backward()
    assert out.shape == (2, 6, 33)
    assert not out.any()
    assert not x.grad.any()


def test_names_of_votes() -> None:
    surface = flat_surface(5)
    with pytest.raises(ValueError, match="votes must be"):
        echo_votes(random_field(surface, 1), surface, votes="both")
