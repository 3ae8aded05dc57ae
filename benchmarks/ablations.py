"""What each choice of the recipe is worth: one thing changed at a time, everything else as in the default.

    python benchmarks/ablations.py FOLDER --data SHREC11    # trains what FOLDER lacks, writes the table
    python benchmarks/ablations.py                          # writes the table again

Every row is trained by the ordinary command, with each seed drawing weights, order, rotations and the split.
Stop and start it at will: runs that are done are kept, others go on. Several at once share the work with
`--seeds 0` and `--seeds 1`. A row takes about two minutes for each seed on one core.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import results
import robustness
from fieldconv._io import atomic_path
from pages import DOCS, fill_table
from training_runs import finished, train_once

RESULT = Path(__file__).parent / "results" / "ablations" / "ablations.json"
SEEDS = (0, 1)


@dataclass(frozen=True)
class Study:
    """Rows that differ from the first, the base, by a few options each."""

    title: str
    training: str  # {seed}, {data} are filled in
    rows: dict[str, str]


STUDIES = {
    "shrec11": Study(
        "SHREC'11, 10 training meshes for each of 30 classes, 5 epochs",
        "classification --preset quick --data {data} --epochs 5 --seed {seed} --split-seed {seed}",
        {
            "quick": "",
            "Adam at a constant 0.01": "--optimiser adam --learning-rate 0.01 --schedule constant",
            "the paper's recipe": "--preset paper",
            "4 meshes per step": "--batch 4",
            "no label smoothing": "--label-smoothing 0",
            "no weight averaging": "--average None",
            "rings of equal area": "--spacing equal_area",
            "real filters": "--filter real",
            "complex filters": "--filter complex",
            "linear lift": "--lift linear",
            "positions instead of WKS": "--features xyz",
            "positions, stretched by up to 20 %": "--features xyz --stretch 0.2",
            "HKS instead of WKS": "--features hks",
            "vector heat discs": "--solver heat",
        },
    ),
    "creatures": Study(
        "Parts of embedded creatures, 60 training meshes, 15 epochs",
        robustness.TRAINING + " --seed {seed}",
        {"quick": "", "ECHO votes by magnitude": "--echo-votes magnitude"},
    ),
}


def slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def arguments(study: Study, options: str, seed: int, data: str) -> list[str]:
    return [data if word == "{data}" else word.format(seed=seed) for word in study.training.split()] + (
        options.split()
    )


def collect(folder: Path) -> dict[str, Any]:
    """The numbers of all finished runs, and in which settings they really differ from the base."""
    result: dict[str, Any] = {}
    for key, study in STUDIES.items():
        rows: list[dict[str, Any]] = []
        base: dict[str, Any] = {}
        for name, options in study.rows.items():
            runs = []
            for seed in SEEDS:
                run = folder / f"{key}-{slug(name)}-{seed}"
                if not finished(run):
                    continue
                words = ["fieldconv train", *arguments(study, options, seed, "DATA"), "--out RUN"]
                kept = results.collect(run, name, key, " ".join(words))
                settings = {**kept["settings"]["network"], **kept["settings"]["training"]}
                settings.pop("seed")
                base = base or settings
                numbers = ("seed", "command", "metrics", "log", "seconds", "seconds_per_epoch")
                runs.append({**{k: kept[k] for k in numbers}, "epochs": settings["epochs"]})
            if runs:
                changed = {k: [base[k], v] for k, v in settings.items() if v != base[k]}
                if rows and not changed:  # what has become the default
                    continue
                values = [run["metrics"]["accuracy"] for run in runs]
                rows.append(
                    {
                        "name": name,
                        "options": options,
                        "changed": changed,
                        "mean": float(np.mean(values)),
                        "spread": float(np.ptp(values)),
                        "runs": runs,
                    }
                )
        if rows:
            about = {"title": study.title, "machine": kept["machine"], "commit": kept["commit"]}
            result[key] = {**about, "base": base, "rows": rows}
    return result


def table(result: dict[str, Any]) -> str:
    lines: list[str] = []
    for study in result.values():
        base = study["rows"][0]["mean"]
        lines += [f"**{study['title']}**", "", "| | accuracy, each seed | mean | difference | s per epoch |"]
        lines += ["|---|---|---:|---:|---:|"]
        for row in study["rows"]:
            each = ", ".join(f"{100 * run['metrics']['accuracy']:.1f}" for run in row["runs"])
            difference = "" if row is study["rows"][0] else f"{100 * (row['mean'] - base):+.1f}"
            pace = np.mean([run["seconds_per_epoch"] for run in row["runs"]])
            lines.append(f"| {row['name']} | {each} | {100 * row['mean']:.1f} | {difference} | {pace:.0f} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="of the training runs, outside the checkout")
    parser.add_argument("--data", default="SHREC11", help="folder of SHREC'11")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="to train now")
    parser.add_argument("--studies", nargs="+", choices=STUDIES, default=list(STUDIES), help="to train now")
    parser.add_argument("--collect", action="store_true", help="train nothing, take what is done")
    options = parser.parse_args()
    if options.folder is not None:
        for seed in () if options.collect else options.seeds:
            for key in options.studies:
                for name, changes in STUDIES[key].rows.items():
                    run = options.folder / f"{key}-{slug(name)}-{seed}"
                    train_once(run, arguments(STUDIES[key], changes, seed, options.data))
        with atomic_path(RESULT) as temporary:
            temporary.write_text(json.dumps(collect(options.folder), indent=1) + "\n", encoding="utf-8")
    text = table(json.loads(RESULT.read_text(encoding="utf-8")))
    print(text)
    fill_table(DOCS / "ablations.md", "benchmarks/ablations.py", text)


if __name__ == "__main__":
    main()
