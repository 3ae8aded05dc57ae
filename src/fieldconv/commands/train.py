"""`fieldconv train`: its options are the settings of the task and network that the line names."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import fieldconv as fc
from fieldconv import datasets, networks, tasks, training
from fieldconv._checked import Plain
from fieldconv.commands.arguments import Arguments, field_texts
from fieldconv.commands.output import print_metrics, printed_warnings
from fieldconv.datasets.source import DataSource
from fieldconv.surface.settings import SurfaceSettings

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


def arguments_for(words: Sequence[str], program: str) -> Arguments:
    """Return the command's arguments, with the settings of the task and network that the line names."""
    given, rest = _parse_choices(words)
    chosen = _find_task(rest, tasks.task_names())
    with_help = not {"-h", "--help"}.isdisjoint(words)
    if chosen is None:
        print(_overview())
        sys.exit(0 if with_help else 2)
    task = tasks.task_named(chosen)
    network = given["network"] or training.NETWORK
    preset = given["preset"] or "default"
    task.preset(preset)  # raises if there is none
    presets = task.presets if with_help else ()
    others = {name: _values(task.name, network, name, given) for name in presets}
    values = others.pop(preset, None)
    names = {
        "task": tasks.task_names(),
        "network": networks.network_names(),
        "preset": list(task.presets),
    }
    needed = () if "--print-settings" in words else ("out",)
    arguments = Arguments(train_command, program, choices=names, needed=needed)
    arguments.add_settings("data", "Where the meshes come from.", DataSource, vars(DataSource()))
    arguments.add_settings("recipe", "How it learns.", task.Config, values, others)
    arguments.add_settings(
        "network",
        "What the network is made of, and how meshes are prepared for it.",
        networks.network_named(network).Config,
        values,
        others,
        without=("head", "outputs", "in_channels"),  # what the task and the data decide
        texts=field_texts(SurfaceSettings),
    )
    arguments.add_settings("machine", "Where it is computed.", training.Machine, vars(training.Machine()))
    return arguments


def _parse_choices(words: Sequence[str]) -> tuple[dict[str, str | None], list[str]]:
    """Return the options that other options and their help depend on, and all other words.

    Examples
    --------
    >>> given, rest = _parse_choices(["--preset=paper", "segmentation", "--out", "RUN"])
    >>> given["preset"], given["network"], rest
    ('paper', None, ['segmentation', '--out', 'RUN'])
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for option in ("--network", "--preset", "--data", "--vertices"):
        parser.add_argument(option, nargs="?")  # errors are reported later
    given, rest = parser.parse_known_args(words)
    return vars(given), rest


def _values(task: str, network: str, preset: str, given: Mapping[str, str | None]) -> Plain:
    """Return the value of each setting in a preset, for the help."""
    # The radius depends on the data: it is larger for coarse creatures.
    data: Plain = {"data": given["data"]}
    if (vertices := given["vertices"] or "").isdecimal() and int(vertices) > 0:
        data["vertices"] = int(vertices)
    settings = training.RunSettings.assemble(task, preset=preset, network=network, changes=data)
    return {**settings.training.to_dict(), **vars(settings.network)}


def train_command(
    task: Annotated[str, "TASK"],
    /,
    *,
    out: Annotated[Path | None, "RUN"] = None,
    network: Annotated[str | None, "NAME"] = None,
    finetune: Annotated[str | None, "RUN|NAME"] = None,
    preset: str | None = None,
    config: Path | None = None,
    resume: bool = False,
    print_settings: bool = False,
    **changes: Any,
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
        network: The network to train, fcnet if not given; `fieldconv train` explains them.
        finetune: Begin with the weights of this run, or of one that `fieldconv models` lists; the last
            layer starts anew if the classes differ.
        preset: The paper's text (paper), what reaches its numbers (reproduce), for meshes clean or
            damaged (default, also if not given), for clean ones alone, far quicker (quick), or tiny, to
            try (tiny).
        config: YAML or JSON file of settings, such as the run.yaml of another run; options override it.
        resume: Go on where the run in --out stopped, with its settings; results are as in one go.
        print_settings: Print every setting and where it comes from, and train nothing; --out may be left out.
    """
    if resume and config is None and out is not None:
        config = out / training.FILE
        if not config.is_file():
            raise ValueError(
                f"{out} holds no run to resume: it has no {config.name}; leave out --resume to begin one"
            )
    settings = training.RunSettings.assemble(
        task, preset=preset, network=network, finetune=finetune, file=config, changes=changes
    )
    if print_settings:
        print(training.explain(settings))
        return 0
    assert out is not None  # `arguments_for` requires it
    fc.keep_freed_memory()
    model = training.train_from(settings, out, resume=resume)
    if not training.is_first_process():
        return 0  # the first one does the rest
    with printed_warnings():
        try:
            data = settings.source.open(task, model.surface_settings(), "test")
        except datasets.DatasetError as error:
            print(f"Not tested: {str(error).splitlines()[0]}", file=sys.stderr)
            training.report_on(out, model, None, None)
        else:
            print_metrics(fc.evaluate(model, data, out=out, quiet=False))
    print(f"The network is in {out}. Try: fieldconv predict {shlex.quote(str(out))} MESH --out RESULT")
    return 0


def _find_task(arguments: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the word that names the task, None if there is none.

    Examples
    --------
    >>> _find_task(["--out", "matching", "segmentation"], ["matching", "segmentation"])
    'segmentation'
    """
    named = [(before, word) for before, word in pairwise(["", *arguments]) if word in names]
    # A word after an option is probably its value: a folder may have the name of a task.
    named.sort(key=lambda pair: pair[0].startswith("-"))
    first = arguments[:1] if arguments and not arguments[0].startswith("-") else []
    return next((word for _, word in named), next(iter(first), None))


def _overview() -> str:
    width = shutil.get_terminal_size().columns

    def row(name: str, text: str | None) -> str:
        line = (text or "").strip().split("\n")[0]
        return textwrap.fill(f"  {name:20}{line}", width, subsequent_indent=" " * 22)

    return OVERVIEW.format(
        tasks="\n".join(row(task.name, task.about) for task in tasks.all_tasks()),
        networks="\n".join(
            row(name, networks.network_named(name).__doc__) for name in networks.network_names()
        ),
    )
