from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from fieldconv import keep_freed_memory

FAULTS = """
import resource, sys
import numpy as np
from fieldconv import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
for step in range(6):
    if step == 3:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    arrays = [np.ones(2**size) for size in (20, 23, 22)]
    del arrays
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(word: str) -> int:
    """How often the system hands out memory in three steps of 104 MB each, after three others."""
    return int(subprocess.run([sys.executable, "-c", FAULTS, word], capture_output=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="changes glibc only")
def test_arrays_take_the_memory_of_earlier_ones() -> None:
    assert 10 * faults("keep") < faults("free")


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.libc_ver", lambda: ("", ""))
    monkeypatch.setattr("ctypes.CDLL", None)  # would fail if called
    keep_freed_memory()
