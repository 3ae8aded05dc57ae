from __future__ import annotations

import time

import pytest
import torch

from fieldconv._compiled import run_blocks


@pytest.fixture(autouse=True)
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_results_come_in_order() -> None:
    def late(block: int) -> int:
        time.sleep(0.001 * (5 - block))
        return block

    assert run_blocks(late, [(block,) for block in range(5)]) == list(range(5))
    assert run_blocks(late, []) == []


@pytest.mark.parametrize("bad", range(4))
def test_errors_reach_the_caller(bad: int) -> None:
    def fail(block: int) -> None:
        time.sleep(0.001)
        if block == bad:
            raise ZeroDivisionError(block)

    with pytest.raises(ZeroDivisionError):
        run_blocks(fail, [(block,) for block in range(4)])


def test_blocks_may_have_blocks_of_their_own() -> None:
    def outer(block: int) -> int:
        return sum(run_blocks(lambda inner: block * inner, [(inner,) for inner in range(4)]))

    assert run_blocks(outer, [(block,) for block in range(8)]) == [6 * block for block in range(8)]
