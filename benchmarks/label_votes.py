"""How many vertices get another label if edges vote with one vote each, instead of with their area.

    python benchmarks/label_votes.py BODIES

BODIES is the set of human bodies as docs/data.md lays it out: edges are labelled, and tasks need labels of
vertices. A vertex whose edges do not all agree lies on the border of two parts.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fieldconv.datasets.benchmarks.human_segmentation import read_human_seg
from fieldconv.labels import labels
from fieldconv.labels.parallel import followed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the bodies")
    items = read_human_seg(parser.parse_args().folder, split="all").items
    by_area, voted = [], labels._vote

    def one_each(
        cells: NDArray[np.int64], own: NDArray[np.int64], weights: NDArray[np.float64], count: int
    ) -> NDArray[np.int64]:
        return voted(cells, own, np.ones_like(weights), count)

    for item in followed(items, "Bodies"):
        by_area.append(item.read().target)
    labels._vote = one_each
    changed = [(item.read().target != before).mean() for item, before in zip(items, by_area, strict=True)]
    vertices = sum(map(len, by_area))
    print(f"{len(items)} bodies, {vertices:,} vertices: {100 * np.mean(changed):.2f} % get another label")


if __name__ == "__main__":
    main()
