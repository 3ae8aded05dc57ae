"""`fieldconv match`: a dense map between two meshes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from fieldconv.commands.options import Also, Run
from fieldconv.commands.results import check_elsewhere


def match(
    run: Run,
    a: Annotated[Path, tyro.conf.arg(metavar="A"), tyro.conf.Positional],
    b: Annotated[Path, tyro.conf.arg(metavar="B"), tyro.conf.Positional],
    /,
    *,
    out: Path = Path("match"),
    samples: int | None = None,
    also: tuple[Also, ...] = (),
) -> int:
    """Map every vertex of mesh A to a vertex of mesh B, and carry the colours of B over to A.

    Writes map.npy and map.csv (vertex of A, vertex of B, confidence), and two coloured meshes to look at: B,
    and A with the colours of its matches.

    $ fieldconv match RUN a.obj b.obj --out RESULT

    Args:
        run: Run or checkpoint folder of a network for matching or correspondence.
        a: Mesh file to map from.
        b: Mesh file to map to.
        out: Folder for the results.
        samples: Look at so many samples of each shape, instead of as many as the network learnt with.
        also: Further formats for the coloured meshes.
    """
    from fieldconv.training.checkpoint import load
    from fieldconv.training.prediction import distinct
    from fieldconv.training.prediction import match as apply

    check_elsewhere(out, [a, b])
    target, confidence = apply(load(run), a, b, samples=samples, out=out, also=also)
    names = distinct([a.stem, b.stem])
    print(f"{len(target):,} vertices mapped, mean confidence {confidence.mean():.0%}, in {out}.")
    print(f"Same colours mean same place: fieldconv view {out / names[0]}.ply {out / names[1]}.ply")
    return 0
