"""Comparisons of networks: the plan, the test of significance, runs that go on, tables and page."""

from __future__ import annotations

import csv
import json
import shutil
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fieldconv as fc
from fieldconv.cli import main
from fieldconv.runs import Compared, Run
from fieldconv.tasks import Evaluation
from fieldconv.training.comparison.compare_networks import (
    Comparison,
    announcement,
    plan_runs,
    with_epochs,
)
from fieldconv.training.comparison.comparison_results import differences_of, holm, paired_test
from fieldconv.training.comparison.cost import measured_cost
from fieldconv.viz.report_page import write_group_figures

SMALL: dict[str, Any] = {"preset": "tiny", "meshes": 4, "vertices": 250, "quiet": True}
NETWORKS = ["pointnet2", "diffusionnet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("comparison")


@pytest.fixture(scope="module")
def found(folder: Path) -> Comparison:
    return fc.compare(NETWORKS, out=folder, seeds=2, epochs=1, **SMALL)


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# The plan


def test_all_networks_see_the_same_splits_and_inputs() -> None:
    runs = plan_runs("segmentation", ["fcnet", "hsn", "diffusionnet"], seeds=3, changes={"features": "xyz"})
    assert len(runs) == 9
    for seed in range(3):
        own = [run for run in runs if run.training.seed == seed]
        assert {run.source.split_seed for run in own} == {seed}
        assert {run.training.seed for run in own} == {seed}
        assert {run.network.features for run in own} == {"xyz"}
        assert len({str(run.training) for run in own}) == 1  # the common recipe


def test_damaged_copies_are_compared_only_if_asked_for() -> None:
    for task in ("segmentation", "correspondence"):
        [run] = plan_runs(task, ["fcnet"], seeds=1)
        assert (run.preset, run.training.damaged) == ("quick", 0)
        [run] = plan_runs(task, ["fcnet"], seeds=1, preset="default")
        assert run.training.damaged > 0
    [run] = plan_runs("template-points", ["fcnet"], seeds=1)  # it has no quick preset
    assert run.preset == "default"


def test_own_recipe_is_the_networks_own_and_nothing_of_the_preset() -> None:
    [run] = plan_runs("segmentation", ["diffusionnet"], seeds=1, recipe="own")
    training = run.training
    assert (training.learning_rate, training.epochs, training.drop_every, training.drop) == (
        0.001,
        200,
        50,
        0.5,
    )
    assert training.clip is None
    assert training.average is None
    assert training.reshaped == 0  # the preset's copies are not the paper's
    [run] = plan_runs("classification", ["diffusionnet"], seeds=1, recipe="own")
    assert (run.training.label_smoothing, run.network.width) == (0.2, 32)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("network", "task", "epochs", "rate", "drop_every"),
    [("hsn", "segmentation", 50, 0.01, 21), ("hsn", "correspondence", 100, 0.01, 60)],
)
def test_a_recipe_may_differ_by_task(
    network: str, task: str, epochs: int, rate: float, drop_every: int
) -> None:
    [run] = plan_runs(task, [network], seeds=1, recipe="own")
    training = run.training
    assert (training.epochs, training.learning_rate, training.drop_every) == (epochs, rate, drop_every)


def test_deltaconv_classifies_as_its_authors_did_but_for_sgd() -> None:
    [run] = plan_runs("classification", ["deltaconv"], seeds=1, recipe="own")
    training, network = run.training, run.network
    assert (training.epochs, training.batch, training.label_smoothing) == (100, 16, 0.2)
    assert (network.width, network.layers, network.embedding) == (32, 4, 1024)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("preset", "width"), [("paper", 256), ("reproduce", 256), ("default", 128)])
def test_diffusionnet_is_as_wide_as_its_paper_has_it_for_classes_of_vertices(preset: str, width: int) -> None:
    [run] = plan_runs("correspondence", ["diffusionnet"], seeds=1, preset=preset)
    assert run.network.width == width  # type: ignore[attr-defined]


@pytest.mark.parametrize("preset", ["paper", "reproduce"])
def test_hsn_sees_as_far_as_its_authors_have_it_on_bodies(preset: str) -> None:
    runs = plan_runs("correspondence", ["hsn", "fcnet"], seeds=1, preset=preset)
    assert [run.network.radius for run in runs] == [0.07, 0.05]  # type: ignore[attr-defined]


def test_a_setting_that_some_network_has_is_left_out_for_the_others() -> None:
    runs = plan_runs("segmentation", ["fcnet", "diffusionnet"], seeds=1, changes={"radius": 0.3})
    assert runs[0].network.radius == 0.3  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="radios"):
        plan_runs("segmentation", ["fcnet", "diffusionnet"], seeds=1, changes={"radios": 0.3})


def test_fewer_epochs_keep_the_shape_of_the_schedule() -> None:
    [run] = plan_runs("segmentation", ["diffusionnet"], seeds=1, recipe="own")
    short = with_epochs(run, 20).training
    assert (short.epochs, short.drop_every) == (20, 5)


@pytest.mark.parametrize("names", [[], ["fcnet", "fcnet"], ["unheard_of"]])
def test_wrong_networks(names: list[str]) -> None:
    with pytest.raises(ValueError, match=r"network"):
        plan_runs("segmentation", names)


# The test of significance


@pytest.mark.parametrize("count", [4, 9, 40])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_paired_test_is_scipys(count: int, shift: float) -> None:
    values = np.random.default_rng(count).normal(shift, 1, count)
    expected = stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=20_000, random_state=1
    ).pvalue
    assert paired_test(values) == pytest.approx(expected, abs=1e-12 if count < 14 else 0.015)


def test_paired_test_does_not_care_for_ties_or_signs() -> None:
    assert paired_test([1, 1, -1, 0, 0]) == paired_test([-1, -1, 1]) == 1.0
    assert paired_test([1.0] * 8) == 2 / 2**8


def test_equal_networks_rarely_differ_significantly() -> None:
    draw = np.random.default_rng(0)
    chances = [paired_test(draw.normal(size=30), rounds=1000) for _ in range(300)]
    assert 0.02 < np.mean(np.array(chances) < 0.05) < 0.09


def test_holm_is_its_definition() -> None:
    chances = np.random.default_rng(0).random(6).tolist()
    ordered = sorted(chances)
    for chance, corrected in zip(chances, holm(chances), strict=True):
        place = ordered.index(chance)
        assert corrected == pytest.approx(max(min(1, (6 - k) * ordered[k]) for k in range(place + 1)))


# Runs


def test_runs_are_measured_and_written(found: Comparison, folder: Path) -> None:
    assert sorted(network.name for network in found.networks) == sorted(NETWORKS)
    for network in found.networks:
        assert sorted(network.runs) == [0, 1]
        kept = [
            json.loads(
                (folder / f"{network.name}-seed-{k}/evaluation/metrics.json").read_text(encoding="utf-8")
            )["metrics"]
            for k in (0, 1)
        ]
        accuracies = [one["accuracy"] for one in kept]
        assert network.mean("accuracy") == pytest.approx(np.mean(accuracies))
        spread = 100 * np.std(accuracies, ddof=1)
        assert network.text("accuracy") == f"{100 * np.mean(accuracies):.1f} ± {spread:.1f} %"
        assert network.parameters == fc.load(folder / f"{network.name}-seed-0").num_parameters
        assert network.step > 0
        assert network.preparation > 0
    means = [network.mean("accuracy") for network in found.networks]
    assert means == sorted(means, reverse=True)
    assert found.page == folder / "report.html"
    text = found.page.read_text(encoding="utf-8")
    assert all(network.text("accuracy") in text for network in found.networks)
    assert len(rows(folder / "runs.csv")) == 4
    assert {row["name"] for row in rows(folder / "shapes.csv") if row["seed"] == "0"}


def test_goes_on_where_it_stopped(found: Comparison, folder: Path) -> None:
    """Only what is missing is trained; another call gives the same numbers; a third network may be added."""
    missing = folder / "pointnet2-seed-1"
    before = json.loads((missing / "evaluation" / "metrics.json").read_text(encoding="utf-8"))
    stamp = (folder / "diffusionnet-seed-0" / "state.safetensors").stat().st_mtime_ns
    for path in sorted(missing.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    again = fc.compare(NETWORKS, out=folder, seeds=2, epochs=1, **SMALL)
    after = json.loads((missing / "evaluation" / "metrics.json").read_text(encoding="utf-8"))
    assert after["metrics"] == before["metrics"]
    assert (folder / "diffusionnet-seed-0" / "state.safetensors").stat().st_mtime_ns == stamp
    assert again.differences == found.differences


def test_a_run_that_was_cut_off_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after one epoch of two and called again, a run ends as one that was never stopped."""
    from fieldconv.training.comparison import compare_networks as module

    whole, cut = tmp_path / "whole", tmp_path / "cut"
    fc.compare(["diffusionnet"], out=whole, seeds=1, epochs=2, **SMALL)

    def stop(progress: Any, before: float, epoch_seconds: float, row: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "_show_epoch", stop)
        with pytest.raises(KeyboardInterrupt):
            fc.compare(["diffusionnet"], out=cut, seeds=1, epochs=2, **SMALL)
    run = Path("diffusionnet-seed-0")
    assert len(rows(cut / run / "metrics.csv")) == 1
    assert not (cut / run / "evaluation").exists()
    fc.compare(["diffusionnet"], out=cut, seeds=1, epochs=2, **SMALL)
    losses = [[row["loss"] for row in rows(out / run / "metrics.csv")] for out in (whole, cut)]
    assert losses[0] == losses[1]
    numbers = [
        json.loads((out / run / "evaluation" / "metrics.json").read_text(encoding="utf-8"))["metrics"]
        for out in (whole, cut)
    ]
    assert numbers[0] == numbers[1]


def test_a_run_that_fails_is_named_and_the_others_go_on(
    found: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fieldconv.training import TrainingError
    from fieldconv.training.comparison import compare_networks as module

    train = module.train_from

    def fails(settings: Any, folder: Path, **options: Any) -> Any:
        if folder.name == "pointnet2-seed-0":
            raise TrainingError("the loss became nan at step 3")
        return train(settings, folder, **options)

    monkeypatch.setattr(module, "train_from", fails)
    words = ["--preset", "tiny", "--meshes", "4", "--vertices", "250", "--epochs", "1", "--seeds", "1"]
    code = main(["compare", "--networks", "pointnet2, diffusionnet", *words, "--out", str(tmp_path)])
    shown = capsys.readouterr()
    assert code == 1
    assert "pointnet2-seed-0 failed: the loss became nan at step 3" in shown.err
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "pointnet2-seed-0" in page
    assert "the loss became nan at step 3" in page
    [row] = rows(tmp_path / "runs.csv")
    assert row["network"] == "diffusionnet"
    alike = next(network for network in found.networks if network.name == "diffusionnet").runs[0]
    assert float(row["accuracy"]) == alike.metrics["accuracy"]  # as in a comparison where nothing fails


def test_the_command_prints_progress_and_results(
    found: Comparison, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is no terminal: a line for each run that is trained, none for those that are done."""
    words = ["--preset", "tiny", "--meshes", "4", "--vertices", "250", "--epochs", "1", "--seeds", "2"]
    command = ["compare", "--networks", ",".join(NETWORKS), *words, "--out", str(folder)]
    evaluation = folder / "diffusionnet-seed-1" / "evaluation"
    evaluation.rename(folder / "away")
    try:
        assert main(command) == 0
    finally:
        shutil.rmtree(evaluation, ignore_errors=True)
        (folder / "away").rename(evaluation)
    shown = capsys.readouterr()
    told = [line for line in shown.err.splitlines() if line.startswith("run ")]
    assert len(told) == 1
    assert told[0].startswith("run 4/4: diffusionnet, seed 1, 1 epoch; about ")
    assert all(network.text("accuracy").split()[0] in shown.out for network in found.networks)
    assert str(found.page) in shown.out


def test_runs_are_announced_with_the_expected_time() -> None:
    runs = plan_runs("segmentation", ["fcnet"], seeds=2, changes={"epochs": 3})
    assert [
        announcement(f"run {k}/2", run, left) for k, run, left in zip((1, 2), runs, (60, 30), strict=True)
    ] == [
        "run 1/2, 3 epochs; about 1 min 0 s left in all",
        "run 2/2, 3 epochs; about 30 s left in all",
    ]


def test_other_settings_need_another_folder(found: Comparison, folder: Path) -> None:
    with pytest.raises(ValueError, match="epochs"):
        fc.compare(["pointnet2"], out=folder, seeds=1, epochs=2, **SMALL)


def test_budget_is_as_many_epochs_as_fit(found: Comparison, folder: Path, tmp_path: Path) -> None:
    kept = tmp_path / "costs" / "pointnet2.json"
    kept.parent.mkdir()
    cost = json.loads((folder / "costs" / "pointnet2.json").read_text(encoding="utf-8"))
    kept.write_text(json.dumps({**cost, "step": 1.0}), encoding="utf-8")
    fc.compare(["pointnet2"], out=tmp_path, seeds=1, budget=0.1, batch=2, **SMALL)
    steps = 4 / 2  # of an epoch with four meshes, a second each
    assert len(rows(tmp_path / "pointnet2-seed-0" / "metrics.csv")) == 6 / steps
    with pytest.raises(ValueError, match="either"):
        fc.compare(["pointnet2"], out=tmp_path, budget=1, epochs=1)


def test_what_was_measured_with_other_settings_is_measured_again(
    found: Comparison, folder: Path, tmp_path: Path
) -> None:
    cost, measured = (folder / "costs" / "diffusionnet.json").read_bytes(), []
    for width in (8, 8, 16):
        [planned] = plan_runs("segmentation", ["diffusionnet"], seeds=1, changes={"width": width})

        def measure(_: Path, kept: Path, width: int = width) -> None:
            measured.append(width)
            kept.write_bytes(cost)

        assert measured_cost(planned, tmp_path / "diffusionnet", measure).parameters > 0
    assert measured == [8, 16]


# Tables of made-up runs


def made_up(name: str, numbers: dict[int, list[float]]) -> Compared:
    at = np.linspace(0, 1, 5)
    runs = {
        seed: Run(
            Path(name),
            evaluation=Evaluation(
                "segmentation",
                {"accuracy": float(np.mean(own))},
                [{"name": f"shape {k}", "accuracy": value} for k, value in enumerate(own)],
                curves={name: np.stack([at, at**seed], 1), "HKS": np.stack([at, 1 - at], 1)},
                description={"rank_by": "accuracy"},
            ),
        )
        for seed, own in numbers.items()
    }
    return Compared(name=name, runs=runs, parameters=1, preparation=1.0, step=1.0, memory=None)


def test_every_network_is_run_before_the_next_seed(found: Comparison, folder: Path) -> None:
    ended = {
        run.parent.name: (run / "metrics.json").stat().st_mtime_ns for run in folder.glob("*/evaluation")
    }
    assert [name[-1] for name in sorted(ended, key=lambda name: ended[name])] == ["0", "0", "1", "1"]


def test_differences_are_paired_over_shapes() -> None:
    draw = np.random.default_rng(0)
    numbers = {name: {1: draw.random(6), 2: draw.random(6)} for name in "abc"}
    networks = [made_up(name, {k: v.tolist() for k, v in own.items()}) for name, own in numbers.items()]
    found = differences_of(networks)
    per_shape = {name: (own[1] + own[2]) / 2 for name, own in numbers.items()}
    chances = holm([paired_test(per_shape[a] - per_shape[b]) for a, b in combinations("abc", 2)])
    assert [d.mean for d in found] == pytest.approx(
        [np.mean(per_shape[a] - per_shape[b]) for a, b in combinations("abc", 2)]
    )
    assert [d.chance for d in found] == pytest.approx(chances)


def test_curves_of_all_networks_are_in_one_plot(tmp_path: Path) -> None:
    networks = [made_up("fcnet", {1: [1.0], 2: [0.5]}), made_up("hsn", {1: [0.0], 2: [1.0]})]
    curve = networks[0].curve()
    assert curve is not None
    at = np.linspace(0, 1, 5)
    np.testing.assert_allclose(curve[:, 1], (at + at**2) / 2)
    np.testing.assert_allclose(curve[:, 2], np.abs(at - at**2) / np.sqrt(2))
    assert [path.name for path in write_group_figures(networks, tmp_path)] == ["curves.png", "curves.pdf"]
    assert list(networks[0].baselines()) == ["HKS"]


def test_how_long_runs_were_trained() -> None:
    network = made_up("fcnet", {1: [1.0], 2: [0.5]})
    for seed, run in network.runs.items():
        run.history.update(epoch=np.arange(1.0, 4.0), seconds=np.array([60.0, 60.0, 60.0]) * seed)
    assert network.trained == ("3", "4.5")
    network.runs[1].history.pop("seconds")
    network.runs[1].history["epoch"] = np.arange(1.0, 6.0)
    assert network.trained == ("3 to 5", "6.0")


def test_differences_do_not_depend_on_the_order_of_shapes() -> None:
    draw = np.random.default_rng(0)
    numbers = draw.random((2, 30))
    one, other = (made_up(name, {0: own.tolist()}) for name, own in zip("ab", numbers, strict=True))
    turned = [made_up(n.name, {0: [0.0]}) for n in (one, other)]
    for network, same in zip(turned, (one, other), strict=True):
        network.runs[0].evaluation.shapes = same.runs[0].evaluation.shapes[::-1]
    assert differences_of(turned) == differences_of([one, other])


def test_training_is_drawn_over_epochs(tmp_path: Path) -> None:
    network = made_up("fcnet", {1: [1.0], 2: [0.5]})
    no_logs = write_group_figures([network], tmp_path)
    assert not [path for path in no_logs if path.name.startswith("training")]
    for seed, run in network.runs.items():
        run.history.update(epoch=np.arange(1.0, 4.0), score=np.array([0.1, 0.2, 0.4]) * seed)
    np.testing.assert_allclose(network.over_epochs("score")[:, 1], [0.15, 0.3, 0.6])
    np.testing.assert_allclose(network.over_epochs("score")[:, 2], np.array([0.1, 0.2, 0.4]) / np.sqrt(2))
    assert [path.name for path in write_group_figures([network], tmp_path)] == [
        "training_score.png",
        "training_score.pdf",
        "curves.png",
        "curves.pdf",
    ]
