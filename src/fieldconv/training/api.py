"""Training and evaluation in one call each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from fieldconv.models.config import Preset
from fieldconv.tasks import task_named
from fieldconv.tasks.base import Evaluation
from fieldconv.tasks.presets import Machine, TrainingConfig
from fieldconv.training.checkpoint import STATE
from fieldconv.training.loop import Fit, run_evaluation

if TYPE_CHECKING:
    from fieldconv.models.fcnet import FCNet


def train(
    model: FCNet,
    data: Any,
    *,
    validation: Any = None,
    preset: Preset = "default",
    config: TrainingConfig | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    machine: Machine | None = None,
    quiet: bool = False,
    **changes: Any,
) -> list[dict[str, Any]]:
    """Train a network on a dataset; afterwards the network knows its task and classes, and can `predict`.

    Parameters
    ----------
    model : FCNet
        Trained in place.
    data : SurfaceDataset
        What to learn from; prepared anew if it was not prepared the way the network needs it.
    validation : SurfaceDataset, optional
        To choose the best epoch by; if not given, a share of the data can be kept out for it.
    preset : "paper", "default" or "tiny"
        The recipe.
    config : TrainingConfig, optional
        The recipe itself, instead of a preset.
    out : path, optional
        Folder for checkpoints and logs, written at every epoch.
    resume : bool
        Go on from the last epoch in ``out``, to the same result as without the interruption.
    machine : Machine, optional
        Devices, processes, precision.
    quiet : bool
        Print nothing.
    **changes
        Any field of `TrainingConfig`, such as ``epochs=5``.

    Returns
    -------
    list of dict
        For each epoch its number, loss, training score, learning rate, seconds, and validation metrics.
    """
    if not len(data):
        raise ValueError("there is nothing to train on: the data has no examples")
    if out is not None and not resume and (Path(out) / STATE).is_file():
        raise ValueError(f"{out} holds a run already; resume it, or choose another folder")
    task = task_named(data.task)
    recipe = (config or TrainingConfig.for_task(data.task, preset=preset)).changed(**changes)
    check_fit(model, data)
    data = prepared_for(model, data)
    if validation is not None:
        validation = prepared_for(model, validation)
    elif recipe.validation > 0:
        data, validation = divided(data, recipe.validation, recipe.seed)
    adopt(model, data)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        fit = Fit(
            model,
            data,
            task,
            recipe,
            validation=validation,
            out=out,
            resume=resume,
            machine=machine,
            quiet=quiet,
            about={"training": recipe.to_dict(), "data": str(data.name)},
        )
        return fit.run()


def evaluate(model: FCNet, data: Any, *, rotations: int = 1, quiet: bool = True) -> Evaluation:
    """Measure a network on a dataset.

    Parameters
    ----------
    model : FCNet
    data : SurfaceDataset
        Prepared anew if it was not prepared the way the network needs it.
    rotations : int
        Average over this many orientations of each shape; see `predict`.

    Returns
    -------
    Evaluation
        ``metrics`` has the numbers, ``curves`` and ``tables`` the rest.
    """
    check_fit(model, data)
    return run_evaluation(
        model, prepared_for(model, data), task_named(data.task), rotations=rotations, quiet=quiet
    )


def adopt(model: FCNet, data: Any) -> None:
    """Tell the network what it is trained for; checkpoints and predictions need it."""
    model.task, model.class_names, model.template = data.task, tuple(data.class_names), data.template


def check_fit(model: FCNet, data: Any) -> None:
    """Raise if the network's outputs are not what the data has as targets."""
    heads = {"classification": "classification", "matching": "descriptors"}
    head = heads.get(data.task, "labels")
    if model.config.head != head:
        raise ValueError(
            f"the network's head is {model.config.head!r}, but {data.task} needs {head!r}; build it with "
            f"FCNet.for_task({data.task!r}, …)"
        )
    if head != "descriptors" and model.config.outputs != data.num_classes:
        raise ValueError(
            f"the network has {model.config.outputs} outputs, but the data has {data.num_classes} classes; "
            f"build it with FCNet.for_task({data.task!r}, classes={data.num_classes})"
        )
    if model.class_names and tuple(data.class_names) != tuple(model.class_names):
        raise ValueError(
            f"the network knows the classes {', '.join(model.class_names)}; the data has "
            f"{', '.join(data.class_names)}"
        )

    one, two = model.template, data.template
    if one is not None and two is not None and not np.array_equal(one.vertices, two.vertices):
        raise ValueError(
            "the data's template is not the one the network was trained with; its vertices are other points"
        )


def prepared_for(model: FCNet, data: Any) -> Any:
    """The data as the network needs it: the same radius, samples and features."""
    settings = model.config.surface_settings
    current = getattr(data.pre_transform, "settings", settings)  # one's own preparation is left alone
    return data if current == settings else data.prepared_with(settings)


def divided(data: Any, share: float, seed: int) -> tuple[Any, Any]:
    """Data to learn from, and a share of it, at least one, kept out."""
    order = np.random.default_rng(seed).permutation(len(data))
    kept_out = max(1, round(share * len(data)))
    if kept_out >= len(data):
        raise ValueError(
            f"{len(data)} examples cannot be divided into training and validation; set validation to 0"
        )
    return data[sorted(order[kept_out:].tolist())], data[sorted(order[:kept_out].tolist())]
