"""Train runs for the other benchmarks with the command line, each once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fieldconv.training.checkpoint import STATE

COMMAND_LINE = ("-m", "fieldconv.cli")


def train_once(run: Path, arguments: Sequence[str]) -> None:
    """Run ``fieldconv train ARGUMENTS --out RUN`` unless it is done; resume it if it was interrupted."""
    if finished(run):
        return
    resume = ["--resume"] if (run / STATE).is_file() else []
    words = [sys.executable, *COMMAND_LINE, "train", *arguments, "--out", str(run), *resume]
    subprocess.run(words, check=True)


def finished(run: Path) -> bool:
    """Return whether the run is trained and measured."""
    return (run / "evaluation" / "metrics.json").is_file()
