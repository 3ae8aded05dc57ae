"""What torch offers for modules works on every layer: copies, states, precision, devices, compile, export."""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fieldconv.networks import FCNet
from fieldconv.nn import (
    ECHO,
    ECHOBlock,
    FCResNetBlock,
    FieldConv,
    LearnedGradient,
    LinearLift,
    TangentLinear,
    TangentReLU,
)
from fieldconv.surface import Surface
from fieldconv.surface import batch as surface_batch
from tests.nn.surfaces import flat_surface, random_field

GEOMETRY = ("edge_index", "log", "transport", "weight", "radius", "area", "pos")


class OnTensors(nn.Module):
    """A layer or network as a function of plain tensors, which is what `torch.export` takes."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor, *geometry: Tensor) -> Tensor:
        surface = Surface(x=x, **dict(zip(GEOMETRY, geometry, strict=True)))
        if isinstance(self.module, FCNet):
            return self.module(surface)
        if isinstance(self.module, TangentLinear | TangentReLU):
            return self.module(x)
        return self.module(x, surface)


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "FieldConv": lambda: FieldConv(3, 4),
    "FieldConv complex": lambda: FieldConv(3, 4, filter="complex", spacing="equal_area"),
    "TangentLinear": lambda: TangentLinear(3, 4),
    "TangentReLU": lambda: TangentReLU(3),
    "FCResNetBlock": lambda: FCResNetBlock(3, 4, band_limit=1),
    "ECHO": lambda: ECHO(),
    "ECHOBlock": lambda: ECHOBlock(3, 5, descriptors=2, radial_samples=2, hidden=(8, 8)),
    "LearnedGradient": lambda: LearnedGradient(3, 4),
    "LinearLift": lambda: LinearLift(3, 4),
    "FCNet labels": lambda: FCNet.for_task("correspondence", classes=5, preset="tiny"),
    "FCNet descriptors": lambda: FCNet.for_task("matching", preset="tiny", blocks=3),
    "FCNet classification": lambda: FCNet.for_task("classification", classes=5, preset="tiny"),
}
SCALAR_INPUT = (LearnedGradient, LinearLift, FCNet)


def case(name: str, dtype: torch.dtype = torch.float64) -> tuple[OnTensors, tuple[Tensor, ...]]:
    """A layer and tensors to call it with."""
    torch.manual_seed(0)
    layer = LAYERS[name]().to(dtype).eval()
    surface = flat_surface(20, radius=0.4, dtype=dtype)
    x = surface.x if isinstance(layer, SCALAR_INPUT) else random_field(surface, 3)
    return OnTensors(layer), (x, *(surface[key] for key in GEOMETRY))


@pytest.mark.parametrize("name", LAYERS)
def test_copies_and_states(name: str) -> None:
    module, inputs = case(name)
    expected = module(*inputs)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    fresh, _ = case(name)
    for parameter in fresh.parameters():
        nn.init.zeros_(parameter)
    fresh.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(fresh(*inputs), expected)
    twin = copy.deepcopy(module)
    for parameter in module.parameters():
        nn.init.zeros_(parameter)
    assert torch.equal(twin(*inputs), expected)
    assert all(value.is_floating_point() for value in twin.state_dict().values())  # safetensors, .double()


@pytest.mark.parametrize("name", LAYERS)
def test_single_precision_is_double_precision_rounded(name: str) -> None:
    module, inputs = case(name)
    expected = module(*inputs)
    single, inputs = case(name, torch.float32)
    single.load_state_dict(module.state_dict())
    found = single(*inputs)
    assert found.dtype == (torch.complex64 if expected.is_complex() else torch.float32)
    assert (found - expected).abs().max() < 1e-4 * expected.abs().max()


@pytest.mark.parametrize("name", LAYERS)
def test_moves_to_another_device(name: str) -> None:
    """The meta device computes shapes only, and refuses tensors left behind on the CPU."""
    module, inputs = case(name)
    expected = module(*inputs)
    found = module.to("meta")(*(tensor.to("meta") for tensor in inputs))
    assert found.device.type == "meta"
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize("name", [name for name in LAYERS if "FCNet" not in name])  # networks: below
def test_compiles(name: str) -> None:
    module, inputs = case(name)
    expected = module(*inputs)
    torch._dynamo.reset()
    compiled = torch.compile(module, backend="aot_eager")
    torch.testing.assert_close(compiled(*inputs), expected)


@pytest.mark.parametrize("name", LAYERS)
def test_exports(name: str) -> None:
    module, inputs = case(name)
    exported = torch.export.export(module, inputs, strict=False).module()
    torch.testing.assert_close(exported(*inputs), module(*inputs))


@pytest.mark.parametrize(
    "backend",
    [
        "aot_eager",
        pytest.param(
            "inductor",
            marks=pytest.mark.skipif(
                not os.environ.get("FIELDCONV_SLOW_TESTS"), reason="a minute; set FIELDCONV_SLOW_TESTS=1"
            ),
        ),
    ],
)
def test_compiled_networks_take_a_batch_and_train(backend: str) -> None:
    net = FCNet.for_task("classification", classes=3, preset="tiny", blocks=1)
    batch = surface_batch([flat_surface(n, seed=n, dtype=torch.float32) for n in (20, 15)])
    expected = net(batch)
    expected.sum().backward()
    gradients = [parameter.grad.clone() for parameter in net.parameters()]
    net.zero_grad()
    torch._dynamo.reset()
    found = torch.compile(net, backend=backend)(batch)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    found.sum().backward()
    for parameter, gradient in zip(net.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-3, atol=1e-4)


def test_no_gradient_is_kept_when_none_is_wanted() -> None:
    module, inputs = case("FCResNetBlock")
    with torch.no_grad():
        assert not module(*inputs).requires_grad


def test_gradients_accumulate() -> None:
    surface: Any = flat_surface(20)
    conv, x = FieldConv(3, 4).double(), random_field(surface, 3)
    conv(x, surface).abs().sum().backward()
    once = conv.weight.grad.clone()
    conv(x, surface).abs().sum().backward()
    torch.testing.assert_close(conv.weight.grad, 2 * once)
