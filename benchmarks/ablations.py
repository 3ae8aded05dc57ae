"""What each choice is worth, of the recipe `quick` and of what the paper leaves open: one changed at a time.

    python benchmarks/ablations.py FOLDER --shrec11 SHREC11 --faust FAUST   # trains what FOLDER lacks
    python benchmarks/ablations.py                                          # writes the tables again

Every row is trained by the ordinary command, or by that of `changed_choices.py`, with each seed drawing
weights, order, rotations and the split. Stop and start it at will: runs that are done are kept, others go on,
and what is measured is added to what another FOLDER gave. Several at once share the work with `--seeds 0` and
`--seeds 1`. A row takes about two minutes for each seed on one core.
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
from changed_choices import CHANGES
from fieldconv._io import atomic_path
from pages import DOCS, fill_table
from training_runs import COMMAND_LINE, finished, train_once

RESULT = Path(__file__).parent / "results" / "ablations" / "ablations.json"
CHANGED = Path(__file__).with_name("changed_choices.py")
SEEDS = (0, 1)
NUMBERS = ("seed", "command", "metrics", "log", "seconds", "seconds_per_epoch", "machine", "commit")


@dataclass(frozen=True)
class Study:
    """Rows that differ from the first, the base, by options, or by a change of `changed_choices.py`."""

    title: str
    training: str  # {seed}, {shrec11}, {faust} are filled in
    rows: dict[str, str]
    page: str = "ablations.md"
    metrics: tuple[str, ...] = ("accuracy",)


STUDIES = {
    "shrec11": Study(
        "SHREC'11, 10 training meshes for each of 30 classes, 5 epochs",
        "classification --preset quick --data {shrec11} --epochs 5 --seed {seed} --split-seed {seed}",
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
    "open-creatures": Study(
        "Parts of embedded creatures, 60 training meshes of 500 vertices, 15 epochs, a small network",
        "segmentation --preset reproduce --species biped quadruped lizard bird octopus hand --meshes 60 "
        "--vertices 500 --samples None --blocks 2 --width 32 --rings 4 --echo-channels 12 --echo-samples 2 "
        "--epochs 15 --seed {seed} --threads 1",
        {
            "`reproduce`, of this size": "",
            "48 channels instead of 32": "--width 48",
            "block: ReLU after the sum": "relu_after_the_sum",
            "block: ReLU before each convolution, lift to 32": "relu_before_convolutions --lift-channels 32",
            "lift to 32 channels": "--lift-channels 32",
            "lift: magnitude and direction joined for each input": "inputs_lifted_apart",
            "lift: two rings instead of four": "two_rings_of_the_lift",
            "lift: half the support": "lift_sees_half_as_far",
            "offsets β begin at 0": "offsets_begin_at_nothing",
            "ELU in the ECHO block's perceptron": "exponential_units",
            "ECHO values not multiplied by H": "echo_as_it_is",
            "ECHO votes by magnitude": "--echo-votes magnitude",
            "origin half way between the ends": "origin_between_the_ends",
            "rings of equal area": "--spacing equal_area",
            "rings from the centre": "rings_from_the_centre",
            "positions scaled for each shape": "--input-scale unit",
            "vector heat discs": "--solver heat",
            "no decay of weights": "--weight-decay 0",
            "best epoch on a tenth of the training set": "--validation 0.1",
        },
        page="reproducing.md",
    ),
    "open-shrec11": Study(
        "SHREC'11, 10 training meshes of each of 30 classes, 10 epochs",
        "classification --preset reproduce --data {shrec11} --epochs 10 --seed {seed} --split-seed {seed} "
        "--threads 1",
        {
            "`reproduce`, so many epochs": "",
            "mean over the area instead of samples": "--pooling area",
            "a linear layer after the mean": "linear_after_the_mean",
            "no bias for each class": "--no-class-bias",
            "positions scaled for each shape": "--input-scale unit",
            "48 channels instead of 32": "--width 48",
            "lift to 32 channels": "--lift-channels 32",
        },
        page="reproducing.md",
    ),
    "open-samples": Study(
        "Parts of embedded creatures, 60 training meshes of 1,000 vertices, 400 samples, 15 epochs, a small "
        "network",
        "segmentation --preset reproduce --species biped quadruped lizard bird octopus hand --meshes 60 "
        "--vertices 1000 --samples 400 --blocks 2 --width 32 --rings 4 --echo-channels 12 --echo-samples 2 "
        "--epochs 15 --seed {seed} --threads 1",
        {
            "`reproduce`, of this size": "",
            "area of a sample: a third of its one-ring": "area_of_the_one_ring",
            "farthest points in space": "samples_far_apart_in_space",
            "the first of them drawn at random": "first_sample_anywhere",
            "vertices take the nearest sample's label": "labels_of_the_nearest_sample",
        },
        page="reproducing.md",
    ),
    "open-correspondence": Study(
        "Correspondence of embedded quadrupeds, heat kernel signatures, 40 training meshes of 500 vertices, "
        "20 epochs, three blocks",
        "correspondence --preset reproduce --features hks --meshes 40 --vertices 500 --blocks 3 --epochs 20 "
        "--seed {seed} --threads 1",
        {
            "`reproduce`, of this size": "",
            "no ReLU after the bottleneck": "no_relu_after_the_bottleneck",
            "dropout before both dense layers": "dropout_after_the_bottleneck",
            "10 epochs": "--epochs 10",
            "40 epochs": "--epochs 40",
        },
        page="reproducing.md",
        metrics=("within_0.05", "exact"),
    ),
    "open-template": Study(
        "Remeshed FAUST, heat kernel signatures, 000 to 069 to learn from, 070 to 079 to test, 6 epochs",
        "correspondence --preset reproduce --features hks --data {faust} --hold-out 70:80 --epochs 6 "
        "--seed {seed} --threads 1",
        {
            "`reproduce`, so many epochs": "",
            "shape 50 as the template instead of shape 0": "another_template",
        },
        page="reproducing.md",
        metrics=("within_0.05", "exact"),
    ),
    "open-matching": Study(
        "Matching of embedded creatures, heat kernel signatures, 40 training meshes of 600 vertices, "
        "300 samples, 20 epochs, three blocks",
        "matching --preset reproduce --features hks --species biped quadruped lizard --meshes 40 "
        "--vertices 600 --samples 300 --blocks 3 --epochs 20 --seed {seed} --threads 1",
        {
            "`reproduce`, of this size": "",
            "descriptors: magnitudes of the last block": "descriptors_of_the_last_block",
            "descriptors: a linear layer instead of a convolution": "descriptors_of_a_linear_layer",
            "squared distances without limit": "--farthest None",
            "10 epochs": "--epochs 10",
            "40 epochs": "--epochs 40",
            "of equal distances right ones count as earlier": "ties_count_as_right",
            "right matches found from the model": "matches_from_the_model",
        },
        page="reproducing.md",
        metrics=("mean_average_precision", "mean_average_precision_scene_ball"),
    ),
}


def slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def run_folder(folder: Path, key: str, name: str, seed: int) -> Path:
    return folder / f"{key}-{slug(name)}-{seed}"


def change_of(options: str) -> str | None:
    """The change of `changed_choices.py` that the options of a row begin with, if any."""
    return next((word for word in options.split()[:1] if word in CHANGES), None)


def command(
    study: Study, options: str, seed: int, shrec11: str, faust: str
) -> tuple[tuple[str, ...], list[str]]:
    """The program that trains a row, and its arguments."""
    words = [word.format(seed=seed, shrec11=shrec11, faust=faust) for word in study.training.split()]
    change = change_of(options)
    if change is None:
        return COMMAND_LINE, words + options.split()
    return (str(CHANGED), change), words + options.split()[1:]


def collect(folder: Path, before: dict[str, Any]) -> dict[str, Any]:
    """What was kept, and the numbers of all finished runs, with the settings that differ from the base."""
    result: dict[str, Any] = {}
    for key, study in STUDIES.items():
        kept = before.get(key, {})
        base, known = kept.get("base"), {row["name"]: row for row in kept.get("rows", ())}
        rows: list[dict[str, Any]] = []
        for name, options in study.rows.items():
            change = change_of(options)
            row = known.get(name, {"name": name, "options": options, "changed": {}, "runs": []})
            for seed in SEEDS:
                run = run_folder(folder, key, name, seed)
                if not finished(run):
                    continue
                words = " ".join(command(study, options, seed, "SHREC11", "FAUST")[1])
                program = f"python benchmarks/{CHANGED.name} {change}" if change else "fieldconv"
                found = results.collect(run, name, key, f"{program} train {words} --out RUN")
                settings = {**found["settings"]["network"], **found["settings"]["training"]}
                settings.pop("seed")
                base = base or settings
                row["changed"] = {k: [base.get(k), v] for k, v in settings.items() if v != base.get(k)}
                others = [one for one in row["runs"] if one["seed"] != seed]
                row["runs"] = sorted(
                    [*others, {number: found[number] for number in NUMBERS}], key=lambda one: one["seed"]
                )
            become_default = bool(options) and not change and not row["changed"]
            if row["runs"] and not become_default:
                rows.append(row)
        if rows:
            result[key] = {"title": study.title, "base": base, "rows": rows}
    return result


def table(studies: dict[str, dict[str, Any]]) -> str:
    lines: list[str] = []
    for key, study in studies.items():
        metrics = STUDIES[key].metrics
        heads = [f"{metric.replace('_', ' ')}, each seed | mean | difference" for metric in metrics]
        lines += [f"**{study['title']}**", "", f"| | {' | '.join(heads)} | s per epoch |"]
        lines += ["|---|" + "---|---:|---:|" * len(metrics) + "---:|"]
        for row in study["rows"]:
            cells = [row["name"]]
            for metric in metrics:
                values, base = percents(row, metric), np.mean(percents(study["rows"][0], metric))
                cells += [", ".join(f"{value:.1f}" for value in values), f"{np.mean(values):.1f}"]
                cells.append("" if row is study["rows"][0] else f"{np.mean(values) - base:+.1f}")
            pace = np.mean([run["seconds_per_epoch"] for run in row["runs"]])
            lines.append(f"| {' | '.join([*cells, f'{pace:.0f}'])} |")
        lines.append("")
    return "\n".join(lines)


def percents(row: dict[str, Any], metric: str) -> list[float]:
    """One for each seed."""
    return [100 * run["metrics"][metric] for run in row["runs"]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="of the training runs, outside the checkout")
    parser.add_argument("--shrec11", default="SHREC11", help="folder of SHREC'11")
    parser.add_argument("--faust", default="FAUST", help="folder of remeshed FAUST")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="to train now")
    parser.add_argument("--studies", nargs="+", choices=STUDIES, default=list(STUDIES), help="to train now")
    parser.add_argument("--rows", nargs="+", help="to train now, by their titles; all by default")
    parser.add_argument("--collect", action="store_true", help="train nothing, take what is done")
    options = parser.parse_args()
    kept = json.loads(RESULT.read_text(encoding="utf-8"))
    if options.folder is not None:
        for seed in () if options.collect else options.seeds:
            for key in options.studies:
                for name, changes in STUDIES[key].rows.items():
                    if options.rows and name not in options.rows:
                        continue
                    program, words = command(STUDIES[key], changes, seed, options.shrec11, options.faust)
                    train_once(run_folder(options.folder, key, name, seed), words, program)
        kept = collect(options.folder, kept)
        with atomic_path(RESULT) as temporary:
            temporary.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    for page in dict.fromkeys(study.page for study in STUDIES.values()):
        own = [key for key, study in STUDIES.items() if study.page == page and key in kept]
        text = table({key: kept[key] for key in own})
        print(text)
        fill_table(DOCS / page, "benchmarks/ablations.py", text)


if __name__ == "__main__":
    main()
