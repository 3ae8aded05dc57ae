"""Preparing meshes on several machines: arrays of jobs, and a Dask cluster that loses a worker."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import shapes
from fieldconv.cli import main
from fieldconv.commands.precompute import shard_of
from fieldconv.geometry import Mesh
from fieldconv.surface import SurfaceCache

MESHES = 24


@pytest.fixture
def folder(tmp_path) -> Path:
    """Spheres of different sizes: each has entries of its own."""
    vertices, faces = shapes.icosphere(2)
    stretch = np.random.default_rng(0).uniform(0.5, 2, (MESHES, 3))
    for number in range(MESHES):
        (tmp_path / "meshes").mkdir(exist_ok=True)
        Mesh(vertices * stretch[number], faces).save(tmp_path / "meshes" / f"{number:02}.ply")
    return tmp_path / "meshes"


def test_shards_are_all_meshes_once(folder, tmp_path, capsys):
    paths = [Path(str(number)) for number in range(23)]
    for count in (1, 2, 7, 23, 40):
        parts = [shard_of(paths, f"{number + 1}/{count}") for number in range(count)]
        assert sorted(path for part in parts for path in part) == sorted(paths)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    for wrong in ("0/4", "5/4", "1", "a/b", "1/0", "-1/3", "1/2/3", "9" * 500):
        with pytest.raises(ValueError, match="shard is"):
            shard_of(paths, wrong)
    options = ["--radius", "0.3", "--workers", "1", "--cache", str(tmp_path / "kept")]
    assert main(["precompute", str(folder), "--shard", "2/12", *options]) == 0
    assert capsys.readouterr().out.startswith("2 prepared, 0 were there")
    assert main(["precompute", str(folder), "--shard", "5/3", *options]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_cache_that_cannot_be_written_to_is_a_failure(folder, tmp_path, capfd):
    (tmp_path / "kept").write_text("a file", encoding="utf-8")
    options = ["--radius", "0.3", "--workers", "1", "--cache", str(tmp_path / "kept"), "--shard", "1/24"]
    assert main(["precompute", str(folder), *options]) == 1
    output = capfd.readouterr()
    assert output.out == ""  # nothing was prepared in vain
    assert "cannot be written to" in output.err
    assert output.err.count("\n") == 1


def test_no_scheduler_is_one_line(folder, capsys):
    pytest.importorskip("distributed")
    assert main(["precompute", str(folder), "--dask", "nonsense://nowhere"]) == 1
    assert "no Dask scheduler answers" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
def test_a_worker_is_killed_and_nothing_is_lost_or_done_twice(folder, tmp_path, capsys):
    distributed = pytest.importorskip("distributed")
    kept = SurfaceCache(tmp_path / "kept")
    written: dict[str, int] = {}
    twice, stop = [], threading.Event()

    def watch() -> None:
        while not stop.is_set():
            for entry in kept.entries():
                inode = (Path(kept.folder) / entry.name).stat().st_ino
                if written.setdefault(entry.name, inode) != inode:
                    twice.append(entry.name)
            time.sleep(0.02)

    def kill(cluster) -> None:
        while len(written) < 6:
            time.sleep(0.02)
        next(iter(cluster.workers.values())).process.process.kill()

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
    ) as cluster:
        threads = [threading.Thread(target=watch), threading.Thread(target=kill, args=(cluster,))]
        for thread in threads:
            thread.start()
        options = ["--radius", "0.3", "--cache", kept.folder, "--dask", cluster.scheduler_address]
        assert main(["precompute", str(folder), *options]) == 0
        stop.set()
        for thread in threads:
            thread.join()
    made, there = (int(word.split()[0]) for word in capsys.readouterr().out.split(",")[:2])
    assert made + there == MESHES
    assert there <= 1  # its worker was killed between writing it and saying so
    assert kept.size()[0] == 2 * MESHES
    assert not twice
