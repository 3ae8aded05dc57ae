"""Tensors as few bytes, exactly: for files of prepared surfaces.

Whole numbers are replaced by their differences, which are small for sorted ones. All numbers are then written
byte by byte: first the lowest byte of every number, then the next. The high bytes of neighbouring numbers are
alike, so zlib compresses them; the low bytes of measured numbers are noise and stay as they are. Discs take
47 % of their size in memory.

The bytes are kept as safetensors, which run no code when they are read.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import safetensors.numpy
import torch
from torch import Tensor

from fieldconv._arrays import Array, Bytes, Ints

_PROBE_BYTES = 16_384  # bytes that tell whether a plane is worth compressing
_MAX_SHARE = 0.85  # of the size; reading is slower otherwise, for little
_MAX_RATIO = 1032  # zlib makes nothing smaller than by this factor
_ABOUT = "about"
_INTEGERS = (torch.int64, torch.int32, torch.int16)


class PackingError(ValueError):
    """Bytes that are not what `pack_tensors` returns."""


def pack_tensors(tensors: Mapping[str, Tensor], about: Mapping[str, str] | None = None) -> bytes:
    """Return tensors, and texts ``about`` them, as bytes without loss.

    Examples
    --------
    >>> unpack_tensors(pack_tensors({"steps": torch.arange(1000)}))[0]["steps"][-1]
    tensor(999)
    >>> len(pack_tensors({"steps": torch.arange(1000)})) < 1000
    True
    """
    planes: dict[str, Bytes] = {}
    described: dict[str, Any] = {}
    for number, (name, tensor) in enumerate(tensors.items()):
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        values = _differences(flat.numpy()) if tensor.dtype in _INTEGERS else flat.view(torch.uint8).numpy()
        width = values.itemsize if tensor.dtype in _INTEGERS else tensor.element_size()
        rows = values.view(np.uint8).reshape(-1, width)
        small = [_compress(np.ascontiguousarray(rows[:, byte])) for byte in range(width)]
        for byte, (plane, _) in enumerate(small):
            planes[f"{number}.{byte}"] = plane
        described[name] = [
            str(tensor.dtype).removeprefix("torch."),
            list(tensor.shape),
            [compressed for _, compressed in small],
        ]
    # One text only: safetensors keep several in no particular order.
    return safetensors.numpy.save(planes, {_ABOUT: json.dumps([described, dict(about or {})])})


def unpack_tensors(content: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors and texts in what `pack_tensors` returned; raise PackingError for anything else."""
    try:
        planes = safetensors.numpy.load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        described, about = json.loads(header["__metadata__"][_ABOUT])
        tensors = {}
        for number, (name, (dtype, shape, compressed)) in enumerate(described.items()):
            size = prod(shape)
            rows = [
                _decompress(planes[f"{number}.{byte}"], size, small) for byte, small in enumerate(compressed)
            ]
            tensors[name] = _from_planes(rows, getattr(torch, dtype), shape)
    except Exception as error:  # damaged bytes may raise anything
        raise PackingError(f"not a packed surface ({' '.join(str(error).split())[:200]})") from None
    return tensors, dict(about)


def _differences(values: Array) -> Array:
    """Differences of neighbours in the smallest type that holds them, with 0, −1, 1, −2 … as 0, 1, 2, 3 …"""
    whole: Ints = values.astype(np.int64)
    steps = whole.copy()
    steps[1:] -= whole[:-1]
    unsigned = ((steps << 1) ^ (steps >> 63)).view(np.uint64)
    return np.asarray(unsigned).astype(np.min_scalar_type(int(unsigned.max(initial=0))))


def _from_planes(rows: list[Bytes], dtype: torch.dtype, shape: list[int]) -> Tensor:
    if not prod(shape):
        return torch.empty(shape, dtype=dtype)
    joined = np.empty((prod(shape), len(rows)), np.uint8)
    for byte, row in enumerate(rows):
        joined[:, byte] = row
    if dtype not in _INTEGERS:
        return torch.from_numpy(joined.reshape(-1)).view(dtype).reshape(shape)
    unsigned = joined.reshape(-1).view(f"u{len(rows)}").astype(np.uint64)
    steps = (unsigned >> np.uint64(1)).view(np.int64) ^ -(unsigned & np.uint64(1)).view(np.int64)
    return torch.from_numpy(np.cumsum(steps, out=steps)).to(dtype).reshape(shape)


def _compress(plane: Bytes) -> tuple[Bytes, bool]:
    """A plane, compressed if that saves enough, and whether it is compressed."""
    probe = plane[:_PROBE_BYTES]
    if len(zlib.compress(probe.data, 1)) > _MAX_SHARE * len(probe):
        return plane, False
    return np.frombuffer(zlib.compress(plane.data, 1), np.uint8), True


def _decompress(plane: Bytes, size: int, compressed: bool) -> Bytes:
    if compressed:
        if size > _MAX_RATIO * max(len(plane), 1):  # before memory is asked for
            raise PackingError("more bytes are declared than there can be")
        plane = np.frombuffer(zlib.decompressobj().decompress(plane.data, size + 1), np.uint8)
    if len(plane) != size:
        raise PackingError(f"{len(plane)} bytes where {size} are declared")
    return plane
