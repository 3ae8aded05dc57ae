# ruff: noqa: E402
"""Damaged files, odd meshes, kills, full disks: what a user may meet, many times over, from a seed.

    python tests/torture.py [--minutes 20] [--only NAME …] [--times 1.0] [--first 0] [--workers 2]

A case is a campaign and a seed. It passes if the command did its work, is refused if it ended in one line
that says why not, and fails if it did anything else: a traceback, a crash, a wrong result, a file half
written, or far too long. What fails is listed with the line that repeats it. Ends with 1 if anything failed.

Commands run by `fieldconv.cli.main` in a process of their own, which is forked after everything was imported;
every fifth of those that are killed is begun in a new interpreter, as a shell would.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import queue
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

import shapes
from fieldconv.cli import main as command_line
from fieldconv.datasets import Packer, open_dataset
from fieldconv.geometry import Mesh, MeshError, load_shape
from fieldconv.labels import read_labels
from fieldconv.networks import FCNet
from fieldconv.surface import SurfaceCache, SurfaceSettings
from fieldconv.training import RunSettings, load, predict
from odd_meshes import odd_mesh

SECONDS = 5.0  # of processor time, for a file
PATIENCE = 600.0  # seconds after which a command is stopped; the machine may be busy
LONGEST = 4200  # letters that a refusal may have
PASSED, REFUSED, SKIPPED = "passed", "refused", "skipped"

Draw = np.random.Generator


class Failure(Exception):
    """Something that must not happen."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    said: str
    errors: str


# ---- What there is to damage ----


class Workshop:
    """A folder with sound things: meshes, labels, a trained network, a cache. Made once for each process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data, self.run = folder / "data", folder / "run"
        self.data.mkdir(parents=True)
        os.environ["FIELDCONV_CACHE"] = str(folder / "cache")
        for number in range(4):
            mesh, labels = blob(number)
            mesh.save(self.data / f"blob-{number}.obj")
            (self.data / f"blob-{number}.txt").write_text("\n".join(map(str, labels)), encoding="utf-8")
        self.files = list(self._sound_files())
        self.labels = list(self._sound_labels())
        self.cache = SurfaceCache(folder / "surfaces")
        self.settings = SurfaceSettings(radius=0.3, samples=40)
        self.mesh = blob(0)[0]
        self.surface = self.cache.surface(self.mesh, self.settings)
        self.packed = folder / "packed"
        packer = Packer(self.packed)
        packer.add("train", open_dataset(self.data, "segmentation", progress=False))
        packer.finish()
        self.train(self.run)
        self.network = load(self.run)

    def train(self, out: Path, *more: str) -> None:
        """Train a tiny network, in a process of its own."""
        ended = run_forked(self.training(out, *more), self.folder)
        if ended.code:
            raise RuntimeError(f"training ended with {ended.code}: {ended.errors}")

    def training(self, out: Path, *more: str) -> list[str]:
        sizes = ["--samples", "60", "--width", "8", "--blocks", "1", "--epochs", "3"]
        sizes += ["--threads", "1"]  # sums, and so the last bits of weights, depend on the number of threads
        return ["train", "segmentation", "--data", str(self.data), "--preset", "tiny", "--out", str(out),
                *sizes, *more]  # fmt: skip

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """An empty folder."""
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="case-") as name:
            yield Path(name)

    def _sound_files(self) -> Iterator[tuple[str, bytes]]:
        mesh = Mesh(*shapes.icosphere(1), vertex_data={"label": np.arange(42)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for suffix in (".obj", ".off", ".ply", ".stl", ".glb"):
                path = self.folder / f"sound{suffix}"
                mesh.save(path)
                yield suffix, path.read_bytes()
        rows = [" ".join(f"{x:.6f}" for x in vertex) for vertex in mesh.vertices]
        corners = ["3 " + " ".join(map(str, face)) for face in mesh.faces]
        header = (
            f"ply\nformat ascii 1.0\nelement vertex {len(rows)}\nproperty float x\nproperty float y\n"
            f"property float z\nelement face {len(corners)}\nproperty list uchar int vertex_indices\n"
            "end_header\n"
        )
        yield ".ply", (header + "\n".join(rows + corners) + "\n").encode()
        yield ".xyz", ("\n".join(rows) + "\n").encode()

    def _sound_labels(self) -> Iterator[tuple[str, bytes]]:
        labels = np.arange(60) % 3
        yield ".txt", "\n".join(map(str, labels)).encode()
        yield (
            ".csv",
            ("vertex,label\n" + "\n".join(f"{i},{label}" for i, label in enumerate(labels))).encode(),
        )
        buffer = io.BytesIO()
        np.save(buffer, labels)
        yield ".npy", buffer.getvalue()


def blob(seed: int) -> tuple[Mesh, np.ndarray[Any, Any]]:
    """An irregular ball, and three parts of it."""
    vertices, faces = shapes.icosphere(2)
    draw = np.random.default_rng(seed)
    part = np.digitize(vertices[:, 2], [-0.3, 0.6])
    moved = vertices * (1 + 0.3 * draw.uniform(-1, 1, 3)) + 0.1 * np.sin(3 * vertices[:, [1, 2, 0]] + seed)
    return Mesh(moved + 0.01 * draw.normal(size=moved.shape), faces), part


def damaged(draw: Draw, content: bytes) -> bytes:
    """The same bytes after one to four mishaps."""
    for _ in range(int(draw.integers(1, 5))):
        size = len(content)
        a, b = sorted(int(place) for place in draw.integers(0, size + 1, 2))
        kind = draw.integers(8)
        if kind == 0:
            content = content[:a]
        elif kind == 1:
            content = content[:a] + content[b:]
        elif kind == 2:
            content = content[:b] + content[a : a + 2000] + content[b:]
        elif kind == 3:
            content = content[:a] + draw.bytes(int(draw.integers(1, 64))) + content[a:]
        elif kind == 4 and size:
            flipped = bytearray(content)
            for place in draw.integers(0, size, int(draw.integers(1, 20))):
                flipped[place] ^= 1 << int(draw.integers(8))
            content = bytes(flipped)
        elif kind == 5:
            words = content.split(b" ")
            words[int(draw.integers(len(words)))] = ODD_WORDS[draw.integers(len(ODD_WORDS))]
            content = b" ".join(words)
        elif kind == 6:
            lines = content.split(b"\n")
            draw.shuffle(lines)
            content = b"\n".join(lines)
        else:
            place = int(draw.integers(0, max(size - 8, 1)))
            content = content[:place] + ODD_NUMBERS[draw.integers(len(ODD_NUMBERS))] + content[place + 8 :]
    return content


ODD_WORDS = [b"nan", b"inf", b"-1", b"1e400", b"99999999999999999999", b"", b"\0", b"0", b"-0.0", b"{", b'"',
             b"9" * 500, b"\xff\xfe", b"4294967295", b"[]", b"null", b"true"]  # fmt: skip
ODD_NUMBERS = [np.array(value).tobytes() for value in (np.nan, np.inf, -1, 2**31, 2**62, 1e300, 0)]


def odd_value(draw: Draw) -> Any:
    """A value that a settings file may hold, and should not."""
    values = [None, -1, 0, 10**9, 10**400, 1e308, float("nan"), float("inf"), "", "x" * 10**5, [], {},
              [[]] * 50, {"a": {}}, True, 0.5, "10", "\0", "é", [None] * 1000]  # fmt: skip
    return values[draw.integers(len(values))]


# ---- How commands are run ----


def run_here(arguments: list[str]) -> Ended:
    """A command in this process."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = command_line(arguments)
    return Ended(code, out.getvalue(), errors.getvalue())


def begin_forked(arguments: list[str], said: Path, limit: int | None = None) -> int:
    """Start a command in a process of its own; return its number. Files may have ``limit`` bytes."""
    process = os.fork()
    if process:
        return process
    code = 99
    try:
        file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        # Under pytest they write elsewhere.
        sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8") for number in (1, 2))
        if limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        code = command_line(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        with contextlib.suppress(OSError):
            traceback.print_exc()
            sys.stderr.flush()
    finally:
        os._exit(code)


def begin_fresh(arguments: list[str], said: Path) -> int:
    """Start a command as a shell would, in a new interpreter; return its number."""
    words = [sys.executable, "-m", "fieldconv.cli", *arguments]
    opened = (os.POSIX_SPAWN_OPEN, 1, said, os.O_WRONLY | os.O_TRUNC, 0)
    return os.posix_spawn(
        sys.executable, words, os.environ, file_actions=[opened, (os.POSIX_SPAWN_DUP2, 1, 2)]
    )


def run_forked(
    arguments: list[str],
    folder: Path,
    *,
    kill_after: float | None = None,
    limit: int | None = None,
    fresh: bool = False,
) -> Ended:
    """A command in a process of its own, killed after so many seconds unless it has ended before."""
    handle, name = tempfile.mkstemp(dir=folder, suffix=".said")
    os.close(handle)
    process = begin_fresh(arguments, Path(name)) if fresh else begin_forked(arguments, Path(name), limit)
    deadline = time.monotonic() + (PATIENCE if kill_after is None else kill_after)
    status = None
    while status is None:
        ended, found = os.waitpid(process, os.WNOHANG)
        if ended:
            status = found
        elif time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
            status = os.waitpid(process, 0)[1]
            if kill_after is None:
                raise Failure(f"{' '.join(arguments)}: not done after {PATIENCE:.0f} s")
        else:
            time.sleep(0.002)
    said = Path(name).read_text(encoding="utf-8", errors="replace")
    Path(name).unlink()
    return Ended(os.waitstatus_to_exitcode(status), said, said)


def judged(ended: Ended) -> str:
    """Whether a command did its work, or said in one line why not."""
    if "Traceback" in ended.errors or ended.code not in (0, 1, 2):
        raise Failure(f"ended with {ended.code}: {ended.errors[-800:]}")
    if ended.code == 0:
        return PASSED
    refusals = [line for line in ended.errors.splitlines() if line.startswith("fieldconv: ")]
    if not refusals or max(map(len, refusals)) > LONGEST:
        raise Failure(f"refused without one clear line: {ended.errors[-800:]!r}")
    return REFUSED


def said_in_a_line(error: Exception) -> str:
    text = str(error)
    if not text or "\n" in text or len(text) > LONGEST:
        raise Failure(f"not one clear line: {type(error).__name__}: {text[:300]!r}")
    return REFUSED


@contextlib.contextmanager
def soon() -> Iterator[None]:
    began = time.process_time()
    yield
    if time.process_time() - began > SECONDS:
        raise Failure(f"took {time.process_time() - began:.1f} s of processor time")


# ---- The campaigns: each takes a seed, and returns how it ended ----


def odd_meshes(seed: int, shop: Workshop) -> str:
    """A network looks at an odd mesh."""
    vertices, faces, _ = odd_mesh(seed)
    with soon():
        try:
            mesh = Mesh(vertices, faces)
            found = predict(shop.network, mesh, descriptors=False)
        except ValueError as error:  # MeshError is one
            return said_in_a_line(error)
    if found.labels is None or found.labels.shape != (len(vertices),) or found.labels.max() >= 3:
        raise Failure("labels of another shape")
    if found.scores is None or not np.isfinite(found.scores).all():
        raise Failure("probabilities that are no numbers")
    return PASSED


def mesh_files(seed: int, shop: Workshop) -> str:
    """A damaged mesh file is read, described and repaired."""
    draw = np.random.default_rng(seed)
    suffix, content = shop.files[seed % len(shop.files)]
    path = shop.folder / f"damaged-{os.getpid()}{suffix}"
    path.write_bytes(damaged(draw, content))
    with soon():
        try:
            mesh = load_shape(path)
            str(mesh.check())
            repaired = mesh.repair().mesh
            repaired.normalised()
        except MeshError as error:
            return said_in_a_line(error)
    return PASSED


def label_files(seed: int, shop: Workshop) -> str:
    """A damaged file of labels."""
    draw = np.random.default_rng(seed)
    suffix, content = shop.labels[seed % len(shop.labels)]
    path = shop.folder / f"labels-{os.getpid()}{suffix}"
    path.write_bytes(damaged(draw, content))
    with soon():
        try:
            labels = np.asarray(read_labels(path, {}))
        except (ValueError, OSError) as error:
            return said_in_a_line(error)
    if labels.dtype.kind not in "iu" or labels.min(initial=0) < -1:
        raise Failure(f"labels {labels.dtype} from {labels.min()}")
    return PASSED


def checkpoints(seed: int, shop: Workshop) -> str:
    """`predict` with a run of which one file is damaged."""
    draw = np.random.default_rng(seed)
    with shop.scratch() as folder:
        run = Path(shutil.copytree(shop.run, folder / "run"))
        files = [path for path in sorted(run.rglob("*")) if path.suffix in (".json", ".safetensors", ".yaml")]
        chosen = (
            run / ("config.json", "model.safetensors")[seed % 2]
            if seed % 4
            else files[draw.integers(len(files))]
        )
        damage_file(draw, chosen)
        with soon():
            return judged(
                run_here(["predict", str(run), str(shop.data / "blob-1.obj"), "--out", str(folder / "o")])
            )


def damage_file(draw: np.random.Generator, path: Path) -> None:
    """Damage a file: a value of a JSON file, or some of its bytes."""
    if path.suffix == ".json" and draw.random() < 0.5:
        content = json.loads(path.read_text(encoding="utf-8"))
        put_somewhere(draw, content)
        path.write_text(json.dumps(content), encoding="utf-8")
    else:
        path.write_bytes(damaged(draw, path.read_bytes()))


def put_somewhere(draw: Draw, content: Any) -> None:
    """Put an odd value at any place of nested lists and dictionaries."""
    while isinstance(content, dict | list) and content:
        keys = list(content) if isinstance(content, dict) else list(range(len(content)))
        key = keys[draw.integers(len(keys))]
        below = content[key]
        if isinstance(below, dict | list) and below and draw.random() < 0.8:
            content = below
        else:
            content[key] = odd_value(draw)
            return


def settings(seed: int, shop: Workshop) -> str:
    """A damaged settings file of a run."""
    draw = np.random.default_rng(seed)
    path = shop.folder / f"settings-{os.getpid()}.yaml"
    sound = shop.run / "run.yaml"
    if draw.random() < 0.5:
        import yaml

        content = yaml.safe_load(sound.read_text(encoding="utf-8"))
        put_somewhere(draw, content)
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
    else:
        path.write_bytes(damaged(draw, sound.read_bytes()))
    with soon():
        try:
            RunSettings.assemble("segmentation", file=path)
        except (ValueError, OSError) as error:
            return said_in_a_line(error)
    return PASSED


def caches(seed: int, shop: Workshop) -> str:
    """Entries of the cache are damaged, exchanged, replaced; the surface must be the same."""
    draw = np.random.default_rng(seed)
    with shop.scratch() as folder:
        shutil.copytree(shop.cache.folder, folder / "cache")
        entries = sorted((folder / "cache").rglob("*.surface"))
        chosen = entries[draw.integers(len(entries))]
        kind = draw.integers(5)
        if kind == 0:
            chosen.write_bytes(entries[draw.integers(len(entries))].read_bytes())
        elif kind == 1:
            chosen.unlink()
            chosen.mkdir()
        elif kind == 2:
            chosen.unlink()
            os.mkfifo(chosen)
        else:
            chosen.write_bytes(damaged(draw, chosen.read_bytes()))
        with contextlib.redirect_stderr(io.StringIO()):
            found = SurfaceCache(folder / "cache").surface(shop.mesh, shop.settings)
    if not all(torch.equal(found[name], shop.surface[name]) for name in shop.surface.keys()):  # noqa: SIM118
        raise Failure("another surface")
    return PASSED


def packs(seed: int, shop: Workshop) -> str:
    """A file of a packed dataset is damaged; what can still be read must be what was packed."""
    draw = np.random.default_rng(seed)
    with shop.scratch() as folder:
        shutil.copytree(shop.packed, folder / "packed")
        files = sorted((folder / "packed").iterdir())
        chosen = files[draw.integers(len(files))]
        damage_file(draw, chosen)
        sound = open_dataset(shop.packed, cache=False, progress=False)
        with soon():
            try:
                found = open_dataset(folder / "packed", cache=False, progress=False)
                pairs = [(found[index], sound[sound.names.index(found.names[index])])
                         for index in range(len(found)) if found.names[index] in sound.names]  # fmt: skip
            except ValueError as error:
                return said_in_a_line(error)
        if found.pre_transform.settings == sound.pre_transform.settings and not all(
            torch.equal(one.vertex_y, other.vertex_y) and torch.equal(one.log, other.log)
            for one, other in pairs
        ):
            raise Failure("another surface")
    return PASSED


def kills(seed: int, shop: Workshop) -> str:
    """A command is killed, several times, then run to its end: the result is that of a run without kills."""
    draw = np.random.default_rng(seed)
    what = ("train", "predict", "precompute")[seed % 3]
    fresh = seed % 5 == 0
    with shop.scratch() as folder:
        out = folder / "out"
        if what == "train":
            again, expected = shop.training(out), shop.run
        elif what == "predict":
            again, expected = ["predict", str(shop.run), str(shop.data), "--out", str(out)], None
        else:
            again = ["precompute", str(shop.data), "--radius", "0.3", "--cache", str(out), "--workers", "1"]
            expected = None
        wanted, longest = int(draw.integers(1, 4)), (6.0 if fresh else 1.0)
        while wanted:
            began = what == "train" and (out / "state.safetensors").exists()
            arguments = [*again, *(["--resume"] if began else [])]
            ended = run_forked(arguments, folder, kill_after=draw.exponential(longest), fresh=fresh)
            if ended.code == -signal.SIGKILL:
                wanted -= 1
            else:  # it ended before: it must be killed sooner, and begin anew
                longest /= 2
                shutil.rmtree(out, ignore_errors=True)
        began = what == "train" and (out / "state.safetensors").exists()
        ended = run_forked([*again, *(["--resume"] if began else [])], folder, fresh=fresh)
        if ended.code:
            raise Failure(f"{what} after a kill: {ended.errors[-800:]}")
        if expected is not None:
            one, other = load_file(expected / "model.safetensors"), load_file(out / "model.safetensors")
            if not all(torch.equal(one[name], other[name]) for name in one):
                raise Failure("other weights than without a kill")
            if (out / "metrics.csv").exists() and len(
                (out / "metrics.csv").read_text(encoding="utf-8").splitlines()
            ) != 4:
                raise Failure("metrics are not complete")
        if what == "predict" and len(list(out.glob("blob-*.npy"))) < 4:
            raise Failure("results are missing")
        if what == "precompute":
            cache = SurfaceCache(out)
            if not all(
                cache.has(load_shape(path), SurfaceSettings(radius=0.3)) for path in shop.data.glob("*.obj")
            ):
                raise Failure("not everything was prepared")
    return PASSED


def full_disks(seed: int, shop: Workshop) -> str:
    """Files cannot grow beyond a size, or, where it may be mounted, the disk is full."""
    draw = np.random.default_rng(seed)
    with shop.scratch() as folder:
        out, limit = folder / "out", int(10 ** draw.uniform(3.6, 5))  # what is said is in a file, too
        mounted = seed % 2 == 0 and mount(folder, f"size={max(limit // 1024, 8)}k")
        try:
            arguments = (
                shop.training(out)
                if seed % 3
                else ["predict", str(shop.run), str(shop.data), "--out", str(out), "--also", "obj"]
            )
            ended = run_forked(arguments, shop.folder, limit=None if mounted else limit)
        finally:
            if mounted:
                subprocess.run(["umount", str(folder)], check=True)
    return judged(ended)


def read_only(seed: int, shop: Workshop) -> str:
    """The folder for results, or the cache, cannot be written to."""
    with shop.scratch() as folder:
        if not mount(folder, "size=1m,ro"):
            return SKIPPED
        try:
            arguments = [
                shop.training(folder / "out"),
                ["predict", str(shop.run), str(shop.data), "--out", str(folder)],
                ["precompute", str(shop.data), "--cache", str(folder), "--workers", "1", "--radius", "0.31"],
            ][seed % 3]
            ended = run_forked(arguments, shop.folder)
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    if ended.code == 0:
        raise Failure("said to be done, with nowhere to write")
    return judged(ended) if seed % 3 != 2 else REFUSED


def mount(folder: Path, options: str) -> bool:
    """Mount a small file system there, if that is allowed."""
    if not shutil.which("mount"):
        return False
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def two_writers(seed: int, shop: Workshop) -> str:
    """Two processes at once: one of two trainings in a folder is refused; two precomputes share a cache."""
    with shop.scratch() as folder:
        out = folder / "out"
        if seed % 2:
            arguments = shop.training(out)
        else:
            arguments = [
                "precompute",
                str(shop.data),
                "--radius",
                "0.3",
                "--cache",
                str(out),
                "--workers",
                "1",
            ]
        processes = [begin_forked(arguments, folder / f"{number}.said") for number in range(2)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
        said = [(folder / f"{number}.said").read_text(encoding="utf-8") for number in range(2)]
        if any("Traceback" in text for text in said):
            raise Failure("\n".join(said)[-800:])
        if seed % 2:
            one, other = load_file(shop.run / "model.safetensors"), load_file(out / "model.safetensors")
            if not all(torch.equal(one[name], other[name]) for name in one):
                raise Failure("the two disturbed each other")
            return PASSED if 0 in codes else REFUSED
        if codes != [0, 0]:
            raise Failure("\n".join(said)[-800:])
    return PASSED


def renumbered(seed: int, shop: Workshop) -> str:
    """Other numbers, other order of faces, some of them turned over: the same labels."""
    draw = np.random.default_rng(seed)
    made: list[Callable[[], tuple[Any, Any]]] = [
        lambda: shapes.torus(1.0, 0.4, 20, 10),
        lambda: shapes.regular_cylinder(16, 9),
        lambda: shapes.grid(15, 12),
        lambda: shapes.box(5),
        lambda: (blob(seed)[0].vertices, blob(seed)[0].faces),
    ]
    vertices, faces = made[seed % len(made)]()
    expected = predict(shop.network, Mesh(vertices, faces), descriptors=False).labels
    moved, mixed, place = shapes.renumbered(vertices, faces, draw)
    turned = draw.random(len(mixed)) < draw.uniform(0, 0.4)
    mesh = Mesh(moved, np.where(turned[:, None], mixed[:, ::-1], mixed))
    found = predict(shop.network, mesh, descriptors=False).labels
    return _same(expected, None if found is None else found[place])


def moved(seed: int, shop: Workshop) -> str:
    """Moved and turned in space, a network that sees no positions says the same."""
    draw = np.random.default_rng(seed)
    mesh, _ = blob(seed)
    torch.manual_seed(seed)
    network = FCNet.for_task(
        "segmentation", classes=3, preset="tiny", features="hks", samples=None, radius=0.3
    )
    turn = np.linalg.qr(draw.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    other = Mesh(mesh.vertices @ turn.T * 10 ** draw.uniform(-3, 3) + draw.normal(size=3), mesh.faces)
    one, two = (predict(network, shape, descriptors=False).labels for shape in (mesh, other))
    return _same(one, two)


def _same(one: Any, other: Any) -> str:
    share = float((one == other).mean())
    if share < 0.999:
        raise Failure(f"only {share:.1%} of the labels are the same")
    return PASSED


@dataclass(frozen=True)
class Campaign:
    """What is tried, how often in a whole run, and how often in the ordinary tests."""

    try_one: Callable[[int, Workshop], str]
    count: int
    few: int


CAMPAIGNS = {
    "odd-meshes": Campaign(odd_meshes, 3000, 12),
    "mesh-files": Campaign(mesh_files, 6500, 150),
    "label-files": Campaign(label_files, 1500, 60),
    "checkpoints": Campaign(checkpoints, 400, 12),
    "settings": Campaign(settings, 400, 40),
    "caches": Campaign(caches, 300, 12),
    "packs": Campaign(packs, 200, 10),
    "renumbered": Campaign(renumbered, 100, 5),
    "moved": Campaign(moved, 50, 2),
    "kills": Campaign(kills, 100, 2),
    "full-disks": Campaign(full_disks, 30, 3),
    "read-only": Campaign(read_only, 6, 3),
    "two-writers": Campaign(two_writers, 10, 2),
}


# ---- A whole run ----


def attempt(name: str, seed: int, shop: Workshop) -> tuple[str, str]:
    """How a case ended, and what was wrong if it failed."""
    try:
        return CAMPAIGNS[name].try_one(seed, shop), ""
    except Exception as error:
        return "failed", "".join(traceback.format_exception_only(error)).strip()[-1500:]


def work(cases: list[tuple[str, int]], results: Connection) -> None:
    """Try one case after the other, in a process that may crash."""
    warnings.simplefilter("ignore")
    # Commands are forked from here. GNU OpenMP would wait for ever in them for the threads of this process.
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        shop = Workshop(Path(folder) / "shop")
        results.send(None)
        for name, seed in cases:
            results.send((name, seed, *attempt(name, seed, shop)))


def tortured(cases: list[tuple[str, int]], deadline: float) -> Iterator[tuple[str, int, str, str]]:
    """Try all cases until the deadline; a process that crashes or is silent for too long is begun anew."""
    rest = list(cases)
    while rest and time.monotonic() < deadline:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(target=work, args=(rest, theirs))
        process.start()
        theirs.close()
        patience = 3600.0  # it may have to compile, on a busy machine
        wrong = ""
        while rest and time.monotonic() < deadline:
            if not ours.poll(patience):
                wrong = f"not done after {patience:.0f} s"
                break
            try:
                result = ours.recv()
            except EOFError:
                process.join()
                wrong = f"the process ended with {process.exitcode}"
                break
            patience = 4 * PATIENCE  # a case may have several commands
            if result is not None:
                rest.pop(0)
                yield result
        process.kill()
        process.join()
        if wrong:
            yield (*rest.pop(0), "failed", wrong)


def by_several(
    cases: list[tuple[str, int]], deadline: float, workers: int
) -> Iterator[tuple[str, int, str, str]]:
    """The same by several processes at once, each with every so manieth case."""
    results: queue.SimpleQueue[tuple[str, int, str, str] | None] = queue.SimpleQueue()

    def lane(number: int) -> None:
        for result in tortured(cases[number::workers], deadline):
            results.put(result)
        results.put(None)

    for number in range(workers):
        threading.Thread(target=lane, args=(number,), daemon=True).start()
    while workers:
        result = results.get()
        if result is None:
            workers -= 1
        else:
            yield result


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--only", nargs="*", choices=list(CAMPAIGNS), default=list(CAMPAIGNS))
    parser.add_argument("--times", type=float, default=1.0, help="as many cases")
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    parser.add_argument("--count", type=int, help="so many cases of each")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes at once")
    options = parser.parse_args()
    counts = {
        name: options.count or max(1, round(options.times * CAMPAIGNS[name].count)) for name in options.only
    }
    # All kinds in turn, so that a run that ends early has tried something of each.
    cases = sorted(
        ((name, options.first + number) for name, count in counts.items() for number in range(count)),
        key=lambda case: (case[1] - options.first) / counts[case[0]],
    )
    began = time.monotonic()
    tallies = {name: Counter[str]() for name in counts}
    failed = []
    for name, seed, how, wrong in by_several(cases, began + 60 * options.minutes, options.workers):
        tallies[name][how] += 1
        if how == "failed":
            failed.append((name, seed, wrong))
            print(
                f"{name} {seed}: {wrong}\n  python tests/torture.py --only {name} --first {seed} --count 1",
                flush=True,
            )
        done = sum(sum(tally.values()) for tally in tallies.values())
        if done % 500 == 0:
            print(
                f"{done:,} of {len(cases):,}, {len(failed)} failed, {time.monotonic() - began:.0f} s",
                flush=True,
            )
    print(f"{'':14}{'planned':>9}{'tried':>9}{'passed':>9}{'refused':>9}{'skipped':>9}{'failed':>9}")
    for name, tally in tallies.items():
        numbers = [
            counts[name],
            sum(tally.values()),
            *(tally[how] for how in (PASSED, REFUSED, SKIPPED, "failed")),
        ]
        print(f"{name:14}" + "".join(f"{number:9,}" for number in numbers))
    print(f"{len(failed)} failed, in {(time.monotonic() - began) / 60:.1f} minutes")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
