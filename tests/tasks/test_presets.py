from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fieldconv import commands
from fieldconv.networks import FCNetConfig
from fieldconv.tasks import TrainingConfig

TASKS = ["classification", "segmentation", "correspondence", "matching"]


@pytest.mark.parametrize("task", TASKS)
def test_the_paper_uses_plain_adam(task: Any) -> None:
    """Section 6.1: ADAM, initial learning rate 0.01, batch size 1, all inputs randomly rotated."""
    recipe = TrainingConfig.for_task(task, preset="paper")
    assert (recipe.optimiser, recipe.learning_rate, recipe.batch, recipe.rotate) == ("adam", 0.01, 1, True)
    assert (recipe.schedule, recipe.clip, recipe.average, recipe.weight_decay) == ("constant", None, None, 0)


def test_what_the_paper_says_of_each_task() -> None:
    assert TrainingConfig.for_task("classification", preset="paper").epochs == 30
    segmentation = TrainingConfig.for_task("segmentation", preset="paper")
    assert (segmentation.epochs, segmentation.label_smoothing) == (15, 0.2)
    matching = TrainingConfig.for_task("matching", preset="paper")
    assert (matching.positives, matching.margin, matching.soft_negatives) == (512, 5.0, 0.2)
    assert matching.farthest is None


@pytest.mark.parametrize("task", TASKS)
def test_what_reaches_the_papers_numbers_has_a_schedule(task: Any) -> None:
    recipe, paper = (TrainingConfig.for_task(task, preset=name) for name in ("reproduce", "paper"))
    assert (recipe.schedule, recipe.learning_rate) == ("one_cycle", 0.005)
    assert (recipe.epochs, recipe.batch, recipe.rotate) == (paper.epochs, paper.batch, paper.rotate)


@pytest.mark.parametrize("task", ["classification", "segmentation", "correspondence"])
def test_by_default_networks_learn_what_damage_does(task: Any) -> None:
    """Inputs that a cut far away does not change, and damaged copies; quick has neither, and fewer epochs."""
    default, quick = (TrainingConfig.for_task(task, preset=name) for name in ("default", "quick"))
    assert TrainingConfig.for_task(task) == default
    assert default.damaged > 0
    assert quick == default.changed(damaged=0, epochs=quick.epochs)
    assert default.epochs > default.reshaped + default.damaged  # every copy is shown
    assert default.epochs > quick.epochs
    sees = {name: FCNetConfig.for_task(task, classes=3, preset=name) for name in ("default", "quick")}
    assert sees["default"].features == "balls+hks"
    assert sees["quick"].features in ("hks", "wks")
    assert sees["quick"] == sees["default"].changed(features=sees["quick"].features, smoothing=0.0)


def test_matching_learns_what_damage_does_if_asked_to() -> None:
    default, quick, scans = (
        TrainingConfig.for_task("matching", preset=name) for name in ("default", "quick", "scans")
    )
    assert default == quick
    assert quick == scans.changed(damaged=0, epochs=quick.epochs)
    assert scans.damaged > 0


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("epochs", 0, "epochs is 0"),
        ("optimiser", "sgd", "choose one of adam, adamw"),
        ("learning_rate", -1.0, "give a positive number"),
        ("label_smoothing", 1.0, "from 0 to below 1"),
        ("average", 1.5, "between 0 and 1"),
        ("reshaped", -1, "reshaped is -1; give a whole number from 0 up"),
        ("reshaping", 0.0, "reshaping is 0.0; give a number above 0"),
        ("damaged", -1, "damaged is -1; give a whole number from 0 up"),
        ("damaging", 3.0, "damaging is 3.0; give a number above 0"),
        ("clip", 0.0, "positive number, or None"),
        ("speed", 3, "unknown setting 'speed'"),
    ],
)
def test_wrong_values_say_what_is_allowed(field: str, value: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        TrainingConfig.for_task("segmentation", **{field: value})


def test_commands_are_found_without_torch() -> None:
    """`fieldconv --help` and the help of most commands must not wait for it."""
    names = [f"fieldconv.commands.{path.stem}" for path in Path(commands.__path__[0]).glob("*.py")]
    code = f"import sys, {', '.join(names)}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
