"""The training loop of all tasks, on one process or several."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from fieldconv._checked import Plain
from fieldconv._progress import Progress
from fieldconv.networks.protocol import Network
from fieldconv.runs.files import write_log
from fieldconv.tasks.base import Chunk, Evaluation, Examples, Task, TrainingConfig
from fieldconv.training.checkpoint import (
    STATE,
    CheckpointError,
    State,
    load,
    optimiser_tensors,
    restore_optimiser,
    save_pretrained,
)
from fieldconv.training.logs import TensorBoard, epoch_line
from fieldconv.training.measure import calibrate, run_evaluation
from fieldconv.training.optimise import MovingAverage, learning_rate, make_optimiser
from fieldconv.training.schedule import CopySchedule, Step, epoch_steps, prefetch

TENSORBOARD = "tensorboard"


class TrainingError(ValueError):
    """Training cannot go on; the message says where and why."""


class TrainingLoop:
    """The epochs of a training: `run` trains to the end, with ``resume`` from where ``out`` stopped.

    Parameters are those of `fieldconv.train`, and

    - ``about``: goes into the checkpoints' ``config.json``;
    - ``fabric``: devices and processes.

    The network ends with the best weights: those of the best validation if there is one, else the last ones
    (their moving average, if there is one).
    """

    def __init__(
        self,
        model: Network,
        data: Examples,
        task: Task,
        config: TrainingConfig,
        *,
        validation: Examples | None = None,
        out: str | Path | None = None,
        resume: bool = False,
        about: Plain | None = None,
        fabric: Fabric,
        quiet: bool = False,
        each_epoch: Callable[[dict[str, float]], None] | None = None,
    ) -> None:
        self.fabric = fabric
        self.model, self.data, self.task, self.config = model, data, task, config
        self.validation = validation
        self.out = Path(out) if out is not None else None
        self.about = about or {}
        self.quiet = quiet or not self.fabric.is_global_zero
        self.each_epoch = each_epoch
        self.names = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
        self.wrapped, self.optimiser = self.fabric.setup(model, make_optimiser(model, config))
        self.average = MovingAverage(model, config.average) if config.average is not None else None
        self.history: list[dict[str, float]] = []
        self.best: dict[str, float] = {}
        self.best_weights: dict[str, Tensor] = {}
        self.epoch = self.step = 0
        self.steps = config.epochs * -(-len(data) // config.batch)  # the last batch may be smaller
        # Each process draws other numbers (for dropout), the same ones in every run.
        torch.manual_seed(config.seed + self.fabric.global_rank)
        if resume and self.out is not None and (self.out / STATE).exists():
            self._resume(self.out)
        reshaped, damaged = config.copies_shown
        self.shapes = [
            data,
            *(data.reshaped(number + 1, config.reshaping) for number in range(reshaped)),
            *(data.damaged(number + 1, config.damaging) for number in range(damaged)),
        ]

    def run(self) -> list[dict[str, float]]:
        """Train to the end; return one row per epoch."""
        logs = self.out / TENSORBOARD if self.out is not None and self.fabric.is_global_zero else None
        board = TensorBoard(logs, done=self.step)
        with Progress("training", self.steps, begun=self.step, quiet=self.quiet) as progress:
            while self.epoch < self.config.epochs and not self._out_of_patience():
                row = self._one_epoch(progress, board)
                self.history.append(row)
                self._keep()
                board.add({key: value for key, value in row.items() if key != "epoch"}, self.step)
                board.flush()
                progress.done = self.step
                progress.say(epoch_line(row, self.config.epochs, self.task, progress.seconds_left()))
                if self.each_epoch is not None:
                    self.each_epoch(row)
            if self.epoch < self.config.epochs:
                progress.say(f"stopped early: no better validation for {self.config.patience} epochs")
        board.close()
        if self.best_weights:
            self.model.load_state_dict(self.best_weights)
        elif self.average is not None:
            self.model.load_state_dict({**self.model.state_dict(), **self.average.weights})
        self.model.eval()
        if self.validation is not None and self.task.calibrated:
            self._calibrate(self.validation)
        return self.history

    def _one_epoch(self, progress: Progress, board: TensorBoard) -> dict[str, float]:
        began = time.monotonic()
        self.epoch += 1
        self.model.train()
        totals = torch.zeros(3, device=self.fabric.device)  # loss, score, examples
        device = self.fabric.device.type
        shown_every = 1 if device == "cpu" else 10  # steps: reading a value synchronises the GPU
        steps = epoch_steps(
            CopySchedule(self.shapes, self.epoch),
            self.task,
            self.config,
            self.epoch,
            self.model,
            rank=self.fabric.global_rank,
            processes=self.fabric.world_size,
            device=device,
        )
        # A transform may draw from torch's generator, as dropout does, so that their order must be fixed.
        for step in prefetch(steps) if self.data.transform is None else steps:
            rate = learning_rate(self.config, self.step, self.steps)
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            sums = self._one_step(step)
            totals += sums
            if self.step % shown_every == 0:
                loss, score, examples = sums.tolist()
                count = max(examples, 1)
                board.add({"step_loss": loss / count}, self.step)
                note = f"loss {loss / count:.4f}"
                if self.task.score is not None:
                    note += f"  {self.task.score.text(score / count)}"
                progress.reach(self.step, what=f"epoch {self.epoch}/{self.config.epochs}, step", note=note)
        loss, score, examples = self.fabric.all_reduce(totals, reduce_op="sum").tolist()
        row: dict[str, float] = {"epoch": self.epoch, "step": self.step, "loss": loss / examples}
        if self.task.score is not None:
            row["score"] = score / examples
        row["learning_rate"] = rate
        if self.validation is not None:
            metrics = self._validate(self.validation).metrics
            row |= {f"validation_{key}": value for key, value in metrics.items()}
        row["seconds"] = time.monotonic() - began
        return row

    def _one_step(self, step: Step) -> Tensor:
        """Take one step of the optimiser; return the sums of losses and of scores, and the examples."""
        totals = torch.zeros(3, device=self.fabric.device)
        problem = None
        for number, chunk in enumerate(step.chunks):
            chunk = chunk.to(self.fabric.device)
            alone, last = self.fabric.world_size == 1, number == len(step.chunks) - 1
            with nullcontext() if alone or last else self.fabric.no_backward_sync(self.wrapped):
                losses, scores = self.task.loss(self.wrapped(chunk.surface), chunk, self.config)
                self.fabric.backward(losses.sum() * step.share)
            if step.share:
                score = losses.new_zeros(()) if scores is None else scores.sum()
                totals += torch.stack([losses.detach().sum(), score, totals.new_tensor(float(len(losses)))])
            if not math.isfinite(losses.sum().item()):
                problem = problem or _nonfinite_loss(self.model, chunk, losses, self.step + 1, self.epoch)
        norm = self.fabric.clip_gradients(
            self.wrapped, self.optimiser, max_norm=self.config.clip or float("inf"), error_if_nonfinite=False
        )
        if problem is None and norm is not None and not math.isfinite(norm.item()):
            names = ", ".join(name for chunk in step.chunks for name in chunk.names)
            problem = TrainingError(
                f"the gradient became {norm.item()} at step {self.step + 1} (epoch {self.epoch}) on {names} "
                "(or on a mesh of another process); lower the learning rate"
            )
        if problem is not None:
            raise problem
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        if self.average is not None:
            self.average.update(self.step)
        self.step += 1
        return totals

    def _validate(self, validation: Examples) -> Evaluation:
        own = None
        if self.fabric.is_global_zero:
            with self._averaged_weights():
                own = run_evaluation(self.model, validation, self.task, quiet=True)
        evaluation: Evaluation = self.fabric.broadcast(own)
        main = self.task.metrics[0]
        value = evaluation.metrics[main.key]
        sign = -1 if main.better == "less" else 1
        if not self.best or sign * value > sign * self.best["value"]:
            self.best = {"epoch": self.epoch, "value": value}
            with self._averaged_weights():
                self.best_weights = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        return evaluation

    def _calibrate(self, validation: Examples) -> None:
        """Find the temperature on the validation part, and keep it with the network."""
        temperature = None
        if self.fabric.is_global_zero:
            temperature = calibrate(self.model, validation)
            if self.out is not None:
                save_pretrained(self.model, self.out, about=self.about)
        self.model.temperature = self.fabric.broadcast(temperature)

    def _out_of_patience(self) -> bool:
        patience = self.config.patience
        return bool(patience and self.best and self.epoch - self.best["epoch"] >= patience)

    def _averaged_weights(self) -> AbstractContextManager[None]:
        """Give the network its averaged weights inside the block, if there is an average."""
        return self.average.applied() if self.average is not None else nullcontext()

    def _keep(self) -> None:
        rng = {"cpu": torch.get_rng_state()}
        if self.fabric.device.type == "cuda":
            rng["cuda"] = torch.cuda.get_rng_state(self.fabric.device)
        states = self._gather_states(rng)
        if self.out is None or not self.fabric.is_global_zero:
            self.fabric.barrier()
            return
        if not self.best or self.best["epoch"] == self.epoch:
            with self._averaged_weights():
                save_pretrained(self.model, self.out, about=self.about)
        State(
            epoch=self.epoch,
            step=self.step,
            weights=self.model.state_dict(),
            optimiser=optimiser_tensors(self.optimiser.optimizer, self.names),
            rng=states,
            average=self.average.weights if self.average is not None else {},
            history=self.history,
            best=self.best,
            config=self._settings(),
        ).save(self.out)
        write_log(self.out, self.history)
        self.fabric.barrier()

    def _gather_states(self, rng: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the random states of all processes."""
        if self.fabric.world_size == 1:
            return {f"0/{key}": value for key, value in rng.items()}
        everyone: dict[str, Tensor] = {}
        for key, value in rng.items():
            mine = value.to(self.fabric.device)
            rows = [torch.empty_like(mine) for _ in range(self.fabric.world_size)]
            torch.distributed.all_gather(rows, mine)
            everyone |= {f"{rank}/{key}": row for rank, row in enumerate(rows)}
        return everyone

    def _settings(self) -> Plain:
        return {
            "network": self.model.config.to_dict(),
            "training": self.config.to_dict(),
            "examples": self.data.names,
        }

    def _resume(self, out: Path) -> None:
        """Go on from the state in a run folder."""
        state = State.load(out)
        try:
            self._restore(state, out)
        except CheckpointError:
            raise
        except (RuntimeError, TypeError, KeyError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            raise CheckpointError(
                f"{out / STATE} does not fit this run ({reason}); start a new run"
            ) from None
        if self.fabric.is_global_zero:  # the run may have been stopped before it wrote its log
            write_log(out, self.history)

    def _restore(self, state: State, out: Path) -> None:
        now, before = self._settings(), dict(state.config)
        for part, config in (("network", self.model.config), ("training", self.config)):
            # Settings that did not exist then have their default.
            before[part] = type(config).from_dict(before.get(part, {})).to_dict()
        for part, values in now.items():
            known, changed = before.get(part), ""
            if isinstance(values, dict) and isinstance(known, dict):
                changed = ", ".join(key for key, value in values.items() if value != known.get(key))
            elif values != known:
                changed = part
            if changed:
                raise CheckpointError(
                    f"{out} was begun with other settings ({changed}); resume with the same ones, or "
                    "choose another folder"
                )
        if state.epoch > self.config.epochs or state.step > self.steps:
            raise CheckpointError(f"{out / STATE} is beyond the end of this run; start a new run")
        self.model.load_state_dict(state.weights)
        restore_optimiser(self.optimiser.optimizer, self.names, state.optimiser)
        if self.average is not None:
            for name, value in state.average.items():
                self.average.weights[name].copy_(value)
        self.epoch, self.step = state.epoch, state.step
        self.history, self.best = state.history, state.best
        if self.best:
            self.best_weights = load(out).state_dict()
        rank = self.fabric.global_rank
        if f"{rank}/cpu" in state.rng:
            torch.set_rng_state(state.rng[f"{rank}/cpu"])
        if f"{rank}/cuda" in state.rng and self.fabric.device.type == "cuda":
            torch.cuda.set_rng_state(state.rng[f"{rank}/cuda"], self.fabric.device)


def _nonfinite_loss(
    model: nn.Module, chunk: Chunk, losses: Tensor, step: int, epoch: int
) -> TrainingError | None:
    """Return an error that says where and why a loss of the chunk is not finite; None if all are finite."""
    bad = torch.nonzero(~torch.isfinite(losses.detach())).flatten().tolist()
    if not bad:
        return None
    names = ", ".join(chunk.names[i] for i in bad)
    return TrainingError(
        f"the loss became {losses[bad[0]].item()} at step {step} (epoch {epoch}) on {names}: "
        f"{_cause(model, chunk)}"
    )


def _cause(model: nn.Module, chunk: Chunk) -> str:
    for name, value in model.named_parameters():
        if not torch.isfinite(value).all():
            return f"the weights {name} are no longer finite; lower the learning rate or set --clip 1"
    for key, values in chunk.surface.to_dict().items():
        if isinstance(values, Tensor) and not torch.isfinite(values).all():
            return (
                f"the surface's {key} has values that are not finite; check that mesh with `fieldconv info`"
            )
    first: list[str] = []

    def watch(name: str, module: nn.Module, inputs: object, output: object) -> None:
        if not first and isinstance(output, Tensor) and not torch.isfinite(output).all():
            first.append(f"{name} ({type(module).__name__})")

    # Hooks of layers run before those of the modules around them, which catch layers that are not called.
    layers = [(name, layer) for name, layer in model.named_modules() if name]
    handles = [layer.register_forward_hook(partial(watch, name)) for name, layer in layers]
    try:
        with torch.no_grad():
            model(chunk.surface)
    finally:
        for handle in handles:
            handle.remove()
    if first:
        return f"{first[0]} is the first layer whose output is not finite; lower the learning rate"
    return "the network's output is finite, so its target is not usable; check the labels"
