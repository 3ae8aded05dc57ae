from __future__ import annotations

import torch

from fieldconv.nn import TangentLinear
from fieldconv.testing import assert_equivariant
from tests.nn.surfaces import flat_surface, random_field


def test_is_a_complex_matrix_product() -> None:
    layer, x = TangentLinear(3, 5).double(), random_field(flat_surface(), 3)
    matrix = torch.complex(*layer.weight.detach())
    torch.testing.assert_close(layer(x), x @ matrix)


def test_has_no_bias() -> None:
    layer = TangentLinear(3, 5)
    assert sum(parameter.numel() for parameter in layer.parameters()) == 2 * 3 * 5
    assert (layer(torch.zeros(4, 3, dtype=torch.complex64)) == 0).all()


def test_does_not_depend_on_frames() -> None:
    surface = flat_surface()
    assert_equivariant(
        TangentLinear(3, 5).double(), surface, features=random_field(surface, 3), tolerance=1e-12
    )


def test_gradients() -> None:
    layer, x = TangentLinear(3, 2).double(), random_field(flat_surface(5), 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, _: layer(x), (x, layer.weight))
    assert torch.autograd.gradgradcheck(lambda x, _: layer(x), (x, layer.weight))


def test_keeps_the_mean_squared_magnitude() -> None:
    x = torch.randn(100, 64, dtype=torch.complex64)
    with torch.no_grad():
        gain = TangentLinear(64, 256)(x).abs().square().mean() / x.abs().square().mean()
    assert 0.9 < float(gain) < 1.1


def test_takes_no_samples() -> None:
    assert TangentLinear(3, 5)(torch.zeros(0, 3, dtype=torch.complex64)).shape == (0, 5)
