"""Settings come from a preset, then a file, then options, and each says where it comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import fieldconv
from fieldconv.cli import main
from fieldconv.networks import FCNetConfig, network_named, network_names
from fieldconv.tasks import TASKS, Preset, Task, task_named, task_names
from fieldconv.training import RunSettings
from fieldconv.training.run_settings import explain

PRESETS = Path(fieldconv.__file__).with_name("presets.yaml")


@pytest.mark.parametrize("network", network_names())
def test_every_value_has_a_source(network: str) -> None:
    for task in task_names():
        for preset in task_named(task).presets:
            settings = RunSettings.assemble(task, preset=preset, network=network)
            content = settings.to_dict()
            parts = ("source", "network", "training", "machine")
            names = {f"{part}.{key}" for part in parts for key in content[part]}
            assert set(settings.sources) == names | (set(content) - set(parts))
            assert all(settings.sources.values())


def test_options_beat_the_file_and_the_file_beats_the_preset(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    text = "preset: quick\ntraining: {epochs: 5, clip: 2.0}\nnetwork: {radius: 0.3}\n"
    path.write_text(text, encoding="utf-8")
    settings = RunSettings.assemble("segmentation", file=path, changes={"epochs": 3})
    training, sources = settings.training, settings.sources
    assert (settings.preset, training.epochs, training.clip, training.average) == ("quick", 3, 2.0, 0.99)
    assert settings.network.radius == 0.3  # type: ignore[attr-defined]
    assert sources["training.epochs"] == "option"
    assert sources["training.clip"] == sources["network.radius"] == sources["preset"] == f"file {path}"
    assert sources["training.average"] == "preset default, which quick is like"
    assert sources["training.damaged"] == "preset quick"
    assert sources["training.seed"] == sources["machine.devices"] == "default"
    assert RunSettings.assemble("segmentation", file=path, preset="tiny").preset == "tiny"


def test_a_file_for_another_network_says_nothing_of_this_one(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("network_name: hsn\nnetwork: {width: 5}\n", encoding="utf-8")
    assert RunSettings.assemble("segmentation", file=path).network.width == 5  # type: ignore[attr-defined]
    other = RunSettings.assemble("segmentation", file=path, network="fcnet")
    assert other.network.width == 48  # type: ignore[attr-defined]


@pytest.mark.parametrize(("preset", "radius"), [("default", 0.075 * 5**0.5), ("paper", 0.05)])
def test_the_radius_for_coarse_creatures_is_named(preset: str, radius: float) -> None:
    on_creatures = RunSettings.assemble("correspondence", preset=preset)
    assert on_creatures.network.radius == pytest.approx(radius)  # type: ignore[attr-defined]
    named = on_creatures.sources["network.radius"] == "creatures of 1000 vertices"
    assert named == (preset == "default")
    for changes in ({"data": "MESHES"}, {"radius": 0.4}):
        settings = RunSettings.assemble("correspondence", preset=preset, changes=changes)
        assert settings.sources["network.radius"] in (f"preset {preset}", "option")


def test_a_network_to_begin_with_gives_its_settings() -> None:
    settings = RunSettings.assemble(
        "segmentation", finetune="bodies", network="hsn", changes={"dropout": 0.1}
    )
    assert settings.network_name == "fcnet"
    assert settings.sources["network.width"] == settings.sources["network_name"] == "finetune bodies"
    assert settings.sources["network.dropout"] == "option"
    assert settings.sources["network.head"] == "task segmentation"


def test_values_from_the_data_have_a_source() -> None:
    settings = RunSettings.assemble("segmentation").with_outputs(7)
    assert settings.network.outputs == 7
    assert settings.sources["network.outputs"] == "the data"


def test_the_recipe_of_a_paper_is_named() -> None:
    settings = RunSettings.assemble("correspondence", network="hsn", recipe="own")
    assert (settings.training.epochs, settings.training.drop) == (100, 0.1)
    assert settings.sources["training.epochs"] == "recipe of hsn for correspondence"
    assert settings.sources["training.drop"] == "recipe of hsn"
    several = RunSettings.assemble("segmentation", network="pointnet2")
    assert several.sources["training.batch"] == "smallest batch of the network"


def test_an_unknown_setting_has_a_suggestion() -> None:
    with pytest.raises(ValueError, match=r"^unknown setting 'epoch'; did you mean epochs\?$"):
        RunSettings.assemble("segmentation", changes={"epoch": 3})
    with pytest.raises(ValueError, match="unknown preset 'quik'; choose one of paper, reproduce, default"):
        RunSettings.assemble("segmentation", preset="quik")


def test_the_table_has_a_line_for_each_value(capsys: pytest.CaptureFixture[str]) -> None:
    """What is HSN's learning rate in `quick`?"""
    assert main(["train", "segmentation", "--network", "hsn", "--preset", "quick", "--print-settings"]) == 0
    lines = {words[0]: words for words in map(str.split, capsys.readouterr().out.splitlines())}
    rate = lines["training.learning_rate"]
    assert (rate[1], " ".join(rate[2:])) == ("0.01", "preset default, which quick is like")
    assert lines["preset"] == ["preset", "quick", "option"]
    settings = RunSettings.assemble("segmentation", network="hsn", preset="quick")
    assert len(explain(settings).splitlines()) == len(settings.sources) + 1


def test_printing_settings_trains_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "matching", "--preset", "tiny", "--positives", "64", "--out", str(tmp_path / "run")]
    assert main([*words, "--print-settings"]) == 0
    assert not (tmp_path / "run").exists()
    assert "training.positives" in capsys.readouterr().out


def test_sources_are_not_part_of_a_run(tmp_path: Path) -> None:
    settings = RunSettings.assemble("segmentation", changes={"epochs": 3})
    settings.save(tmp_path / "run.yaml")
    again = RunSettings.assemble("segmentation", file=tmp_path / "run.yaml")
    assert again == settings
    assert again.sources["training.epochs"] != settings.sources["training.epochs"]
    assert json.dumps(settings.to_dict())


class Plain(Task):
    """A task of somebody else, who states its presets in the class."""

    name = "plain"
    presets = {  # noqa: RUF012
        "default": Preset(training={"epochs": 9, "batch": 2}, surface={"radius": 0.3, "samples": 64}),
        "short": Preset(training={"epochs": 2}, networks={"fcnet": {"width": 6}}, like="default"),
        "odd": Preset(like="odder"),
    }


def test_presets_of_other_peoples_tasks_are_merged_alike() -> None:
    short = Plain().training_config(preset="short")
    assert (short.epochs, short.batch) == (2, 2)
    settings = Plain().network_config(FCNetConfig, preset="short")
    assert (settings.width, settings.radius, settings.samples) == (6, 0.3, 64)
    assert Plain().network_config(FCNetConfig).width == 48
    with pytest.raises(ValueError, match="unknown preset 'odder'"):
        Plain().training_config(preset="odd")


class Nameless(Plain):
    """A task without a preset of the name "default"."""

    name = "nameless"
    presets = {"only": Preset(surface={"radius": 0.1}, vertices=4000)}  # noqa: RUF012


def test_a_task_needs_no_default_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TASKS, "_added", {"nameless": Nameless})
    settings = RunSettings.assemble("nameless", preset="only")
    assert settings.network.radius == 0.2  # type: ignore[attr-defined]
    assert Nameless().surface_settings.radius == 0.1


def test_gathering_takes_presets_of_the_network_it_extends() -> None:
    one, other = (network_named(name).for_task("matching", preset="paper") for name in ("fcnet", "gathering"))
    assert one.config.to_dict() == other.config.to_dict()


def test_the_file_of_presets_names_what_exists() -> None:
    content = yaml.safe_load(PRESETS.read_text(encoding="utf-8"))
    tasks = set(content["tasks"]) - {"any other"}
    assert tasks <= set(task_names())
    assert set(content["networks"]) | set(content["recipes"]) <= set(network_names())
    for own in content["tasks"].values():
        for preset in own.values():
            assert set(preset.get("networks", ())) <= set(network_names())
    for own in content["recipes"].values():
        assert set(own) - {"every task"} <= tasks
