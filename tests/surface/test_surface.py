"""Surface: its contract, batching, and the way back to the mesh."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader
from torch_geometric.data import Batch

import shapes
from fieldconv.geometry import Mesh, geodesic_discs, tangent_frames
from fieldconv.geometry.geodesic.charts import frame_vertices
from fieldconv.networks.rivals.shared.levels import coarse_level
from fieldconv.surface import Part, Surface, register_operator
from fieldconv.surface import batch as surface_batch
from fieldconv.surface.views import select


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
    # Of equally long paths, which a sphere has, another one may be taken.
    for found, full in (
        (surface.log.numpy(), expected[chosen]),
        (surface.transport.numpy(), np.exp(1j * discs.transport[chosen])),
    ):
        np.testing.assert_allclose(found, full, atol=3e-3)
        assert (np.abs(found - full) < 1e-6).mean() > 0.95


def across(surface):
    return torch.linalg.cross(surface.normal, surface.frame)


def in_frames(surface, vectors):
    """(n,) complex: the tangential part of vectors in space, (n, 3), in the tangent frames."""
    return torch.complex((vectors * surface.frame).sum(1), (vectors * across(surface)).sum(1))


@pytest.mark.parametrize("samples", [None, 60])
def test_discs_of_a_plane_are_plain_algebra(samples):
    """log_q p is the step from q to p, transport keeps vectors, weights are shares of the ball around p."""
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    vertices, faces = shapes.plane(200)
    surface = Surface.from_mesh(Mesh(vertices @ turn.T, faces), radius=0.25, samples=samples)
    q, p = surface.edge_index
    distance = torch.cdist(surface.pos, surface.pos)
    assert set(zip(q.tolist(), p.tolist(), strict=True)) == set(
        map(tuple, (distance <= 0.25).nonzero().tolist())
    )
    step = surface.pos[p] - surface.pos[q]
    seen = torch.complex((step * surface.frame[q]).sum(1), (step * across(surface)[q]).sum(1))
    torch.testing.assert_close(surface.log, seen, atol=1e-6, rtol=1e-5)
    # Any vector of the plane, in the frames of q and of p.
    arrow = in_frames(surface, torch.from_numpy(turn[:, 0] + 2 * turn[:, 1]).float())
    torch.testing.assert_close(surface.transport * arrow[q], arrow[p], atol=1e-5, rtol=1e-5)
    for k in range(surface.num_nodes):
        senders = q[p == k]
        torch.testing.assert_close(
            surface.weight[p == k], surface.area[senders] / surface.area[senders].sum()
        )
    assert surface.area.std() > 0.1 * surface.area.mean()  # so that it matters whose ball it is


def test_discs_of_a_cylinder_are_those_of_the_plane_it_was_rolled_from():
    mesh = Mesh(*shapes.cylinder())
    chart, around = shapes.cylinder_chart()
    size = mesh.area**-0.5
    surface = Surface.from_mesh(mesh, radius=0.15)
    step = chart[:, None] - chart[None]
    step[..., 0] -= around * np.round(step[..., 0] / around)
    step = size * (step[..., 0] + 1j * step[..., 1])
    edge = -step[np.arange(len(chart)), frame_vertices(mesh)]  # from a vertex along its frame
    frame = edge / abs(edge)
    q, p = surface.edge_index.numpy()
    np.testing.assert_allclose(surface.log.numpy(), step[p, q] / frame[q], atol=1e-6)
    np.testing.assert_allclose(surface.transport.numpy(), frame[q] / frame[p], atol=1e-5)


def test_discs_of_a_sphere_are_great_circles(sphere):
    """Angles and vectors of the smooth sphere, within what triangles allow."""
    surface = Surface.from_mesh(sphere, radius=0.2)
    q, p = surface.edge_index
    apart = q != p
    q, p = q[apart], p[apart]
    size = 1 / np.sqrt(4 * np.pi)
    one, other = (torch.from_numpy(sphere.vertices).float()[k] for k in (q, p))
    angle = torch.linalg.cross(one, other).norm(dim=1).atan2((one * other).sum(1))
    forward = torch.nn.functional.normalize(other - (one * other).sum(1, keepdim=True) * one, dim=1)

    def seen(k, vectors):
        return torch.complex((vectors * surface.frame[k]).sum(1), (vectors * across(surface)[k]).sum(1))

    expected = size * angle * seen(q, forward)
    assert (surface.log[apart] - expected).abs().max() < 0.03 * 0.2
    # Along a great circle its direction is carried to its direction, and what is left of it to what is left.
    arrived = torch.nn.functional.normalize((one * other).sum(1, keepdim=True) * other - one, dim=1)
    left = torch.linalg.cross(one, forward), torch.linalg.cross(other, arrived)
    for there, here in ((forward, arrived), left):
        carried = surface.transport[apart] * seen(q, there)
        assert (carried - seen(p, here)).abs().max() < 0.05


def test_samples_of_a_plane_own_what_is_nearest():
    """Area of every vertex goes to the nearest sample, from which it also reads first."""
    mesh = Mesh(*shapes.plane(400))
    surface = Surface.from_mesh(mesh, samples=40)
    distance = np.linalg.norm(mesh.vertices[:, None] - mesh.vertices[surface.sample][None], axis=2)
    nearest = distance.argmin(1)
    clear = np.diff(np.partition(distance, 1, axis=1)[:, :2], axis=1)[:, 0] > 1e-9
    assert (surface.vertex_sample[:, 0].numpy() == nearest)[clear].all()
    area = np.bincount(nearest, mesh.vertex_areas, minlength=40)
    np.testing.assert_allclose(surface.area, area, rtol=1e-4)
    assert np.array_equal(np.sort(surface.sample), surface.sample.numpy())
    np.testing.assert_allclose(surface.pos, mesh.normalised().vertices[surface.sample], atol=1e-6)


def test_interpolates_linear_functions_and_constant_vectors_on_a_plane():
    """Where samples surround a vertex; everywhere, a constant stays what it is."""
    mesh = Mesh(*shapes.plane(400))
    surface = Surface.from_mesh(mesh, samples=80)
    frames, normals = tangent_frames(mesh)
    arrow = np.array([0.6, -0.8, 0])
    at_vertices = frames @ arrow + 1j * (np.cross(normals, frames) @ arrow)
    given = torch.from_numpy(at_vertices[surface.sample]).to(torch.complex64)
    np.testing.assert_allclose(surface.interpolate(given), at_vertices, atol=1e-5)
    both = torch.stack([given, 2j * given], 1)
    np.testing.assert_allclose(
        surface.interpolate(both), np.stack([at_vertices, 2j * at_vertices], 1), atol=1e-5
    )
    inner = (np.abs(mesh.vertices[:, :2] - 0.5) < 0.3).all(1)
    height = surface.interpolate(surface.pos @ torch.tensor([1.0, 2.0, 0.0])).numpy()
    expected = (mesh.normalised().vertices @ [1.0, 2.0, 0.0])[inner]
    assert np.abs(height[inner] - expected).mean() < 0.01


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
    batch = surface_batch(members)
    assert batch.num_nodes == sum(s.num_nodes for s in members)
    assert batch.radius.tolist() == pytest.approx([0.2, 0.3, 0.25])
    values = torch.randn(batch.num_nodes)
    parts = values.split([s.num_nodes for s in members])
    together = batch.interpolate(values)
    torch.testing.assert_close(
        together, torch.cat([s.interpolate(v) for s, v in zip(members, parts, strict=True)])
    )
    for one, back in zip(members, batch.split(), strict=True):
        assert all(torch.equal(one[key], back[key]) for key in one)
    assert (batch.batch[batch.edge_index[0]] == batch.batch[batch.edge_index[1]]).all()
    assert sum(1 for _ in DataLoader(members, batch_size=2, collate_fn=surface_batch)) == 2


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


def test_fields_are_attributes_and_items(sphere):
    surface = Surface.from_mesh(sphere, radius=0.2, samples=50)
    before = surface.keys()
    assert surface["pos"] is surface.pos
    assert (surface.y, surface.batch, "y" in surface) == (None, None, False)
    surface.y, surface["own"] = torch.arange(50), "a word"
    assert list(surface) == [*before, "y", "own"]
    assert (surface.own, surface.num_graphs, surface.split()) == ("a word", 1, [surface])
    with pytest.raises(AttributeError, match=r"has no eigenvalues; it has pos, .*, own"):
        surface.eigenvalues  # noqa: B018
    with pytest.raises(KeyError, match="eigenvalues"):
        surface["eigenvalues"]
    del surface["own"]
    surface.y = None
    assert surface.keys() == before
    assert repr(surface) == f"Surface(50 samples of 642 vertices, {surface.num_edges:,} edges)"


def test_copies(sphere):
    surface = Surface.from_mesh(sphere, radius=0.2, samples=50)
    shallow, deep, pickled = copy.copy(surface), surface.clone(), pickle.loads(pickle.dumps(surface))  # noqa: S301
    shallow.x = surface.x + 1
    assert torch.equal(surface.x, surface.pos)
    assert shallow.log is surface.log
    assert deep.log is not surface.log
    assert all(torch.equal(deep[name], value) for name, value in surface.to_dict().items())
    assert all(torch.equal(pickled[name], value) for name, value in surface.to_dict().items())
    assert shallow.to("meta") is shallow
    assert (shallow.log.device.type, surface.log.device.type) == ("meta", "cpu")


def test_a_batch_knows_row_numbers_in_a_process_that_knows_no_operators(tmp_path):
    """A worker that spawns has not imported what registered the operators of the surfaces it joins."""
    part = Part("patches", (), lambda _: {"patch": torch.ones(5, 2), "patch_of": torch.arange(12) % 5},
                indices={"patch_of": "patch"})  # fmt: skip
    register_operator(part)
    mesh = Mesh(*shapes.icosphere(0))
    surfaces = [Surface.from_mesh(mesh, operators=("discs", "patches")) for _ in range(2)]
    (tmp_path / "surfaces").write_bytes(pickle.dumps(surfaces))
    code = f"""
import pickle
from pathlib import Path
from fieldconv.surface import batch
joined = batch(pickle.loads(Path({str(tmp_path / "surfaces")!r}).read_bytes()))
print((joined.patch_of[12:] - joined.patch_of[:12]).unique().tolist(), joined[1].patch_of.max().item())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.stdout.split("\n")[0] == "[5] 4", done.stderr


def test_what_a_batch_cannot_join(sphere):
    one, other = (Surface.from_mesh(sphere, radius=0.2, samples=50) for _ in range(2))
    one.y = torch.zeros(50)
    with pytest.raises(ValueError, match="surface 1 of the batch has no y"):
        surface_batch([one, other])
    with pytest.raises(ValueError, match="at least one"):
        surface_batch([])


def test_batches_of_parts_and_of_batches(sphere):
    one, other = (Surface.from_mesh(sphere, radius=0.2, samples=n) for n in (50, 60))
    both = surface_batch([one, other])
    assert surface_batch([both, one]).batch.bincount().tolist() == [50, 60, 50]
    shown = surface_batch([select(one, None), select(other, None)])  # no way back to the mesh
    assert torch.equal(shown.sample, torch.cat([one.sample, other.sample]))
    assert torch.equal(shown.edge_index, both.edge_index)
    theirs = Batch.from_data_list([select(one, None).to_data(), select(other, None).to_data()])
    assert torch.equal(theirs.sample, shown.sample)
    fewer = select(both, ["x", "edge_index"])
    assert (fewer.num_graphs, fewer.keys(), fewer[1].keys()) == (
        2,
        ["edge_index", "x", "batch", "ptr"],
        ["edge_index", "x"],
    )


def test_a_batch_joins_whatever_tasks_attach(sphere):
    one, other = (Surface.from_mesh(sphere, radius=0.2, samples=n) for n in (50, 60))
    for number, surface in enumerate((one, other)):
        surface.name, surface.label, surface.scale = f"{number}.obj", number, torch.tensor(0.5)
    both = surface_batch([one, other])
    assert both.name == ["0.obj", "1.obj"]
    assert both.label.tolist() == [0, 1]
    assert both.scale.tolist() == [0.5, 0.5]
    assert both.ptr.tolist() == [0, 50, 110]
    assert (both[1].name, both[1].label.item()) == ("1.obj", 1)
    assert repr(both).startswith("SurfaceBatch(2 surfaces, 110 samples of 1,284 vertices, ")


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
        torch.testing.assert_close(getattr(level, name), alone[name])


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
    batch = surface_batch(surfaces)
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


def test_eigenfunctions_are_orthonormal_in_the_mass(sphere):
    surface = Surface.from_mesh(sphere, operators=("eigenbasis",), eigenfunctions=20)
    assert surface.eigenvalues.shape == (1, 20)
    gram = surface.eigenfunctions.T @ (surface.mass[:, None] * surface.eigenfunctions)
    torch.testing.assert_close(gram, torch.eye(20), atol=1e-5, rtol=0)


def test_meshes_of_any_kind_have_the_same_number_of_eigenfunctions():
    kinds = [shapes.cube(), shapes.two_components(), shapes.icosphere(2)]
    operators = ("eigenbasis", "eigengradients")
    members = [Surface.from_mesh(Mesh(*kind), operators=operators, eigenfunctions=20) for kind in kinds]
    batch = surface_batch(members)
    assert batch.eigenvalues.shape == (3, 20)
    assert batch.eigenfunctions.shape == batch.eigengradients.shape == (batch.num_nodes, 20)
    assert (members[0].eigenfunctions[:, 8:] == 0).all()


def test_lists_of_edges_that_operators_add_are_batched_turned_and_renumbered(sphere):
    from fieldconv.testing import renumber, turn_frames

    surface = Surface.from_mesh(sphere, operators=("eigengradients",), eigenfunctions=4)
    draw = torch.Generator().manual_seed(0)
    surface.own_index = torch.randint(642, (2, 50), generator=draw)
    surface.own_length = torch.rand(50, generator=draw)
    surface.own_arrow = torch.randn(50, dtype=torch.complex64, generator=draw)
    batch = surface_batch([surface, surface])
    assert torch.equal(batch.own_index, torch.cat([surface.own_index, surface.own_index + 642], 1))
    assert torch.equal(batch[1].own_index, surface.own_index)

    def in_space(vectors, at, seen):
        across = torch.linalg.cross(seen.normal, seen.frame)
        return vectors.real[..., None] * seen.frame[at] + vectors.imag[..., None] * across[at]

    turned = turn_frames(surface, torch.rand(642, generator=draw) * 6)
    assert not torch.allclose(turned.frame, surface.frame)
    for name, at in (("own_arrow", surface.own_index[1]), ("eigengradients", torch.arange(642)[:, None])):
        torch.testing.assert_close(
            in_space(turned[name], at, turned), in_space(surface[name], at, surface), atol=1e-5, rtol=1e-4
        )

    def edges(seen, names):
        ends = [tuple(pair) for pair in names[seen.own_index].T.tolist()]
        return sorted(zip(ends, seen.own_length.tolist(), seen.own_arrow.tolist(), strict=True), key=str)

    order = torch.randperm(642, generator=draw)
    assert edges(renumber(surface, order), order) == edges(surface, torch.arange(642))
    assert torch.equal(renumber(surface, order).eigengradients, surface.eigengradients[order])
