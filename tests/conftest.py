"""For all tests: one thread each, since several run at once, and a cache folder of their own."""

import multiprocessing
import os

import pytest
import torch

torch.set_num_threads(1)
if start := os.environ.get("FIELDCONV_TEST_START"):  # "spawn": workers begin as on Windows and macOS
    multiprocessing.set_start_method(start)
os.environ["PYTHONUTF8"] = "1"  # what tests start prints UTF-8 on every system


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    os.environ["FIELDCONV_CACHE"] = str(tmp_path_factory.mktemp("cache"))
