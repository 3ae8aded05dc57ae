"""Your own network from fieldconv's layers, and your own training loop.

The task is made up: spheres with a few bumps, which points lie on a bump? Runs in seconds.

    python examples/own_network.py
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from torch import Tensor, nn
from torch.utils.data import DataLoader

import fieldconv as fc
from fieldconv.nn import ECHOBlock, FieldConv, LearnedGradient, TangentReLU
from fieldconv.testing import assert_equivariant
from fieldconv.transforms import RandomRotate


def bumpy_sphere(seed: int, points: int = 250) -> fc.Surface:
    """A sphere with three bumps; ``y`` says which samples lie on one."""
    rng = np.random.default_rng(seed)
    i = np.arange(points) + 0.5
    height, around = 1 - 2 * i / points, np.pi * (1 + 5**0.5) * i  # a spiral spreads points evenly
    ring = np.sqrt(1 - height**2)
    vertices = np.column_stack([ring * np.cos(around), ring * np.sin(around), height])
    vertices += 0.02 * rng.normal(size=vertices.shape)
    vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    faces = ConvexHull(vertices).simplices
    inward = np.linalg.det(vertices[faces]) < 0
    faces[inward] = faces[inward][:, ::-1]

    centres = Rotation.random(random_state=seed).apply([[1, 0, 0], [0, 1, 0], [-0.6, -0.64, 0.48]])
    angle = np.arccos(np.clip(vertices @ centres.T, -1, 1)).min(axis=1)
    vertices *= 1 + 0.4 * np.exp(-((angle[:, None] / 0.4) ** 2))
    surface = fc.Surface.from_mesh(fc.Mesh(vertices, faces), radius=0.2)
    surface.y = torch.from_numpy((angle < 0.5).astype(np.int64))
    return surface


class BumpNet(nn.Module):
    """Lift coordinates to vectors, convolve twice, describe each point, decide."""

    def __init__(self) -> None:
        super().__init__()
        self.lift = LearnedGradient(3, 8, rings=3)
        self.first = FieldConv(8, 8, rings=3, band_limit=1)
        self.relu = TangentReLU(8)
        self.decide = ECHOBlock(8, 2, descriptors=4, radial_samples=2, hidden=(32, 16), rings=3, band_limit=1)

    def forward(self, surface: fc.Surface) -> Tensor:
        vectors = self.lift(surface.x, surface)  # complex, (samples, 8)
        vectors = vectors + self.relu(self.first(vectors, surface))
        return self.decide(vectors, surface)  # real, (samples, 2)


def main() -> float:
    """Train, and give the accuracy on spheres not seen in training."""
    torch.manual_seed(0)
    training = [bumpy_sphere(seed) for seed in range(8)]
    unseen = [bumpy_sphere(seed) for seed in range(100, 104)]
    net = BumpNet()
    turn = RandomRotate()  # coordinates are features like any other: let no direction in space be special
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    for epoch in range(12):
        total = 0.0
        for batch in DataLoader(training, batch_size=1, shuffle=True, collate_fn=fc.surface.batch):
            batch = turn(batch)
            loss = nn.functional.cross_entropy(net(batch), batch.y)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += loss.item() * batch.num_graphs / len(training)
        print(f"epoch {epoch + 1:2}   loss {total:.3f}")

    with torch.no_grad():
        right = [(net(surface).argmax(1) == surface.y).float().mean().item() for surface in unseen]
        share = sum((surface.y == 0).float().mean().item() for surface in unseen) / len(unseen)
    accuracy = sum(right) / len(right)
    print(f"accuracy on unseen spheres: {accuracy:.1%} (always saying no: {share:.1%})")
    # The network may see its input coordinates; nothing else about frames, place, order or size may count.
    assert_equivariant(net, unseen[0], tolerance=1e-3, positions="kept")
    print("apart from the coordinates it is given, no choice of frames, place, numbering or scale matters")
    return accuracy


if __name__ == "__main__":
    main()
