"""Draw bodies_curves.png: errors of the dense maps of the network for bodies.

Run as ``python docs/figures/bodies_curves.py``; reads benchmarks/results/bodies/measured.json, which
benchmarks/bodies.py writes.
"""

import json
from pathlib import Path

from fieldconv.viz.figures import lines
from fieldconv.viz.plot import PAGE

HERE = Path(__file__)
RESULTS = HERE.parents[2] / "benchmarks" / "results" / "bodies" / "measured.json"
CURVES = {
    "FAUST": ("faust", "clean"),
    "FAUST, refined": ("faust", "clean, refined"),
    "FAUST, a tenth cut away": ("faust", "cut"),
    "FAUST, touching parts fused": ("faust", "fused"),
    "SHREC'19 humans": ("shrec19", "clean"),
    "SHREC'19 humans, refined": ("shrec19", "clean, refined"),
}


def main() -> None:
    measured = json.loads(RESULTS.read_text(encoding="utf-8"))
    curves = {}
    for name, (data, kind) in CURVES.items():
        share = measured[data]["curves"][kind]
        curves[name] = ([0.5 * k for k in range(len(share))], share)
    plot = lines(
        curves, x="geodesic error × 100, at unit area", y="share of points", percent=True, width=PAGE * 0.8
    )
    plot.save(HERE.with_suffix(""))[1].unlink()


if __name__ == "__main__":
    main()
