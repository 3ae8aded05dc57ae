"""Training and measuring of several networks on the same data, with one report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

from fieldconv._checked import check_count, field_types
from fieldconv._duration import duration
from fieldconv._progress import Progress
from fieldconv.datasets.folder_dataset import DataFolder
from fieldconv.datasets.source import DataSource
from fieldconv.datasets.surface_dataset import SurfaceDataset
from fieldconv.labels.splits import Split
from fieldconv.networks import network_named
from fieldconv.networks.protocol import Network
from fieldconv.runs.files import read_run
from fieldconv.runs.groups import Compared, Difference
from fieldconv.runs.run import EVALUATION, NUMBERS
from fieldconv.tasks import task_named
from fieldconv.tasks.base import Task
from fieldconv.tasks.base.metric import count, metric_of
from fieldconv.training.checkpoint import STATE
from fieldconv.training.comparison.comparison_results import differences_of, write_tables
from fieldconv.training.comparison.cost import Cost, measured_cost
from fieldconv.training.loop import TrainingError
from fieldconv.training.measure import evaluate
from fieldconv.training.run_settings import FILE, Machine, Recipe, RunSettings
from fieldconv.training.training_run import train_from
from fieldconv.viz import page
from fieldconv.viz.report_page import groups_page, write_group_figures

EMBEDDED_TASK = "segmentation"
COSTS, PAGE = "costs", "report.html"


@dataclass(frozen=True)
class Comparison:
    """Result of a comparison."""

    networks: list[Compared]
    """Runs and costs of each network, the best first."""
    differences: list[Difference]
    """Difference between every two networks, with the p-value of a paired test."""
    page: Path
    """The report."""
    failed: dict[str, str]
    """Folders of runs that failed, and why."""


def compare(
    networks: Sequence[str],
    *,
    out: str | Path,
    data: str | Path | None = None,
    task: str | None = None,
    seeds: int = 3,
    recipe: Recipe = "common",
    preset: str | None = None,
    epochs: int | None = None,
    budget: float | None = None,
    quiet: bool = False,
    **changes: Any,
) -> Comparison:
    """Train and measure networks on the same data, splits and inputs, and write one report of all.

    Called again with the same settings, it goes on where it stopped; more networks or seeds may be added.

    Parameters
    ----------
    networks : sequence of str
        Their names, such as ``["fcnet", "hsn"]``.
    out : path
        Folder for the runs, ``report.html``, tables as CSV and figures for print.
    data : path, optional
        Folder of a benchmark or of your own meshes; embedded creatures if not given.
    task : str, optional
        What the data is for, if the folder does not show it.
    seeds : int
        Runs of each network: run k has seed k, and split k where the data has no split of its own.
    recipe : "common" or "own"
        Train all as the preset says, or each as its own paper did.
    preset : str, optional
        Sizes and inputs of the networks, and the common recipe; if not given "quick", without damaged copies,
        where the task has it.
    epochs : int, optional
        Epochs of every network, instead of the recipe's.
    budget : float, optional
        Minutes of training for each run: as many epochs as fit, by the measured time of a step.
    quiet : bool
        Print nothing.
    **changes
        Any setting of data, networks or training, such as ``features="xyz"``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> small = {"preset": "tiny", "epochs": 1, "seeds": 1, "meshes": 2, "vertices": 300}
    >>> with TemporaryDirectory() as out:
    ...     result = compare(["fcnet", "diffusionnet"], out=out, quiet=True, **small)
    >>> sorted(network.name for network in result.networks)
    ['diffusionnet', 'fcnet']
    """
    out = Path(out)
    if epochs is not None and budget is not None:
        raise ValueError("give either epochs or a budget of minutes, not both")
    if budget is not None and not budget > 0:
        raise ValueError(f"budget is {budget}; give a positive number of minutes")
    if data is not None:
        task = DataFolder.recognise(data).task_for(task)
        changes["data"] = str(data)
    if epochs is not None:
        changes["epochs"] = epochs
    planned = plan_runs(
        task or EMBEDDED_TASK, networks, seeds=seeds, recipe=recipe, preset=preset, changes=changes
    )
    planned.sort(key=lambda run: run.training.seed)  # an early stop leaves every network, with fewer seeds
    costs: dict[str, Cost] = {}
    epoch_seconds: dict[str, float] = {}
    with Progress("measuring", len(networks), quiet=quiet) as progress:
        for name in networks:
            first = next(run for run in planned if run.network_name == name)
            progress.say(f"Preparing the data for {name}, and measuring a step")
            steps = -(-len(_open_parts(first, "train")) // first.training.batch)
            costs[name] = measured_cost(first, out / COSTS / name)
            epoch_seconds[name] = costs[name].step * steps
            progress.step()
    if budget is not None:
        fitting = {name: max(1, int(60 * budget / seconds)) for name, seconds in epoch_seconds.items()}
        planned = [with_epochs(run, fitting[run.network_name]) for run in planned]
    failed = _run_all(planned, out, epoch_seconds, quiet=quiet)
    done = [run for run in planned if run_name(run) not in failed]
    if not done:
        raise ValueError(f"no run could be finished: {next(iter(failed.values()))}")
    ranked = _read_results(done, costs, out)
    differences = differences_of(ranked)
    write_tables(ranked, differences, out)
    write_group_figures(ranked, out / "figures")
    settings = done[0]
    source = Path(settings.source.data or "embedded creatures").name
    how = "one recipe for all" if recipe == "common" else "each network's own recipe"
    html = groups_page(
        ranked,
        title=f"Comparison of networks: {settings.task}",
        caption=f"{source}; inputs {settings.network.features}; {how}",
        differences=differences,
        failed=failed,
    )
    return Comparison(ranked, differences, page.write(out / PAGE, html), failed)


def _run_all(
    planned: Sequence[RunSettings], out: Path, epoch_seconds: dict[str, float], *, quiet: bool
) -> dict[str, str]:
    """Train and measure what is not done yet; return what failed. Progress counts expected seconds."""
    for run in planned:
        if (out / run_name(run) / FILE).is_file():
            _check_same(run, out / run_name(run))
    missing = {
        number: run
        for number, run in enumerate(planned, start=1)
        if not (out / run_name(run) / EVALUATION / NUMBERS).is_file()
    }
    seconds = {
        number: run.training.epochs * epoch_seconds[run.network_name] for number, run in missing.items()
    }
    failed: dict[str, str] = {}
    before = 0.0
    with Progress("comparing", sum(seconds.values()), share=True, quiet=quiet) as progress:
        for number, run in missing.items():
            folder = out / run_name(run)
            what = f"run {number}/{len(planned)}: {run.network_name}, seed {run.training.seed}"
            progress.say(announcement(what, run, sum(seconds.values()) - before))
            progress.reach(before, what=what)
            try:
                model = train_from(
                    run,
                    folder,
                    resume=(folder / STATE).is_file(),
                    quiet=True,
                    each_epoch=partial(_show_epoch, progress, before, epoch_seconds[run.network_name]),
                )
                result = evaluate(model, _open_parts(run, "test", model), out=folder)
            except TrainingError as error:  # the other runs go on
                failed[folder.name] = str(error)
                progress.say(f"{folder.name} failed: {error}")
            else:
                main, value = next(iter(result.metrics.items()))
                metric = metric_of(main, {m.key: m for m in task_named(run.task).metrics})
                progress.say(f"{folder.name}: {metric.label} {metric.text(value)}")
            before += seconds[number]
            progress.reach(before)
    return failed


def _read_results(done: Sequence[RunSettings], costs: Mapping[str, Cost], out: Path) -> list[Compared]:
    """Return what each network reached, the best first."""
    networks = []
    for name in dict.fromkeys(run.network_name for run in done):
        own = [run for run in done if run.network_name == name]
        runs = {run.training.seed: read_run(out / run_name(run)) for run in own}
        networks.append(Compared(name=name, runs=runs, **asdict(costs[name])))
    return sorted(networks, key=lambda network: -network.goodness)


def announcement(what: str, run: RunSettings, seconds: float) -> str:
    """Return the line before a run, with how long it and those after it take."""
    return f"{what}, {count(run.training.epochs, 'epoch')}; about {duration(seconds)} left in all"


def _show_epoch(progress: Progress, before: float, epoch_seconds: float, row: dict[str, float]) -> None:
    progress.reach(before + row["epoch"] * epoch_seconds)


def _open_parts(settings: RunSettings, part: Split, model: Network | None = None) -> SurfaceDataset:
    prepared = settings.network.surface_settings if model is None else model.surface_settings()
    return settings.source.open(settings.task, prepared, part, progress=False)


def _check_same(run: RunSettings, folder: Path) -> None:
    """Raise ValueError if a folder holds a run with other settings."""
    kept = RunSettings.assemble(run.task, file=folder / FILE)
    planned = run.with_outputs(kept.network.outputs)
    for part in ("source", "network", "training"):
        now, then = getattr(planned, part).to_dict(), getattr(kept, part).to_dict()
        differing = [key for key in now if now[key] != then.get(key)]
        if differing:
            key = differing[0]
            raise ValueError(
                f"{folder} was run with another {key} ({then.get(key)!r}, now {now[key]!r}); choose another "
                "folder for --out"
            )


def plan_runs(
    task: str,
    networks: Sequence[str],
    *,
    seeds: int = 3,
    recipe: Recipe = "common",
    preset: str | None = None,
    changes: Mapping[str, Any] | None = None,
) -> list[RunSettings]:
    """Return the runs of a comparison, network by network; the parameters are those of `compare`.

    A network goes without a setting in ``changes`` that only another of them has.
    """
    if recipe not in get_args(Recipe):
        raise ValueError(f"recipe is {recipe!r}; choose common or own")
    check_count("seeds", seeds)
    if not networks:
        raise ValueError("no networks to compare; name at least one")
    twice = [name for name in dict.fromkeys(networks) if list(networks).count(name) > 1]
    if twice:
        raise ValueError(f"the network {twice[0]} is named twice")
    kind = task_named(task)
    preset = preset or ("quick" if "quick" in kind.presets else "default")
    settings = {name: _settings(kind, name, recipe, preset, changes or {}, networks) for name in networks}
    first = next(iter(settings.values())).source.split_seed
    return [
        own.changed("the comparison", training={"seed": seed}, source={"split_seed": first + seed})
        for own in settings.values()
        for seed in range(own.training.seed, own.training.seed + seeds)
    ]


def run_name(settings: RunSettings) -> str:
    """Return the name of the folder of a run."""
    return f"{settings.network_name}-seed-{settings.training.seed}"


def with_epochs(settings: RunSettings, epochs: int) -> RunSettings:
    """Return the same with another number of epochs; a rate that falls in steps keeps its shape."""
    training = settings.training
    often = max(1, round(training.drop_every * epochs / training.epochs))
    return settings.changed("the comparison", training={"epochs": epochs, "drop_every": often})


def _settings(
    task: Task, name: str, recipe: Recipe, preset: str, changes: Mapping[str, Any], networks: Sequence[str]
) -> RunSettings:
    given = dict(changes)
    epochs = given.pop("epochs", None)
    elsewhere = {field for other in networks for field in field_types(network_named(other).Config)}
    kinds = (network_named(name).Config, task.Config, DataSource, Machine)
    known = {field for kind in kinds for field in field_types(kind)}
    fitting = {key: value for key, value in given.items() if key in known or key not in elsewhere}
    settings = RunSettings.assemble(task.name, preset=preset, network=name, recipe=recipe, changes=fitting)
    network_named(name)(settings.network)  # raises if it has no such head
    return settings if epochs is None else with_epochs(settings, epochs)
