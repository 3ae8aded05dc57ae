"""Import all of fieldconv with numba out of reach, run every operation and layer, and write what they give.

python -m tests.ops.without_numba RESULTS.npz
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def results() -> dict[str, NDArray[np.float64]]:
    """Return outputs and gradients of every operation and layer, as real numbers."""
    from fieldconv.ops import disc_sums, echo_votes, field_aggregate, gradient_aggregate
    from fieldconv.ops.lift import lift
    from fieldconv.ops.magnitude_relu import magnitude_relu
    from fieldconv.ops.relu_linear import relu_linear
    from tests.nn.surfaces import flat_surface, random_field
    from tests.nn.test_torch_tools import LAYERS, case

    surface = flat_surface(20, radius=0.4)
    x, offset = random_field(surface, 3), torch.tensor([-0.3, 0, 0.3], dtype=torch.float64)
    functions = {
        "field_aggregate": lambda x: field_aggregate(x, surface, rings=3, band_limit=2),
        "disc_sums": lambda x: disc_sums(x[None], surface, first_order=-1, rings=2),
        "gradient_aggregate": lambda x: torch.cat(gradient_aggregate(x.real, surface, rings=3)),
        "echo_votes": lambda x: echo_votes(x, surface),
        "echo_votes magnitude": lambda x: echo_votes(x, surface, radial_samples=2, votes="magnitude"),
        "lift": lambda x: lift(x, 2),
        "relu_linear": lambda x: relu_linear(x.real, torch.ones_like(x.real), x.real[:5], x.imag[:5, 0]),
        "magnitude_relu": lambda x: magnitude_relu(x, offset),
    }
    found = {name: run(function, x) for name, function in functions.items()}
    for name in LAYERS:
        module, (x, *geometry) = case(name)
        found[name] = run(lambda x, module=module, geometry=geometry: module(x, *geometry), x)
    return found


def run(function, x: Tensor) -> NDArray[np.float64]:
    """Return the output and the gradient of its sum of squares."""
    x = x.detach().clone().requires_grad_()
    out = function(x)
    (gradient,) = torch.autograd.grad(out.abs().square().sum(), x)
    return np.concatenate(list(real_numbers(out.detach(), gradient)))


def real_numbers(*tensors: Tensor) -> Iterator[NDArray[np.float64]]:
    for tensor in tensors:
        real = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
        yield real.flatten().numpy()


class Blocked:
    """Finds nothing where Python looks for numba."""

    def find_spec(self, name: str, path=None, target=None) -> None:
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def import_everything() -> list[str]:
    """Import every module of the package and return their names."""
    import fieldconv

    names = [module.name for module in pkgutil.walk_packages(fieldconv.__path__, "fieldconv.")]
    for name in names:
        if not name.endswith("__main__"):
            importlib.import_module(name)
    return names


if __name__ == "__main__":
    sys.meta_path.insert(0, Blocked())
    import_everything()
    np.savez(sys.argv[1], **results())
    assert "numba" not in sys.modules
