"""How torch learns of the operations, so that autograd, fake tensors, compile and export know them.

This is the low-level library of torch and not `torch.library.custom_op`, whose first call imports torch's
compiler. That takes 0.8 s, which nobody who predicts one mesh should wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from fieldconv.ops import plain
from fieldconv.ops.backend import use_compiled
from fieldconv.ops.geometry import Geometry

NAMESPACE = "fieldconv"
GEOMETRY = "Tensor edge_index, Tensor log, Tensor transport, Tensor weight, Tensor radius, Tensor? batch"

# Several tensors or one, of arguments that the schema of the operation describes.
Operation = Callable[..., Any]
Backward = Callable[..., Sequence[Tensor | None]]

_library = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
_operations: dict[str, Operation] = {}


def register(schema: str, compute: Operation, fake: Operation) -> Operation:
    """Return a new operation of torch, without a derivative yet.

    Parameters
    ----------
    schema : str
        Name, arguments and results, such as ``"lift(Tensor x, int band_limit, str backend) -> Tensor"``.
    compute : callable
        Computes the results. They must not be views of the arguments.
    fake : callable
        Returns empty tensors of the shapes and types of the results.
    """
    name = schema.partition("(")[0]
    if name in _operations:  # a module may be run again, by importlib.reload or a test runner
        return _operations[name]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))  # type: ignore[no-untyped-call]
    _library.impl(name, compute, "CompositeExplicitAutograd")  # type: ignore[no-untyped-call]
    torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=_library)
    _operations[name] = getattr(getattr(torch.ops, NAMESPACE), name).default
    return _operations[name]


def either(compiled: Operation, portable: Operation, *, geometry: int | None = None) -> Operation:
    """Return a function that calls one of two, as its last argument says, the backend.

    ``geometry`` is the position of the tensors of a geometry, which the two take as one `Geometry`.
    """

    def compute(*arguments: Any) -> Any:
        *rest, backend = arguments
        if geometry is not None:
            end = geometry + len(Geometry._fields)
            rest[geometry:end] = [Geometry(*rest[geometry:end])]
        return compiled(*rest) if use_compiled(backend, arguments[0]) else portable(*rest)

    return compute


def differentiate(
    operation: Operation, backward: Backward, *, equations: Operation | None = None, linear: bool = False
) -> None:
    """Give an operation its derivative.

    Parameters
    ----------
    operation : callable
        What `register` returned.
    backward : callable
        Called with the gradient of the first result, all arguments and all further results. It returns the
        gradients of the first arguments; the others have none.
    equations : callable
        Returns the first result by torch's own operations, of all arguments. It is what torch differentiates
        where a second derivative is wanted. Without it ``backward`` must be differentiable itself.
    linear : bool
        The derivative does not depend on the first argument, so that is not kept: ``backward`` gets None.
    """

    def save(ctx: Any, inputs: Any, output: Any) -> None:
        further = output[1:] if isinstance(output, tuple) else ()
        values = [None if linear else inputs[0], *inputs[1:], *further]
        ctx.arguments = len(inputs)
        ctx.values = [None if isinstance(value, Tensor) else value for value in values]
        ctx.places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
        ctx.save_for_backward(*(values[place] for place in ctx.places))

    def gradients(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        values = list(ctx.values)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            values[place] = tensor
        if equations is not None and torch.is_grad_enabled():
            inputs = values[: ctx.arguments]
            tensors = [value for value in inputs if isinstance(value, Tensor)]
            found = iter(plain.gradients(equations(*inputs), tensors, gradient))
            return tuple(next(found) if isinstance(value, Tensor) else None for value in inputs)
        first = backward(gradient, *values)
        return *first, *(None for _ in range(ctx.arguments - len(first)))

    name = f"{NAMESPACE}::{operation.__name__.partition('.')[0]}"
    torch.library.register_autograd(name, gradients, setup_context=save, lib=_library)
