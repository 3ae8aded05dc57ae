"""`fieldconv train`: its options are the settings of the task and the network named on the line."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from fieldconv.commands.options import given, group_of, help_texts, options_of, value_of
from fieldconv.commands.results import print_metrics, printed_warnings

OVERVIEW = """\
usage: fieldconv train TASK --out RUN [OPTIONS]

Train a network, measure it on the test part, and write all of it to a folder.

tasks:
{tasks}

networks (--network NAME):
{networks}

`fieldconv train TASK --help` shows every setting, with its value in each preset.

examples:
  fieldconv train segmentation --out RUN
  fieldconv train segmentation --data MESHES --out RUN
  fieldconv train classification --data MESHES --preset paper --epochs 10 --out RUN
  fieldconv train segmentation --out RUN --resume
"""


def train_for(arguments: list[str]) -> Callable[..., int]:
    """Return the command for a task and network, so that --help shows their settings in groups."""
    from fieldconv.datasets.source import DataSource
    from fieldconv.networks import network_named
    from fieldconv.surface.settings import SurfaceSettings
    from fieldconv.tasks import task_named, task_names
    from fieldconv.training.settings import NETWORK, Machine, RunSettings

    chosen = _task_on(arguments, task_names())
    if chosen is None:
        print(_overview())
        sys.exit(0 if {"-h", "--help"} & set(arguments) else 2)
    task = task_named(chosen)
    network = value_of(arguments, "--network", NETWORK)
    preset = value_of(arguments, "--preset", "default")
    config = network_named(network).Config

    # The radius depends on the data: on coarse creatures it is larger.
    data: dict[str, Any] = {"data": value_of(arguments, "--data", "") or None}
    vertices = value_of(arguments, "--vertices", "")
    if vertices.isdecimal() and int(vertices) > 0:  # else the error comes when the line is read as a whole
        data["vertices"] = int(vertices)

    def values(name: str) -> dict[str, dict[str, Any]]:
        settings = RunSettings.assemble(task.name, preset=name, network=network, changes=data)
        return {"recipe": settings.training.to_dict(), "network": vars(settings.network)}

    task.preset(preset)  # raises if there is none
    every = {name: values(name) for name in task.presets}

    def group(title: str, kind: type[Any], **more: Any) -> type[Any]:
        others = {name: own[title] for name, own in every.items() if name != preset}
        return options_of(title, kind, every[preset][title], others, **more)

    data_options = options_of("data", DataSource, vars(DataSource()))
    recipe_options = group("recipe", task.Config)
    network_options = group(
        "network",
        config,
        without=("head", "outputs", "in_channels"),  # what the task and the data decide
        texts=help_texts(SurfaceSettings),
    )
    machine_options = options_of("machine", Machine, vars(Machine()))
    tasks: Any = Literal[tuple(task_names())]
    presets: Any = Literal[tuple(task.presets)]

    def train(
        task: Any,
        /,
        *,
        out: Path,
        network: str = NETWORK,
        finetune: str | None = None,
        preset: Any = "default",
        config: Path | None = None,
        resume: bool = False,
        data_: Any = data_options(),  # noqa: B008
        recipe_: Any = recipe_options(),  # noqa: B008
        network_: Any = network_options(),  # noqa: B008
        machine_: Any = machine_options(),  # noqa: B008
    ) -> int:
        """Train a network, measure it on the test part, and write all of it to a folder.

        Without --data it learns from embedded creatures, and the radius shown is for them. Every setting of
        a preset can be changed by the option of its name; values in brackets are those of other presets. A
        second run with the same settings and seed gives the same network.

        $ fieldconv train segmentation --out RUN
        $ fieldconv train classification --data MESHES --preset paper --epochs 10 --out RUN
        $ fieldconv train segmentation --out RUN --resume
        $ fieldconv train segmentation --data MESHES --finetune bodies --out RUN
        $ fieldconv train segmentation --devices 2 --strategy ddp --out RUN

        Args:
            task: What to learn.
            out: Folder for the network, its checkpoints, logs, results and report.
            network: The network to train; `fieldconv train` lists them.
            finetune: Begin with the weights of this run, or of one that `fieldconv models` lists; the last
                layer starts anew if the classes differ.
            preset: The paper's text (paper), what reaches its numbers (reproduce), for meshes clean or
                damaged (default), for clean ones alone, far quicker (quick), or tiny, to try (tiny).
            config: YAML or JSON file of settings, such as the run.yaml of another run; options override it.
            resume: Go on where the run in --out stopped, with its settings; results are as in one go.
            data_: Where the meshes come from.
            recipe_: How it learns.
            network_: What the network is made of, and how meshes are prepared for it.
            machine_: Where it is computed.
        """
        changes: dict[str, Any] = {}
        for options in (data_, recipe_, network_, machine_):
            changes |= given(arguments, options)
        named = {"--network": network, "--preset": preset}
        chosen = {option: value for option, value in named.items() if value_of(arguments, option, "")}
        return run(
            task,
            out,
            changes,
            network=chosen.get("--network"),
            finetune=finetune,
            preset=chosen.get("--preset"),
            config=config,
            resume=resume,
        )

    # The types depend on the task and the network.
    train.__annotations__ |= {
        "task": Annotated[tasks, tyro.conf.Positional],
        "preset": presets,
        "data_": group_of(data_options, "data"),
        "recipe_": group_of(recipe_options, "recipe"),
        "network_": group_of(network_options, "network"),
        "machine_": group_of(machine_options, "machine"),
    }
    return train


def run(
    task: str,
    out: Path,
    changes: dict[str, Any],
    *,
    network: str | None = None,
    finetune: str | None = None,
    preset: str | None = None,
    config: Path | None = None,
    resume: bool = False,
) -> int:
    """Train, test and report with the given settings; return the exit code."""
    from fieldconv import keep_freed_memory
    from fieldconv.labels.errors import DatasetError
    from fieldconv.training.evidence import report_on
    from fieldconv.training.measure import evaluate
    from fieldconv.training.run import check_free, train_from
    from fieldconv.training.settings import FILE, RunSettings

    if resume and config is None:
        config = out / FILE
        if not config.is_file():
            raise ValueError(
                f"{out} holds no run to resume: it has no {FILE}; leave out --resume to begin one"
            )
    settings = RunSettings.assemble(
        task, preset=preset, network=network, finetune=finetune, file=config, changes=changes
    )
    check_free(out, resume)
    keep_freed_memory()
    model = train_from(settings, out, resume=resume)
    if not _is_first_process():
        return 0  # the first one does the rest
    with printed_warnings():
        try:
            data = settings.source.open(task, model.surface_settings(), "test")
        except DatasetError as error:
            print(f"Not tested: {str(error).splitlines()[0]}", file=sys.stderr)
            report_on(out, model, None, None)
        else:
            print_metrics(evaluate(model, data, out=out, quiet=False))
    print(f"The network is in {out}. Try: fieldconv predict {shlex.quote(str(out))} MESH --out RESULT")
    return 0


def _is_first_process() -> bool:
    from torch import distributed

    return not distributed.is_initialized() or distributed.get_rank() == 0


def _task_on(arguments: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the word that names the task; None if none does.

    Examples
    --------
    >>> _task_on(["--out", "matching", "segmentation"], ["matching", "segmentation"])
    'segmentation'
    """
    named = [(before, word) for before, word in pairwise(["", *arguments]) if word in names]
    # A word after an option is most likely its value, a folder that happens to have the name of a task.
    named.sort(key=lambda pair: pair[0].startswith("-"))
    first = arguments[:1] if arguments and not arguments[0].startswith("-") else []
    return next((word for _, word in named), next(iter(first), None))


def _overview() -> str:
    from fieldconv.networks import network_named, network_names
    from fieldconv.tasks import all_tasks

    def first_line(text: str | None) -> str:
        return (text or "").strip().splitlines()[0] if text else ""

    tasks = "\n".join(f"  {task.name:20}{task.about}" for task in all_tasks())
    networks = "\n".join(f"  {name:20}{first_line(network_named(name).__doc__)}" for name in network_names())
    return OVERVIEW.format(tasks=tasks, networks=networks)
