"""Parts of other packages that commands load only when they use them."""

import subprocess
import sys

import shapes
from fieldconv.geometry import Mesh

POSTPONED = ["torch._dynamo", "torch_geometric", "scipy.spatial"]


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_predicting_loads_no_compiler(tmp_path):
    """Every operator registered in Python, and weights on the device "meta", would load it."""
    Mesh(*shapes.icosphere(2)).save(tmp_path / "ball.ply")
    code = f"""
import sys
from fieldconv.cli import main
from fieldconv.commands.startup import start_quickly
start_quickly()
import fieldconv as fc
from fieldconv.training.checkpoint import save_pretrained

network = fc.FCNet(fc.FCNetConfig(outputs=2, head="labels", blocks=1, width=4, radius=0.4))
network.task, network.class_names = "segmentation", ("a", "b")
save_pretrained(network, {str(tmp_path / "run")!r})
run, mesh, out = {[str(tmp_path / name) for name in ("run", "ball.ply", "out")]!r}
assert main(["predict", run, mesh, "--out", out]) == 0
loaded = [name for name in sys.modules if name.startswith({tuple(name + "." for name in POSTPONED)!r})]
assert not loaded, loaded
"""
    run(code)


def test_no_garbage_is_looked_for_at_the_end():
    code = """
import atexit, gc
@atexit.register
def last():  # what is registered first is called last
    print("frozen" if gc.get_freeze_count() else "not frozen")
from fieldconv.cli import main
main(["cache", "--help"])
"""
    assert run(code).splitlines()[-1] == "frozen"


def test_what_is_postponed_is_there_when_it_is_asked_for():
    code = """
from fieldconv.commands.startup import start_quickly
start_quickly()
import inspect, sys
import torch, torch._dynamo
assert "torch._dynamo.config" not in sys.modules
inspect.getmodule(inspect.currentframe())  # asks all modules for their files
assert "torch._dynamo.config" not in sys.modules
assert torch._dynamo.config.__name__ == "torch._dynamo.config"
assert torch._dynamo.disable.__module__.startswith("torch._dynamo")
"""
    run(code)
