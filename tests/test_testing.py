from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.nn.surfaces import flat_surface, random_field
from torch import Tensor, nn
from torch_geometric.data import Batch

from fieldconv.networks.fcnet import FCNet
from fieldconv.nn import FieldConv
from fieldconv.testing import assert_equivariant, move, renumber, scale, turn_frames, turn_vectors


class LooksAtFrames(nn.Module):
    """Real and imaginary part treated as two plain numbers."""

    in_channels = 2

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        return torch.complex(x.real.relu(), x.imag.relu())


class LooksAtPositions(nn.Module):
    def forward(self, surface: Any) -> Tensor:
        return surface.pos[:, 0]


class LooksAtNumbers(nn.Module):
    in_channels = 2

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        return x * torch.linspace(0, 1, len(x), dtype=torch.float64)[:, None]


class LooksAtSize(nn.Module):
    in_channels = 2

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        return x * surface.area.sum()


class BreaksInBackground(nn.Module):
    in_channels = 2

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        return x * float("nan")


class ForgetsTransport(FieldConv):
    """A field convolution that adds up vectors of different tangent planes as if frames were one."""

    def forward(self, x: Tensor, surface: Any) -> Tensor:
        flat = surface.clone()
        flat.transport = torch.ones_like(surface.transport)
        return super().forward(x, flat)


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (LooksAtFrames(), "tangent frames"),
        (LooksAtPositions(), "place of the shape"),
        (LooksAtNumbers(), "order of the samples"),
        (LooksAtSize(), "size of the shape"),
        (ForgetsTransport(2, 2).double(), "tangent frames"),
        (BreaksInBackground(), "tangent frames"),
    ],
)
def test_finds_the_fault(module: nn.Module, reason: str) -> None:
    with pytest.raises(AssertionError, match=f"{type(module).__name__} depends on the .*{reason}"):
        assert_equivariant(module, flat_surface())


def test_checks_only_what_is_asked() -> None:
    errors = assert_equivariant(LooksAtPositions(), flat_surface(), changes=["frames", "numbering"])
    assert list(errors) == ["frames", "numbering"]
    with pytest.raises(ValueError, match="frames, motion, numbering, scale"):
        assert_equivariant(LooksAtPositions(), flat_surface(), changes=["mirror"])


def test_asks_for_features_it_cannot_guess() -> None:
    with pytest.raises(ValueError, match="in_channels"):
        assert_equivariant(nn.Bilinear(2, 2, 2), flat_surface())


def test_takes_nested_outputs_and_batches() -> None:
    class Nested(nn.Module):
        def __init__(self, fault: bool) -> None:
            super().__init__()
            self.conv, self.fault = FieldConv(3, 2).double(), fault

        def forward(self, x: Tensor, surface: Any) -> Any:
            y = self.conv(x, surface)
            return {"field": y, "more": [y.abs(), y.real if self.fault else y.abs(), "text"]}

    batch = Batch.from_data_list([flat_surface(12), flat_surface(20, seed=1)])
    features = random_field(batch, 3)
    assert_equivariant(Nested(False), batch, features=features, tolerance=1e-10)
    with pytest.raises(AssertionError, match="frames"):
        assert_equivariant(Nested(True), batch, features=features)
    net = FCNet.for_task("classification", classes=5, preset="tiny").double()
    assert_equivariant(net, batch, tolerance=1e-10)


def test_leaves_module_and_surface_as_they_were() -> None:
    surface, conv = flat_surface(), FieldConv(2, 2).double()
    before = surface.clone()
    conv.train()
    assert_equivariant(conv, surface)
    assert conv.training
    assert all(torch.equal(surface[key], before[key]) for key in before.to_dict())


def test_turned_frames_see_the_same_vectors() -> None:
    """A vector in space is frame · components, before and after."""
    surface = flat_surface()
    angles = torch.rand(30, dtype=torch.float64) * 6
    turned = turn_frames(surface, angles)
    x = random_field(surface, 2)

    def in_space(s: Any, x: Tensor) -> Tensor:
        across = torch.linalg.cross(s.normal, s.frame)
        return x.real[..., None] * s.frame[:, None] + x.imag[..., None] * across[:, None]

    torch.testing.assert_close(in_space(turned, turn_vectors(x, angles)), in_space(surface, x))
    # The logarithm, too, is a vector: at q, it leads to p.
    q, p = surface.edge_index
    log = torch.zeros(30, 30, dtype=torch.complex128).index_put((q, p), turned.log)
    steps = in_space(turned, log)
    torch.testing.assert_close(steps[q, p], surface.pos[p] - surface.pos[q])
    # Transport on a plane keeps vectors.
    carried = torch.zeros(30, 30, dtype=torch.complex128).index_put(
        (p, q), turned.transport * turn_vectors(x, angles)[q, 0]
    )
    torch.testing.assert_close(in_space(turned, carried)[p, q], in_space(surface, x)[q, 0])


def test_renumbering_is_undone_by_its_inverse() -> None:
    surface = flat_surface()
    order = torch.randperm(30)
    changed = renumber(surface, order)
    torch.testing.assert_close(changed.pos, surface.pos[order])
    q, p = changed.edge_index
    assert (p[1:] * 30 + q[1:] > p[:-1] * 30 + q[:-1]).all()
    back = renumber(changed, torch.argsort(order))
    assert all(torch.equal(back[key], surface[key]) for key in surface.to_dict())


def test_moving_and_scaling() -> None:
    surface = flat_surface()
    rotation = torch.tensor([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    moved = move(surface, rotation, torch.tensor([1.0, 2, 3]))
    torch.testing.assert_close(
        moved.pos,
        torch.stack([1 - surface.pos[:, 1], 2 + surface.pos[:, 0], 3 + surface.pos[:, 2]], 1),
    )
    assert moved.x is surface.x or torch.equal(moved.x, surface.x)
    twice = scale(surface, 2.0)
    torch.testing.assert_close(twice.log.abs(), 2 * surface.log.abs())
    torch.testing.assert_close(twice.area, 4 * surface.area)
