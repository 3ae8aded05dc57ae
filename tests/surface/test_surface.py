"""Surface: its contract, batching, and the way back to the mesh."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

import shapes
from fieldconv.geometry.geodesics import geodesic_discs, tangent_frames
from fieldconv.geometry.mesh import Mesh
from fieldconv.surface import Surface, ToSurface
from fieldconv.surface.views import coarse_level


@pytest.fixture(scope="module")
def sphere() -> Mesh:
    return Mesh(*shapes.icosphere(3))


@pytest.mark.parametrize("samples", [None, 100, 5000])
def test_contract(sphere, samples):
    surface = Surface.from_mesh(sphere, radius=0.2, samples=samples)
    n = 100 if samples == 100 else 642
    assert surface.num_nodes == n
    assert surface.num_vertices == 642
    q, p = surface.edge_index
    key = p * n + q
    assert (key.diff() > 0).all()  # sorted by receiver, then sender, no pair twice
    assert set(zip(q.tolist(), p.tolist(), strict=True)) == set(zip(p.tolist(), q.tolist(), strict=True))
    assert (q == p).sum() == n
    assert (surface.log[q == p] == 0).all()
    assert (surface.transport[q == p] == 1).all()
    mirror = torch.argsort(q * n + p)
    torch.testing.assert_close(surface.transport[mirror], surface.transport.conj())
    torch.testing.assert_close(surface.log[mirror].abs(), surface.log.abs())
    # e^{iθ_pq} = −t e^{iθ_qp}: a geodesic keeps its angle to its tangent.
    torch.testing.assert_close(surface.log[mirror], -surface.transport * surface.log, atol=1e-6, rtol=1e-5)
    total = torch.zeros(n).index_add_(0, p, surface.weight)
    torch.testing.assert_close(total, torch.ones(n))
    torch.testing.assert_close(surface.area.sum(), torch.tensor(1.0))
    torch.testing.assert_close(surface.vertex_weight.sum(1), torch.ones(642))
    assert surface.log.abs().max() <= 0.2 + 1e-6
    assert all(torch.isfinite(value).all() for value in surface.to_dict().values())


def test_edges_are_the_discs_of_the_full_mesh(sphere):
    surface = Surface.from_mesh(sphere, radius=0.2, samples=60)
    discs = geodesic_discs(sphere.normalised(), 0.2)
    full = {(a, b): i for i, (a, b) in enumerate(zip(discs.centres, discs.targets, strict=True))}
    ends = surface.sample[surface.edge_index].numpy()
    chosen = np.array([full[a, b] for a, b in ends.T])
    expected = discs.distance * np.exp(1j * discs.angle)
    np.testing.assert_allclose(surface.log.numpy(), expected[chosen], atol=1e-6)
    np.testing.assert_allclose(surface.transport.numpy(), np.exp(1j * discs.transport[chosen]), atol=1e-6)


def test_interpolates_scalars_and_tangent_vectors(sphere):
    surface = Surface.from_mesh(sphere, radius=0.2, samples=300)
    height = surface.interpolate(surface.pos[:, 2])
    mesh = sphere.normalised()
    assert np.abs(height.numpy() - mesh.vertices[:, 2]).max() < 0.02
    # A smooth tangent field, e_z projected: known in every frame.
    frames, normals = tangent_frames(mesh)
    field = frames[:, 2] + 1j * np.cross(normals, frames)[:, 2]
    found = surface.interpolate(torch.from_numpy(field[surface.sample.numpy()]).to(torch.complex64))
    assert np.abs(found.numpy() - field).max() < 0.1
    assert np.abs(found.numpy() - field).mean() < 0.02


def test_batch_is_its_members(sphere):
    members = [
        Surface.from_mesh(sphere, radius=0.2, samples=80),
        Surface.from_mesh(Mesh(*shapes.two_components()), radius=0.3),
        Surface.from_mesh(Mesh(*shapes.torus(around=20, across=10)), radius=0.25, samples=50),
    ]
    batch = Batch.from_data_list(members)
    assert batch.num_nodes == sum(s.num_nodes for s in members)
    assert batch.radius.tolist() == pytest.approx([0.2, 0.3, 0.25])
    values = torch.randn(batch.num_nodes)
    parts = values.split([s.num_nodes for s in members])
    together = batch.interpolate(values)
    torch.testing.assert_close(
        together, torch.cat([s.interpolate(v) for s, v in zip(members, parts, strict=True)])
    )
    for one, back in zip(members, batch.to_data_list(), strict=True):
        assert all(torch.equal(one[key], back[key]) for key in one.keys())  # noqa: SIM118
    assert (batch.batch[batch.edge_index[0]] == batch.batch[batch.edge_index[1]]).all()
    assert sum(1 for _ in DataLoader(members, batch_size=2)) == 2


def test_as_pre_transform(sphere):
    transform = ToSurface(radius=0.2, samples=50)
    data = Data(
        pos=torch.from_numpy(sphere.vertices).float(),
        face=torch.from_numpy(sphere.faces.T),
        y=torch.tensor([3]),
    )
    surface = transform(data)
    assert isinstance(surface, Surface)
    assert surface.num_nodes == 50
    assert surface.y.item() == 3
    assert "samples=50" in repr(transform)


def test_numbering_does_not_change_the_samples(sphere):
    rng = np.random.default_rng(0)
    bumpy = sphere.vertices * (1 + 0.1 * rng.random((642, 1)))  # no ties
    order = rng.permutation(642)
    one = Surface.from_mesh(Mesh(bumpy, sphere.faces), samples=100)
    other = Surface.from_mesh(Mesh(bumpy[order], np.argsort(order)[sphere.faces]), samples=100)
    assert set(one.sample.tolist()) == set(order[other.sample.numpy()].tolist())


@pytest.mark.parametrize(("features", "channels"), [("xyz", 3), ("hks", 16), ("wks", 16)])
def test_features(sphere, features, channels):
    assert Surface.from_mesh(sphere, samples=50, features=features).x.shape == (50, channels)


def test_own_features(sphere):
    surface = Surface.from_mesh(sphere, samples=50, features=np.arange(642.0)[:, None])
    torch.testing.assert_close(surface.x[:, 0], surface.sample.float())
    with pytest.raises(ValueError, match="642"):
        Surface.from_mesh(sphere, features=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="finite"):
        Surface.from_mesh(sphere, features=np.full((642, 1), np.nan))


def test_rejects_bad_settings(sphere):
    for bad in ({"radius": -1.0}, {"samples": 0}, {"features": "shot"}, {"solver": "guess"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Surface.from_mesh(sphere, **bad)


@pytest.mark.parametrize("shape", [shapes.mobius, shapes.book, shapes.bowtie, shapes.two_components])
@pytest.mark.parametrize("samples", [None, 4])
def test_broken_meshes_go_all_the_way_through(shape, samples):
    vertices, faces = shape()
    lonely = np.concatenate([vertices, [[5.0, 5.0, 5.0]]])  # a vertex without faces
    surface = Surface.from_mesh(Mesh(lonely, faces), radius=0.3, samples=samples, features="hks")
    assert all(torch.isfinite(value).all() for value in surface.to_dict().values())
    assert surface.interpolate(torch.ones(surface.num_nodes)).shape == (len(lonely),)


def test_point_cloud():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(800, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    surface = Surface.from_points(3 * points, radius=0.15)
    assert surface.num_nodes == 800
    size = 1 / np.sqrt(4 * np.pi)  # radius of a sphere of unit area
    q, p = surface.edge_index.numpy()
    true = size * np.arccos(np.clip((points[p] * points[q]).sum(1), -1, 1))
    apart = p != q
    assert np.abs(surface.log.abs().numpy()[apart] / true[apart] - 1).mean() < 0.06


def test_fields_of_data_follow_the_samples():
    vertices, faces = shapes.icosphere(2)
    count = len(vertices)
    data = Data(
        pos=torch.from_numpy(vertices), face=torch.from_numpy(faces.T), edge_index=torch.zeros(2, 5).long(),
        y=torch.arange(count), x=torch.arange(2.0 * count).reshape(count, 2), name="ball",
    )  # fmt: skip
    surface = ToSurface(radius=0.4, samples=50)(data)
    assert surface.edge_index.shape[1] == len(surface.log)
    assert torch.equal(surface.y, surface.sample)
    assert torch.equal(surface.x[:, 0], 2.0 * surface.sample)
    assert surface.name == "ball"


# ---- The coarse level ----


@pytest.mark.parametrize("samples", [None, 60])
def test_the_coarse_level_is_a_quarter_of_the_samples_with_twice_the_radius(samples: int | None) -> None:
    """Its discs are those of a surface that has no other samples."""
    mesh = Mesh(*shapes.torus(around=20, across=9))
    surface = Surface.from_mesh(mesh, radius=0.2, samples=samples, operators=("discs", "coarse"))
    count = (samples or 180) // 4
    alone = Surface.from_mesh(mesh, radius=0.4, samples=count)
    assert torch.equal(surface.sample[surface.coarse_sample], alone.sample)
    level = coarse_level(surface)
    for name in ("edge_index", "log", "transport", "weight", "radius"):
        torch.testing.assert_close(level[name], alone[name])


def test_every_sample_knows_the_nearest_coarse_one() -> None:
    mesh = Mesh(*shapes.icosphere(2))
    surface = Surface.from_mesh(mesh, radius=0.3, operators=("discs", "coarse"))
    discs = geodesic_discs(mesh.normalised(), 2.0, surface.coarse_sample.numpy())
    count = len(surface.coarse_sample)
    distance = discs.distance.reshape(count, -1)  # every disc is the whole sphere
    parent = surface.coarse_parent.numpy()
    samples = np.arange(len(parent))
    assert (distance[parent, samples] <= distance.min(0) + 0.01).all()  # fronts are good to half a percent
    carry = np.exp(1j * discs.transport.reshape(count, -1)[parent, samples])
    away = distance[parent, samples] > 0
    np.testing.assert_allclose(surface.coarse_carry.numpy()[away], carry[away], atol=1e-5)
    assert (surface.coarse_parent[surface.coarse_sample] == torch.arange(count)).all()
    torch.testing.assert_close(surface.coarse_carry[surface.coarse_sample], torch.ones(count) + 0j)


def test_a_batch_counts_on_through_every_index() -> None:
    surfaces = [
        Surface.from_mesh(Mesh(*shapes.torus(around=n, across=8)), radius=0.3, operators=("discs", "coarse"))
        for n in (10, 13)
    ]
    batch = Batch.from_data_list(surfaces)
    fine, coarse = 80, 20
    one, two = surfaces
    assert torch.equal(batch.coarse_sample, torch.cat([one.coarse_sample, two.coarse_sample + fine]))
    assert torch.equal(batch.coarse_parent, torch.cat([one.coarse_parent, two.coarse_parent + coarse]))
    assert torch.equal(
        batch.coarse_edge_index, torch.cat([one.coarse_edge_index, two.coarse_edge_index + coarse], 1)
    )
    level = coarse_level(batch)
    assert level.num_graphs == 2
    assert level.batch.tolist() == [0] * 20 + [1] * 26
