"""Calling the library changes nothing about the caller's process."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fieldconv._process import process_unchanged

ROOT = Path(__file__).parents[1]
# What a caller may have set, and would not like to find changed.
SCRIPT = """
import ctypes, gc, json, locale, logging, multiprocessing, os, random, signal, sys, threading, warnings
from pathlib import Path
import matplotlib, numpy as np, threadpoolctl, torch

allocator_settings = []

class SpiedLibrary(ctypes.CDLL):
    def __getattr__(self, name):
        if name == "mallopt":
            allocator_settings.append(name)
        return super().__getattr__(name)

ctypes.CDLL = SpiedLibrary
pools = {pool["filepath"] for pool in threadpoolctl.threadpool_info()}  # others are not the caller's

def settings():
    numpy_numbers, backends = np.random.get_state(legacy=False)["state"], torch.backends
    return {
        "environment": dict(os.environ),
        "warning filters": [repr(entry) for entry in warnings.filters],
        "warnings shown by": repr(warnings.showwarning),
        "memory allocator": list(allocator_settings),
        "torch threads": [torch.get_num_threads(), torch.get_num_interop_threads()],
        "other threads": {
            pool["filepath"]: pool["num_threads"]
            for pool in threadpoolctl.threadpool_info() if pool["filepath"] in pools
        },
        "torch random numbers": torch.get_rng_state().tolist(),
        "numpy random numbers": [numpy_numbers["pos"], *numpy_numbers["key"].tolist()],
        "python random numbers": repr(random.getstate()),
        "torch defaults": [repr(torch.get_default_dtype()), repr(torch.get_default_device())],
        "deterministic": [
            torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision(),
            backends.cudnn.deterministic, backends.cudnn.benchmark,
        ],
        "gradients": [torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()],
        "distributed": torch.distributed.is_initialized(),
        "torch hands over memory by": torch.multiprocessing.get_sharing_strategy(),
        "numpy": [np.geterr(), repr(np.get_printoptions())],
        "signals": {int(number): repr(signal.getsignal(number)) for number in signal.valid_signals()},
        "search path": list(sys.path),
        "arguments": list(sys.argv),
        "hooks": [repr(hook) for hook in (sys.excepthook, sys.unraisablehook, threading.excepthook)],
        "streams": [id(sys.stdin), id(sys.stdout), id(sys.stderr)],
        "interpreter": [sys.getrecursionlimit(), sys.getswitchinterval(), gc.isenabled(), gc.get_threshold()],
        "folder": os.getcwd(),
        "locale": locale.setlocale(locale.LC_ALL),
        "processes begin by": multiprocessing.get_start_method(allow_none=True),
        "plots": {key: repr(value) for key, value in dict.items(matplotlib.rcParams)},
        "logging": [repr(logging.root.handlers), logging.root.level, logging.root.manager.disable],
    }

def difference(one, two):
    if isinstance(one, dict):
        return {key: [one.get(key), two.get(key)] for key in {*one, *two} if one.get(key) != two.get(key)}
    if isinstance(one, list) and len(one) > 20:
        return [[entry for entry in one if entry not in two], [entry for entry in two if entry not in one]]
    return [one, two]

before = settings()
# CALLS
after = settings()
changed = [name for name in before if before[name] != after[name]]
print(json.dumps({name: difference(before[name], after[name]) for name in changed}))
"""

CALLS = """
import fieldconv as fc

out = Path(sys.argv[1])
for task in ("segmentation", "matching"):
    options = {"vertices": 250, "species": ["snake"], "progress": False, "cache": out / "kept"}
    data = fc.datasets.Creatures(task, meshes=3, **options)
    classes = len(data.class_names) or None
    with torch.random.fork_rng():  # new weights are drawn from the caller's numbers, as in any module
        model = fc.FCNet.for_task(task, classes=classes, preset="tiny", samples=None, width=6)
    fc.train(model, data[:2], validation=data[2:], preset="tiny", epochs=1, out=out / task, quiet=True,
             machine=fc.training.Machine(threads=2))
    fc.evaluate(model, data, rotations=2, out=out / "found" / task, run=out / task)
    fc.viz.write_report(out / "found" / task)
    model, mesh = fc.load(out / task), data.meshes(0)[0]
    fc.predict(model, mesh, out=out / "predicted" / task)
    mesh.save(out / "snake.ply")
    fc.viz.view([out / "snake.ply"], out=out / "page.html", png=out / "page.png", open=False)
    fc.Surface.from_mesh(mesh, radius=0.2, features="hks", solver="heat")
fc.match(model, *data.meshes(0), out=out / "matched")
try:  # what goes wrong leaves no traces, either
    fc.train(model, data, preset="tiny", epochs=9, learning_rate=1e30, batch=1, clip=None, quiet=True,
             machine=fc.training.Machine(threads=2))
except ValueError as error:
    assert "became" in str(error), error
else:
    raise AssertionError("it learnt at a rate of 1e30")
"""


def changed_by(calls: str, *arguments: object) -> dict[str, Any]:
    """Return the settings of a new process that are not the same after the calls."""
    code = SCRIPT.replace("# CALLS", calls)
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_calls_leave_the_process_as_it_was(tmp_path: Path) -> None:
    assert changed_by(CALLS, tmp_path) == {}


def test_changes_are_noticed() -> None:
    """The test above would not let pass what they are there for."""
    changes = {
        "environment": "os.environ['FIELDCONV_X'] = '1'",
        "warning filters": "warnings.simplefilter('ignore')",
        "memory allocator": "import fieldconv; fieldconv.keep_freed_memory(); ctypes.CDLL(None).mallopt",
        "torch threads": "torch.set_num_threads(torch.get_num_threads() + 1)",
        "torch random numbers": "torch.rand(1)",
        "numpy random numbers": "np.random.rand()",
        "python random numbers": "random.random()",
        "torch defaults": "torch.set_default_dtype(torch.float64)",
        "deterministic": "torch.use_deterministic_algorithms(True)",
        "gradients": "torch.set_grad_enabled(False)",
        "numpy": "np.seterr(all='ignore')",
        "signals": "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "search path": "sys.path.append('x')",
        "plots": "matplotlib.rcParams['font.size'] = 3",
        "logging": "logging.basicConfig()",
    }
    if sys.platform != "linux":  # the allocator is left alone elsewhere
        del changes["memory allocator"]
    assert set(changed_by("\n".join(changes.values()))) - {"other threads"} == set(changes)


def test_an_error_leaves_no_traces_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIELDCONV_TEST", "before")
    filters, numbers = list(warnings.filters), random.getstate()

    def change() -> None:
        os.environ["FIELDCONV_TEST"] = "changed"
        os.environ["FIELDCONV_TEST_TOO"] = "new"
        warnings.simplefilter("ignore")
        random.seed(3)
        raise RuntimeError

    with pytest.raises(RuntimeError), process_unchanged():
        change()
    assert os.environ["FIELDCONV_TEST"] == "before"
    assert "FIELDCONV_TEST_TOO" not in os.environ
    assert warnings.filters == filters
    assert random.getstate() == numbers
    with process_unchanged():
        del os.environ["FIELDCONV_TEST"]
    assert os.environ["FIELDCONV_TEST"] == "before"


def test_blas_has_its_threads_back_after_calls_that_overlap() -> None:
    """A begins, B begins, A ends, B ends: neither may take the other's limit for what was there before."""
    import threadpoolctl

    from fieldconv._process import one_blas_thread

    def threads() -> set[int]:
        return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}

    first, second = one_blas_thread(), one_blas_thread()
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:  # both live until the end
        before = threads()
        one.submit(first.__enter__).result()
        other.submit(second.__enter__).result()
        assert threads() == {1}
        one.submit(first.__exit__, None, None, None).result()
        assert threads() == {1}
        other.submit(second.__exit__, None, None, None).result()
        assert threads() == before


def test_blas_threads_are_the_callers_after_ours() -> None:
    import threadpoolctl

    from fieldconv._process import one_blas_thread

    def threads() -> set[int]:
        return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}

    before = threads()
    with threadpoolctl.threadpool_limits(2, "blas"):
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == {2}
    assert threads() == before
