"""Why a loss is not finite."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from fieldconv.tasks.base import Chunk


class TrainingError(ValueError):
    """Training cannot go on; the message says where and why."""


def explain(model: nn.Module, chunk: Chunk, losses: Tensor, step: int, epoch: int) -> TrainingError | None:
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
        if isinstance(values, Tensor) and not _finite(values):
            return (
                f"the surface's {key} has values that are not finite; check that mesh with `fieldconv info`"
            )
    first: list[str] = []

    def watch(name: str) -> Callable[[nn.Module, object, object], None]:
        def hook(module: nn.Module, inputs: object, output: object) -> None:
            if not first and isinstance(output, Tensor) and not _finite(output):
                first.append(f"{name} ({type(module).__name__})")

        return hook

    # Hooks of layers run before those of the modules around them, which catch layers that are not called.
    handles = [module.register_forward_hook(watch(name)) for name, module in model.named_modules() if name]
    try:
        with torch.no_grad():
            model(chunk.surface)
    finally:
        for handle in handles:
            handle.remove()
    if first:
        return f"{first[0]} is the first layer whose output is not finite; lower the learning rate"
    return "the network's output is finite, so its target is not usable; check the labels"


def _finite(values: Tensor) -> bool:
    if values.is_complex():
        values = torch.view_as_real(values)
    return bool(torch.isfinite(values).all()) if values.is_floating_point() else True
