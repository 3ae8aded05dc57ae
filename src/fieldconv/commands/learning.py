"""`fieldconv demo`, `train`, `evaluate`, `predict` and `match`: networks from the command line."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Sequence
from dataclasses import field, fields, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import tyro

from fieldconv.geometry.meshfiles import meshes_below
from fieldconv.models.config import FCNetConfig, Preset, Task
from fieldconv.settings import SurfaceSettings
from fieldconv.tasks.presets import Machine, TrainingConfig
from fieldconv.tasks.wording import number, words
from fieldconv.training.settings import DataSource

if TYPE_CHECKING:
    from fieldconv.tasks.base import Evaluation
    from fieldconv.training.prediction import Prediction

UNSET: Literal["preset"] = "preset"
Run = Annotated[Path, tyro.conf.arg(metavar="RUN"), tyro.conf.Positional]


def _options() -> type[Any]:
    """Every field of the settings as an option that leaves the preset's value alone if it is not given."""
    import docstring_parser

    left_out = {"head", "outputs", "in_channels"}  # what the task and the data decide
    made: list[tuple[str, Any, Any]] = []
    words = {
        name: " ".join((entry.description or "").split())
        for kind in (TrainingConfig, FCNetConfig, SurfaceSettings, Machine)
        for entry in docstring_parser.parse_from_object(kind).params
        for name in entry.arg_name.split(", ")
    }
    for kind in (TrainingConfig, FCNetConfig, Machine):
        types = get_type_hints(kind)
        for entry in fields(kind):
            if entry.name not in left_out:
                text = tyro.conf.arg(help=words.get(entry.name, ""))
                values: Any = types[entry.name] | Literal["preset"]
                made.append((entry.name, Annotated[values, text], field(default=UNSET)))
    return make_dataclass("Options", made, frozen=True, kw_only=True)


if TYPE_CHECKING:
    Options = Any
else:
    Options = _options()


def train(
    task: tyro.conf.Positional[Task],
    /,
    *,
    out: Path,
    preset: Preset | None = None,
    config: Path | None = None,
    resume: bool = False,
    source: Annotated[DataSource, tyro.conf.arg(name="")] = DataSource(),  # noqa: B008
    options: Annotated[Options, tyro.conf.arg(name="")] = Options(),  # noqa: B008
) -> int:
    """Train a network, measure it on the test part, and write all of it to a folder.

    Without --data it learns from embedded creatures. Every setting of a preset can be changed by the option
    of its name. A second run with the same settings and seed gives the same network.

    $ fieldconv train segmentation --out RUN
    $ fieldconv train classification --data MESHES --preset paper --epochs 10 --out RUN
    $ fieldconv train segmentation --out RUN --resume
    $ fieldconv train segmentation --devices 2 --strategy ddp --out RUN

    Args:
        task: What to learn.
        out: Folder for the network, its checkpoints, logs, results and report.
        preset: The paper's settings, the best measured ones (if not given), or a tiny network for trying.
        config: YAML or JSON file of settings, such as the run.yaml of another run; options override it.
        resume: Go on where the run in --out stopped, with its settings; the result is as if it had not.
        source: Where the meshes come from.
        options: Settings that differ from the preset.
    """
    from fieldconv.training.settings import FILE, RunSettings

    changes = {name: value for name, value in vars(options).items() if value != UNSET}
    changes |= _given(source)
    if resume and config is None:
        config = out / FILE
        if not config.is_file():
            raise ValueError(
                f"{out} holds no run to resume: it has no {FILE}; leave out --resume to begin one"
            )
    settings = RunSettings.assemble(task, preset=preset, file=config, changes=changes)

    from fieldconv.training.runs import open_test, train_run

    where = settings.source.data or "embedded creatures"
    print(f"Preparing {where} for {task}; prepared meshes are kept for the next time.", file=sys.stderr)
    model = train_run(settings, out, resume=resume)
    data, problem = open_test(settings.source, task, model.config.surface_settings)
    if data is None:
        print(f"Not tested: {problem}", file=sys.stderr)
        _report(out, model, None, None)
    else:
        _measure(model, out, data, out)
    print(f"The network is in {out}. Try: fieldconv predict {shlex.quote(str(out))} MESH --out RESULT")
    return 0


def evaluate(
    run: Run,
    /,
    *,
    source: Annotated[DataSource, tyro.conf.arg(name="")] = DataSource(),  # noqa: B008
    part: Literal["test", "train", "all"] = "test",
    rotations: int = 1,
    out: Path | None = None,
) -> int:
    """Measure a trained network: a table of metrics, and JSON, curves and a report in the run's folder.

    $ fieldconv evaluate RUN
    $ fieldconv evaluate RUN --data OTHER_MESHES --part all --out RESULT

    Args:
        run: Run or checkpoint folder.
        source: Where the meshes come from; without --data, what is not given is as it was for the run.
        part: Part of the data to use.
        rotations: Average over this many orientations of each shape; slower, a little better.
        out: Folder for the results; RUN if not given, which only its own test part may be.
    """
    from fieldconv.models.fcnet import FCNet
    from fieldconv.tasks.base import check_rotations
    from fieldconv.training.checkpoint import read_config
    from fieldconv.training.runs import open_data, source_of

    model = FCNet.from_pretrained(run)
    if model.task is None:
        raise ValueError(f"{run} does not say what its network is for, so it cannot be measured")
    check_rotations(rotations)  # before anything is prepared
    own = source_of(run)
    if source.data is None:
        source = replace(own, **_given(source))
        if source.data is not None and not Path(source.data).exists():
            raise ValueError(
                f"{run} was trained on {source.data}, which is not here; say where it is with --data"
            )
    if out is None and "source" in read_config(run) and (source != own or part != "test"):
        raise ValueError(f"{run} keeps the results of its own test part; give --out FOLDER for others")
    data = open_data(source, model.task, model.config.surface_settings, part)
    _measure(model, run, data, out or run, rotations)
    return 0


def predict(
    run: Run,
    meshes: Annotated[tuple[Path, ...], tyro.conf.arg(metavar="MESH …"), tyro.conf.Positional],
    /,
    *,
    out: Path,
    descriptors: bool = True,
    rotations: int = 1,
) -> int:
    """Apply a trained network to meshes it has never seen, of any resolution and quality.

    Writes for each mesh NAME.npy (labels of its vertices), NAME.csv (with names and probabilities), NAME.ply
    (coloured), NAME.probabilities.npy and NAME.descriptors.npy; and predictions.csv for classification. Goes
    on past files that cannot be read, and ends with exit code 1 if there were any.

    $ fieldconv predict RUN new.stl --out RESULT
    $ fieldconv predict RUN FOLDER list.txt --out RESULT

    Args:
        run: Run or checkpoint folder.
        meshes: Mesh files, folders of them, or text files that list them.
        out: Folder for the results.
        descriptors: Write the descriptors of vertices, too.
        rotations: Average over this many orientations of each shape; slower, a little better.
    """
    from fieldconv.models.fcnet import FCNet
    from fieldconv.tasks.base import check_rotations
    from fieldconv.training.prediction import predict as apply
    from fieldconv.training.progress import follow
    from fieldconv.viz.colours import categorical, position_colours

    paths = _mesh_paths(meshes)
    check_rotations(rotations)
    _check_elsewhere(out, paths)
    model = FCNet.from_pretrained(run)
    names = _distinct([path.stem for path in paths])
    if model.template is not None:
        palette = position_colours(model.template.vertices)
    else:
        palette = categorical(model.config.outputs)
    rows, problems = [], []
    for path, name in follow(list(zip(paths, names, strict=True)), "Predicting"):
        try:
            found = apply(model, path, rotations=rotations)
        except (ValueError, OSError) as error:
            problem = " ".join(str(error).split())
            problems.append(problem if str(path) in problem else f"{path}: {problem}")
            continue
        rows.append(_write_prediction(found, out, name, path, palette, descriptors=descriptors))
    if model.task == "classification" and rows:
        _write_csv(out / "predictions.csv", ["file", "class", "name", "probability"], rows)
    print(f"{len(rows)} of {len(paths)} meshes done, in {out}.")
    if rows and model.task == "classification":
        for path, _, name, probability in rows[:20]:
            print(f"  {path}: {name} ({float(probability):.0%})")
    for problem in problems:
        print(f"fieldconv: {problem}", file=sys.stderr)
    return 1 if problems else 0


def match(
    run: Run,
    a: Annotated[Path, tyro.conf.arg(metavar="A"), tyro.conf.Positional],
    b: Annotated[Path, tyro.conf.arg(metavar="B"), tyro.conf.Positional],
    /,
    *,
    out: Path = Path("match"),
) -> int:
    """Map every vertex of mesh A to a vertex of mesh B, and carry the colours of B over to A.

    Writes map.npy and map.csv (vertex of A, vertex of B, confidence), and two coloured meshes to look at: B,
    and A with the colours of its matches.

    $ fieldconv match RUN a.obj b.obj --out RESULT

    Args:
        run: Run or checkpoint folder of a network for matching or correspondence.
        a: Mesh file to map from.
        b: Mesh file to map to.
        out: Folder for the results.
    """
    import numpy as np

    from fieldconv.geometry.mesh import Mesh
    from fieldconv.models.fcnet import FCNet
    from fieldconv.training.prediction import match as apply
    from fieldconv.viz.colours import position_colours

    _check_elsewhere(out, [a, b])
    model = FCNet.from_pretrained(run)
    meshes = [Mesh.load(path) for path in (a, b)]
    target, confidence = apply(model, *meshes)
    names = _distinct([a.stem, b.stem])
    _write_array(out / "map.npy", target)
    rows = zip(range(len(target)), target.tolist(), (f"{c:.4f}" for c in confidence), strict=True)
    _write_csv(out / "map.csv", ["vertex", "match", "confidence"], rows)
    colours = meshes[1].vertex_colours
    if colours is None:
        colours = position_colours(meshes[1].vertices)
    carried = np.where((target >= 0)[:, None], colours[target], 128)
    data = {"match": target, "confidence": confidence}
    Mesh(meshes[0].vertices, meshes[0].faces, names[0], carried, vertex_data=data).save(
        out / f"{names[0]}.ply"
    )
    Mesh(meshes[1].vertices, meshes[1].faces, names[1], colours).save(out / f"{names[1]}.ply")
    print(f"{len(target):,} vertices mapped, mean confidence {confidence.mean():.0%}, in {out}.")
    print(f"Same colours mean same place: fieldconv view {out / names[0]}.ply {out / names[1]}.ply")
    return 0


def demo(*, out: Path = Path("fieldconv-demo"), epochs: int = 12, meshes: int = 40) -> int:
    """Train a small network to find the parts of animals, on two cores in under three minutes, and show it.

    $ fieldconv demo

    Args:
        out: Folder for the results; a demo that is there is replaced, any other run is not.
        epochs: Passes over the training set.
        meshes: Creatures to learn from.
    """
    import time

    from fieldconv.training.checkpoint import STATE
    from fieldconv.training.progress import spoken
    from fieldconv.training.runs import open_data, train_run
    from fieldconv.training.settings import FILE, RunSettings, read_settings

    began = time.monotonic()
    source = {"meshes": meshes, "vertices": 500, "species": ("biped", "quadruped", "bird", "octopus")}
    network = {"samples": None, "blocks": 2, "width": 32, "echo_channels": 12, "echo_samples": 2, "rings": 4}
    settings = RunSettings.assemble("segmentation", changes={**source, **network, "epochs": epochs})
    print(f"1. Making {meshes} creatures from code: each has its own triangulation, build and pose.")
    data = open_data(settings.source, "segmentation", settings.network.surface_settings, "train")
    print(f"2. Training a field-convolution network to tell their parts: {', '.join(data.class_names)}.")
    before = read_settings(out / FILE).get("source", {}) if (out / FILE).is_file() else {}
    if before.get("species") == settings.to_dict()["source"]["species"]:  # a demo, too
        (out / STATE).unlink(missing_ok=True)
    model = train_run(settings, out)
    print("3. Testing it on creatures it has never seen.")
    test = open_data(settings.source, "segmentation", settings.network.surface_settings, "test")
    result = _measure(model, out, test, out)
    print("4. Drawing.")
    shown = _draw_demo(model, test, out)
    took = spoken(time.monotonic() - began)
    print(f"""
Done in {took}. {result.metrics["accuracy"]:.1%} of the vertices of unseen creatures are labelled right.

Look at
  {out / "report.html"}   training, results and shapes in 3-D, in any browser
  {shown}   truth above, prediction below
  {out / "shapes"}   coloured PLY meshes for any 3-D program

Try next
  fieldconv view {out / "shapes"}/*.ply --up z
  fieldconv predict {out} YOUR_MESH.obj --out result
  fieldconv train segmentation --data YOUR_FOLDER --out run
  fieldconv datasets make creatures YOUR_FOLDER        (shows how to lay out your own meshes)""")
    return 0


# What the commands share


def _given(source: DataSource) -> dict[str, Any]:
    """The options of a source that were given."""
    default = DataSource()
    return {name: value for name, value in vars(source).items() if value != getattr(default, name)}


def _check_elsewhere(out: Path, meshes: Sequence[Path]) -> None:
    """Results have the names of the meshes, and must not replace them or labels beside them."""
    for mesh in meshes:
        if mesh.parent.resolve() == out.resolve():
            raise ValueError(f"{out} is the folder of {mesh.name} itself; choose another one for --out")


def _measure(model: Any, run: Path, data: Any, out: Path, rotations: int = 1) -> Evaluation:
    from fieldconv.training.runs import evaluate_run

    result = evaluate_run(model, run, data, out, rotations=rotations)
    _print_metrics(result)
    _report(out, model, data, result)
    return result


def _report(run: Path, model: Any, data: Any, result: Evaluation | None) -> None:
    from fieldconv.training.runs import write_report

    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        page = write_report(run, model, data, result)
    for note in noted:
        if page is None:
            print(f"fieldconv: {note.message}", file=sys.stderr)


def _print_metrics(result: Evaluation) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("metric", "value")
    table.columns[1].justify = "right"
    for name, value in result.metrics.items():
        table.add_row(words(name), number(name, value))
    if "iou" in result.tables:
        table.add_section()
        for name, value in zip(result.class_names, result.tables["iou"], strict=True):
            if value == value:  # parts that do not occur have none
                table.add_row(f"IoU of {name}", f"{value:.1%}")
    Console().print(table)


def _mesh_paths(given: Sequence[Path]) -> list[Path]:
    """Files, the meshes in folders, and the files named in text files."""
    paths: list[Path] = []
    for path in given:
        if path.is_dir():
            paths += meshes_below(path)
        elif path.suffix.lower() in (".txt", ".lst"):
            lines = (line.strip() for line in path.read_text().splitlines())
            paths += [path.parent / line for line in lines if line and not line.startswith("#")]
        else:
            paths.append(path)
    if not paths:
        raise ValueError("no meshes given; name mesh files, a folder, or a text file that lists them")
    return paths


def _distinct(names: Sequence[str]) -> list[str]:
    """The same names, later copies with a number."""
    seen: dict[str, int] = {}
    taken, result = set(names), []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        new = name
        while seen[name] > 1 and new in taken:
            new = f"{name}-{seen[name]}"
            seen[name] += new in taken
        taken.add(new)
        result.append(new)
    return result


def _write_prediction(
    found: Prediction, out: Path, name: str, path: Path, palette: Any, *, descriptors: bool
) -> tuple[Any, ...]:
    """The files of one mesh; gives its row for predictions.csv."""
    import numpy as np

    from fieldconv.geometry.mesh import Mesh

    if descriptors:
        _write_array(out / f"{name}.descriptors.npy", found.descriptors)
    if found.labels is None or found.scores is None:
        return (path,)
    named = dict(enumerate(found.class_names))
    if found.labels.ndim == 0:
        _write_array(out / f"{name}.probabilities.npy", found.scores)
        label = int(found.labels)
        return path, label, named.get(label, str(label)), f"{found.scores[label]:.6f}"
    labels = found.labels
    likely = np.where(labels >= 0, found.scores[np.arange(len(labels)), labels], 0)
    _write_array(out / f"{name}.npy", labels)
    if found.class_names:  # a correspondence network has thousands of classes: only the likeliest is of use
        _write_array(out / f"{name}.probabilities.npy", found.scores)
    rows = zip(
        range(len(labels)),
        labels.tolist(),
        (named.get(label, "") for label in labels.tolist()),
        (f"{p:.6f}" for p in likely.tolist()),
        strict=True,
    )
    _write_csv(out / f"{name}.csv", ["vertex", "label", "name", "probability"], rows)
    colours = np.where((labels >= 0)[:, None], palette[labels], 128).astype(np.uint8)
    data = {**found.mesh.vertex_data, "label": labels.astype(np.int32), "probability": likely}
    Mesh(found.mesh.vertices, found.mesh.faces, name, colours, vertex_data=data).save(out / f"{name}.ply")
    return (path,)


def _write_array(path: Path, values: Any) -> None:
    import numpy as np

    from fieldconv._io import atomic_path

    with atomic_path(path) as temporary:
        np.save(temporary, values, allow_pickle=False)


def _write_csv(path: Path, columns: Sequence[str], rows: Any) -> None:
    import csv

    from fieldconv._io import atomic_path

    with atomic_path(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


def _draw_demo(model: Any, test: Any, out: Path) -> Path:
    """Coloured meshes of a few test creatures, and a picture of truth and prediction."""
    import numpy as np

    from fieldconv.geometry.mesh import Mesh
    from fieldconv.viz.colours import categorical
    from fieldconv.viz.panels import Panel, labels
    from fieldconv.viz.picture import write_picture

    palette = categorical(test.num_classes)
    panels: dict[str, list[Panel]] = {"truth": [], "prediction": []}
    for index in range(min(4, len(test))):
        mesh = test.meshes(index)[0]
        found = {"truth": test[index].vertex_y.numpy(), "prediction": model.predict(mesh)}
        for kind, values in found.items():
            name = f"{mesh.name}-{kind}"
            data = {"label": values.astype(np.int32)}
            coloured = Mesh(mesh.vertices, mesh.faces, name, palette[values], vertex_data=data)
            coloured.save(out / "shapes" / f"{name}.ply")
            parts = labels(kind.capitalize(), values, test.class_names)
            panels[kind].append(
                Panel(mesh=mesh, title=f"{mesh.name.split('-')[0]}: {kind}", colourings=[parts])
            )
    return write_picture(panels["truth"] + panels["prediction"], out / "shapes.png", columns=4, size=2.5)
