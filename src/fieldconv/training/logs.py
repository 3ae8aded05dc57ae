"""What is written while a run goes on: a CSV row per epoch, and TensorBoard scalars."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fieldconv._io import write_csv


def write_log(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the whole table anew: a resumed run leaves no row of the epochs it repeats."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    write_csv(path, columns, ([row.get(column, "") for column in columns] for row in rows))


class TensorBoard:
    """Scalars for TensorBoard, if it is installed; nothing otherwise."""

    def __init__(self, folder: Path | None, *, done: int = 0) -> None:
        self._writer: Any = None
        if folder is not None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                return
            self._writer = SummaryWriter(str(folder), purge_step=done)

    def add(self, values: dict[str, Any], step: int) -> None:
        if self._writer is not None:
            try:
                for key, value in values.items():
                    self._writer.add_scalar(key, value, step)
            except OSError:  # a full disk: the table of metrics says so
                self._writer = None

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
