"""The cache: never a wrong surface, whatever happens to its files."""

import threading

import numpy as np
import pytest
import torch

import shapes
from fieldconv.geometry.mesh import Mesh
from fieldconv.surface import Surface, parts
from fieldconv.surface.cache import SurfaceCache
from fieldconv.surface.settings import SurfaceSettings


@pytest.fixture
def cache(tmp_path) -> SurfaceCache:
    return SurfaceCache(tmp_path / "cache")


@pytest.fixture(scope="module")
def mesh() -> Mesh:
    return Mesh(*shapes.icosphere(2))


SETTINGS = SurfaceSettings(radius=0.3, samples=50)


def same(one: Surface, other: Surface) -> bool:
    return set(one.keys()) == set(other.keys()) and all(torch.equal(one[k], other[k]) for k in one.keys())  # noqa: SIM118


def test_reads_back_what_it_built(cache, mesh, monkeypatch):
    built = cache.surface(mesh, SETTINGS)
    monkeypatch.setattr("fieldconv.surface.cache.make_parts", lambda *a: pytest.fail("built twice"))
    assert same(cache.surface(mesh, SETTINGS), built)


def test_every_setting_and_the_geometry_count(cache, mesh):
    cache.surface(mesh, SETTINGS)
    others = [
        SurfaceSettings(radius=0.31, samples=50),
        SurfaceSettings(radius=0.3, samples=51),
        SurfaceSettings(radius=0.3, samples=50, features="hks"),
        SurfaceSettings(radius=0.3, samples=50, solver="heat"),
    ]
    assert not any(cache.has(mesh, other) for other in others)
    basis = SurfaceSettings(samples=50, operators=("eigenbasis", "eigengradients"), eigenfunctions=10)
    assert cache.surface(mesh, basis).eigenfunctions.shape == (50, 10)
    wider = SurfaceSettings(samples=50, operators=("eigenbasis", "eigengradients"), eigenfunctions=12)
    assert cache.surface(mesh, wider).eigenfunctions.shape == (50, 12)
    assert cache.surface(mesh, wider).eigengradients.shape == (50, 12)
    moved = mesh.vertices.copy()
    moved[5, 0] = np.nextafter(moved[5, 0], 9)
    assert not cache.has(Mesh(moved, mesh.faces), SETTINGS)
    assert not cache.has(Mesh(mesh.vertices, mesh.faces[:, [1, 2, 0]]), SETTINGS)
    assert cache.has(mesh, SETTINGS)


@pytest.mark.parametrize("part", ["samples", "discs"])
@pytest.mark.parametrize("damage", ["empty", "truncated", "one bit", "foreign"])
def test_a_damaged_entry_is_built_again(cache, mesh, damage, part):
    built = cache.surface(mesh, SETTINGS)
    path = cache.paths(mesh, SETTINGS)[part]
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    path.write_bytes(
        {"empty": b"", "truncated": whole[:-1], "one bit": bytes(flipped), "foreign": b"x" * 99}[damage]
    )
    assert not cache.has(mesh, SETTINGS)
    assert same(cache.surface(mesh, SETTINGS), built)
    assert path.read_bytes() == whole


def test_a_failed_write_leaves_nothing(cache, mesh, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space"):
        cache.surface(mesh, SETTINGS)
    assert cache.size() == (0, 0)
    assert not [p for p in cache.folder.rglob("*") if p.is_file()]


def test_several_at_once(cache, mesh):
    results: list[Surface] = []
    threads = [
        threading.Thread(target=lambda: results.append(cache.surface(mesh, SETTINGS))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(result, results[0]) for result in results)
    assert cache.size()[0] == 2


def test_size_and_clear(cache, mesh):
    cache.surface(mesh, SETTINGS)
    count, size = cache.size()
    assert count == 2  # samples and discs
    assert size == sum(path.stat().st_size for path in cache.paths(mesh, SETTINGS).values())
    assert cache.clear() == (2, size)
    assert cache.size() == (0, 0)


def test_a_part_is_computed_once_whatever_else_a_surface_carries(cache, mesh, monkeypatch):
    cache.surface(mesh, SETTINGS)
    made = []
    real = parts.make_parts

    def counted(preparation, missing):
        made.extend(part.name for part in missing)
        return real(preparation, missing)

    monkeypatch.setattr("fieldconv.surface.cache.make_parts", counted)
    described = cache.surface(mesh, SurfaceSettings(radius=0.3, samples=50, features="hks+normals"))
    assert made == ["hks"]
    assert described.x.shape == (50, 19)
    spectral = SurfaceSettings(radius=0.7, samples=50, operators=("eigenbasis",), eigenfunctions=20)
    assert "edge_index" not in cache.surface(mesh, spectral)  # no discs for those who need none
    assert made == ["hks", "eigenbasis"]
    cache.surface(mesh, SurfaceSettings(radius=0.1, samples=50, operators=("eigenbasis",), eigenfunctions=20))
    assert made == ["hks", "eigenbasis"]  # the radius is no matter for it


def test_a_sound_entry_under_another_name_is_not_used(cache, mesh):
    wide = SurfaceSettings(radius=0.4, samples=50)
    cache.surface(mesh, SETTINGS)
    expected = cache.surface(mesh, wide)
    cache.paths(mesh, wide)["discs"].write_bytes(cache.paths(mesh, SETTINGS)["discs"].read_bytes())
    assert not cache.has(mesh, wide)
    assert same(cache.surface(mesh, wide), expected)


def test_an_entry_that_is_being_read_elsewhere_stays(cache, monkeypatch):
    """Windows replaces no file that another process has open; the entry there is the same one."""
    key, entry = ["a key"], {"values": torch.arange(3)}

    def refused(*_):
        raise PermissionError(13, "Access is denied")

    cache.save(key, entry)
    monkeypatch.setattr("os.replace", refused)
    cache.save(key, entry)
    assert torch.equal(cache.load(key)["values"], entry["values"])
    with pytest.raises(PermissionError):
        cache.save(["another key"], entry)


def test_files_have_the_permissions_of_any_new_file(tmp_path):
    from fieldconv._io import atomic_path

    with atomic_path(tmp_path / "here.txt") as temporary:
        temporary.unlink()  # as safetensors does
        temporary.touch(0o600)
    (tmp_path / "there.txt").write_text("1", encoding="utf-8")
    assert (tmp_path / "here.txt").stat().st_mode == (tmp_path / "there.txt").stat().st_mode


def test_distances_on_templates_are_counted_and_cleared(tmp_path):
    from fieldconv.tasks.base.distances import template_distances

    template_distances(Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]), tmp_path)
    assert SurfaceCache(tmp_path).size()[0] == 1
    SurfaceCache(tmp_path).clear()
    assert SurfaceCache(tmp_path).size() == (0, 0)
