"""Check that a layer does not depend on tangent frames, placement, numbering or scale.

The four changes are public functions, for further tests.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from fieldconv.surface.views import (
    move,
    moved_features,
    place_columns,
    renumber,
    scale,
    turn_frames,
    turn_vectors,
)

if TYPE_CHECKING:
    from fieldconv.surface import Surface

__all__ = [
    "assert_equivariant",
    "move",
    "moved_features",
    "renumber",
    "scale",
    "turn_frames",
    "turn_vectors",
]

CHANGES = {
    "frames": "choice of tangent frames",
    "motion": "place of the shape in space",
    "numbering": "order of the samples",
    "scale": "size of the shape",
}


def assert_equivariant(
    module: nn.Module,
    surface: Surface,
    *,
    features: Tensor | None = None,
    tolerance: float = 1e-4,
    changes: Sequence[str] = tuple(CHANGES),
    positions: Literal["moved", "kept"] = "moved",
    seed: int = 0,
) -> dict[str, float]:
    """Raise `AssertionError` if a layer or network depends on frames, placement, numbering or scale.

    The module is called with the surface as it is and with each of these changes, by a random amount:

    ==========  =======================================================================================
    change      what is done, and what must come out
    ==========  =======================================================================================
    frames      Every tangent frame is turned by an angle of its own; logarithms, transports and complex
                features follow. Complex outputs must turn with the frames, real ones stay.
    motion      The shape is turned and shifted in space: positions, normals, and input features that
                are positions or normals. All outputs must stay.
    numbering   The samples of each shape are listed in another order. Outputs with a row for each
                sample must be listed so, too; others must stay.
    scale       The shape is three times as large, with its support ε, areas, and input features that
                are positions. All outputs must stay.
    ==========  =======================================================================================

    A network that takes coordinates as input features depends on the place of the shape and fails under
    "motion". If that is intended (random rotations in training make up for it), pass ``positions="kept"``:
    input features stay as they are when the shape is moved or scaled, and the network may depend on its
    place and size through them, but in no other way.

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
    positions : "moved" or "kept"
        What becomes of input features that are positions or normals (see `moved_features`) when the shape
        is moved or scaled.
    seed : int
        Seed of the random changes.

    Returns
    -------
    dict of str to float
        The relative difference under each change.

    Examples
    --------
    >>> from fieldconv import FCNet, Mesh, Surface
    >>> from fieldconv.nn import FieldConv
    >>> tetrahedron = Mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]],
    ...                    [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    >>> surface = Surface.from_mesh(tetrahedron, radius=1.0)
    >>> errors = assert_equivariant(FieldConv(4, 8), surface)
    >>> list(errors)
    ['frames', 'motion', 'numbering', 'scale']

    A network whose input features are positions:

    >>> network = FCNet.for_task("segmentation", classes=2, preset="tiny", features="xyz")
    >>> _ = assert_equivariant(network, surface, positions="kept")
    """
    unknown = [change for change in changes if change not in CHANGES]
    if unknown:
        raise ValueError(f"unknown change {unknown[0]!r}; choose among {', '.join(CHANGES)}")
    if positions not in ("moved", "kept"):
        raise ValueError(f"positions is {positions!r}; choose one of moved, kept")
    call = _caller(module, surface, features, seed)
    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            errors = {
                change: _error(
                    call, surface, change, positions == "kept", torch.Generator().manual_seed(seed + 1)
                )
                for change in changes
            }
    finally:
        module.train(training)
    for change, error in errors.items():
        if not error <= tolerance:  # a NaN fails too
            seen = surface.x if features is None else features
            moved = positions == "moved" and change in ("motion", "scale")
            hint = "; its input features are positions or normals: if it may see them, give positions='kept'"
            if not (moved and seen is not None and place_columns(seen, surface)):
                hint = ""
            raise AssertionError(
                f"{type(module).__name__} depends on the {CHANGES[change]}: its output changes by "
                f"{error:.2g} of its largest value, where {tolerance:.2g} is allowed{hint}"
            )
    return errors


_Follow = Callable[[Tensor], Tensor]
_Call = Callable[["Surface", _Follow], Any]


def _caller(module: nn.Module, surface: Surface, features: Tensor | None, seed: int) -> _Call:
    """A function that calls the module with the surface, the changed features, or both."""
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
        generator = torch.Generator().manual_seed(seed)
        kind = torch.complex128 if surface.pos.dtype == torch.float64 else torch.complex64
        features = torch.randn((len(surface.pos), channels), dtype=kind, generator=generator)
        features = features.to(surface.pos.device)
    if len(required) == 1:
        return lambda changed, change_features: module(change_features(features))
    return lambda changed, change_features: module(change_features(features), changed)


def _error(call: _Call, surface: Surface, change: str, kept: bool, generator: torch.Generator) -> float:
    """Relative difference between the output's change and the change of the output."""
    changed, follow_in, follow_out = _changed(surface, change, generator)
    if kept and change in ("motion", "scale"):
        changed.x, follow_in = surface.x, _identity
    expected = [follow_out(x) for x in _tensors(call(surface, _identity))]
    found = list(_tensors(call(changed, follow_in)))
    if not expected:
        raise ValueError("the module returns no tensor to compare")
    return max(_relative(a, b) for a, b in zip(found, expected, strict=True))


def _changed(surface: Surface, change: str, generator: torch.Generator) -> tuple[Surface, _Follow, _Follow]:
    """The changed surface; how features follow that go in, and how outputs must follow."""
    count, device = len(surface.pos), surface.pos.device
    if change == "frames":
        angles = (2 * torch.pi * torch.rand(count, generator=generator, dtype=torch.float64)).to(device)

        def turn(x: Tensor) -> Tensor:
            return turn_vectors(x, angles) if x.is_complex() else x

        return turn_frames(surface, angles), turn, turn
    if change == "numbering":
        order = torch.randperm(count, generator=generator).to(device)
        batch = getattr(surface, "batch", None)
        if batch is not None:  # the samples of a shape stay together
            order = order[torch.argsort(batch[order], stable=True)]

        def reorder(x: Tensor) -> Tensor:
            return x[order] if x.ndim and len(x) == count else x

        return renumber(surface, order), reorder, reorder
    if change == "motion":
        rotation, _ = torch.linalg.qr(torch.randn(3, 3, generator=generator, dtype=torch.float64))
        rotation[:, 0] *= torch.linalg.det(rotation)  # no reflection
        changed = move(surface, rotation, torch.randn(3, generator=generator, dtype=torch.float64))
    else:
        changed = scale(surface, 3.0)
    return changed, lambda x: moved_features(x, surface, changed), _identity


def _identity(x: Tensor) -> Tensor:
    return x


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
