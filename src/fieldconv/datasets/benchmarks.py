"""The paper's datasets. None is downloaded: each class says where its set can be had."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from fieldconv.datasets.base import SurfaceDataset
from fieldconv.datasets.layouts.faust import read_faust
from fieldconv.datasets.layouts.human_seg import read_human_seg
from fieldconv.datasets.layouts.shrec11 import read_shrec11
from fieldconv.datasets.layouts.shrec19 import read_shrec19
from fieldconv.datasets.layouts.shrec19_humans import read_shrec19_humans

Split = Literal["train", "test", "all"]


class SHREC11(SurfaceDataset):
    """SHREC'11, 30 classes of 20 meshes: classification.

    Laid out as ``<class>/train/*.obj`` and ``<class>/test/*.obj``, as distributed with MeshCNN.

    Parameters
    ----------
    root : path
    split : {"train", "test", "all"}
    train_per_class : int or None
        How many meshes of each class are drawn by ``seed`` from all there are to be trained on; the others
        are the test split. None keeps to the folders train/ and test/.
    seed : int
    **options
        As for `SurfaceDataset`.
    """

    def __init__(
        self,
        root: str | Path,
        *,
        split: Split = "train",
        train_per_class: int | None = 10,
        seed: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(
            read_shrec11(root, split=split, train_per_class=train_per_class, seed=seed), **options
        )


class HumanSegmentation(SurfaceDataset):
    """The composite human segmentation set, 8 parts: segmentation.

    Laid out as ``train/``, ``test/`` and ``seg/<name>.eseg`` (1,500 faces), or as ``meshes/`` and ``segs/``
    (full resolution). Labels of edges and faces become labels of vertices by a vote weighted by area.

    Parameters
    ----------
    root : path
    split : {"train", "test", "all"}
    hold_out : sequence of str
        Sources (MIT, adobe, faust, scape) to leave out of the training split; they are then the test split.
    **options
        As for `SurfaceDataset`.
    """

    def __init__(
        self, root: str | Path, *, split: Split = "train", hold_out: Sequence[str] = (), **options: Any
    ) -> None:
        super().__init__(read_human_seg(root, split=split, hold_out=hold_out), **options)


class FAUST(SurfaceDataset):
    """Remeshed FAUST, 100 bodies: correspondence with the vertices of a template.

    Laid out as ``shapes/tr_reg_000.off`` … and ``corres/tr_reg_000.vts`` …

    Parameters
    ----------
    root : path
    split : {"train", "test", "all"}
        Shapes 0–79, shapes 80–99, all there are.
    indices : iterable of int, optional
        These shapes instead of a split.
    template : int
        The shape whose vertices are the targets.
    **options
        As for `SurfaceDataset`.
    """

    def __init__(
        self,
        root: str | Path,
        *,
        split: Split = "train",
        indices: Iterable[int] | None = None,
        template: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(read_faust(root, split=split, indices=indices, template=template), **options)


class SHREC19(SurfaceDataset):
    """SHREC'19, isometric and non-isometric deformations, 76 pairs of 50 scans: matching.

    Laid out as ``models/scan_A.obj``, ``gt/scan_A.scan_B.gt.txt`` and ``pairs/figure_pairs.txt``,
    ``glove_pairs.txt``, ``hand_pairs.txt``.

    Parameters
    ----------
    root : path
    split : {"train", "test", "all"}
        ``test_fraction`` of the pairs of each group, drawn by ``seed``, are the test split.
    index_base : {0, 1}
        What the ids in the ground truth count from.
    **options
        As for `SurfaceDataset`.
    """

    def __init__(
        self,
        root: str | Path,
        *,
        split: Split = "train",
        test_fraction: float = 0.2,
        seed: int = 0,
        index_base: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(
            read_shrec19(root, split=split, test_fraction=test_fraction, seed=seed, index_base=index_base),
            **options,
        )


class SHREC19Humans(SurfaceDataset):
    """SHREC'19, matching humans with different connectivity, 430 pairs of 44 bodies: matching.

    Laid out as ``shapes/<i>.off``, ``smpl_matches/<i>.txt`` and ``pairs.txt``.

    Parameters
    ----------
    root : path
    split : {"train", "test", "all"}
    split_by : {"shape", "pair"}
        Draw ``test_fraction`` of the shapes, so that tested shapes are new; or of the pairs.
    **options
        As for `SurfaceDataset`.
    """

    def __init__(
        self,
        root: str | Path,
        *,
        split: Split = "train",
        split_by: Literal["shape", "pair"] = "shape",
        test_fraction: float = 0.3,
        seed: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(
            read_shrec19_humans(root, split=split, split_by=split_by, test_fraction=test_fraction, seed=seed),
            **options,
        )
