"""Datasets as a user of torch sees them."""

import copy
import os
import shutil

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, random_split

from fieldconv.datasets import DatasetError, FolderDataset, Matches, SurfaceDataset, collate, open_dataset
from fieldconv.datasets.copies import Origin, damaged_truth, read_damaged
from fieldconv.datasets.matches import find_matches, near_samples
from fieldconv.datasets.prepared import fingerprint
from fieldconv.geometry import Mesh, nearest_samples
from fieldconv.geometry.damage import damage
from fieldconv.labels import Sample
from fieldconv.surface import Surface, SurfaceCache, ToSurface
from handmade import strip, write_lines, write_mesh
from shapes import icosphere


def sphere(subdivisions=1):
    vertices, faces = icosphere(subdivisions)
    return vertices.tolist(), faces.tolist()


@pytest.fixture
def spheres(tmp_path):
    """Five spheres of 42 vertices, labelled by hemisphere; the first vertex of each is unlabelled."""
    for i in range(5):
        vertices, faces = sphere()
        write_mesh(tmp_path / "data" / f"{i}.obj", (vertices, faces))
        labels = [3 if z > 0 else 7 for _, _, z in vertices]
        write_lines(tmp_path / "data" / f"{i}.txt", [-1, *labels[1:]])
    return tmp_path


def make(spheres, **options):
    options = {
        "split": "all",
        "cache": spheres / "cache",
        "pre_transform": ToSurface(0.5, samples=20),
    } | options
    return FolderDataset(spheres / "data", "segmentation", **options)


def stored(folder):
    """The files of a cache, by name; a file that is written again is another one."""
    return {path: path.stat().st_ino for path in folder.rglob("*.surface")}


def spoil_meshes(folder):
    """Make the mesh files of a folder unreadable, without a change of their size and time."""
    for path in folder.glob("*.obj"):
        about = path.stat()
        path.write_bytes(b"?" * about.st_size)
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def test_labels_at_samples_and_at_vertices(spheres):
    data = make(spheres)
    assert (len(data), data.num_classes, data.class_names, data.task) == (5, 2, ("3", "7"), "segmentation")
    surface = data[0]
    vertices = np.array(sphere()[0])
    expected = np.where(vertices[:, 2] > 0, 0, 1)
    expected[0] = -1
    assert surface.vertex_y.tolist() == expected.tolist()
    assert surface.y.tolist() == expected[surface.sample.numpy()].tolist()
    torch.testing.assert_close(surface.vertex_area.sum(), torch.tensor(1.0))
    assert surface.name == "0.obj"
    assert data.names == [f"{i}.obj" for i in range(5)]
    assert len(data.meshes(1)[0].vertices) == 42


def test_indexing_is_that_of_pyg(spheres):
    data = make(spheres)
    assert [s.name for s in data] == data.names
    assert data[1:4].names == ["1.obj", "2.obj", "3.obj"]
    assert data[[3, 0]].names == ["3.obj", "0.obj"]
    assert data[torch.tensor([4, 4])].names == ["4.obj", "4.obj"]
    assert data[np.array([True, False, False, False, True])].names == ["0.obj", "4.obj"]
    assert data[torch.tensor([False, True, False, False, False])].names == ["1.obj"]
    assert data[1:4][-1].name == "3.obj"
    assert data[torch.tensor(2)].name == data[np.int64(2)].name == "2.obj"
    assert sorted(data.shuffle(1).names) == data.names
    assert data.shuffle(1).names == data.shuffle(1).names
    assert [len(part) for part in random_split(data, [3, 2])] == [3, 2]
    with pytest.raises(IndexError):
        data[5]
    with pytest.raises(IndexError, match="mask"):
        data[[True, False]]


def test_transforms_see_a_copy(spheres):
    def spoil(surface):
        surface.x = surface.x + 1
        surface.extra = 1
        return surface

    data = make(spheres, transform=spoil)
    first, again = data[0], data[0]
    assert torch.equal(first.x, first.pos + 1)
    assert torch.equal(again.x, first.x)


def test_batches_and_plain_loaders(spheres):
    data = make(spheres)
    batch = next(iter(DataLoader(data, batch_size=3, collate_fn=collate)))
    assert (batch.num_graphs, batch.y.shape, batch.vertex_y.shape) == (3, (60,), (126,))
    assert torch.equal(batch.vertex_y[batch.sample], batch.y)
    (only,) = next(iter(DataLoader(data, collate_fn=list)))
    assert only.name == "0.obj"
    worked = list(DataLoader(data, batch_size=1, num_workers=1, collate_fn=collate))
    assert torch.equal(worked[2].pos, data[2].pos)


def test_the_second_time_no_mesh_is_read_and_no_surface_prepared(spheres):
    first = make(spheres)
    before = stored(spheres / "cache")
    spoil_meshes(spheres / "data")
    second = make(spheres)
    assert stored(spheres / "cache") == before
    for one, two in zip(first, second, strict=True):
        assert one.to_dict().keys() == two.to_dict().keys()
        for key, value in one.to_dict().items():
            assert torch.equal(value, two[key]) if isinstance(value, torch.Tensor) else value == two[key]


def test_precomputed_surfaces_are_used(spheres):
    cache = SurfaceCache(spheres / "cache")
    for path in (spheres / "data").glob("*.obj"):
        cache.surface(Mesh.load(path), ToSurface(0.5, samples=20).settings)
    before = stored(spheres / "cache")
    assert len(make(spheres)) == 5
    assert before.items() <= stored(spheres / "cache").items()
    assert len(stored(spheres / "cache")) == len(before) + 5  # one for each target


def test_changed_files_and_settings_are_noticed(spheres):
    make(spheres)
    write_lines(spheres / "data" / "2.txt", [7] * 42)
    assert make(spheres)[2].y.eq(1).all()
    assert make(spheres, pre_transform=ToSurface(0.5, samples=10))[2].num_nodes == 10


def test_surfaces_that_do_not_fit_in_memory_are_read_again(spheres):
    whole, lean = make(spheres), make(spheres, memory=0)
    uncached = make(spheres, memory=0, cache=False)
    spoil_meshes(spheres / "data")
    for _ in range(2):
        assert torch.equal(lean[3].log, whole[3].log)
    assert lean[3].name == "3.obj"
    shutil.rmtree(spheres / "cache")
    assert torch.equal(uncached[3].log, whole[3].log)  # what is not on disk stays in memory
    with pytest.raises(DatasetError, match=r"3\.obj"):
        lean[3]


def test_ones_own_preparation(spheres):
    def coarse(mesh):
        return Surface.from_mesh(mesh, radius=0.4, samples=8)

    data = make(spheres, pre_transform=coarse)
    assert data[0].num_nodes == 8
    assert not (spheres / "cache").exists()


def test_the_papers_settings_are_the_default(spheres):
    data = make(spheres, pre_transform=None, cache=False)
    assert float(data[0].radius) == pytest.approx(0.2)
    assert data.pre_transform.settings.samples == 1024


def test_every_problem_is_raised_at_once(spheres):
    write_lines(spheres / "data" / "1.txt", [3] * 7)
    (spheres / "data" / "2.txt").unlink()
    (spheres / "data" / "3.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", encoding="utf-8")
    with pytest.raises(DatasetError) as raised:
        make(spheres)
    problems = raised.value.problems
    assert len(problems) == 3
    for file, problem in zip(("2.obj: no labels", "1.txt: has 7 labels", "3.obj"), problems, strict=True):
        assert file in problem
    assert str(raised.value).startswith(f"folder {spheres / 'data'}: 3 problems\n")


def test_classification_and_any_layout(tmp_path):
    for label in ("flat", "round"):
        for i in range(3):
            shape = sphere() if label == "round" else strip(4)
            write_mesh(tmp_path / label / "train" / f"{i}.obj", shape)
    options = {"cache": False, "split": "train", "pre_transform": ToSurface(0.5)}
    data = open_dataset(tmp_path, train_per_class=2, **options)
    assert (data.task, data.class_names, [int(s.y) for s in data]) == (
        "classification",
        ("flat", "round"),
        [0, 0, 1, 1],
    )
    with pytest.raises(ValueError, match="SHREC'11, which is for classification, not matching"):
        open_dataset(tmp_path, "matching", **options)


def test_correspondence(tmp_path):
    write_mesh(tmp_path / "template.obj", strip(3))
    write_mesh(tmp_path / "a.obj", strip(2))
    write_lines(tmp_path / "a.txt", [0, 1, 4, 5, -1, 7])
    data = open_dataset(tmp_path, split="all", cache=False, pre_transform=ToSurface(2.0))
    assert (data.task, data.num_classes, len(data.template.vertices)) == ("correspondence", 8, 8)
    assert data[0].y.tolist() == [0, 1, 4, 5, -1, 7]


# Matching


def naive_matches(scene, model, mesh, truth, ball):
    """Supplement C, point by point."""
    mesh = mesh.normalised()
    samples = model.sample.tolist()
    match, inside = [], []
    for i, vertex in enumerate(scene.sample.tolist()):
        if truth[vertex] < 0:
            continue
        _, distance = nearest_samples(mesh, [truth[vertex]], k=1)
        distance = distance[samples, 0]
        match.append((i, int(distance.argmin()), distance))
        inside += [(i, j) for j in range(len(samples)) if distance[j] <= ball]
    return match, inside


def test_matches_follow_the_paper():
    rng = np.random.default_rng(0)
    scene_mesh, model_mesh = Mesh(*icosphere(1)), Mesh(*icosphere(2))
    scene_mesh = Mesh(scene_mesh.vertices * 3, scene_mesh.faces)
    scene, model = Surface.from_mesh(scene_mesh, 0.3, 30), Surface.from_mesh(model_mesh, 0.3, 50)
    truth = rng.integers(-1, 162, 42)
    truth[:5] = -1
    near, near_scene = near_samples(model, model_mesh, ball=0.15), near_samples(scene, scene_mesh, ball=0.15)
    found = find_matches(scene, model, near, truth, near_scene)
    match, inside = naive_matches(scene, model, model_mesh, truth, 0.15)
    assert found.match[0].tolist() == [i for i, _, _ in match]
    for (_, best, distance), chosen in zip(match, found.match[1].tolist(), strict=True):
        assert distance[chosen] == pytest.approx(distance[best])  # the same, or as near
    assert set(map(tuple, found.ball.T.tolist())) == set(inside)
    assert found.truth.tolist() == truth[scene.sample.numpy()].tolist()


@pytest.fixture
def pairs(tmp_path):
    data = tmp_path / "data"
    sizes = {"a": 1, "b": 2}
    for name, level in sizes.items():
        write_mesh(data / f"{name}.off", sphere(level))
    big = icosphere(2)[0]
    nearest = [int(((big - v) ** 2).sum(1).argmin()) for v in icosphere(1)[0]]
    write_lines(data / "maps" / "a.b.txt", nearest)
    write_lines(data / "maps" / "b.b.txt", range(162))
    write_lines(data / "pairs.txt", ["a b", "b b"])
    return tmp_path


def test_pairs_and_their_batches(pairs):
    data = FolderDataset(
        pairs / "data", split="all", cache=pairs / "cache", pre_transform=ToSurface(0.4, samples=30)
    )
    assert (data.task, len(data), data.names) == ("matching", 2, ["a.off → b.off", "b.off → b.off"])
    scene, model, matches = data[1]
    assert torch.equal(scene.sample, model.sample)
    assert torch.equal(matches.match, torch.arange(30).expand(2, 30))  # a mesh matches itself
    assert len(data.meshes(0)) == 2
    batch = next(iter(DataLoader(data, batch_size=2, collate_fn=collate)))
    assert (batch.scene.num_graphs, batch.model.num_graphs) == (2, 2)
    one, two = data[0].matches, data[1].matches
    assert torch.equal(batch.matches.match, torch.cat([one.match, two.match + 30], dim=1))
    assert torch.equal(batch.matches.ball, torch.cat([one.ball, two.ball + 30], dim=1))
    # Matched points lie at the same place of the sphere, up to the spacing of the samples.
    s, m = batch.matches.match
    assert torch.cosine_similarity(batch.scene.pos[s], batch.model.pos[m]).min() > 0.7


def test_pairs_of_a_held_out_and_another_shape_are_left_out(pairs):
    options = {"cache": False, "pre_transform": ToSurface(0.4, samples=30)}
    data = FolderDataset(pairs / "data", split="all", **options)
    kept, held = data.hold_out(lambda names: np.array([name == "b.off" for name in names]))
    assert (kept.names, held.names) == ([], ["b.off → b.off"])
    kept, held = data.hold_out(lambda names: np.array([name == "a.off" for name in names]))
    assert (kept.names, held.names) == (["b.off → b.off"], [])


def test_matches_are_stored_too(pairs):
    options = {"split": "all", "cache": pairs / "cache", "pre_transform": ToSurface(0.4, samples=30)}
    first = FolderDataset(pairs / "data", **options)
    before = stored(pairs / "cache")
    second = FolderDataset(pairs / "data", **options)
    assert stored(pairs / "cache") == before
    assert torch.equal(first[0].matches.ball, second[0].matches.ball)
    assert isinstance(second[0].matches, Matches)


def test_settings_that_change_nothing_prepare_nothing(spheres):
    """A trained network samples dense meshes and subdivides sparse ones; these are neither."""
    before = make(spheres, pre_transform=ToSurface(0.4))
    files = stored(spheres / "cache")
    for _ in range(2):  # targets are attached anew the first time, then stored
        after = make(spheres, pre_transform=ToSurface(0.4, samples=63, min_vertices=34))
        for one, other in zip(before, after, strict=True):
            assert torch.equal(one.log, other.log)
            assert torch.equal(one.y, other.y)
        assert files.items() <= stored(spheres / "cache").items()
        assert len(stored(spheres / "cache")) == len(files) + 5
        spoil_meshes(spheres / "data")


OTHER_SAMPLES = [{"sampling_seed": 3}, {"smoothing": 0.1}, {"min_vertices": 400}, {"closed": True}]


@pytest.mark.parametrize("changes", OTHER_SAMPLES, ids=lambda changes: next(iter(changes)))
def test_stored_labels_are_for_these_samples_only(spheres, changes):
    """The same mesh, number of samples and cache, but other vertices are the samples."""
    make(spheres, pre_transform=ToSurface(0.4, samples=20))
    for surface in make(spheres, pre_transform=ToSurface(0.4, samples=20, **changes)):
        assert torch.equal(surface.y, surface.vertex_y[surface.sample])


@pytest.mark.parametrize("changes", OTHER_SAMPLES, ids=lambda changes: next(iter(changes)))
def test_stored_matches_are_for_these_samples_only(pairs, changes):
    options = {"split": "all", "cache": pairs / "cache"}
    FolderDataset(pairs / "data", pre_transform=ToSurface(0.4, samples=30), **options)
    prepared = ToSurface(0.4, samples=30, **changes)
    found = FolderDataset(pairs / "data", pre_transform=prepared, **options)
    fresh = FolderDataset(pairs / "data", pre_transform=prepared, split="all", cache=False)
    for one, other in zip(found, fresh, strict=True):
        for name, value in other.matches.to_dict().items():
            assert torch.equal(one.matches[name], value)


def test_reshaped_elements_keep_order_names_and_labels(spheres):
    data = make(spheres)[[3, 1]]
    other = data.reshaped(1)
    assert other.names == data.names
    assert other.meshes(0)[0].vertices.shape == (42, 3)
    for one, two in zip(data, other, strict=True):
        assert torch.equal(one.vertex_y, two.vertex_y)
        assert torch.equal(two.y, two.vertex_y[two.sample])
    assert not np.allclose(other.meshes(0)[0].vertices, other.meshes(1)[0].vertices)  # each its own way
    assert not np.allclose(other.meshes(0)[0].vertices, data.reshaped(2).meshes(0)[0].vertices)
    # A stored copy is used again, whichever other elements are chosen.
    before = stored(spheres / "cache")
    again = make(spheres)[[1]].reshaped(1)
    assert stored(spheres / "cache") == before
    assert torch.equal(again[0].x, other[1].x)


def test_reshaped_pairs(pairs):
    options = {"cache": False, "pre_transform": ToSurface(0.4, samples=30)}
    data = FolderDataset(pairs / "data", split="all", **options)[[1]]
    other = data.reshaped(1)
    assert other.names == ["b.off → b.off"]
    assert torch.equal(other[0].matches.match, torch.arange(30).expand(2, 30))  # still matches itself


def test_damaged_elements_keep_order_names_and_labels(spheres):
    data = make(spheres)[[3, 1]]
    other = data.damaged(1)
    assert other.names == data.names
    for number, (one, two) in enumerate(zip(data, other, strict=True)):
        # The damage that this mesh is due, and labels of the vertices it kept.
        mesh, changed = data.meshes(number)[0], other.meshes(number)[0]
        done = damage.damage_mesh(mesh, [1, (3, 1)[number]])
        assert np.array_equal(changed.vertices, done.mesh.vertices)
        assert torch.equal(two.vertex_y, one.vertex_y[torch.from_numpy(done.nearest)])
        assert torch.equal(two.y, two.vertex_y[two.sample])
    assert other.meshes(0)[0].vertices.shape != data.damaged(2).meshes(0)[0].vertices.shape
    before = stored(spheres / "cache")
    again = make(spheres)[[1]].damaged(1)
    assert stored(spheres / "cache") == before
    assert torch.equal(again[0].x, other[1].x)


@pytest.mark.parametrize(("samples", "min_vertices"), [(None, 642), (100, 100), (40, 40)])
def test_damaged_copies_are_no_sparser_than_what_predictions_are_made_on(samples, min_vertices):
    sphere = Mesh(*icosphere(3))  # 642 vertices
    labels = (sphere.vertices[:, 2] > 0).astype(np.int64)
    subdivided = 0
    for seed in range(20):
        done = damage.damage_mesh(sphere, [seed, 0])
        found = read_damaged(lambda: Sample(sphere, labels), "segmentation", seed, 0, 1.0, samples, "")
        assert len(found.mesh.vertices) >= 0.7 * min_vertices  # on a sphere, splitting stops a little early
        assert np.isclose(found.mesh.area, done.mesh.area)  # the same surface
        sparse = len(done.mesh.vertices) < 0.8 * min_vertices
        assert sparse == (len(found.mesh.vertices) > len(done.mesh.vertices))
        height = found.mesh.vertices[:, 2]
        assert (found.target == (height > 0))[abs(height) > 0.4].mean() > 0.95  # labels follow the vertices
        subdivided += sparse
    assert (subdivided > 3) == (samples is None)  # a copy never has fewer than 100 vertices


def test_truth_between_damaged_meshes_is_that_between_the_places_they_came_from():
    def identity(scene, model):
        return np.arange(len(scene.mesh.vertices))

    ball = Mesh(*icosphere(3))
    samples = []
    for direction in ([0, 0, 1.0], [0, 0, -1.0]):
        done = damage.cut(ball, np.random.default_rng(0), 0.4, direction=direction)
        samples.append(Sample(done.mesh, Origin(Sample(ball, None), done)))
    scene, model = samples
    truth = damaged_truth(identity, scene, model)
    height = scene.mesh.vertices[:, 2]
    lowest = model.mesh.vertices[:, 2].min()
    found = truth >= 0
    # Where both are there, a point is itself; well below the model's rim there is nothing.
    both = height >= lowest
    assert np.array_equal(model.mesh.vertices[truth[both]], scene.mesh.vertices[both])
    assert not found[height < lowest - 0.6].any()
    assert (height < lowest - 0.6).any()


def test_readers_of_unknown_origin_have_no_fingerprint(tmp_path):
    from functools import partial

    assert fingerprint(lambda: None) is None
    assert fingerprint(partial(print, 1)) is None
    assert fingerprint(partial(sphere, object())) is None
    assert fingerprint(partial(sphere, lambda: None)) is None
    assert fingerprint(partial(sphere, partial(sphere, 1))) != fingerprint(
        partial(sphere, partial(sphere, 2))
    )
    path = tmp_path / "a"
    path.write_text("1", encoding="utf-8")
    before = fingerprint(partial(sphere, path, 1))
    assert before == fingerprint(partial(sphere, path, 1))
    assert before != fingerprint(partial(sphere, path, 2))
    path.write_text("12", encoding="utf-8")
    assert before != fingerprint(partial(sphere, path, 1))
    one, two = Mesh(*strip(1)), Mesh(*strip(2))
    assert fingerprint(partial(sphere, one)) == fingerprint(partial(sphere, copy.copy(one)))
    assert fingerprint(partial(sphere, one)) != fingerprint(partial(sphere, two))


def test_an_empty_collection_is_an_error(tmp_path):
    from fieldconv.labels import Collection

    with pytest.raises(DatasetError, match="is empty"):
        SurfaceDataset(Collection("nothing", "classification"))


def test_named_arguments_of_a_reader_count():
    from functools import partial

    one, two = (fingerprint(partial(make, "folder", split=split)) for split in ("train", "test"))
    assert one != two


class Counted(FolderDataset):
    """How often it was made is counted."""

    made = 0

    def __init__(self, *args, **options):
        Counted.made += 1
        super().__init__(*args, **options)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[1:],
        lambda data: data.shuffle(3),
        lambda data: data.prepared_with(ToSurface(0.6, samples=10).settings),
        lambda data: data.reshaped(1),
        lambda data: data.damaged(1),
        lambda data: data.hold_out(lambda names: np.arange(len(names)) < 2)[0],
    ],
    ids=["slice", "shuffle", "prepared_with", "reshaped", "damaged", "hold_out"],
)
def test_a_dataset_made_of_another_is_of_its_class_and_opens_nothing(spheres, change, monkeypatch):
    monkeypatch.setattr(Counted, "made", 0)
    options = {"split": "all", "cache": spheres / "cache", "pre_transform": ToSurface(0.5, samples=20)}
    data = Counted(spheres / "data", "segmentation", **options)
    before = [surface.pos.clone() for surface in data]
    other = change(data)
    assert isinstance(other, Counted)
    assert Counted.made == 1
    assert (other.task, other.class_names, other.name) == (data.task, data.class_names, data.name)
    assert all(torch.equal(one, surface.pos) for one, surface in zip(before, data, strict=True))
