"""What the paper leaves open, measured: the preset `reproduce` with one choice changed at a time.

    python benchmarks/open_choices.py FOLDER --data SHREC11    # trains what FOLDER lacks, writes the table
    python benchmarks/open_choices.py                          # writes the table again

Some choices are options of the command line. The others have one way in the package; here they are replaced
in the process that trains, which is this file again: `open_choices.py --instead CHANGE train …`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import results
from fieldconv._io import atomic_path
from fieldconv.cli import main as command_line
from fieldconv.networks.base import Network
from fieldconv.networks.fcnet.heads import ClassificationHead
from fieldconv.nn import ECHOBlock, FCResNetBlock, FieldConv, LearnedGradient
from fieldconv.nn.pooling import mean_per_shape, shape_of_samples
from fieldconv.ops import gradient_aggregate
from fieldconv.ops.direction import polar
from pages import DOCS, fill_table
from training_runs import finished, train_once

RESULT = Path(__file__).parent / "results" / "ablations" / "open_choices.json"
SEEDS = (0, 1)


def relu_after_the_sum() -> None:
    """As in the first residual networks: convolution, ReLU, convolution, sum, ReLU."""

    def forward(self: FCResNetBlock, x: Tensor, surface: Any) -> Tensor:
        y = self.conv2(self.relu1(self.conv1(x, surface)), surface)
        return self.relu2(self.carry(x) + y)  # type: ignore[no-any-return]

    FCResNetBlock.forward = forward  # type: ignore[method-assign]


def relu_before_convolutions() -> None:
    """ReLU, convolution, ReLU, convolution, sum; the lift has as many channels as the blocks."""

    def forward(self: FCResNetBlock, x: Tensor, surface: Any) -> Tensor:
        y = self.conv1(self.relu2(x), surface)
        return self.carry(x) + self.conv2(self.relu1(y), surface)  # type: ignore[no-any-return]

    FCResNetBlock.forward = forward  # type: ignore[method-assign]


def inputs_lifted_apart() -> None:
    """X = Σ_k P_k² Φ_k / |Φ_k|, instead of sums over k before magnitude and direction are joined."""

    def forward(self: LearnedGradient, x: Tensor, surface: Any) -> Tensor:
        gradients, means = gradient_aggregate(x, surface, rings=self.rings, spacing=self.spacing)
        turned = self.direction * torch.polar(torch.ones_like(self.offset), self.offset)
        phi = torch.einsum("prk,rko->pko", gradients, turned)
        magnitude = torch.einsum("prk,rko->pko", means, self.magnitude).square()
        return (magnitude * polar(phi.flatten(1))[1].view_as(phi)).sum(1)

    LearnedGradient.forward = forward  # type: ignore[method-assign]


def two_rings_of_the_lift() -> None:
    _with_option(LearnedGradient, rings=2)


def offsets_begin_at_nothing() -> None:
    """β = 0 at first, instead of even over the circle."""
    for layer in (FieldConv, LearnedGradient):
        usual = layer.reset_parameters

        def reset(self: Any, usual: Callable[[Any], None] = usual) -> None:
            usual(self)
            nn.init.zeros_(self.offset)

        layer.reset_parameters = reset  # type: ignore[method-assign]


def exponential_units() -> None:
    """ELU between the layers of the ECHO block's perceptron, instead of ReLU."""
    usual = ECHOBlock.__init__

    def init(self: ECHOBlock, *args: Any, **options: Any) -> None:
        usual(self, *args, **options)
        self.mlp[1] = self.mlp[3] = nn.ELU()

    ECHOBlock.__init__ = init  # type: ignore[method-assign]


def echo_as_it_is() -> None:
    """ECHO values not multiplied by H."""

    def forward(self: ECHOBlock, x: Tensor, surface: Any) -> Tensor:
        return self.mlp(self.describe(x, surface).flatten(1))  # type: ignore[no-any-return]

    ECHOBlock.forward = forward  # type: ignore[method-assign]


def origin_between_the_ends() -> None:
    """The origin of positions half way between the two samples farthest apart, instead of the centroid."""
    usual = Network.inputs

    def inputs(self: Network, surface: Any) -> Tensor:
        positions = usual(self, surface)
        shape, count = shape_of_samples(surface)
        centres = []
        for number in range(count):
            own = positions[shape == number]
            first, second = divmod(int(torch.cdist(own, own).argmax()), len(own))
            centres.append((own[first] + own[second]) / 2)
        return positions - torch.stack(centres)[shape]

    Network.inputs = inputs  # type: ignore[method-assign]


def linear_after_the_mean() -> None:
    """Magnitudes averaged over the shape first, then a linear layer to the classes."""
    usual = ClassificationHead.__init__

    def init(self: ClassificationHead, config: Any) -> None:
        usual(self, config)
        self.bias = None
        self.linear = nn.Linear(config.width, config.outputs)
        del self.conv

    def forward(self: ClassificationHead, x: Tensor, surface: Any) -> Tensor:
        mean = mean_per_shape(polar(x)[0], torch.ones_like(surface.area), surface)
        return self.linear(mean)  # type: ignore[no-any-return]

    ClassificationHead.__init__ = init  # type: ignore[method-assign]
    ClassificationHead.forward = forward  # type: ignore[method-assign]


def _with_option(layer: Any, **changed: Any) -> None:
    usual = layer.__init__

    def init(self: Any, *args: Any, **options: Any) -> None:
        usual(self, *args, **{**options, **changed})

    layer.__init__ = init


CHANGES = {
    change.__name__: change
    for change in (
        relu_after_the_sum,
        relu_before_convolutions,
        inputs_lifted_apart,
        two_rings_of_the_lift,
        offsets_begin_at_nothing,
        exponential_units,
        echo_as_it_is,
        origin_between_the_ends,
        linear_after_the_mean,
    )
}


@dataclass(frozen=True)
class Study:
    """Rows of (title, options or the name of a change); the first is `reproduce` as it is."""

    title: str
    training: str
    rows: dict[str, str]


STUDIES = {
    "creatures": Study(
        "Parts of embedded creatures, 60 training meshes of 500 vertices, 15 epochs, a small network",
        "segmentation --preset reproduce --species biped quadruped lizard bird octopus hand --meshes 60 "
        "--vertices 500 --samples None --blocks 2 --width 32 --rings 4 --echo-channels 12 --echo-samples 2 "
        "--epochs 15 --seed {seed}",
        {
            "`reproduce`, of this size": "",
            "48 channels instead of 32": "--width 48",
            "block: ReLU after the sum": "relu_after_the_sum",
            "block: ReLU before each convolution, lift to 32": "relu_before_convolutions --lift-channels 32",
            "lift to 32 channels": "--lift-channels 32",
            "lift: magnitude and direction joined for each input": "inputs_lifted_apart",
            "lift: two rings instead of four": "two_rings_of_the_lift",
            "offsets β begin at 0": "offsets_begin_at_nothing",
            "ELU in the ECHO block's perceptron": "exponential_units",
            "ECHO values not multiplied by H": "echo_as_it_is",
            "ECHO votes by magnitude": "--echo-votes magnitude",
            "origin half way between the ends": "origin_between_the_ends",
            "rings of equal area": "--spacing equal_area",
            "vector heat discs": "--solver heat",
            "no decay of weights": "--weight-decay 0",
            "best epoch on a tenth of the training set": "--validation 0.1",
        },
    ),
    "shrec11": Study(
        "SHREC'11, 10 training meshes of each of 30 classes, 10 epochs",
        "classification --preset reproduce --data {data} --epochs 10 --seed {seed} --split-seed {seed}",
        {
            "`reproduce`, so many epochs": "",
            "mean over the area instead of samples": "--pooling area",
            "a linear layer after the mean": "linear_after_the_mean",
            "no bias for each class": "--no-class-bias",
            "positions scaled for each shape": "--input-scale unit",
            "48 channels instead of 32": "--width 48",
            "lift to 32 channels": "--lift-channels 32",
        },
    ),
}


def train(folder: Path, key: str, row: int, seed: int, data: str) -> None:
    run, study = _run(folder, key, row, seed), STUDIES[key]
    options = list(study.rows.values())[row].split()
    change = options.pop(0) if options and options[0] in CHANGES else None
    words = [data if word == "{data}" else word.format(seed=seed) for word in study.training.split()]
    program = (__file__, "--instead", change) if change else ("-m", "fieldconv.cli")
    train_once(run, [*words, *options, "--threads", "1"], program)


def _run(folder: Path, key: str, row: int, seed: int) -> Path:
    return folder / f"open-{key}-{row}-{seed}"


def collect(folder: Path) -> dict[str, Any]:
    """The numbers of all finished runs, by study, row and seed."""
    found: dict[str, Any] = {}
    for key, study in STUDIES.items():
        for row, (title, options) in enumerate(study.rows.items()):
            runs = {}
            for seed in SEEDS:
                run = _run(folder, key, row, seed)
                if finished(run):
                    command = f"fieldconv train {study.training} {options}"
                    kept = results.collect(run, title, key, command)
                    runs[str(seed)] = {name: kept[name] for name in ("metrics", "seconds", "commit")}
            if runs:
                found.setdefault(key, {})[title] = {"options": options, "runs": runs}
    return found


def tables(kept: dict[str, Any]) -> str:
    blocks = []
    for key, study in STUDIES.items():
        if key not in kept:
            continue
        lines = [
            f"**{study.title}**",
            "",
            "| | accuracy, each seed | mean | difference |",
            "|---|---|---:|---:|",
        ]
        base = None
        for title in study.rows:
            if title not in kept[key]:
                continue
            values = [100 * run["metrics"]["accuracy"] for run in kept[key][title]["runs"].values()]
            mean = float(np.mean(values))
            base = mean if base is None else base
            difference = f"{mean - base:+.1f}" if mean != base else ""
            shown = ", ".join(f"{value:.1f}" for value in values)
            lines.append(f"| {title} | {shown} | {mean:.1f} | {difference} |")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="of the training runs, outside the checkout")
    parser.add_argument("--data", help="the folder of SHREC'11; without it only creatures are trained")
    parser.add_argument("--studies", nargs="+", choices=STUDIES, default=list(STUDIES))
    parser.add_argument("--seeds", nargs="+", type=int, choices=SEEDS, default=list(SEEDS))
    options = parser.parse_args()
    if options.folder is not None:
        for seed in options.seeds:
            for key in options.studies:
                for row in range(len(STUDIES[key].rows) if key == "creatures" or options.data else 0):
                    train(options.folder, key, row, seed, options.data)
        with atomic_path(RESULT) as temporary:
            temporary.write_text(json.dumps(collect(options.folder), indent=1) + "\n", encoding="utf-8")
    kept = json.loads(RESULT.read_text(encoding="utf-8"))
    fill_table(DOCS / "reproducing.md", "open choices", tables(kept))


def changed(change: str, *arguments: str) -> int:
    """Run the command line with one change."""
    CHANGES[change]()
    return command_line(arguments)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--instead"]:
        raise SystemExit(changed(*sys.argv[2:]))
    main()
