"""Put a trained network for bodies into the package, in half precision, with its card.

    python -m recipes.bodies.ship RUN BODIES [RESULTS]

BODIES is the folder of `make`: the probabilities of parts are calibrated on the bodies that were kept
out of training. The network answers with twice the samples it learnt on: maps between twelve generated bodies
that were not learnt from have a mean error of 2.23 instead of 2.69, and 2.43 with 2,048. RESULTS is what
benchmarks/bodies.py wrote. Whatever of the card is not a number is in card.md.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fieldconv as fc
from fieldconv._io import read_text, write_text
from fieldconv.models import CARD, CONFIG, MODELS
from fieldconv.tasks import TemplatePoints
from fieldconv.tasks.base.label_task import fit_temperature
from fieldconv.tasks.template_points import places_of
from fieldconv.training.checkpoint import read_config, save_pretrained
from fieldconv.training.fit import NetworkOutputs, evaluation_mode
from recipes.bodies.dataset import Bodies
from recipes.bodies.train import KEPT_OUT

HERE = Path(__file__).parent


def table(results: dict[str, Any], kept_out: dict[str, float]) -> str:
    """Return the figures as rows of a table."""
    faust, shrec, parts = (results.get(key, {}) for key in ("faust", "shrec19", "parts"))
    rows = []
    for name, own in (("FAUST remeshed", faust), ("SHREC'19 humans", shrec)):
        what = f"{name}, {own.get('pairs')} pairs of people, mean error × 100"
        rows += [(what, key, own[key]) for key in own if key not in ("pairs", "worst pairs", "curves")]
    shares = {**parts.get("accuracy", {})} | {k: parts[k] for k in ("mean of sources",) if k in parts}
    rows += [("eight parts, right vertices in %", key, 100 * value) for key, value in shares.items()]
    rows += [
        ("generated bodies kept out, damaged", key.replace("_", " "), value)
        for key, value in kept_out.items()
    ]
    if not rows:
        return "This one has not been measured."
    lines = ["| measured on | | |", "|---|---|---:|"]
    return "\n".join([*lines, *(f"| {what} | {which} | {value:.3g} |" for what, which, value in rows)])


def calibrate(model: fc.FCNet, folder: Path, seeds: range) -> tuple[float, float]:
    """Set the temperature by the parts of bodies; return their calibration error before and after."""
    data = Bodies(
        folder=folder,
        seeds=seeds,
        pre_transform=fc.ToSurface(**model.config.surface_settings.to_dict()),
        cache=folder / "prepared",
    )
    places, outputs = places_of(data.template), NetworkOutputs(model, TemplatePoints(data.template))
    model.temperature = 1.0
    scores, targets = [], []
    with evaluation_mode(model):
        for surface in data:
            scores.append(outputs(surface)[:, : places.starts[1]])
            labels = torch.from_numpy(places.at_positions(np.nan_to_num(surface.y.numpy()))[1][:, 0])
            targets.append(torch.where(surface.y.isfinite().all(1), labels, -1))
    found, target = torch.cat(scores), torch.cat(targets)
    model.temperature = fit_temperature(found, target)
    known = target >= 0
    return tuple(error_of(found[known] / heat, target[known]) for heat in (1.0, model.temperature))


def error_of(scores: torch.Tensor, target: torch.Tensor) -> float:
    """Return the expected calibration error in 15 steps of confidence."""
    sure, label = scores.softmax(1).max(1)
    step, right = (15 * sure).long().clamp(max=14), (label == target).float()
    gaps = [(right[step == k].mean() - sure[step == k].mean()).abs() * (step == k).sum() for k in range(15)]
    return float(torch.stack(gaps).nan_to_num().sum() / len(sure))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("folder", type=Path, metavar="BODIES")
    parser.add_argument(
        "--bodies", type=int, default=1300, help="of which the last were kept out of training"
    )
    parser.add_argument("--samples", type=int, default=1024, help="of a shape that is asked about")
    parser.add_argument("results", type=Path, nargs="?")
    options = parser.parse_args()
    shipped = MODELS["bodies"]
    folder = shipped.folder
    model = fc.load(options.run)
    model.config = replace(model.config, samples=options.samples)
    before, after = calibrate(model, options.folder, range(options.bodies - KEPT_OUT, options.bodies))
    print(f"temperature {model.temperature:.2f}, calibration error {before:.3f} before, {after:.3f} after")
    model.task = shipped.task
    about = {key: value for key, value in read_config(options.run).items() if key == "training"}
    save_pretrained(model.half(), folder, about=about)
    results = {} if options.results is None else json.loads(read_text(options.results))
    card = read_text(HERE / "card.md")
    card = card.replace("<!-- figures -->", table(results, results.get("kept out", {})))
    write_text(folder / CARD, card.replace("<!-- parameters -->", f"{model.num_parameters:,}"))
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{folder}: {size / 1e6:.2f} MB, {CONFIG} for {shipped.task}")


if __name__ == "__main__":
    main()
