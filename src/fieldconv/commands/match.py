"""`fieldconv match`: a dense map between two meshes."""

from __future__ import annotations

from pathlib import Path

import fieldconv as fc
from fieldconv import training
from fieldconv.commands.arguments import Also, Run
from fieldconv.commands.output import check_elsewhere, printed_warnings


def match_command(
    run: Run,
    a: Path,
    b: Path,
    /,
    *,
    out: Path = Path("match"),
    partial: bool = False,
    samples: int | None = None,
    samplings: int = 1,
    refine: bool = False,
    also: tuple[Also, ...] = (),
) -> None:
    """Map every vertex of mesh A to a vertex of mesh B, and carry the colours of B over to A.

    Writes map.npy and map.csv (vertex of A, vertex of B, confidence), and two coloured meshes: B,
    and A with the colours of its matches.

    $ fieldconv match RUN a.obj b.obj --out RESULT
    $ fieldconv match bodies a.ply b.obj --refine --out RESULT
    $ fieldconv match RUN whole.obj torn.obj --partial --out RESULT

    Args:
        run: Run or checkpoint folder of a network for matching or correspondence, or "bodies".
        a: Mesh file to map from.
        b: Mesh file to map to.
        out: Folder for the results.
        partial: Parts may be missing; vertices of A without a counterpart in B get -1, and grey.
        samples: Samples on each shape, instead of as many as the network was trained with; a network trained
            on damaged copies takes three times as many, up to 3,072.
        samplings: Average over this many sets of samples of each shape; slower, borders of parts a little
            better.
        refine: Make the map better with eigenfunctions, and write points.npy, the point on B (inside a
            triangle) for each vertex of A; a few seconds more.
        also: Further formats for the coloured meshes.
    """
    check_elsewhere(out, [a, b])
    with printed_warnings():
        target, confidence, _ = fc.match(
            fc.load(run),
            a,
            b,
            partial=partial,
            samples=samples,
            samplings=samplings,
            refine=refine,
            out=out,
            also=also,
        )
    names = training.distinct([a.stem, b.stem])
    unmatched = int((target < 0).sum())
    without = f", {unmatched:,} without counterpart" if unmatched else ""
    print(
        f"{len(target) - unmatched:,} vertices mapped{without}, mean confidence "
        f"{100 * confidence.mean():.0f} %, in {out}."
    )
    print(f"Same colours mean same place: fieldconv view {out / names[0]}.ply {out / names[1]}.ply")
