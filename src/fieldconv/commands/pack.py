"""`fieldconv pack`: prepared surfaces in few large files, to train from very many of them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import fieldconv as fc
from fieldconv import datasets, training
from fieldconv.surface.settings import SurfaceSettings

SETTINGS = ("surface", "How meshes are prepared; as the preset says if not given.", SurfaceSettings)


def pack_command(
    task: str,
    /,
    *,
    data: Path,
    out: Path,
    network: str = "fcnet",
    preset: str = "default",
    config: Path | None = None,
    split_seed: int = 0,
    reshaped: int | None = None,
    damaged: int | None = None,
    size: str = "1GB",
    **settings: Any,
) -> None:
    """Prepare the training and test meshes of a folder, and put them into few large files.

    A file for each mesh is slow to read when there are very many. Training reads a packed folder as any
    other (`--data PACKED`), a surface when its turn comes, and the result is the same network. Prepare the
    meshes on many machines first (`fieldconv precompute`); what is prepared already is not prepared again.

    $ fieldconv pack segmentation --data MESHES --out PACKED
    $ fieldconv train segmentation --data PACKED --out RUN

    Args:
        task: What will be learnt.
        data: Folder of a benchmark or of your own meshes.
        out: Folder for the files.
        network: The network that will be trained.
        preset: Prepare meshes as training with this preset does, unless options say otherwise.
        config: YAML or JSON file of settings, such as the run.yaml of a run.
        split_seed: Draws the test part where a set does not say what it is.
        reshaped: Reshaped copies of each training mesh to pack as well; as many as training would make if
            not given.
        damaged: The same for damaged copies.
        size: Of a file, such as 500MB.
    """
    fc.keep_freed_memory()
    run = training.RunSettings.assemble(
        task, preset=preset, network=network, file=config, changes={**settings, "data": str(data)}
    )
    packer = datasets.Packer(out, size=fc.surface.size_limit(size) or sys.maxsize)
    wanted = fc.ToSurface.of(run.network.surface_settings)
    for part in ("train", "test"):
        try:
            found = datasets.open_dataset(
                data, task, split=part, seed=split_seed, pre_transform=wanted, memory=0
            )
        except datasets.DatasetError as error:
            if part == "train":
                raise
            print(f"Without a test part: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        packer.add(part, found)
        if part == "train" and not fc.tasks.task_named(task).paired:
            recipe = run.training
            copies = {
                "reshaped": (recipe.reshaped if reshaped is None else reshaped, recipe.reshaping),
                "damaged": (recipe.damaged if damaged is None else damaged, recipe.damaging),
            }
            for kind, (count, strength) in copies.items():
                for number in range(count):
                    packer.add_copies(found, kind, number + 1, strength)
    packer.finish()
    print(f"{packer.surfaces:,} surfaces in {packer.files:,} files, {packer.bytes / 1e9:.3g} GB.")
    print(f"Try: fieldconv train {task} --data {shlex.quote(str(out))} --out RUN")
