"""Tasks found by name: those of this package, other people's, and those of the caller's script.

Packages of others add theirs with entry points of the group ``fieldconv.tasks``; `register` adds one in a
script or notebook. `fieldconv.tasks.Task` says what a task defines.
"""

from __future__ import annotations

from fieldconv._registry import Registry
from fieldconv.tasks.base import Task

TASKS: Registry[Task] = Registry("task", "fieldconv.tasks", lambda: Task, helpers=("base", "registry"))
task_names = TASKS.names
register = TASKS.register


def task_named(name: str) -> Task:
    """Return the task of that name.

    Examples
    --------
    >>> task_named("segmentation").metrics[0].key
    'accuracy'
    """
    return TASKS.get(name)()


def all_tasks() -> list[Task]:
    """Return every task, sorted by name."""
    return [task() for task in TASKS.all()]
