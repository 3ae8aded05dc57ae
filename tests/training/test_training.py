"""The loop: it learns, twice the same, stops for a reason, and keeps the best."""

from __future__ import annotations

import csv
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fieldconv.networks import FCNet
from fieldconv.surface import Surface
from fieldconv.tasks import TrainingConfig, task_named
from fieldconv.training import TrainingError, evaluate, train
from fieldconv.training.loop import TrainingLoop
from fieldconv.training.optimise import MovingAverage, learning_rate
from fieldconv.training.schedule import epoch_steps, prefetch
from tests.training.blobs import blobs, tiny_network

TASKS = ["classification", "segmentation", "correspondence", "matching"]


@pytest.mark.parametrize("task", TASKS)
def test_every_task_trains_and_is_measured(task: str) -> None:
    data = blobs(task, count=2)
    model = tiny_network(task, data)
    fewer = {"positives": 32} if task == "matching" else {}
    rows = train(model, data, preset="tiny", epochs=2, quiet=True, **fewer)
    assert [row["epoch"] for row in rows] == [1, 2]
    assert all(np.isfinite(row["loss"]) and 0 <= row["score"] <= 1 for row in rows)
    result = evaluate(model, data)
    assert 0 <= result.metrics[task_named(task).metrics[0].key] <= 1
    assert len(result.shapes) == len(data)
    assert model.task == task


def test_segmentation_learns() -> None:
    data, unseen = blobs(count=6), blobs(count=2, first=50)
    model = tiny_network("segmentation", data, width=8)
    rows = train(model, data, preset="tiny", epochs=8, rotate=False, quiet=True)
    assert rows[-1]["loss"] < 0.5 * rows[0]["loss"]
    assert evaluate(model, unseen).metrics["accuracy"] > 0.85


@pytest.mark.parametrize("copies", [{"reshaped": 2}, {"damaged": 2}, {"reshaped": 1, "damaged": 1}])
def test_each_mesh_takes_turns_with_its_copies(
    monkeypatch: pytest.MonkeyPatch, copies: dict[str, int]
) -> None:
    data, shown = blobs(count=2), []

    def watched(examples: Any, *arguments: Any, **options: Any) -> Any:
        shown.append([examples[index].pos for index in range(len(examples))])
        return epoch_steps(examples, *arguments, **options)

    monkeypatch.setattr("fieldconv.training.loop.epoch_steps", watched)
    train(tiny_network("segmentation", data), data, preset="tiny", epochs=6, quiet=True, **copies)
    for index in range(2):
        same = [[torch.equal(one[index], two[index]) for two in shown] for one in shown]
        assert same == [[i % 3 == j % 3 for j in range(6)] for i in range(6)]
        itself = [torch.equal(epoch[index], data[index].pos) for epoch in shown]
        assert sum(itself) == 2
    assert not any(torch.equal(one[0], data[0].pos) and torch.equal(one[1], data[1].pos) for one in shown)


@pytest.mark.parametrize("damaged", [0, 1])
def test_checkpoints_keep_whether_copies_were_damaged(tmp_path: Path, damaged: int) -> None:
    data = blobs(count=1)
    model = tiny_network("segmentation", data)
    train(model, data, preset="tiny", epochs=2, quiet=True, damaged=damaged, out=tmp_path)
    read = FCNet.from_pretrained(tmp_path)
    assert model.any_density == read.any_density == bool(damaged)
    assert read.density is not None
    times = 3 if damaged else 1.5 if read.config.samples is None else read.config.samples / read.density
    assert read.answer_settings().samples == round(times * read.density)


def test_no_copy_is_made_that_no_epoch_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    data, made = blobs(count=1), []
    plain = type(data).damaged
    monkeypatch.setattr(type(data), "damaged", lambda *given: made.append(given[1]) or plain(*given))
    model = tiny_network("segmentation", data)
    train(model, data, preset="tiny", epochs=3, quiet=True, damaged=12)
    assert made == [1, 2]
    train(model, data, preset="tiny", epochs=1, quiet=True, damaged=12)
    assert made == [1, 2]
    assert not model.any_density


def weights_after(task: str = "segmentation", **changes: Any) -> dict[str, torch.Tensor]:
    data = blobs(task, count=3)
    model = tiny_network(task, data)
    train(model, data, preset="tiny", quiet=True, **{"epochs": 2, "batch": 2, **changes})
    return model.state_dict()


@pytest.mark.parametrize("task", ["segmentation", "correspondence"])  # the latter with dropout
def test_two_runs_are_identical_and_another_seed_is_not(task: str) -> None:
    one, two, other = (weights_after(task, seed=seed) for seed in (0, 0, 1))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_the_users_random_numbers_are_left_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    data = blobs(count=2)
    state = torch.get_rng_state()
    model = tiny_network("segmentation", data)
    torch.set_rng_state(state)
    train(model, data, preset="tiny", epochs=1, quiet=True)
    assert torch.equal(torch.rand(3), expected)


def test_joined_shapes_give_the_same_gradient_as_one_by_one() -> None:
    data, task, config = blobs(count=3), task_named("segmentation"), TrainingConfig(batch=3)
    network, gradients = tiny_network("segmentation", data), []
    for edges, chunks in ((None, 1), (0, 3)):
        [step] = epoch_steps(data, task, config, 1, network, joined_edges=edges)
        assert len(step.chunks) == chunks
        losses = [task.loss(network(chunk.surface), chunk, config)[0].sum() for chunk in step.chunks]
        gradients.append(torch.autograd.grad(sum(losses), list(network.parameters())))
    for joined, separate in zip(*gradients, strict=True):
        torch.testing.assert_close(joined, separate, rtol=1e-3, atol=1e-4 * float(joined.abs().max()))


def test_every_example_is_used_once_per_epoch_by_one_process_or_three() -> None:
    data, task = blobs(count=5), task_named("segmentation")
    config, network = TrainingConfig(batch=2), tiny_network("segmentation", data)
    alone = [
        [name for chunk in step.chunks for name in chunk.names]
        for step in epoch_steps(data, task, config, 1, network)
    ]
    assert sorted(name for names in alone for name in names) == sorted(data.names)
    shares = [list(epoch_steps(data, task, config, 1, network, rank=rank, processes=3)) for rank in range(3)]
    for number, names in enumerate(alone):
        counted = [n for part in shares for c in part[number].chunks for n in c.names if part[number].share]
        assert sorted(counted) == sorted(names)
        # Each example has the same weight in the mean over processes as in the mean over the batch.
        assert {part[number].share for part in shares if part[number].share} == {3 / len(names)}
    again = [
        [name for chunk in step.chunks for name in chunk.names]
        for step in epoch_steps(data, task, config, 2, network)
    ]
    assert again != alone


def test_shapes_are_turned_but_never_the_datasets_own() -> None:
    data = blobs(count=1)
    network = tiny_network("segmentation", data)
    before = data[0].x.clone()
    task = task_named("segmentation")
    step = next(iter(epoch_steps(data, task, TrainingConfig(), 1, network)))
    shown = step.chunks[0].surface.x
    assert torch.equal(data[0].x, before)
    assert not torch.allclose(shown, before, atol=1e-3)
    torch.testing.assert_close(shown @ shown.T, before @ before.T)  # a rotation
    still = next(iter(epoch_steps(data, task, TrainingConfig(rotate=False), 1, network)))
    assert torch.equal(still.chunks[0].surface.x, before)


def test_ahead_keeps_order_and_passes_errors_on() -> None:
    assert list(prefetch(range(5))) == [0, 1, 2, 3, 4]

    def failing() -> Any:
        yield 1
        raise ValueError("no more")

    things = prefetch(failing())
    assert next(things) == 1
    with pytest.raises(ValueError, match="no more"):
        next(things)


def test_a_broken_surface_is_named_with_step_and_cause() -> None:
    data = blobs(count=3)
    data.surface(1).weight[5] = float("nan")
    model = tiny_network("segmentation", data)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(TrainingError, match=r"step 1 \(epoch 1\) on blob-1: the surface's weight "):
        train(model, data, preset="tiny", epochs=1, batch=3, quiet=True)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_broken_weights_are_named() -> None:
    data = blobs(count=2)
    model = tiny_network("segmentation", data)
    with torch.no_grad():
        model.head.block.mlp[0].bias[0] = float("inf")
    with pytest.raises(TrainingError, match=r"weights head\.block\.mlp\.0\.bias are no longer finite"):
        train(model, data, preset="tiny", epochs=1, quiet=True)


def test_best_epoch_is_kept_and_training_stops_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = iter([0.3, 0.8, 0.5, 0.4, 0.9])
    seen: list[dict[str, torch.Tensor]] = []

    def scripted(model: FCNet, *_: Any, **__: Any) -> Any:
        from fieldconv.tasks import Evaluation

        seen.append({name: value.clone() for name, value in model.state_dict().items()})
        return Evaluation("segmentation", {"accuracy": next(values)}, [])

    monkeypatch.setattr("fieldconv.training.loop.run_evaluation", scripted)
    data = blobs(count=2)
    model = tiny_network("segmentation", data)
    rows = train(
        model,
        data,
        validation=data,
        preset="tiny",
        epochs=5,
        patience=2,
        out=tmp_path,
        average=0.5,
        quiet=True,
    )
    assert len(rows) == 4  # two epochs after the best
    assert all(torch.equal(value, seen[1][name]) for name, value in model.state_dict().items())
    kept = FCNet.from_pretrained(tmp_path).state_dict()
    assert all(torch.equal(value, seen[1][name]) for name, value in kept.items())
    with open(tmp_path / "metrics.csv", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [float(row["validation_accuracy"]) for row in table] == [0.3, 0.8, 0.5, 0.4]


def test_validation_share_is_kept_out(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[Any] = []
    original = TrainingLoop.__init__

    def noting(self: TrainingLoop, model: Any, data: Any, *rest: Any, **named: Any) -> None:
        parts.append((data.names, named["validation"].names))
        original(self, model, data, *rest, **named)

    monkeypatch.setattr(TrainingLoop, "__init__", noting)
    data = blobs(count=4)
    train(tiny_network("segmentation", data), data, preset="tiny", epochs=1, validation=None, quiet=True,
          config=TrainingConfig(validation=0.25, epochs=1))  # fmt: skip
    ((trained, validated),) = parts
    assert len(validated) == 1
    assert sorted(trained + validated) == data.names


def test_one_cycle_rises_and_falls_to_nothing() -> None:
    config = TrainingConfig(schedule="one_cycle", learning_rate=0.005, warm_up=0.1)
    rates = [learning_rate(config, step, 100) for step in range(100)]
    peak = int(np.argmax(rates))
    assert 9 <= peak <= 11
    assert np.all(np.diff(rates[: peak + 1]) > 0)
    assert np.all(np.diff(rates[peak:]) < 0)
    assert rates[0] == pytest.approx(0.005 / 25)
    assert rates[peak] == pytest.approx(0.005, rel=1e-2)
    assert rates[-1] == pytest.approx(0, abs=1e-8)


def test_moving_average_is_the_weighted_mean_of_all_weights() -> None:
    layer = torch.nn.Linear(1, 1, bias=False)
    average = MovingAverage(layer, 0.9)
    expected = layer.weight.item()
    for step, value in enumerate([1.0, 2.0, 5.0]):
        with torch.no_grad():
            layer.weight.fill_(value)
        average.update(step)
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * value
    assert average.weights["weight"].item() == pytest.approx(expected)
    with average.applied():
        assert layer.weight.item() == pytest.approx(expected)
    assert layer.weight.item() == 5.0


def test_data_prepared_otherwise_is_prepared_again() -> None:
    data = blobs(count=2, radius=0.2)
    model = tiny_network("segmentation", data, radius=0.3)
    result = evaluate(model, data)
    right = evaluate(model, blobs(count=2, radius=0.3))
    assert result.metrics == right.metrics


def test_wrong_networks_are_refused() -> None:
    data = blobs(count=2)
    with pytest.raises(ValueError, match=r"build it with FCNet\.for_task\('segmentation', classes=3\)"):
        train(FCNet.for_task("segmentation", classes=5, preset="tiny"), data, quiet=True)
    with pytest.raises(ValueError, match="head is 'descriptors', but segmentation needs 'labels'"):
        train(FCNet.for_task("matching", preset="tiny"), data, quiet=True)


def test_a_run_is_not_trained_over(tmp_path: Path) -> None:
    data = blobs(count=2)
    train(tiny_network("segmentation", data), data, preset="tiny", epochs=1, out=tmp_path, quiet=True)
    with pytest.raises(ValueError, match="holds a run already"):
        train(tiny_network("segmentation", data), data, preset="tiny", epochs=1, out=tmp_path, quiet=True)


def test_an_empty_dataset_is_an_error() -> None:
    data = blobs(count=2)
    with pytest.raises(ValueError, match="nothing to train on"):
        train(tiny_network("segmentation", data), data[[]], preset="tiny", quiet=True)


def test_predicting_something_else_than_a_mesh_is_an_error() -> None:
    model = tiny_network("segmentation", blobs(count=1))
    for wrong in (None, np.zeros((4, 3))):
        with pytest.raises(TypeError, match="give a Mesh, a file, or several"):
            model.predict(wrong)
    with pytest.raises(ValueError, match=r"call model\.float\(\)"):
        model.double().predict(blobs(count=1).meshes(0)[0])


def test_transforms_and_dropout_draw_in_turns() -> None:
    # Both from torch's generator: in two threads, the result would depend on which comes first.
    threads = set()

    def noted(surface: Surface) -> Surface:
        threads.add(threading.current_thread())
        return surface

    data = blobs(count=2)
    data.transform = noted
    train(tiny_network("segmentation", data), data, preset="tiny", epochs=1, quiet=True)
    assert threads == {threading.main_thread()}
