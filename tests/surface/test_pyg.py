"""The bridge to PyTorch Geometric: the same numbers by its batches and loops, and nothing of it without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import Compose

import shapes
from fieldconv import FCNet, FCNetConfig
from fieldconv.geometry import Mesh
from fieldconv.networks import network_named
from fieldconv.surface import Surface, SurfaceBatch, ToSurface
from fieldconv.surface import batch as surface_batch
from fieldconv.transforms import RandomGauge, RandomRotate

EVERYTHING = ("discs", "coarse", "eigenbasis", "eigengradients")


def surfaces(count: int = 3, operators: tuple[str, ...] = ("discs",)) -> list[Surface]:
    found = []
    for number in range(count):
        mesh = Mesh(*shapes.torus(around=10 + number, across=8))
        found.append(Surface.from_mesh(mesh, radius=0.3, operators=operators, eigenfunctions=12))
        found[-1].y = torch.arange(found[-1].num_nodes) % 3
        found[-1].name = f"{number}.obj"
    return found


def assert_same(one: Surface | Data, other: Surface | Data) -> None:
    fields = one.to_dict()
    assert fields.keys() == other.to_dict().keys()
    for name, value in fields.items():
        same = torch.equal(value, other[name]) if torch.is_tensor(value) else value == other[name]
        assert same, name


def test_there_and_back() -> None:
    one, other, _ = surfaces(operators=EVERYTHING)
    data = one.to_data()
    assert isinstance(data, Data)
    assert (data.num_nodes, data.num_edges) == (one.num_nodes, one.num_edges)
    assert_same(Surface.from_data(data), one)
    both = surface_batch([one, other])
    assert isinstance(both.to_data(), Batch)
    back = Surface.from_data(both.to_data())
    assert isinstance(back, SurfaceBatch)
    assert_same(back, both)


def test_batches_are_ours() -> None:
    members = surfaces(operators=EVERYTHING)
    theirs, ours = Batch.from_data_list([one.to_data() for one in members]), surface_batch(members)
    assert_same(ours, theirs)
    assert_same(theirs[2], members[2])
    values = torch.randn(ours.num_nodes)
    assert torch.equal(theirs.interpolate(values), ours.interpolate(values))
    assert (theirs.num_vertices, theirs.num_graphs) == (ours.num_vertices, ours.num_graphs)


def test_row_numbers_of_own_tensors_count_on() -> None:
    one = Surface({"part_of": "part"}, **surfaces(1)[0].to_dict())
    one.part, one.part_of = torch.rand(4, 2), torch.arange(one.num_nodes) % 4
    theirs = Batch.from_data_list([one.to_data(), one.to_data()])
    assert torch.equal(theirs.part_of, surface_batch([one, one]).part_of)
    assert theirs.part_of.max() == 7
    assert Surface.from_data(theirs)[1].rows_of("part_of") == "part"


@pytest.mark.parametrize("name", ["fcnet", "hsn", "mdgcnn", "diffusionnet", "deltaconv", "pointnet2"])
@pytest.mark.parametrize("task", ["segmentation", "classification"])
def test_networks_take_batches_of_pyg(name: str, task: str) -> None:
    torch.manual_seed(0)
    net = network_named(name).for_task(task, classes=3, preset="tiny").eval()
    operators, features = net.config.operators, net.config.features
    members = [
        Surface.from_mesh(Mesh(*shapes.torus(around=n, across=8)), 0.3, None, features, operators=operators)
        for n in (10, 13)
    ]
    theirs = Batch.from_data_list([one.to_data() for one in members])
    found, expected = net(theirs), net(surface_batch(members))
    assert torch.equal(found, expected)


def test_a_training_loop_of_pyg() -> None:
    """Losses and weights are those of the same loop with our batches."""

    def trained(members: list, loader: type, **options: object) -> tuple[list[float], list[torch.Tensor]]:
        torch.manual_seed(0)
        net = FCNet(FCNetConfig(outputs=3, head="labels", blocks=1, width=4, radius=0.3))
        optimiser, losses = torch.optim.Adam(net.parameters()), []
        for _ in range(2):
            for batch in loader(members, batch_size=2, shuffle=True, **options):
                loss = nn.functional.cross_entropy(net(batch), batch.y)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                losses.append(loss.item())
        return losses, [parameter.detach() for parameter in net.parameters()]

    members = surfaces(4)
    ours = trained(members, torch.utils.data.DataLoader, collate_fn=surface_batch)
    theirs = trained([one.to_data() for one in members], DataLoader)
    assert theirs[0] == ours[0]
    assert all(torch.equal(one, other) for one, other in zip(ours[1], theirs[1], strict=True))


def test_transforms_take_data() -> None:
    one = surfaces(1)[0]
    transform = Compose([RandomRotate(), RandomGauge()])
    torch.manual_seed(0)
    ours = transform(one)
    torch.manual_seed(0)
    theirs = transform(one.to_data())
    assert isinstance(theirs, Data)
    assert_same(ours, theirs)


class Bodies(InMemoryDataset):
    """A dataset as users of PyG write it."""

    def __init__(self, root: Path, **options: object) -> None:
        super().__init__(str(root), **options)
        self.load(self.processed_paths[0])

    @property
    def processed_file_names(self) -> str:
        return "data.pt"

    def process(self) -> None:
        meshes = [shapes.icosphere(2), shapes.torus(around=12, across=8)]
        made = [
            Data(pos=torch.from_numpy(v).float(), face=torch.from_numpy(f.T), y=torch.arange(len(v)))
            for v, f in meshes
        ]
        self.save([self.pre_transform(data) for data in made], self.processed_paths[0])


def test_as_pre_transform_of_a_dataset_of_pyg(tmp_path: Path) -> None:
    transform = ToSurface(radius=0.3, samples=50)
    assert "samples=50" in repr(transform)
    data = Bodies(tmp_path, pre_transform=transform)
    batch = next(iter(DataLoader(data, batch_size=2)))
    mesh = Mesh(*shapes.torus(around=12, across=8))
    expected = Surface.from_mesh(Mesh(mesh.vertices.astype("f4"), mesh.faces), radius=0.3, samples=50)
    assert torch.equal(batch[1].edge_index, expected.edge_index)
    assert torch.equal(batch[1].y, expected.sample)
    assert batch.edge_index.max() == 99


def test_fields_of_data_follow_the_samples() -> None:
    vertices, faces = shapes.icosphere(2)
    count = len(vertices)
    data = Data(
        pos=torch.from_numpy(vertices), face=torch.from_numpy(faces.T), edge_index=torch.zeros(2, 5).long(),
        y=torch.arange(count), x=torch.arange(2.0 * count).reshape(count, 2), name="ball",
        kind=torch.tensor([3]),
    )  # fmt: skip
    surface = ToSurface(radius=0.4, samples=50)(data)
    assert surface.edge_index.shape[1] == len(surface.log)
    assert torch.equal(surface.y, surface.sample)
    assert torch.equal(surface.x[:, 0], 2.0 * surface.sample)
    assert (surface.name, surface.kind.item()) == ("ball", 3)


def test_maxima_over_balls_are_those_of_pyg() -> None:
    from torch_geometric.nn import PointNetConv

    from fieldconv.networks.rivals.pointnet2 import BallLayer, perceptron

    torch.manual_seed(0)
    theirs = PointNetConv(perceptron(5 + 3, 16, 16), add_self_loops=False)
    torch.manual_seed(0)
    ours = BallLayer(5 + 3, 16, 16)
    weights = theirs.state_dict()
    assert ours.state_dict().keys() == weights.keys()
    assert all(torch.equal(value, weights[name]) for name, value in ours.state_dict().items())
    x, senders, receivers = torch.randn(40, 5, requires_grad=True), torch.randn(40, 3), torch.randn(9, 3)
    edges = torch.stack([torch.randint(40, (200,)), torch.randint(8, (200,))])  # the last gets nothing
    found, expected = ours(x, senders, receivers, edges), theirs((x, None), (senders, receivers), edges)
    assert torch.equal(found, expected)
    ways = [
        torch.autograd.grad(out.square().sum(), [x, *layer.parameters()])
        for out, layer in ((found, ours), (expected, theirs))
    ]
    assert all(torch.equal(one, other) for one, other in zip(*ways, strict=True))


def test_nothing_of_it_is_imported_unless_asked_for() -> None:
    code = """
import sys
import fieldconv
from fieldconv import FCNet, Surface
import fieldconv.datasets, fieldconv.transforms, fieldconv.surface
fieldconv.datasets.SurfaceDataset, fieldconv.surface.batch
from fieldconv.networks import network_named, network_names
[network_named(name) for name in network_names()]
assert "torch_geometric" not in sys.modules
sys.modules["torch_geometric"] = None  # as if it were not installed
try:
    Surface().to_data()
except ImportError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.stdout == "torch_geometric is not installed: pip install 'fieldconv[pyg]'\n", done.stderr
