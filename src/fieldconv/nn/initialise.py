"""First values of parameters: random numbers that keep magnitudes from layer to layer."""

from __future__ import annotations

from torch import Tensor, nn

from fieldconv.ops.disc import Spacing


def squared_shares(rings: int, spacing: Spacing) -> float:
    """Return Σ ω_n², with ω_n the share of a disc's area that lies in ring n.

    The neighbours in ring n of a smooth field add up to ω_n times the field. So this is the mean square of
    their sum with N independent coefficients of unit variance.
    """
    if spacing == "equal_area":
        return 1 / rings
    return (4 * rings**2 - 1) / (3 * rings**3)  # ω_n = (2n − 1)/N²


def draw_normal(tensor: Tensor, std: float = 1.0) -> None:
    """Fill a parameter with normal numbers, unless it is on the device "meta" and has no numbers.

    Torch's own function does nothing there either, but imports the compiler for it, which takes 0.8 s.
    """
    if not tensor.is_meta:
        nn.init.normal_(tensor, std=std)


def init_perceptron(perceptron: nn.Module) -> None:
    """Draw linear layers as He et al.; with torch's own values a small network hardly learns at first."""
    for layer in perceptron.modules():
        if isinstance(layer, nn.Linear) and not layer.weight.is_meta:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
