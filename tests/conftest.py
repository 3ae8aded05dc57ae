"""For all tests: one thread each, since several run at once, and a cache folder of their own."""

import os

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    os.environ["FIELDCONV_CACHE"] = str(tmp_path_factory.mktemp("cache"))
