"""Operations registered with torch: what the first call loads, and the derivative of any operation."""

from __future__ import annotations

import subprocess
import sys

import torch

from fieldconv.ops.register import register_differentiable

CODE = """
import sys
from types import SimpleNamespace
import torch
from fieldconv.networks.fcnet import FCNet, FCNetConfig

def surface(n):
    every = torch.arange(n)
    edges = torch.stack([every.repeat_interleave(n), every.repeat(n)])
    one = torch.ones(n * n)
    return SimpleNamespace(
        x=torch.randn(n, 3), area=torch.ones(n) / n, edge_index=edges[[1, 0]], log=torch.randn(n * n) * 0.1j,
        transport=one + 0j, weight=one / n, radius=torch.ones(1), num_nodes=n, batch=None,
    )

for head in ("labels", "descriptors", "classification"):
    config = FCNetConfig(outputs=4, head=head, blocks=1, width=4, radius=1.0, features="xyz")
    FCNet(config)(surface(12)).square().mean().backward()
with torch.device("meta"):
    FCNet(config)
assert "torch._dynamo" not in sys.modules
"""


def test_training_step_and_meta_network_load_no_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr


def test_derivatives_of_a_new_operation() -> None:
    """Two results, of which the second is kept for the derivative; the last argument has none."""

    root = register_differentiable(
        "test_root",
        ["x"],
        "int scale",
        lambda x, scale: (scale * x.sqrt(), x.sqrt()),
        lambda x, gradient, root, scale: gradient * scale / (2 * root),
        fake=lambda x, scale: (torch.empty_like(x), torch.empty_like(x)),
        equations=lambda x, scale: scale * x.sqrt(),
        saved=["root"],
    )
    x = torch.rand(5, dtype=torch.float64) + 1
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: root(x, 3)[0], x)
    assert torch.autograd.gradgradcheck(lambda x: root(x, 3)[0], x)
    torch.library.opcheck(root, (x, 3))
