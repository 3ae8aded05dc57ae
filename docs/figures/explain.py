"""Draw the pictures of the explanation pages. Run as ``python docs/figures/explain.py``."""

from pathlib import Path

import matplotlib
import numpy as np
import torch
from scipy.spatial import ConvexHull

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import fieldconv as fc
from fieldconv.datasets.creatures import make_creature
from fieldconv.nn import ECHO, FieldConv
from fieldconv.ops.disc import disc_cells
from fieldconv.viz import Panel, complex_colours, write_picture
from fieldconv.viz import panels as pan

HERE = Path(__file__).parent
CENTRE = 900
EYE = 0.15  # radius of the disc


def shape() -> fc.Mesh:
    return make_creature("quadruped", 3, vertices=2500).mesh.normalised()


def discs() -> None:
    """Draw a disc with polar coordinates, and a direction transported along geodesics."""
    write_picture(pan.disc_panels(shape(), CENTRE, EYE), HERE / "explain_disc.png", up="z", dpi=110)


def holonomy() -> None:
    """Draw a direction that is transported over a ball: the farther it goes, the more it turns."""
    i = np.arange(2000) + 0.5
    height, around = 1 - 2 * i / len(i), np.pi * (1 + 5**0.5) * i
    ring = np.sqrt(1 - height**2)
    points = np.column_stack([ring * np.cos(around), ring * np.sin(around), height])
    faces = ConvexHull(points).simplices
    inward = np.linalg.det(points[faces]) < 0
    faces[inward] = faces[inward][:, ::-1]
    panels = pan.disc_panels(fc.Mesh(points, faces, "ball").normalised(), 700, 0.4)
    write_picture([panels[1]], HERE / "explain_transport.png", up="z", dpi=110, size=5)


def convolution() -> None:
    """Draw one vector, the filter, and the result of the convolution."""
    mesh = shape()
    surface = fc.Surface.from_mesh(mesh, radius=EYE)
    torch.manual_seed(4)
    layer = FieldConv(1, 1, rings=6, band_limit=2)
    impulse = torch.zeros(surface.num_nodes, 1, dtype=torch.complex64)
    impulse[CENTRE] = 1
    with torch.no_grad():
        output = layer(impulse, surface)[:, 0].numpy()
    frames = surface.frame.numpy() + 1j * np.cross(surface.normal.numpy(), surface.frame.numpy())

    def arrows(values: np.ndarray, length: float) -> pan.Arrows:
        strong = np.flatnonzero(np.abs(values) > 0.02 * np.abs(values).max())
        strong = strong[pan.spread_points(mesh.vertices[strong], 140)]
        unit = values[strong] / np.sqrt(np.abs(values[strong]) * np.abs(values).max())
        space = (unit.real[:, None] * frames[strong].real) + (unit.imag[:, None] * frames[strong].imag)
        return pan.Arrows(vertices=strong, vectors=length * space, shown=True)

    focus = (CENTRE, EYE)
    before, after = impulse[:, 0].numpy(), output
    panels = [
        Panel(
            mesh=mesh,
            title="a vector X(q) at one point",
            note=" ",
            focus=focus,
            colourings=[pan.field("length", np.abs(before), arrows=arrows(before, 0.06))],
        ),
        Panel(
            mesh=mesh,
            title="what it sends to its neighbours",
            note=" ",
            focus=focus,
            colourings=[pan.field("length", np.abs(after), arrows=arrows(after, 0.02))],
        ),
    ]
    write_picture(panels, HERE / "explain_convolution.png", up="z", dpi=110)

    image = layer.images(size=201)[0, 0]
    inside = ~np.isnan(image)
    picture = np.full((*image.shape, 3), 255, np.uint8)
    picture[inside] = complex_colours(image[inside], float(np.abs(image[inside]).max()))
    figure, axis = plt.subplots(figsize=(3.2, 3.2))
    axis.imshow(picture, extent=(-1, 1, -1, 1))
    axis.set(xticks=[-1, 0, 1], xticklabels=["−ε", "0", "ε"], yticks=[])
    axis.set_title("a filter f: hue turns, strength scales", fontsize=9)
    for side in ("top", "right", "left", "bottom"):
        axis.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(HERE / "explain_filter.png", dpi=110)


def echo() -> None:
    """Draw the votes that one point collects from a vector field."""
    mesh = shape()
    surface = fc.Surface.from_mesh(mesh, radius=EYE)
    layer = ECHO(radial_samples=6)
    height = torch.from_numpy(mesh.vertices[:, 2]).float()
    sender, receiver = surface.edge_index
    slope = torch.zeros(surface.num_nodes, dtype=torch.complex64)  # a simple gradient of the height
    slope.index_add_(0, sender, surface.weight * (height[receiver] - height[sender]) * surface.log)
    with torch.no_grad():
        image = layer(slope[:, None] / slope.abs().max(), surface)[CENTRE, 0].numpy()
    cells, side = np.array(disc_cells(6)), 2 * 6 + 2
    grid = np.full(side * side, np.nan)
    grid[cells[:-1]] = image[:-1]  # the last one is the centre
    figure, axis = plt.subplots(figsize=(3.4, 3.2))
    axis.imshow(grid.reshape(side, side)[::-1], cmap="viridis")
    axis.set_axis_off()
    axis.set_title(f"the votes at one point: {len(image)} numbers", fontsize=9)
    figure.tight_layout()
    figure.savefig(HERE / "explain_echo.png", dpi=110)


if __name__ == "__main__":
    discs()
    holonomy()
    convolution()
    echo()
