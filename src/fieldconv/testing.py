"""Check that a layer does not depend on what must not matter: tangent frames, placement, numbering, scale.

The four changes are functions of their own, to write further tests with.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from fieldconv.surface.changes import move, renumber, scale, turn_frames, turn_vectors

if TYPE_CHECKING:
    from fieldconv.surface import Surface

__all__ = ["assert_equivariant", "move", "renumber", "scale", "turn_frames", "turn_vectors"]

CHANGES = ("frames", "motion", "numbering", "scale")


def assert_equivariant(
    module: nn.Module,
    surface: Surface,
    *,
    features: Tensor | None = None,
    tolerance: float = 1e-4,
    changes: Sequence[str] = CHANGES,
    seed: int = 0,
) -> dict[str, float]:
    """Raise `AssertionError` if the output of a layer or network depends on what must not matter.

    The surface is changed in four ways, each by a random amount: every tangent frame is turned by its own
    angle, the shape is moved in space, its samples are renumbered, and it is scaled. Complex tensors, going
    in and coming out, are tangent vectors and must turn with the frames; real tensors must stay the same.

    Parameters
    ----------
    module : nn.Module
        Called as ``module(surface)``, ``module(features, surface)`` or ``module(features)``, whichever
        its ``forward`` takes.
    surface : Surface
        One surface or a batch.
    features : (n, C) complex or real, optional
        Input of a layer; by default a random vector field with ``module.in_channels`` channels.
    tolerance : float
        Largest difference allowed, relative to the largest output.
    changes : sequence of str
        Some of "frames", "motion", "numbering", "scale".
    seed : int
        Of the random changes.

    Returns
    -------
    dict of str to float
        The relative difference under each change.

    Examples
    --------
    >>> from fieldconv import Mesh, Surface
    >>> from fieldconv.nn import FieldConv
    >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    >>> errors = assert_equivariant(FieldConv(4, 8), Surface.from_mesh(tetrahedron, radius=1.0))
    >>> list(errors)
    ['frames', 'motion', 'numbering', 'scale']
    """
    unknown = [change for change in changes if change not in CHANGES]
    if unknown:
        raise ValueError(f"unknown change {unknown[0]!r}; choose among {', '.join(CHANGES)}")
    call = _caller(module, surface, features, seed)
    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            errors = {
                change: _error(call, surface, change, torch.Generator().manual_seed(seed + 1))
                for change in changes
            }
    finally:
        module.train(training)
    for change, error in errors.items():
        if not error <= tolerance:  # a NaN fails too
            raise AssertionError(
                f"{type(module).__name__} depends on the {_MEANING[change]}: its output changes by "
                f"{error:.2g} of its largest value, where {tolerance:.2g} is allowed"
            )
    return errors


_MEANING = {
    "frames": "choice of tangent frames",
    "motion": "place of the shape in space",
    "numbering": "order of the samples",
    "scale": "size of the shape",
}

_Call = Callable[["Surface", Callable[[Tensor], Tensor]], Any]


def _caller(module: nn.Module, surface: Surface, features: Tensor | None, seed: int) -> _Call:
    """How to call the module: with the surface, the changed features, or both."""
    required = [
        parameter
        for parameter in inspect.signature(module.forward).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if len(required) == 1 and features is None:
        return lambda changed, change_features: module(changed)
    if features is None:
        channels = getattr(module, "in_channels", None)
        if channels is None:
            raise ValueError(f"{type(module).__name__} has no in_channels; give features=…")
        shape = (len(surface.pos), channels)
        generator = torch.Generator().manual_seed(seed)
        features = torch.randn(shape, dtype=surface.pos.dtype.to_complex(), generator=generator)
        features = features.to(surface.pos.device)
    if len(required) == 1:
        return lambda changed, change_features: module(change_features(features))
    return lambda changed, change_features: module(change_features(features), changed)


def _error(call: _Call, surface: Surface, change: str, generator: torch.Generator) -> float:
    """Relative difference between the output's change and the change of the output."""
    count, device = len(surface.pos), surface.pos.device

    def same(x: Tensor) -> Tensor:
        return x

    follow = same
    if change == "frames":
        angles = (2 * torch.pi * torch.rand(count, generator=generator, dtype=torch.float64)).to(device)
        changed = turn_frames(surface, angles)

        def follow(x: Tensor) -> Tensor:
            return turn_vectors(x, angles) if x.is_complex() else x
    elif change == "motion":
        rotation, _ = torch.linalg.qr(torch.randn(3, 3, generator=generator, dtype=torch.float64))
        rotation[:, 0] *= torch.linalg.det(rotation)  # no reflection
        changed = move(surface, rotation, torch.randn(3, generator=generator, dtype=torch.float64))
    elif change == "numbering":
        order = torch.randperm(count, generator=generator).to(device)
        batch = getattr(surface, "batch", None)
        if batch is not None:  # the samples of a shape stay together
            order = order[torch.argsort(batch[order], stable=True)]
        changed = renumber(surface, order)

        def follow(x: Tensor) -> Tensor:
            return x[order] if x.ndim and len(x) == count else x
    else:
        changed = scale(surface, 3.0)

    expected = [follow(x) for x in _tensors(call(surface, same))]
    found = list(_tensors(call(changed, follow)))
    if not expected:
        raise ValueError("the module returns no tensor to compare")
    return max(_relative(a, b) for a, b in zip(found, expected, strict=True))


def _relative(found: Tensor, expected: Tensor) -> float:
    if not found.numel():
        return 0.0
    difference = (found - expected).abs().max()
    return float(difference / expected.abs().max().clamp_min(torch.finfo(difference.dtype).tiny))


def _tensors(output: Any) -> Iterator[Tensor]:
    """The floating-point tensors in an output, however nested."""
    if isinstance(output, Tensor):
        if output.is_floating_point() or output.is_complex():
            yield output
    elif isinstance(output, Mapping):
        for value in output.values():
            yield from _tensors(value)
    elif isinstance(output, Sequence) and not isinstance(output, str):
        for value in output:
            yield from _tensors(value)
