"""Register operations with torch, so that autograd, fake tensors, compile and export know them.

Where there are two implementations, compiled kernels for the CPU and portable torch, a backend chooses.

This uses the low-level `torch.library.Library`: the first call of a `torch.library.custom_op` imports torch's
compiler, which takes 0.8 s.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from fieldconv.ops.geometry import Geometry

NAMESPACE = "fieldconv"
GEOMETRY = "Tensor edge_index, Tensor log, Tensor transport, Tensor weight, Tensor radius, Tensor? batch"

Backend = Literal["auto", "torch", "compiled"]
BACKEND_VARIABLE = "FIELDCONV_BACKEND"

Operation = Callable[..., Any]  # of the arguments and results that a schema says
Kernels = Operation | tuple[Operation, Operation]

_library = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
_operations: dict[str, Operation] = {}


def check_backend(backend: Backend, x: Tensor) -> None:
    """Raise ValueError if there is no such backend, or if it cannot run on the device of ``x``."""
    if backend not in get_args(Backend):
        raise ValueError(f'backend must be "auto", "torch" or "compiled", got {backend!r}.')
    if backend == "compiled" and x.device.type != "cpu":
        raise ValueError(
            f'The backend "compiled" runs on the CPU, but the features are on {x.device}; use "auto".'
        )


def use_compiled(backend: Backend, x: Tensor) -> bool:
    """Return whether the compiled kernels serve features ``x``.

    "auto" stands for the value of the environment variable ``FIELDCONV_BACKEND``: "torch", "compiled", or
    "auto" (the default), which takes the kernels on the CPU. Raise ValueError if it has another value.
    """
    if backend == "auto":
        variable = os.environ.get(BACKEND_VARIABLE) or "auto"
        if variable not in get_args(Backend):
            raise ValueError(f"{BACKEND_VARIABLE} must be auto, torch or compiled, got {variable}.")
        if variable == "auto":
            return x.device.type == "cpu"
        backend = variable  # type: ignore[assignment]
    check_backend(backend, x)
    return backend == "compiled"


def register(schema: str, compute: Kernels, *, fake: Operation) -> Operation:
    """Return a new operation of torch, without a derivative yet.

    Parameters
    ----------
    schema : str
        Name, arguments and results, such as ``"lift(Tensor x, int band_limit, str backend) -> Tensor"``.
    compute : callable, or a compiled and a portable one
        Returns the results, which must not be views of the arguments. Of two, the last argument ``backend``
        chooses; they are called without it. They and all other callables here get one `Geometry` for the
        tensors of a geometry.
    fake : callable
        Returns empty tensors of the shapes and types of the results.
    """
    name = schema.partition("(")[0]
    if name in _operations:  # a module may be run again, by importlib.reload or a test runner
        return _operations[name]
    if isinstance(compute, tuple):
        compute = _choose(schema, *compute)
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))  # type: ignore[no-untyped-call]
    _library.impl(name, compute, "CompositeExplicitAutograd")  # type: ignore[no-untyped-call]
    torch.library.register_fake(
        f"{NAMESPACE}::{name}", lambda *arguments: fake(*_pack(schema, arguments)), lib=_library
    )
    _operations[name] = getattr(getattr(torch.ops, NAMESPACE), name).default
    return _operations[name]


def _choose(schema: str, compiled: Operation, portable: Operation) -> Operation:
    """Return a function that calls one of two, as its last argument says."""

    def compute(*arguments: Any) -> Any:
        *rest, backend = _pack(schema, arguments)
        return compiled(*rest) if use_compiled(backend, arguments[0]) else portable(*rest)

    return compute


def _pack(schema: str, arguments: Sequence[Any]) -> Sequence[Any]:
    """Return the arguments with one `Geometry` for the tensors of a geometry."""
    before, geometry, _ = schema.partition(GEOMETRY)
    if not geometry:
        return arguments
    start = before.count(",")
    end = start + len(Geometry._fields)
    return [*arguments[:start], Geometry(*arguments[start:end]), *arguments[end:]]


def register_differentiable(
    name: str,
    inputs: Sequence[str],
    options: str,
    compute: Kernels,
    backward: Kernels,
    *,
    fake: Operation,
    equations: Operation,
    saved: Sequence[str] = (),
) -> Operation:
    """Return a new operation of torch that has a derivative: another operation, ``NAME_backward``.

    Parameters
    ----------
    name : str
    inputs : sequence of str
        Names of the first arguments, the tensors that there is a derivative by.
    options : str
        The other arguments, as a schema has them.
    compute, fake
        As in `register`.
    backward : callable, or a compiled and a portable one
        Called with the inputs, the gradient by the first result, the further results and the options. Returns
        the gradient by each input.
    equations : callable
        Returns the first result by torch's own operations, of all arguments. It is what torch differentiates
        where a second derivative is wanted.
    saved : sequence of str
        Names of further results, which only ``backward`` needs.
    """
    if name in _operations:
        return _operations[name]
    count = len(inputs)

    def tensors(names: Sequence[str]) -> str:
        return ", ".join(f"Tensor {name}" for name in names)

    def empty_gradients(*arguments: Any) -> Tensor | tuple[Tensor, ...]:
        empty = tuple(tensor.new_empty(tensor.shape) for tensor in arguments[:count])
        return empty if count > 1 else empty[0]

    schema = f"{name}({tensors(inputs)}, {options}) -> ({tensors(['result', *saved])})"
    operation = register(schema, compute, fake=fake)
    backward_operation = register(
        f"{name}_backward({tensors([*inputs, 'gradient', *saved])}, {options}) -> ({tensors(inputs)})",
        backward,
        fake=empty_gradients,
    )

    def save(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        _save(ctx, [*inputs, *(output[1:] if saved else ())])

    def gradients(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        values = _restore(ctx)
        end = len(values) - len(saved)
        arguments, further = values[:end], values[end:]
        if torch.is_grad_enabled():
            needed = [isinstance(value, Tensor) and value.requires_grad for value in arguments]
            result, tensors = equations(*_pack(schema, arguments)), [*compress(arguments, needed)]
            by_needed = iter(torch.autograd.grad(result, tensors, gradient, create_graph=True))
            return tuple(next(by_needed) if need else None for need in needed)
        by_inputs = backward_operation(*arguments[:count], gradient, *further, *arguments[count:])
        return *(by_inputs if count > 1 else [by_inputs]), *[None] * (end - count)

    _differentiate(name, gradients, save)
    return operation


def register_adjoints(first: Operation, second: Operation) -> None:
    """Make two operations that are linear in their first argument each other's derivative."""

    def save(ctx: Any, inputs: Sequence[Any], output: Tensor) -> None:
        _save(ctx, inputs[1:])

    for operation, adjoint in ((first, second), (second, first)):

        def gradients(ctx: Any, gradient: Tensor, adjoint: Operation = adjoint) -> tuple[Tensor | None, ...]:
            rest = _restore(ctx)
            return adjoint(gradient, *rest), *[None] * len(rest)

        _differentiate(operation.__name__.partition(".")[0], gradients, save)


def _differentiate(name: str, gradients: Operation, save: Operation) -> None:
    torch.library.register_autograd(f"{NAMESPACE}::{name}", gradients, setup_context=save, lib=_library)


def _save(ctx: Any, values: Sequence[Any]) -> None:
    """Keep tensors and other values for the backward pass."""
    ctx.save_for_backward(*(value if isinstance(value, Tensor) else None for value in values))
    ctx.others = [None if isinstance(value, Tensor) else value for value in values]


def _restore(ctx: Any) -> list[Any]:
    """Return the values of `_save`."""
    pairs = zip(ctx.saved_tensors, ctx.others, strict=True)
    return [other if tensor is None else tensor for tensor, other in pairs]
