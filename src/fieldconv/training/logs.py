"""Logs of a training: a line per epoch, and scalars for TensorBoard."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fieldconv._checked import Plain
from fieldconv._duration import duration
from fieldconv.tasks.base import Task
from fieldconv.tasks.base.metric import metric_of


def epoch_line(row: Plain, epochs: int, task: Task, seconds_left: float | None) -> str:
    """Return one line about a finished epoch."""
    known = {metric.key: metric for metric in task.metrics}
    parts = [f"epoch {row['epoch']:>{len(str(epochs))}}/{epochs}", f"loss {row['loss']:.4f}"]
    if task.score is not None:
        parts.append(f"{task.score.label} {task.score.text(row['score'])}")
    for key, value in row.items():
        if key.startswith("validation_"):
            metric = metric_of(key, known)
            parts.append(f"{metric.label} {metric.text(value)}")
    parts.append(duration(row["seconds"]))
    if row["epoch"] < epochs and seconds_left is not None:
        parts.append(f"{duration(seconds_left)} left")
    return "  ".join(parts)


class TensorBoard:
    """Scalars for TensorBoard, if it is installed; nothing otherwise.

    It has no thread, unlike TensorBoard's own writer, whose thread prints a traceback when the disk is full.
    """

    def __init__(self, folder: Path | None, *, done: int = 0) -> None:
        self._file: Any = None
        if folder is None:
            return
        try:
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog
            from tensorboard.compat.proto.summary_pb2 import Summary
            from tensorboard.summary.writer.record_writer import RecordWriter
        except ImportError:
            return
        self._event, self._summary = Event, Summary
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}"
        self._file = open(folder / name, "ab")  # noqa: SIM115
        self._records = RecordWriter(self._file)
        self._write(file_version="brain.Event:2")
        # Readers drop what was written of later steps before the run was stopped.
        self._write(step=done, session_log=SessionLog(status=SessionLog.START))

    def add(self, values: Plain, step: int) -> None:
        """Write numbers by their names."""
        if self._file is not None:
            named = [self._summary.Value(tag=key, simple_value=float(value)) for key, value in values.items()]
            self._write(step=step, summary=self._summary(value=named))

    def flush(self) -> None:
        """Write buffered values to the file."""
        if self._file is not None:
            self._try(self._file.flush)

    def close(self) -> None:
        """Write buffered values and close the file."""
        if self._file is not None:
            self._try(self._file.close)
            self._file = None

    def _write(self, **content: Any) -> None:
        event = self._event(wall_time=time.time(), **content).SerializeToString()
        self._try(lambda: self._records.write(event))

    def _try(self, step: Callable[[], object]) -> None:
        try:
            step()
        except OSError:  # a full disk, which the log reports
            file, self._file = self._file, None
            with suppress(OSError):
                file.close()
