import copy

import pytest
import torch

from fieldconv.geometry import Mesh
from fieldconv.surface import Surface
from fieldconv.surface import batch as surface_batch
from fieldconv.transforms import Compose, RandomGauge, RandomJitter, RandomNoise, RandomRotate, RandomScale
from shapes import icosphere

ALL = [RandomRotate(), RandomScale(), RandomNoise(0.1), RandomJitter(0.1), RandomGauge()]
MOVE = ALL[:4]


@pytest.fixture(scope="module")
def surface():
    sphere = Mesh(*icosphere(2))
    return Surface.from_mesh(sphere, radius=0.3, samples=60)


@pytest.fixture(scope="module")
def intrinsic(surface):
    other = copy.copy(surface)
    other.x = torch.rand(60, 16)
    return other


@pytest.mark.parametrize("transform", ALL, ids=repr)
def test_the_original_is_not_changed_and_a_seed_repeats(surface, transform):
    before = {key: value.clone() for key, value in surface.to_dict().items()}
    torch.manual_seed(3)
    one = transform(surface)
    torch.manual_seed(3)
    two, three = transform(surface), transform(surface)
    for key, value in before.items():
        assert torch.equal(surface[key], value)
        assert torch.equal(one[key], two[key])
    assert any(not torch.equal(two[key], three[key]) for key in before)
    assert any(not torch.equal(one[key], before[key]) for key in before)


@pytest.mark.parametrize("transform", MOVE, ids=repr)
def test_moving_points_leaves_the_intrinsic_geometry(surface, transform):
    moved = transform(surface)
    for key in ("edge_index", "log", "transport", "weight", "area", "vertex_transport", "vertex_weight"):
        assert torch.equal(moved[key], surface[key])
    assert torch.equal(moved.x, moved.pos)


@pytest.mark.parametrize("transform", [RandomRotate(), RandomScale(), RandomJitter()], ids=repr)
def test_intrinsic_features_do_not_move(intrinsic, transform):
    moved = transform(intrinsic)
    assert torch.equal(moved.x, intrinsic.x)
    assert not torch.equal(moved.pos, intrinsic.pos)


def test_noise_on_intrinsic_features_leaves_positions(intrinsic):
    noisy = RandomNoise(0.5)(intrinsic)
    assert torch.equal(noisy.pos, intrinsic.pos)
    assert 0.4 < (noisy.x - intrinsic.x).std() < 0.6


def test_rotation_is_rigid_and_turns_frames_with_the_points(surface):
    turned = RandomRotate()(surface)
    before = torch.stack([surface.pos, surface.normal, surface.frame])
    after = torch.stack([turned.pos, turned.normal, turned.frame])
    gram = torch.einsum("anx,bmx->abnm", before, before)
    torch.testing.assert_close(torch.einsum("anx,bmx->abnm", after, after), gram, atol=1e-5, rtol=0)

    def handed(s):  # the sign of a triple product shows a reflection
        return torch.linalg.det(torch.stack([s.pos[0], s.pos[7], s.pos[23]]))

    torch.testing.assert_close(handed(turned), handed(surface), atol=1e-5, rtol=0)


def test_rotations_are_uniform(surface):
    """Of a uniform rotation every entry has mean 0 and mean square 1/3."""
    torch.manual_seed(0)
    one = copy.copy(surface)
    one.pos = one.x = torch.eye(3)
    one.normal = one.frame = one.pos
    turned = torch.stack([RandomRotate()(one).pos for _ in range(4000)])
    assert turned.mean(0).abs().max() < 0.05
    assert ((turned**2).mean(0) - 1 / 3).abs().max() < 0.03


def test_scale_is_one_factor_within_bounds(surface):
    factors = torch.stack([(RandomScale(0.5, 2)(surface).pos / surface.pos).nanmedian() for _ in range(50)])
    assert factors.min() >= 0.5
    assert factors.max() <= 2
    assert 0.7 < factors.log().mean().exp() < 1.4


def test_jitter_moves_along_normals_only(surface):
    step = RandomJitter(0.1)(surface).pos - surface.pos
    across = torch.linalg.cross(step, surface.normal)
    assert across.abs().max() < 1e-6
    assert 0.07 < (step * surface.normal).sum(1).std() < 0.13


def test_gauge_turns_frames_in_their_planes_and_keeps_vectors(surface):
    torch.manual_seed(1)
    turned = RandomGauge()(surface)
    torch.testing.assert_close((turned.frame * surface.normal).sum(1), torch.zeros(60), atol=1e-5, rtol=0)
    cosine = (turned.frame * surface.frame).sum(1)
    sine = (torch.linalg.cross(surface.frame, turned.frame) * surface.normal).sum(1)
    unit = torch.complex(cosine, sine)  # e^{iα}: by how much each frame was turned
    q, p = surface.edge_index
    # The same tangent vectors, written in the old and in the new frames.
    old = torch.randn(60, dtype=torch.complex64)
    new = old * unit.conj()
    torch.testing.assert_close(turned.log * unit[q], surface.log, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(
        turned.transport * new[q] * unit[p], surface.transport * old[q], atol=1e-4, rtol=1e-4
    )
    torch.testing.assert_close(turned.interpolate(new), surface.interpolate(old), atol=1e-4, rtol=1e-4)


def test_each_surface_of_a_batch_draws_its_own(surface):
    batch = surface_batch([surface, surface])
    turned = RandomRotate()(batch)
    first, second = turned.pos[:60], turned.pos[60:]
    assert not torch.allclose(first, second)
    torch.testing.assert_close(first @ first.T, second @ second.T, atol=1e-5, rtol=0)
    scaled = RandomScale()(batch).pos.norm(dim=1)
    ratio = scaled[:60] / scaled[60:]
    torch.testing.assert_close(ratio, ratio[:1].expand(60))


def test_they_compose(surface):
    both = Compose([RandomRotate(), RandomJitter(0.05), RandomGauge()])
    assert torch.equal((changed := both(surface)).x, changed.pos)
    assert not torch.equal(changed.log, surface.log)


def test_wrong_settings_say_so():
    with pytest.raises(ValueError, match="low ≤ high"):
        RandomScale(2, 1)
    with pytest.raises(ValueError, match="must not be negative"):
        RandomJitter(-1)
