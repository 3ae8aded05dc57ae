"""Put a trained network for bodies into the package, in half precision, with its card.

    python benchmarks/ship_bodies.py RUN [RESULTS]

RESULTS is what benchmarks/bodies.py wrote. Whatever of the card is not a number is in bodies_card.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import fieldconv as fc
from fieldconv._io import read_text, write_text
from fieldconv.models import MODELS, folder_of
from fieldconv.training.checkpoint import CARD, CONFIG, read_config, save_pretrained

HERE = Path(__file__).parent


def table(results: dict[str, Any], kept_out: dict[str, float]) -> str:
    """Return the figures as rows of a table."""
    faust, shrec, parts = (results.get(key, {}) for key in ("faust", "shrec19", "parts"))
    rows = [("FAUST remeshed, maps between people, mean error × 100", key, faust[key]) for key in faust]
    rows += [("SHREC'19 humans, mean error × 100", key, shrec[key]) for key in shrec if "worst" not in key]
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("results", type=Path, nargs="?")
    options = parser.parse_args()
    shipped = MODELS["bodies"]
    folder = folder_of(shipped)
    model = fc.load(options.run)
    model.task = shipped.task
    about = {key: value for key, value in read_config(options.run).items() if key == "training"}
    save_pretrained(model.half(), folder, about=about)
    results = {} if options.results is None else json.loads(read_text(options.results))
    card = read_text(HERE / "bodies_card.md")
    card = card.replace("<!-- figures -->", table(results, results.get("kept out", {})))
    write_text(folder / CARD, card.replace("<!-- parameters -->", f"{model.num_parameters:,}"))
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{folder}: {size / 1e6:.2f} MB, {CONFIG} for {shipped.task}")


if __name__ == "__main__":
    main()
