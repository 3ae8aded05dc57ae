"""The cache: never a wrong surface, whatever happens to its files."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import shapes
from fieldconv._io import atomic_path
from fieldconv.geometry import Mesh
from fieldconv.surface import Surface, SurfaceCache, SurfaceSettings
from fieldconv.surface.cache import entry_name, size_limit, write_entry


@pytest.fixture
def cache(tmp_path) -> SurfaceCache:
    return SurfaceCache(tmp_path / "cache")


@pytest.fixture(scope="module")
def mesh() -> Mesh:
    return Mesh(*shapes.icosphere(2))


SETTINGS = SurfaceSettings(radius=0.3, samples=50)


def same(one: Surface, other: Surface) -> bool:
    return set(one.keys()) == set(other.keys()) and all(torch.equal(one[k], other[k]) for k in one.keys())  # noqa: SIM118


def written(cache: SurfaceCache) -> dict[str, int]:
    """Return the entries that are there, each as a number that changes when it is written again."""
    return {path.name: path.stat().st_ino for path in Path(cache.folder).rglob("*.surface")}


def test_reads_back_what_it_built(cache, mesh):
    built, before = cache.surface(mesh, SETTINGS), written(cache)
    assert same(cache.surface(mesh, SETTINGS), built)
    assert written(cache) == before


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


@pytest.mark.parametrize("changes", [{}, {"closed": True}, {"smoothing": 0.05}, {"sampling_seed": 3}])
def test_settings_that_change_nothing_need_no_other_surface(cache, mesh, changes):
    """As many samples as there are vertices, or more, are all of them; enough vertices are not subdivided."""
    mesh = Mesh(mesh.vertices, mesh.faces[:-6])  # with a hole
    count = len(mesh.vertices)
    plain = SurfaceSettings(radius=0.3, features="xyz+hks", operators=("discs", "coarse"), **changes)
    built = cache.surface(mesh, plain)
    for samples, min_vertices in ((count, None), (2 * count, count), (None, count), (None, 1)):
        same_in_effect = replace(plain, samples=samples, min_vertices=min_vertices)
        assert cache.has(mesh, same_in_effect)
        assert same(Surface.from_mesh(mesh, **same_in_effect.to_dict()), built)
    for samples, min_vertices in ((count - 1, None), (None, count + 1), (count, count + 1)):
        assert not cache.has(mesh, replace(plain, samples=samples, min_vertices=min_vertices))


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


def test_a_failed_write_leaves_nothing_and_is_said_once(cache, mesh, monkeypatch, capsys):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    expected = Surface.from_mesh(mesh, **SETTINGS.to_dict())
    monkeypatch.setattr("os.replace", full)
    assert same(cache.surface(mesh, SETTINGS), expected)
    assert same(SurfaceCache(cache.folder).surface(mesh, SETTINGS), expected)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "No space left" in said
    assert cache.folder in said
    assert "No space left" in cache.problem
    assert cache.size() == (0, 0)
    assert not [p for p in Path(cache.folder).rglob("*") if p.is_file()]


@pytest.mark.parametrize("kind", ["file", "read-only", "file in it"])
def test_a_folder_that_cannot_be_written_to(tmp_path, mesh, kind, capsys):
    folder = tmp_path / "kept"
    if kind == "file":
        folder.write_text("mine", encoding="utf-8")
    else:
        folder.mkdir()
    cache = SurfaceCache(folder)
    if kind == "read-only":
        folder.chmod(0o500)
        if os.access(folder, os.W_OK):
            pytest.skip("nothing is read-only for this user")
    if kind == "file in it":
        for path in cache.paths(mesh, SETTINGS).values():
            path.parent.write_text("mine", encoding="utf-8")
    assert same(cache.surface(mesh, SETTINGS), Surface.from_mesh(mesh, **SETTINGS.to_dict()))
    assert not cache.has(mesh, SETTINGS)
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to itself"])
def test_what_is_no_file_in_the_place_of_an_entry(cache, mesh, kind, capsys):
    built = cache.surface(mesh, SETTINGS)
    path = cache.paths(mesh, SETTINGS)["discs"]
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("no pipes in folders here")
        os.mkfifo(path)
    else:
        path.symlink_to(path)
    assert cache.size()[0] == 1
    assert same(cache.surface(mesh, SETTINGS), built)
    assert cache.has(mesh, SETTINGS) is (kind != "folder")  # a folder is somebody's: it stays
    assert bool(capsys.readouterr().err) is (kind == "folder")
    cache.clear()
    assert path.exists() is (kind == "folder")


def test_what_was_not_used_for_longest_is_removed_first(tmp_path):
    entry = {"values": torch.rand(1000, generator=torch.manual_seed(0))}
    one = len(write_entry(entry_name(["size of", 0]), entry))
    cache = SurfaceCache(tmp_path, limit=int(10.5 * one))
    keys = [["key", number] for number in range(10)]
    for age, key in enumerate(keys):
        cache.save(key, entry)
        os.utime(cache.path(key), (1e9 + age, 1e9 + age))
    assert cache.load(keys[0]) is not None  # used again: now it is the youngest
    cache.save(["one", "more"], entry)
    left = [cache.load(key) is not None for key in [*keys, ["one", "more"]]]
    assert left == [True, False, False, *[True] * 8]
    assert cache.size()[1] <= 0.9 * cache.limit


def test_the_limit_counts_what_other_processes_wrote(tmp_path):
    entry = {"values": torch.rand(1000, generator=torch.manual_seed(0))}
    one = len(write_entry(entry_name(["size of", 0]), entry))
    mine, other = SurfaceCache(tmp_path, limit=20 * one), SurfaceCache(tmp_path, limit=10**12)
    mine.save(["first"], entry)
    for number in range(40):
        other.save(["other", number], entry)
    for number in range(3):
        mine.save(["mine", number], entry)
    assert mine.size()[1] <= mine.limit


def test_sizes_in_words(monkeypatch):
    meant = {"1.5 kb": 1500, "2M": 2_000_000, "7": 7, "1 GB": 10**9, "none": None}
    assert {text: size_limit(text) for text in meant} == meant
    for wrong in ("lots", "-1GB", "1e400", "9" * 400):
        with pytest.raises(ValueError, match="FIELDCONV_CACHE_LIMIT is"):
            size_limit(wrong)
    monkeypatch.setenv("FIELDCONV_CACHE_LIMIT", "3GB")
    assert SurfaceCache("x").limit == 3 * 10**9


def test_clearing_leaves_what_is_being_written(cache, mesh):
    """A writer that was interrupted by `clear` used to fail when it renamed its file."""
    path = cache.paths(mesh, SETTINGS)["discs"]
    stale = path.parent / ".left-00000000.part.surface"
    path.parent.mkdir(parents=True)
    stale.write_bytes(b"of a killed process")
    os.utime(stale, (1e9, 1e9))
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"half")
        cache.clear()
        assert temporary.read_bytes() == b"half"
    assert path.read_bytes() == b"half"
    assert not stale.exists()


@pytest.mark.parametrize("address", ["memory://surfaces-of-a-test", "file"])
def test_an_object_store_does_as_well(tmp_path, mesh, address):
    cache = SurfaceCache(f"file://{tmp_path / 'kept'}" if address == "file" else address)
    built = cache.surface(mesh, SETTINGS)
    again = SurfaceCache(cache.folder)
    assert again.has(mesh, SETTINGS)
    assert same(again.surface(mesh, SETTINGS), built)
    assert again.size()[0] == 2
    assert again.clear()[0] == 2
    assert not cache.has(mesh, SETTINGS)


def test_a_store_that_does_not_exist_is_said_and_left(mesh, capsys):
    cache = SurfaceCache("no-such-protocol://bucket")
    cache.surface(mesh, SETTINGS)
    assert capsys.readouterr().err.count("\n") == 1


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


def test_a_part_is_computed_once_whatever_else_a_surface_carries(cache, mesh):
    cache.surface(mesh, SETTINGS)
    here = written(cache)

    def new(settings: SurfaceSettings) -> set[str]:
        """Make a surface; return the parts that were not there, where all others are as they were."""
        before, surface = dict(here), cache.surface(mesh, settings)
        here.update(written(cache))
        assert before.items() <= here.items()
        assert ("edge_index" in surface) == ("discs" in settings.operators)
        return {name for name, path in cache.paths(mesh, settings).items() if path.name not in before}

    assert new(SurfaceSettings(radius=0.3, samples=50, features="hks+normals")) == {"hks"}
    described = cache.surface(mesh, SurfaceSettings(radius=0.3, samples=50, features="hks+normals"))
    assert described.x.shape == (50, 19)
    spectral = SurfaceSettings(radius=0.7, samples=50, operators=("eigenbasis",), eigenfunctions=20)
    assert new(spectral) == {"eigenbasis"}  # no discs for those who need none
    assert new(replace(spectral, radius=0.1)) == set()  # the radius is no matter for it


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
    assert cache.save(key, entry)
    assert torch.equal(cache.load(key)["values"], entry["values"])
    assert not cache.save(["another key"], entry)


def test_files_have_the_permissions_of_any_new_file(tmp_path):
    from fieldconv._io import atomic_path

    with atomic_path(tmp_path / "here.txt") as temporary:
        temporary.unlink()  # as safetensors does
        temporary.touch(0o600)
    (tmp_path / "there.txt").write_text("1", encoding="utf-8")
    assert (tmp_path / "here.txt").stat().st_mode == (tmp_path / "there.txt").stat().st_mode


def test_distances_on_templates_are_counted_and_cleared(tmp_path):
    from fieldconv.tasks.correspondence import template_distances

    template_distances(Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]), tmp_path)
    assert SurfaceCache(tmp_path).size()[0] == 1
    SurfaceCache(tmp_path).clear()
    assert SurfaceCache(tmp_path).size() == (0, 0)
