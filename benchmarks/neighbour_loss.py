"""The command line with a loss for parts that knows about neighbours, for `benchmarks/borders.py`.

    python benchmarks/neighbour_loss.py train segmentation --data FOLDER --out RUN

To the cross-entropy is added how much probabilities differ between neighbours of the same true part:

    mean over pairs (q, p) with y_q = y_p and r ≤ ε/4 of |P_q − P_p|²
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fieldconv.cli import main
from fieldconv.tasks import Segmentation

NEAR = 0.25  # of the radius of discs
plain = Segmentation.loss


def loss(self: Segmentation, outputs: Tensor, chunk: Any, config: Any) -> tuple[Tensor, Tensor | None]:
    losses, right = plain(self, outputs, chunk, config)
    surface = chunk.surface
    near = (surface.log.abs() < NEAR * surface.radius.reshape(-1).max()).nonzero().flatten()
    q, p = surface.edge_index.index_select(1, near)
    same = (surface.y[q] == surface.y[p]) & (q != p)
    chance = outputs.softmax(1)
    apart = (chance[q[same]] - chance[p[same]]).square().sum(1)
    return losses + (apart.mean() if len(apart) else torch.zeros(())), right


if __name__ == "__main__":
    Segmentation.loss = loss  # type: ignore[method-assign]
    raise SystemExit(main())
