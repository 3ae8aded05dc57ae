"""Draw shrec11_training.png: training accuracy over epochs on SHREC'11, split 0.

``python docs/figures/shrec11_training.py NAME=RUN …`` first writes these runs' logs to shrec11_training.csv.
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path

from fieldconv.viz.figures import lines
from fieldconv.viz.plot import PAGE

TABLE = Path(__file__).with_suffix(".csv")


def write_table(runs: list[str]) -> None:
    """Write the training accuracy of every epoch of these runs."""
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["run", "epoch", "accuracy"])
        for words in runs:
            name, folder = words.split("=", 1)
            with open(Path(folder) / "metrics.csv", newline="", encoding="utf-8") as log:
                out.writerows(
                    [name, row["epoch"], f"{float(row['score']):.4f}"] for row in csv.DictReader(log)
                )


def main() -> None:
    if len(sys.argv) > 1:
        write_table(sys.argv[1:])
    curves: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    with open(TABLE, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            curves[row["run"]][0].append(float(row["epoch"]))
            curves[row["run"]][1].append(float(row["accuracy"]))
    plot = lines(curves, x="epoch", y="training accuracy", percent=True, width=PAGE * 0.8)
    plot.save(TABLE.with_suffix(""))[1].unlink()


if __name__ == "__main__":
    main()
