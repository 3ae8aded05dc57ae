"""train, evaluate, predict, match and demo as people type them."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

from fieldconv.cli import main
from fieldconv.geometry import Mesh
from fieldconv.networks import FCNet
from fieldconv.training import RunSettings
from tests.training.blobs import blob, read

SMALL = ["--preset", "tiny", "--samples", "None", "--radius", "0.3", "--width", "6"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Meshes with labels beside them, and a test part."""
    root = tmp_path_factory.mktemp("meshes")
    for i in range(6):
        sample = read("segmentation", i)
        part = root / ("train" if i < 4 else "test")
        part.mkdir(exist_ok=True)
        sample.mesh.save(part / f"blob{i}.obj")
        np.savetxt(part / f"blob{i}.txt", sample.target, fmt="%d", encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    assert (
        main(["train", "segmentation", "--data", str(folder), *SMALL, "--epochs", "2", "--out", str(out)])
        == 0
    )
    return out


def test_train_writes_a_whole_run(run: Path) -> None:
    for name in (
        "model.safetensors",
        "config.json",
        "README.md",
        "run.yaml",
        "metrics.csv",
        "state.safetensors",
    ):
        assert (run / name).is_file(), name
    result = json.loads((run / "evaluation" / "metrics.json").read_text(encoding="utf-8"))
    assert result["task"] == "segmentation"
    assert 0 <= result["metrics"]["accuracy"] <= 1
    assert len(result["shapes"]) == 2
    settings = yaml.safe_load((run / "run.yaml").read_text(encoding="utf-8"))
    assert settings["network"]["outputs"] == 3
    assert settings["training"]["epochs"] == 2
    assert "accuracy" in (run / "README.md").read_text(encoding="utf-8")


def test_the_settings_of_a_run_make_the_same_run(run: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert main(["train", "segmentation", "--config", str(run / "run.yaml"), "--out", str(again)]) == 0
    assert (again / "model.safetensors").read_bytes() == (run / "model.safetensors").read_bytes()


def test_a_run_is_not_overwritten_but_resumed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "segmentation", "--preset", "tiny", "--out", str(run)]) == 1
    assert "holds a run already; add --resume" in capsys.readouterr().err
    before = (run / "model.safetensors").read_bytes()
    assert main(["train", "segmentation", "--out", str(run), "--resume"]) == 0
    assert (run / "model.safetensors").read_bytes() == before


def test_evaluate_gives_the_numbers_of_training(run: Path, tmp_path: Path, folder: Path) -> None:
    first = json.loads((run / "evaluation" / "metrics.json").read_text(encoding="utf-8"))["metrics"]
    assert main(["evaluate", str(run), "--data", str(folder), "--out", str(tmp_path)]) == 0
    assert (
        json.loads((tmp_path / "evaluation" / "metrics.json").read_text(encoding="utf-8"))["metrics"] == first
    )
    averaged = ["--rotations", "2", "--out", str(tmp_path / "averaged")]
    assert main(["evaluate", str(run), "--data", str(folder), *averaged]) == 0
    assert (
        json.loads((tmp_path / "averaged" / "evaluation" / "metrics.json").read_text(encoding="utf-8"))[
            "rotations"
        ]
        == 2
    )


def test_predict_continues_past_bad_files(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    meshes = tmp_path / "in"
    (meshes / "deep").mkdir(parents=True)
    mesh, _ = blob(9, 1)
    for name in ("a.stl", "deep/a.ply", "c.off"):
        mesh.save(meshes / name)
    (meshes / "bad.obj").write_text("v 0 0 0\nf 1 2 3\n", encoding="utf-8")
    out = tmp_path / "out"
    assert main(["predict", str(run), str(meshes), "--out", str(out)]) == 1
    shown = capsys.readouterr()
    assert "3 of 4 meshes done" in shown.out
    assert "bad.obj" in shown.err
    for name in ("a", "a-2", "c"):
        labels = np.load(out / f"{name}.npy")
        assert len(labels) == len(mesh.vertices)
        coloured = Mesh.load(out / f"{name}.ply")
        assert np.array_equal(coloured.vertex_data["label"], labels)
        assert coloured.vertex_colours is not None
        probabilities = np.load(out / f"{name}.probabilities.npy")
        assert np.array_equal(probabilities.argmax(1), labels)
        with open(out / f"{name}.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert [int(row["label"]) for row in rows] == labels.tolist()
        assert rows[0]["name"] == FCNet.from_pretrained(run).class_names[labels[0]]
        assert len(np.load(out / f"{name}.descriptors.npy")) == len(labels)


def test_predict_reads_lists(run: Path, tmp_path: Path) -> None:
    mesh, _ = blob(9, 1)
    mesh.save(tmp_path / "x.obj")
    (tmp_path / "list.txt").write_text("# meshes\nx.obj\n", encoding="utf-8")
    arguments = ["predict", str(run), str(tmp_path / "list.txt"), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--no-descriptors"]) == 0
    assert (tmp_path / "out" / "x.npy").is_file()
    assert not (tmp_path / "out" / "x.descriptors.npy").exists()


def test_creatures_serve_classification_and_matching(tmp_path: Path) -> None:
    creatures = ["--meshes", "4", "--vertices", "250", "--epochs", "1"]
    out = tmp_path / "classify"
    species = ["--species", "snake", "fish"]
    assert main(["train", "classification", *SMALL, *creatures, *species, "--out", str(out)]) == 0
    mesh, _ = blob(1, 1)
    mesh.save(tmp_path / "a.ply")
    mesh.save(tmp_path / "b.obj")
    result = tmp_path / "result"
    assert main(["predict", str(out), str(tmp_path / "a.ply"), "--out", str(result)]) == 0
    with open(result / "predictions.csv", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["name"] in ("snake", "fish")

    out = tmp_path / "match"
    small = [*SMALL, "--species", "snake", "--positives", "32"]
    assert main(["train", "matching", *small, *creatures, "--out", str(out)]) == 0
    metrics = json.loads((out / "evaluation" / "metrics.json").read_text(encoding="utf-8"))["metrics"]
    assert {"mean_average_precision", "hks_mean_average_precision"} <= metrics.keys()
    where = tmp_path / "map"
    assert (
        main(["match", str(out), str(tmp_path / "a.ply"), str(tmp_path / "b.obj"), "--out", str(where)]) == 0
    )
    assert np.array_equal(np.load(where / "map.npy"), np.arange(len(mesh.vertices)))
    carried, source = (Mesh.load(where / name) for name in ("a.ply", "b.ply"))
    assert np.array_equal(carried.vertex_colours, source.vertex_colours)  # type: ignore[arg-type]


def test_held_out_meshes_are_tested_on(folder: Path, tmp_path: Path) -> None:
    data = ["--data", str(folder), "--hold-out", "*blob2*"]
    arguments = ["train", "segmentation", *data, *SMALL, "--epochs", "1", "--out", str(tmp_path)]
    assert main(arguments) == 0
    shapes = json.loads((tmp_path / "evaluation" / "metrics.json").read_text(encoding="utf-8"))["shapes"]
    assert ["blob2" in shape["name"] for shape in shapes] == [True]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["train", "painting", "--out", "x"], 2, "classification"),
        (["train", "segmentation"], 2, "--out"),
        (["train", "segmentation", "--out", "x", "--epochs", "many"], 2, "--epochs"),
        (["train", "segmentation", "--out", "x", "--preset", "best"], 2, "paper"),
        (["train", "segmentation", "--out", "x", "--epochs", "0"], 1, "epochs is 0"),
        (["train", "segmentation", "--out", "x", "--data", "nowhere"], 1, "nowhere"),
        (["train", "segmentation", "--out", "x", "--config", "nothing.yaml"], 1, "nothing.yaml"),
        (["evaluate", "nowhere"], 1, "nowhere: no such folder"),
        (["predict", "nowhere", "a.obj", "--out", "x"], 1, "nowhere: no such folder"),
    ],
)
def test_mistakes_are_explained_in_a_line(
    arguments: list[str],
    code: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        found = main(arguments)
    except SystemExit as stop:
        found = int(stop.code or 0)
    shown = capsys.readouterr()
    assert found == code
    assert says in shown.err + shown.out
    assert "Traceback" not in shown.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("training: {speed: 1}", "training: unknown setting 'speed'"),
        ("recipe: {}", "unknown part 'recipe'"),
        ("[1, 2]", "holds no settings"),
        ("training: {", "cannot be read"),
        ("task: matching", "is for matching, not segmentation"),
        ("training: 3", "training is 3; give its settings"),
        ("training: {epochs: 2.5}", "epochs is 2.5; give a whole number"),
        ("training: {epochs: many}", "epochs is 'many'; give a whole number"),
        ("training: {clip: [1]}", r"clip is \[1\]; give a number or nothing"),
        ("training: {schedule: slow}", "schedule is 'slow'; choose one of constant, one_cycle"),
        ("network: {hidden: 5}", "hidden is 5; give a list"),
        ("network: {radius: true}", "radius is True; give a number"),
    ],
)
def test_wrong_config_files_are_explained(content: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=says):
        RunSettings.assemble("segmentation", file=path)


def test_devices_may_be_a_number_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text("machine: {devices: 2}", encoding="utf-8")
    assert RunSettings.assemble("segmentation", file=path).machine.devices == "2"


def test_options_win_over_files_and_files_over_presets(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"preset": "paper", "training": {"epochs": 3, "clip": 2.0}}), encoding="utf-8")
    settings = RunSettings.assemble("segmentation", file=path, changes={"epochs": 4})
    assert settings.training.epochs == 4
    assert settings.training.clip == 2.0
    assert settings.training.schedule == "constant"  # the paper's


def test_no_option_is_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "segmentation", "--help"])
    shown = capsys.readouterr().out
    for option in ("--learning-rate", "--band-limit", "--devices", "--resume", "--hold-out", "--echo-votes"):
        assert option in shown
    assert "\n  fieldconv train segmentation --out RUN\n" in shown


@pytest.mark.parametrize(
    ("options", "radius"),
    [
        (["--data", "FOLDER"], "[paper 0.05, reproduce 0.05, tiny 0.05] (default: 0.075)"),
        ([], "[paper 0.05, reproduce 0.05] (default: 0.1677)"),  # on creatures of 1,000 vertices
        (["--vertices", "5000"], "[paper 0.05, reproduce 0.05] (default: 0.075)"),
        (["--preset", "paper"], "[default 0.1677, quick 0.1677, tiny 0.1677] (default: 0.05)"),
    ],
)
def test_help_shows_groups_and_the_values_that_presets_have(
    options: list[str], radius: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    with pytest.raises(SystemExit):
        main(["train", "correspondence", *options, "--help"])
    shown = capsys.readouterr().out
    for group in ("data", "recipe", "network", "machine"):
        assert f"\n{group} options:\n" in shown
    plain = " ".join(shown.split())
    assert f"filters' support, at unit area. {radius}" in plain


def test_demo_runs_to_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path), "--epochs", "1", "--meshes", "2"]) == 0
    shown = capsys.readouterr().out
    assert "Try next" in shown
    assert (tmp_path / "shapes.png").is_file()
    assert list((tmp_path / "shapes").glob("*-prediction.ply"))


def test_a_refused_resume_leaves_the_run_as_it_was(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    before = {path.name: path.read_bytes() for path in copy.iterdir() if path.is_file()}
    assert main(["train", "segmentation", "--out", str(copy), "--resume", "--epochs", "5"]) == 1
    assert "begun with other settings (epochs)" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in copy.iterdir() if path.is_file()} == before


def test_resume_needs_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "segmentation", "--out", str(tmp_path / "typo"), "--resume"]) == 1
    assert "holds no run to resume" in capsys.readouterr().err
    assert not (tmp_path / "typo").exists()


def test_evaluate_takes_other_options_from_the_run(run: Path, tmp_path: Path) -> None:
    # Split seeds draw nothing where the folder says what its test part is: the same data, the same numbers.
    first = json.loads((run / "evaluation" / "metrics.json").read_text(encoding="utf-8"))["metrics"]
    assert main(["evaluate", str(run), "--split-seed", "3", "--out", str(tmp_path)]) == 0
    assert (
        json.loads((tmp_path / "evaluation" / "metrics.json").read_text(encoding="utf-8"))["metrics"] == first
    )


def test_evaluate_says_that_the_data_of_a_run_are_gone(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
    config["source"]["data"] = "meshes-of-old"
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert main(["evaluate", str(copy)]) == 1
    assert "was trained on meshes-of-old, which is not here" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["predict", "match"])
def test_meshes_are_not_overwritten(
    run: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / "a.ply", tmp_path / "b.ply"]
    for path in paths:
        blob(9, 1)[0].save(path)
    before = [path.read_bytes() for path in paths]
    assert main([command, str(run), *map(str, paths), "--out", f"{tmp_path}/../{tmp_path.name}"]) == 1
    assert "choose another one for --out" in capsys.readouterr().err
    assert [path.read_bytes() for path in paths] == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--devices", "abc"], "devices abc"),
        (["--threads", "-1"], "threads is -1"),
        (["--meshes", "-3"], "meshes is -3"),
        (["--accelerator", "tpu"], "accelerator tpu"),
    ],
)
def test_impossible_machines_are_explained(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "segmentation", "--out", str(tmp_path / "run"), *SMALL, *options]) == 1
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("rotations", ["0", "-2"])
def test_rotations_are_counted_from_1(
    run: Path, folder: Path, tmp_path: Path, rotations: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mesh = str(folder / "test" / "blob4.obj")
    assert main(["predict", str(run), mesh, "--out", str(tmp_path), "--rotations", rotations]) == 1
    assert main(["evaluate", str(run), "--out", str(tmp_path), "--rotations", rotations]) == 1
    assert capsys.readouterr().err.count(f"rotations is {rotations}; give") == 2


def test_demo_replaces_no_other_run(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    assert main(["demo", "--out", str(copy), "--meshes", "4", "--epochs", "1"]) == 1
    assert "holds a run already" in capsys.readouterr().err
    assert (copy / "state.safetensors").read_bytes() == (run / "state.safetensors").read_bytes()


def test_an_output_folder_that_is_a_file_is_explained(
    run: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    mesh = str(folder / "test" / "blob4.obj")
    assert main(["predict", str(run), mesh, "--out", str(tmp_path / "taken")]) == 1
    assert "a file is in the way" in capsys.readouterr().err


def test_a_collapsed_network_still_gets_its_report(folder: Path, tmp_path: Path) -> None:
    # Filters that reach no neighbour: all descriptors are equal, which crashes t-SNE.
    options = ["--preset", "tiny", "--samples", "None", "--epochs", "1", "--radius", "1e-9"]
    assert (
        main(["train", "segmentation", "--data", str(folder), *options, "--out", str(tmp_path / "run")]) == 0
    )
    assert (tmp_path / "run" / "report.html").is_file()


def test_the_results_of_a_run_are_those_of_its_test_part(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (run / "evaluation" / "metrics.json").read_bytes()
    assert main(["evaluate", str(run), "--part", "train"]) == 1
    assert "give --out FOLDER" in capsys.readouterr().err
    assert main(["evaluate", str(run), "--part", "train", "--out", str(tmp_path)]) == 0
    assert (
        len(json.loads((tmp_path / "evaluation" / "metrics.json").read_text(encoding="utf-8"))["shapes"]) == 4
    )
    assert (run / "evaluation" / "metrics.json").read_bytes() == before


def test_resume_wants_the_same_meshes(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    folder = tmp_path / "others"
    for i in range(4):
        sample = read("segmentation", i)
        (folder / "train").mkdir(parents=True, exist_ok=True)
        sample.mesh.save(folder / "train" / f"other{i}.obj")
        np.savetxt(folder / "train" / f"other{i}.txt", sample.target, fmt="%d", encoding="utf-8")
    shutil.copytree(folder / "train", folder / "test")
    assert main(["train", "segmentation", "--out", str(copy), "--resume", "--data", str(folder)]) == 1
    assert "begun with other settings (examples)" in capsys.readouterr().err
