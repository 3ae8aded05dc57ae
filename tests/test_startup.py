"""What commands load, and that Python ends at once."""

import subprocess
import sys

import shapes
from fieldconv.geometry import Mesh


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_predicting_loads_no_compiler(tmp_path):
    """Every `torch.library.custom_op`, and normal numbers on the device "meta", would load it."""
    Mesh(*shapes.icosphere(2)).save(tmp_path / "ball.ply")
    code = f"""
import sys
from fieldconv.cli import main
import fieldconv as fc
from fieldconv.training.checkpoint import save_pretrained

network = fc.FCNet(fc.FCNetConfig(outputs=2, head="labels", blocks=1, width=4, radius=0.4))
network.task, network.class_names = "segmentation", ("a", "b")
save_pretrained(network, {str(tmp_path / "run")!r})
run, mesh, out = {[str(tmp_path / name) for name in ("run", "ball.ply", "out")]!r}
assert main(["predict", run, mesh, "--out", out]) == 0
print(*(name for name in ("torch_geometric", "torch._dynamo") if name in sys.modules))
"""
    assert not run(code).splitlines()[-1]


def test_garbage_is_not_collected_at_the_end():
    code = """
import atexit, gc
@atexit.register
def last():  # what is registered first is called last
    print("frozen" if gc.get_freeze_count() else "not frozen")
from fieldconv.cli import main
main(["cache", "--help"])
"""
    assert run(code).splitlines()[-1] == "frozen"
