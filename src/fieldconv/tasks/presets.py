"""How networks are trained, as plain data: the paper's recipe, the best measured one, and a tiny one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from fieldconv.models.config import Preset, Task
from fieldconv.settings import checked

Optimiser = Literal["adam", "adamw"]
Schedule = Literal["constant", "one_cycle"]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Everything that decides what a training run learns, apart from the network and the data.

    Examples
    --------
    >>> TrainingConfig.for_task("segmentation", preset="paper").label_smoothing
    0.2
    >>> TrainingConfig.for_task("segmentation", preset="paper", epochs=2).epochs
    2
    """

    epochs: int = 30
    """Passes over the training set."""
    batch: int = 1
    """Meshes (pairs, for matching) per step, over all processes together."""
    optimiser: Optimiser = "adam"
    """Adam, or Adam with decoupled weight decay."""
    learning_rate: float = 0.01
    """The largest step size."""
    weight_decay: float = 0.0
    """Pull of the weights towards zero; with adamw."""
    schedule: Schedule = "constant"
    """Hold the learning rate, or raise it from a 25th and let it fall to nothing."""
    warm_up: float = 0.1
    """Share of the steps in which one_cycle raises the learning rate."""
    clip: float | None = None
    """Longest gradient, longer ones are scaled down; None for no limit."""
    average: float | None = None
    """Decay of the moving average of the weights that is kept as the result; None keeps the last weights."""
    label_smoothing: float = 0.0
    """Share of each target spread over all classes."""
    rotate: bool = True
    """Turn every shape at random whenever it is used for training; only positions as features feel it."""
    stretch: float = 0.0
    """Scale the three axes of positions, once turned, by random factors of up to 1 ± this."""
    reshaped: int = 0
    """Copies of each mesh with other proportions; an epoch shows every mesh once, as it is or as a copy."""
    reshaping: float = 1.0
    """How strongly copies are reshaped: 1 changes thickness by a third and stretches by a fifth, or so."""
    positives: int = 512
    """Corresponding pairs of points drawn from a pair of meshes, and as many others; for matching."""
    margin: float = 5.0
    """Squared distance beyond which descriptors of other points do not repel; for matching."""
    soft_negatives: float = 0.2
    """Pairs of other points attract with random weights up to this; for matching."""
    validation: float = 0.0
    """Share of the training set that is kept out, to choose the best epoch by."""
    patience: int | None = None
    """Stop after this many epochs without a better validation; None never stops early."""
    seed: int = 0
    """Decides everything random: two runs with one seed on one machine are identical."""

    def __post_init__(self) -> None:
        for name, words in (("optimiser", get_args(Optimiser)), ("schedule", get_args(Schedule))):
            if getattr(self, name) not in words:
                raise ValueError(f"{name} is {getattr(self, name)!r}; choose one of {', '.join(words)}")
        for name in ("epochs", "batch", "positives"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give a whole number from 1 up")
        for name in ("learning_rate", "margin"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} is {getattr(self, name)}; give a positive number")
        for name in ("warm_up", "label_smoothing", "soft_negatives", "validation", "stretch"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; give a number from 0 to below 1")
        if not 0 < self.reshaping <= 2:
            raise ValueError(f"reshaping is {self.reshaping}; give a number above 0 and up to 2")
        if self.reshaped < 0:
            raise ValueError(f"reshaped is {self.reshaped}; give a whole number from 0 up")
        if self.weight_decay < 0:
            raise ValueError(f"weight_decay is {self.weight_decay}; give a number from 0 up")
        if self.clip is not None and not self.clip > 0:
            raise ValueError(f"clip is {self.clip}; give a positive number, or None for no limit")
        if self.average is not None and not 0 < self.average < 1:
            raise ValueError(f"average is {self.average}; give a number between 0 and 1, or None")
        if self.patience is not None and self.patience < 1:
            raise ValueError(f"patience is {self.patience}; give a whole number from 1 up, or None")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}; give a whole number from 0 up")

    @classmethod
    def for_task(cls, task: Task, *, preset: Preset = "default", **changes: Any) -> TrainingConfig:
        """The recipe of one of the paper's four experiments, with some fields changed if wanted."""
        if task not in get_args(Task):
            raise ValueError(f"unknown task {task!r}; choose one of {', '.join(get_args(Task))}")
        if preset not in _PRESETS:
            raise ValueError(f"unknown preset {preset!r}; choose one of {', '.join(_PRESETS)}")
        common, special = _PRESETS[preset]
        return cls.from_dict({**common, **special[task], **changes})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainingConfig:
        """Build from `to_dict`'s output, or from a JSON or YAML file's content."""
        return cls(**checked(cls, values))

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        return asdict(self)

    def changed(self, **changes: Any) -> TrainingConfig:
        """A copy with some fields changed, checked again."""
        return replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where and how a run is computed; see Lightning Fabric for all that can be said here."""

    accelerator: str = "auto"
    """cpu, cuda, or auto for cuda if there is one."""
    devices: str = "1"
    """How many processes or GPUs; with torchrun as many as it starts on a machine."""
    strategy: str = "auto"
    """ddp for several processes."""
    num_nodes: int = 1
    """Machines."""
    precision: str = "32-true"
    """32-true, or bf16-mixed for GPUs."""
    threads: int | None = None
    """CPU threads of each process; None leaves it to torch."""

    def __post_init__(self) -> None:
        if "64" in self.precision:
            raise ValueError("precision is 64-true; surfaces are of single precision, choose 32-true or less")
        for name in ("num_nodes", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; give a whole number from 1 up")


# The paper states no number of epochs for correspondence and matching.
_PAPER: dict[str, dict[str, Any]] = {
    "classification": {"epochs": 30},
    "segmentation": {"epochs": 15, "label_smoothing": 0.2},
    "correspondence": {"epochs": 60},
    "matching": {"epochs": 30},
}
_MODERN: dict[str, Any] = {
    "optimiser": "adamw",
    "schedule": "one_cycle",
    "learning_rate": 0.01,
    "weight_decay": 1e-4,
    "clip": 1.0,
    "average": 0.99,
}
_DEFAULT: dict[str, dict[str, Any]] = {
    "classification": {"epochs": 12, "label_smoothing": 0.2},
    "segmentation": {"epochs": 14, "label_smoothing": 0.2, "reshaped": 3},
    # Where every vertex counts, strong copies are too hard to learn from: see docs/ablations.md.
    "correspondence": {"epochs": 15, "label_smoothing": 0.1, "reshaped": 1, "reshaping": 0.3},
    "matching": {"epochs": 10, "positives": 2048, "soft_negatives": 0.0},
}
_TINY: dict[str, dict[str, Any]] = {
    "classification": {"epochs": 4, "batch": 4},
    "segmentation": {"epochs": 4, "batch": 2},
    "correspondence": {"epochs": 4},
    "matching": {"epochs": 4, "positives": 128},
}
_PRESETS: dict[str, tuple[dict[str, Any], dict[str, dict[str, Any]]]] = {
    "paper": ({}, _PAPER),
    "default": (_MODERN, _DEFAULT),
    "tiny": ({**_MODERN, "average": None}, _TINY),
}
