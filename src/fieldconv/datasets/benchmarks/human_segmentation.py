"""Composite human segmentation set (Adobe, FAUST, MIT, SCAPE to train on, SHREC'07 to test)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from fieldconv.datasets.benchmarks.benchmark import Benchmark, Published
from fieldconv.geometry.mesh.files import MESH_SUFFIXES
from fieldconv.labels.collection import Collection, Item, Sample, load_mesh, mesh_files, natural_order
from fieldconv.labels.errors import DatasetError
from fieldconv.labels.label_files import LABEL_SUFFIXES, read_integers, vertex_labels
from fieldconv.labels.splits import check_split

PARTS = ("head", "hand", "lower arm", "upper arm", "torso", "upper leg", "lower leg", "foot")


class HumanSegmentation(Benchmark):
    """The composite human segmentation set, 8 parts: segmentation.

    Reduced to 1,500 faces it is laid out as ``train/``, ``test/`` and edge labels 1…8 in ``seg/<name>.eseg``;
    labels of vertices or faces in ``.txt``, ``.seg``, ``.npy`` or ``.csv`` do as well, at any resolution.
    In full resolution it is ``meshes/{train,test}/<source>/…`` and face labels in ``segs/{train,test}/…``.
    Labels of edges and faces become labels of vertices by a vote weighted by area.
    Other parameters are those of `Benchmark`.

    Parameters
    ----------
    hold_out : sequence of str
        Sources of the training set (MIT, adobe, faust, scape) to leave out of it. They then are the test
        split, instead of the published one: bodies of a kind never seen in training.
    """

    key, title, task_name = "human_seg", "human segmentation set", "segmentation"
    hint = (
        "The set is laid out as train/, test/ and seg/<name>.eseg (1,500 faces, from MeshCNN: "
        "github.com/ranahanocka/MeshCNN, scripts/human_seg) or as meshes/ and segs/ (full resolution: "
        "github.com/Haggaim/ToricCNN)."
    )
    published = Published(
        "accuracy",
        "test bodies of SHREC'07",
        (
            ("Field convolutions (paper)", 0.929),
            ("MeshWalker", 0.927),
            ("MeshCNN", 0.923),
            ("DiffusionNet", 0.915),
            ("HSN", 0.911),
            ("SNGC", 0.910),
            ("PointNet++", 0.908),
        ),
    )

    @classmethod
    def read(cls, root: str | Path, *, split: str = "train", hold_out: Sequence[str] = ()) -> Collection:
        check_split(split)
        root = Path(root)
        problems: list[str] = []
        items: list[Item] = []
        held = {source.lower() for source in hold_out}
        sides = ("train",) if held else ("train", "test") if split == "all" else (split,)
        bodies = [body for side in sides for body in _bodies(root, side)]
        if not _is_full(root) and not (root / "seg").is_dir():
            problems.append("neither seg/ (1,500-face layout) nor meshes/ and segs/ (full-resolution layout)")
        elif not bodies:
            problems.append(f"no meshes in {'meshes/' * _is_full(root)}{sides[0]}/")
        sources = {body.source for body in bodies}
        for source in sorted(held - sources):
            problems.append(
                f"no meshes of the held-out source {source!r}; there are {', '.join(sorted(sources))}"
            )
        for path, source, candidates in bodies:
            if held and split != "all" and (source in held) != (split == "test"):
                continue
            name = path.relative_to(root).as_posix()
            labels = next((candidate for candidate in candidates if candidate.is_file()), None)
            if labels is None:
                expected = " or ".join(str(candidate.relative_to(root)) for candidate in candidates[:2])
                problems.append(f"{name}: no labels; expected {expected}")
            else:
                items.append(Item(name, partial(_read, path, labels), group=source))
        return cls.collection(root, items, problems, class_names=PARTS)

    @staticmethod
    def detect(root: Path) -> bool:
        return any((root / "seg").glob("*.eseg")) or _is_full(root)


class _Body(NamedTuple):
    """A mesh, the set it comes from, and the files that its labels may be in."""

    path: Path
    source: str
    labels: list[Path]


def _is_full(root: Path) -> bool:
    return (root / "meshes").is_dir() and (root / "segs").is_dir()


def _bodies(root: Path, side: str) -> list[_Body]:
    if not _is_full(root):
        paths = mesh_files(root / side)
        return [_Body(p, p.stem.split("_")[0].lower(), _label_files(root / "seg", p.stem)) for p in paths]
    folder = root / "meshes" / side
    paths = sorted((p for p in folder.rglob("*") if p.suffix.lower() in MESH_SUFFIXES), key=natural_order)
    return [_full_body(root, side, path.relative_to(folder)) for path in paths]


def _full_body(root: Path, side: str, inside: Path) -> _Body:
    """A full-resolution mesh, whose labels are in a file of its own or in one for a whole source."""
    source, stem = inside.parts[0], inside.stem
    short = source.lower().removesuffix("_animation")
    names = [stem, f"{short}_corrected", f"{short}_{stem}_full"]
    if len(inside.parts) > 2:  # MIT_animation/meshes_crane/meshes/mesh_0000.obj
        names.insert(1, f"{short}_{inside.parts[1].removeprefix('meshes_')}_corrected")
    folder = root / "segs" / side / short
    if not folder.is_dir():
        folder = folder.with_name(source)
    labels = [folder / f"{name}.txt" for name in names] + _label_files(folder, stem)
    return _Body(root / "meshes" / side / inside, short, labels)


def _label_files(folder: Path, stem: str) -> list[Path]:
    return [folder / f"{stem}{suffix}" for suffix in LABEL_SUFFIXES]


def _read(path: Path, label_path: Path) -> Sample:
    mesh = load_mesh(path)
    labels = read_integers(label_path)
    wrong = (labels < 1) | (labels > len(PARTS))
    if wrong.any():
        first = int(wrong.argmax())
        raise DatasetError(
            str(label_path), [f"entry {first + 1} is {labels[first]}; expected a label 1…{len(PARTS)}"]
        )
    voted = vertex_labels(mesh, labels, source=str(label_path))
    return Sample(mesh, voted - (voted > 0))  # 1…8 in the files, 0…7 here; −1 stays unknown
