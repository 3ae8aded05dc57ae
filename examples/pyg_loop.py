"""Train a network of fieldconv in a loop of PyTorch Geometric.

Needs the extra "pyg": pip install 'fieldconv[pyg]'. Runs in seconds.

    python examples/pyg_loop.py
"""

from __future__ import annotations

import torch
from torch import nn
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import Compose

import fieldconv as fc
from fieldconv.datasets import Creatures
from fieldconv.transforms import RandomRotate


def main(epochs: int = 5, meshes: int = 8) -> list[float]:
    """Train on animals made up by fieldconv, and give the mean loss of each epoch."""
    torch.manual_seed(0)
    prepare = fc.ToSurface(radius=0.2, samples=256)
    made = Creatures("segmentation", meshes=meshes, vertices=500, pre_transform=prepare, progress=False)
    data = [surface.to_data() for surface in made]  # PyG data: batches count edges and samples on
    net = fc.FCNet.for_task("segmentation", classes=made.num_classes, preset="tiny", features="xyz")
    turn = Compose([RandomRotate()])  # transforms of either library
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for epoch in range(epochs):
        total = 0.0
        for batch in DataLoader(data, batch_size=4, shuffle=True):
            batch = turn(batch)
            loss = nn.functional.cross_entropy(net(batch), batch.y, ignore_index=-1)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += loss.item() * batch.num_graphs / len(data)
        losses.append(total)
        print(f"epoch {epoch + 1:2}   loss {total:.3f}")
    return losses


if __name__ == "__main__":
    main()
