"""The paper's four experiments: loss, metric and recipe of each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fieldconv.tasks.presets import Machine, TrainingConfig

if TYPE_CHECKING:
    from fieldconv.tasks.base import Evaluation, Task
    from fieldconv.tasks.classification import Classification
    from fieldconv.tasks.correspondence import Correspondence
    from fieldconv.tasks.matching import Matching
    from fieldconv.tasks.segmentation import Segmentation

_HOME = {
    "Classification": "classification",
    "Correspondence": "correspondence",
    "Evaluation": "base",
    "Matching": "matching",
    "Segmentation": "segmentation",
    "Task": "base",
}

__all__ = [
    "Classification",
    "Correspondence",
    "Evaluation",
    "Machine",
    "Matching",
    "Segmentation",
    "Task",
    "TrainingConfig",
    "task_named",
]


def task_named(name: str) -> Task:
    """The task of that name.

    Examples
    --------
    >>> task_named("segmentation").metric
    'accuracy'
    """
    tasks = ("classification", "segmentation", "correspondence", "matching")
    if name not in tasks:
        raise ValueError(f"unknown task {name!r}; choose one of {', '.join(tasks)}")
    task: Task = getattr(import_module(f"{__name__}.{name}"), name.capitalize())()
    return task


def __getattr__(name: str) -> Any:
    """Load torch only when a task itself is asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
