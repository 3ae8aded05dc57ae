"""Packed tensors: the same bits come back, in few bytes, and nothing else is taken for them."""

import contextlib

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import shapes
from fieldconv.geometry import Mesh
from fieldconv.surface import Surface
from fieldconv.surface.codec import PackingError, pack_tensors, unpack_tensors

KINDS = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.int32, torch.uint8, torch.bool)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), st.lists(st.integers(0, 7), max_size=3), st.integers(0, 2**31))
def test_every_bit_comes_back(kind, shape, seed):
    draw = np.random.default_rng(seed)
    size = torch.empty((), dtype=kind).element_size() * int(np.prod(shape))
    raw = draw.integers(0, 2 if kind == torch.bool else 256, size, dtype=np.uint8)  # NaN and infinity, too
    given_tensor = torch.from_numpy(raw).view(kind).reshape(shape) if size else torch.empty(shape, dtype=kind)
    found, about = unpack_tensors(pack_tensors({"one": given_tensor, "two": given_tensor}, {"entry": "ü"}))
    assert about == {"entry": "ü"}
    for tensor in found.values():
        assert tensor.dtype == kind
        assert tensor.shape == given_tensor.shape
        assert tensor.numpy().tobytes() == given_tensor.numpy().tobytes()


def test_whole_numbers_of_any_size():
    extreme = torch.tensor([2**63 - 1, -(2**63), 0, -1, 1, 2**62])
    assert torch.equal(unpack_tensors(pack_tensors({"x": extreme}))[0]["x"], extreme)


def test_discs_take_half_the_bytes():
    surface = Surface.from_mesh(Mesh(*shapes.icosphere(3)), radius=0.2)
    discs = {name: surface[name] for name in ("edge_index", "log", "transport", "weight")}
    assert len(pack_tensors(discs)) < 0.5 * sum(tensor.nbytes for tensor in discs.values())


def test_views_and_gradients():
    weights = torch.rand(6, 4, requires_grad=True)
    assert torch.equal(unpack_tensors(pack_tensors({"x": weights.T}))[0]["x"], weights.T)


def test_damage_is_an_error():
    whole = pack_tensors({"x": torch.arange(500), "y": torch.rand(50)})
    draw = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(whole)
        for place in draw.integers(0, len(whole), draw.integers(1, 5)):
            damaged[place] = draw.integers(0, 256)
        with contextlib.suppress(PackingError):  # and nothing else
            unpack_tensors(bytes(damaged[: draw.integers(0, len(whole) + 1)]))


def test_a_bomb_is_refused_before_it_grows():
    small = pack_tensors({"x": torch.zeros(10**6, dtype=torch.uint8)})
    assert len(small) < 5000
    with pytest.raises(PackingError, match="more bytes are declared"):
        unpack_tensors(small.replace(b"[1000000]", b"[9999999]"))
