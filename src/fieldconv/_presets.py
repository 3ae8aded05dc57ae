"""Reads `presets.yaml`: the presets of the tasks and networks that come with the package.

Those of other packages state theirs in their classes, in the same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

Values = Mapping[str, Any]
EVERY_TASK = "every task"


def task_presets(task: str) -> Mapping[str, Values]:
    """Return the presets of a task, by name, as fields of `Preset`."""
    return _content()["tasks"][task]


def network_presets(network: str) -> Mapping[str, Values]:
    """Return the settings of a network in each preset, for all tasks.

    Examples
    --------
    >>> network_presets("hsn")["tiny"]
    {'width': 4, 'rings': 3, 'blocks': 1}
    """
    return _content()["networks"][network]


def network_recipe(network: str) -> Values:
    """Return the training settings of the paper that introduced a network."""
    return _content()["recipes"][network][EVERY_TASK]


def network_recipes(network: str) -> Mapping[str, Values]:
    """Return the settings that this paper changes for single tasks, by task."""
    return {task: values for task, values in _content()["recipes"][network].items() if task != EVERY_TASK}


@cache
def _content() -> Mapping[str, Mapping[str, Mapping[str, Values]]]:
    text = Path(__file__).with_name("presets.yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C, where PyYAML was built with it
    content: Mapping[str, Mapping[str, Mapping[str, Values]]] = yaml.load(text, loader)
    return content
