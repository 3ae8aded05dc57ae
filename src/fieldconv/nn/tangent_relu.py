"""Non-linearity on the magnitude of tangent vectors."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fieldconv.ops.pointwise import magnitude_relu


class TangentReLU(nn.Module):
    r"""ReLU on magnitudes with a learnt offset (Eq. 8); directions stay.

    .. math:: \mathrm{ReLU}_b(\rho e^{i\phi}) = \mathrm{ReLU}(\rho + b) \, e^{i\phi}

    A zero vector has no direction and stays zero, whatever b.

    Parameters
    ----------
    channels : int
        C, one offset b for each.

    Shapes
    ------
    - input (n, C) complex
    - output (n, C) complex

    Examples
    --------
    >>> relu = TangentReLU(2)
    >>> _ = torch.nn.init.constant_(relu.offset, -1.0)
    >>> relu(torch.tensor([[3j, 0.5j]])).abs()
    tensor([[2., 0.]], grad_fn=<AbsBackward0>)
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels
        self.offset = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer."""
        return magnitude_relu(x, self.offset)

    def extra_repr(self) -> str:
        return f"{self.channels}"
