from __future__ import annotations

import json

import pytest

from fieldconv.networks import FCNetConfig


def test_json_round_trip() -> None:
    config = FCNetConfig.for_task("correspondence", classes=100, preset="paper")
    assert FCNetConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_the_papers_networks() -> None:
    """Section 6: blocks, N, B, ε and heads of the four experiments."""
    found = {
        task: FCNetConfig.for_task(task, classes=classes, preset="paper")
        for task, classes in (
            ("classification", 30),
            ("segmentation", 8),
            ("correspondence", 5000),
            ("matching", None),
        )
    }
    shapes = {
        task: (config.blocks, config.rings, config.band_limit, config.radius)
        for task, config in found.items()
    }
    assert shapes == {
        "classification": (2, 6, 2, 0.2),
        "segmentation": (4, 6, 2, 0.2),
        "correspondence": (8, 3, 1, 0.05),
        "matching": (8, 6, 1, 0.1),
    }
    segmentation, correspondence = found["segmentation"], found["correspondence"]
    assert (segmentation.echo_channels, segmentation.hidden, segmentation.samples) == (32, (256, 124), 1024)
    assert (correspondence.echo_channels, correspondence.hidden) == (12, (124, 64))
    assert (correspondence.bottleneck, correspondence.dense, correspondence.dropout) == (32, 256, 0.5)
    assert (found["matching"].outputs, found["matching"].samples) == (16, 2048)
    assert all(config.lift_channels == 16 and config.width in (32, 48) for config in found.values())
    assert all(config.echo_votes == "magnitude" for config in found.values())
    assert all((config.solver, config.input_scale) == ("heat", "raw") for config in found.values())
    assert not any(config.class_bias for config in found.values())
    assert all((config.lift, config.filter) == ("gradient", "offset") for config in found.values())
    assert all((config.spacing, config.pooling) == ("linear", "mean") for config in found.values())
    assert all(config.features == "xyz" for config in found.values())


def test_what_is_not_said_is_the_papers_segmentation_network() -> None:
    paper = FCNetConfig.for_task("segmentation", classes=8, preset="paper", samples=None)
    ours = {"solver": "local", "input_scale": "unit", "echo_votes": "vector"}
    assert FCNetConfig() == paper.changed(**ours)
    correspondence = FCNetConfig.for_task("correspondence", classes=8, preset="paper")
    assert (FCNetConfig().dense, FCNetConfig().dropout) == (correspondence.dense, correspondence.dropout)
    assert correspondence.dropout == 0.5


@pytest.mark.parametrize("task", ["classification", "segmentation", "correspondence", "matching"])
def test_what_reaches_the_papers_numbers_is_its_network_on_its_input(task: str) -> None:
    paper, found = (FCNetConfig.for_task(task, classes=8, preset=preset) for preset in ("paper", "reproduce"))
    assert found == paper.changed(solver="local", echo_votes="vector", class_bias=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"head": "boxes"}, "head is 'boxes'; choose one of labels, classification, descriptors"),
        ({"outputs": 0}, "outputs is 0; give a whole number from 1 up"),
        ({"band_limit": -1}, "band_limit is -1; give a whole number from 0 up"),
        ({"rings": 2.5}, "rings is 2.5"),
        ({"samples": 0}, "samples is 0"),
        ({"hidden": (3,)}, "hidden is .*two hidden widths"),
        ({"hidden": (3, 0)}, "hidden is 0"),
        ({"radius": 0.0}, "radius is 0.0; give a positive number"),
        ({"radius": float("nan")}, "radius is nan; give a positive number"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"filter": "gabor"}, "choose one of offset, real, complex"),
        ({"widht": 3}, "unknown setting 'widht'; did you mean width=3"),
    ],
)
def test_wrong_values_say_what_is_allowed(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FCNetConfig.for_task("segmentation", classes=8, **changes)


def test_wrong_task_preset_or_no_classes() -> None:
    with pytest.raises(ValueError, match="choose one of classification, correspondence"):
        FCNetConfig.for_task("painting", classes=8)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="choose one of paper, reproduce, default, quick, tiny"):
        FCNetConfig.for_task("segmentation", classes=8, preset="huge")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="segmentation needs the number of classes"):
        FCNetConfig.for_task("segmentation")
