"""Random splits that depend on names and a seed, never on the order of the file system."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

Split = Literal["train", "test", "all"]


def check_split(split: str) -> None:
    """Raise if ``split`` is none of train, test and all."""
    if split not in get_args(Split):
        raise ValueError(f"split is {split!r}; choose one of {', '.join(get_args(Split))}")


def choose(count: int, pick: int, *, seed: int, group: str = "") -> list[int]:
    """Pick ``pick`` of ``count`` at random, ascending; each ``group`` has its own random numbers.

    Examples
    --------
    >>> choose(10, 3, seed=0) == choose(10, 3, seed=0)
    True
    """
    rng = np.random.default_rng([seed, zlib.crc32(group.encode())])
    return sorted(rng.permutation(count)[:pick].tolist())


def split_groups(
    groups: Sequence[str], split: str, *, test_fraction: float = 0.2, seed: int = 0
) -> list[int]:
    """Return the indices of one side of a split with the same share of test items in every group.

    The share is rounded up, so that each group of two or more has a test item; a group of one has none.

    Parameters
    ----------
    groups : sequence of str
        The group (class, source) of each item.
    split : {"train", "test", "all"}

    Examples
    --------
    >>> groups = ["cat"] * 10 + ["dog"] * 5
    >>> [groups[i] for i in split_groups(groups, "test")]
    ['cat', 'cat', 'dog']
    """
    check_split(split)
    if not 0 <= test_fraction <= 1:
        raise ValueError(f"test_fraction is {test_fraction}; give a share between 0 and 1")
    if split == "all":
        return list(range(len(groups)))
    chosen: list[int] = []
    for group in sorted(set(groups)):
        members = [i for i, g in enumerate(groups) if g == group]
        tested = math.ceil(round(len(members) * test_fraction, 9)) if len(members) > 1 else 0
        test = {members[i] for i in choose(len(members), tested, seed=seed, group=group)}
        chosen += [i for i in members if (i in test) == (split == "test")]
    return sorted(chosen)
