"""What can be learnt, found by name: each file here holds one task, all that is particular to it.

Packages of others add theirs with entry points of the group ``fieldconv.tasks``; `register` adds one in a
script or notebook. See `fieldconv.tasks.base.Task` for what a task has to say about itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fieldconv._lazy import lazy
from fieldconv._registry import Registry

if TYPE_CHECKING:
    from fieldconv.tasks.base import Evaluation as Evaluation
    from fieldconv.tasks.base import Metric as Metric
    from fieldconv.tasks.base import Prediction as Prediction
    from fieldconv.tasks.base import Preset as Preset
    from fieldconv.tasks.base import Task as Task
    from fieldconv.tasks.base import TrainingConfig as TrainingConfig


def _base() -> type[Task]:
    from fieldconv.tasks.base import Task

    return Task


TASKS: Registry[Task] = Registry("task", __name__, _base, helpers=("base",))


def task_named(name: str) -> Task:
    """Return the task of that name.

    Examples
    --------
    >>> task_named("segmentation").metrics[0].key
    'accuracy'
    """
    return TASKS.get(name)()


def task_names() -> list[str]:
    """Return the names of all tasks that are installed."""
    return TASKS.names()


def all_tasks() -> list[Task]:
    """Return every task, sorted by name."""
    return [task() for task in TASKS.all()]


def register(task: type[Task]) -> type[Task]:
    """Add a task to those found by name; use it as a decorator of the class."""
    return TASKS.register(task)


__getattr__, __dir__ = lazy(
    __name__,
    {
        **dict.fromkeys(("Evaluation", "Metric", "Prediction", "Preset", "Task", "TrainingConfig"), "base"),
        "Classification": "classification",
        "Correspondence": "correspondence",
        "Matching": "matching",
        "Segmentation": "segmentation",
    },
)
