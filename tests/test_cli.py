"""The command line as people meet it: help, wrong words, bad files, interruptions."""

import errno
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import shapes
from fieldconv.cli import COMMANDS, main
from fieldconv.geometry import Mesh


@pytest.fixture
def folder(tmp_path):
    meshes = tmp_path / "meshes"
    (meshes / "deep").mkdir(parents=True)
    Mesh(*shapes.icosphere(2)).save(meshes / "ball.ply")
    Mesh(*shapes.torus(around=20, across=10)).save(meshes / "deep" / "ring.off")
    (meshes / "broken.obj").write_text("v 0 0\n", encoding="utf-8")
    (meshes / "notes.txt").write_text("not a mesh", encoding="utf-8")
    return meshes


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "train"])  # which asks tasks
def test_each_command_explains_itself_without_torch(name):
    code = (
        "import sys; from fieldconv.cli import main\n"
        f"try: main({[*name.split(), '--help']!r})\n"
        "except SystemExit as stop: assert stop.code == 0, stop.code\n"
        "assert 'torch' not in sys.modules, 'loaded torch'"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout


@pytest.mark.parametrize(
    ("line", "closed", "buffered"),
    [
        ("--help", "stdout", True),
        pytest.param(
            "--help",
            "stdout",
            False,
            marks=pytest.mark.skipif(os.name == "nt", reason="unknowable"),
        ),
        ("train correspondence --help", "stdout", True),  # printed by argparse
        ("info MESH", "stdout", True),  # printed by rich
        ("infos", "stderr", True),
        ("info no-such-file.obj", "stderr", True),
    ],
)
def test_commands_end_quietly_when_the_reader_closes_the_pipe(folder, line, closed, buffered):
    words = line.replace("MESH", str(folder / "ball.ply")).split()
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, *([] if buffered else ["-u"]), "-m", "fieldconv.cli", *words],
            stdout=writer if closed == "stdout" else subprocess.PIPE,
            stderr=writer if closed == "stderr" else subprocess.PIPE,
            timeout=120,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.returncode == 141
    assert not (done.stderr if closed == "stdout" else done.stdout)


def test_broken_pipes_of_workers_are_errors(monkeypatch, capsys):
    def fails(**_):
        raise BrokenPipeError(errno.EPIPE, "a worker has ended")

    monkeypatch.setattr("fieldconv.commands.installed.models_command", fails)
    assert main(["models"]) == 1
    assert "a worker has ended" in capsys.readouterr().err


def test_import_loads_little():
    heavy = {"torch", "numba", "scipy", "rich"}
    code = f"import sys, fieldconv; loaded = {heavy} & set(sys.modules); assert not loaded, loaded"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_wrong_usage_is_2(capsys):
    assert main([]) == 2
    assert main(["infos"]) == 2
    assert "did you mean info?" in capsys.readouterr().err
    assert main(["datasets"]) == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("precompute x --solver guess", "--solver is guess; it can be .*local"),
        ("info shape.obj --radios 0.2", "there is no option --radios; did you mean --radius"),
        ("info shape.obj --radius far", "--radius is far; it must be a number"),
        ("predict RUN shape.obj", "the following arguments are required: --out "),
        ("predict", r"the following arguments are required: RUN\|NAME, MESH, --out "),
        ("predict RUN shape.obj --ou X", "there is no option --ou; did you mean --out"),
        ("predict RUN shape.obj -x --out X", "there is no option -x"),
        ("predict RUN shape.obj --out", "--out expected one argument"),
        ("evaluate RUN --part al", "--part is al; it can be all, test, train"),
        ("train segmentation --epochs three --out X", "--epochs is three; it must be a whole number"),
        ("cache size now", "now is one argument too many"),
        ("info shape.obj --radius 0.2 other.obj", "other.obj is one argument too many"),
        ("view shape.obj --no-open=yes", "--open/--no-open ignored explicit argument 'yes'"),
        ("bench layer", "it can be geodesics, layers"),
        ("train segmentation --out RUN --hidden 3", "--hidden expected 2 arguments"),
        ("train segmentatio --out RUN", "unknown task 'segmentatio'; did you mean segmentation"),
        ("train segmentation --out RUN --network", "--network expected one argument"),
        ("train segmentation --out RUN --learning_rate far", "--learning-rate is far; it must be a number"),
        ("--print-completion fish", "--print-completion takes one of bash, zsh"),
        ("train segmentation --out RUN --epoch 3", "there is no option --epoch; did you mean --epochs"),
    ],
)
def test_wrong_options_are_one_line(line, said, capsys):
    assert main(line.split()) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert re.match(f"fieldconv: .*{said}", shown)


def test_failure_is_1_and_one_line(capsys, tmp_path):
    assert main(["info", str(tmp_path / "none.obj")]) == 1
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "none.obj" in shown
    assert main(["precompute", str(tmp_path)]) == 1
    assert "holds no meshes" in capsys.readouterr().err


def test_info(capsys, folder):
    assert main(["info", str(folder / "ball.ply")]) == 0
    shown = capsys.readouterr().out
    assert "162" in shown
    assert "Nothing is wrong" in shown
    assert "Preparing every vertex: about" in shown
    assert "samples" not in shown  # there are more of them than vertices
    assert main(["info", str(folder / "ball.ply"), "--samples", "50"]) == 0
    assert "Preparing 50 samples: about" in capsys.readouterr().out
    assert main(["info", str(folder / "ball.ply"), "--samples", "0"]) == 1
    assert capsys.readouterr().err == "fieldconv: samples is 0; give a whole number from 1 up\n"


@pytest.mark.parametrize("vertices", ["0", "-5", "10000000000"])
def test_creatures_that_cannot_be_made_leave_no_folder(vertices, capsys, tmp_path):
    assert main(["datasets", "make", "creatures", str(tmp_path / "new"), "--vertices", vertices]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_a_folder_that_is_taken_is_one_line(capsys, folder):
    assert main(["datasets", "make", "creatures", str(folder)]) == 1
    assert capsys.readouterr().err.endswith(": is there already and not empty. Choose a new folder.\n")


def test_info_of_a_mesh_in_any_order_says_the_same(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("fieldconv.geometry.mesh.numbering.MIN_VERTICES", 100)
    vertices, faces = shapes.torus(around=40, across=20)
    order = np.random.default_rng(0).permutation(len(vertices))
    shuffled = Mesh(vertices[order], np.argsort(order)[faces])
    said = []
    for mesh in (Mesh(vertices, faces), shuffled):
        mesh.save(tmp_path / "ring.ply")
        assert main(["info", str(tmp_path / "ring.ply"), "--radius", "0.1"]) == 0
        said.append(capsys.readouterr().out)
    assert "components            │ 1" in said[0]
    assert said[0].split("Neighbours")[0] == said[1].split("Neighbours")[0]
    counts = [int(re.search(r"(\d+) on average", text)[1]) for text in said]
    assert counts[0] == pytest.approx(counts[1], rel=0.05)


def test_info_of_a_folder_lists_every_mesh(capsys, folder):
    assert main(["info", str(folder)]) == 1  # one is broken
    shown = " ".join(capsys.readouterr().out.split())
    for what in ("ball.ply", "162", "deep/ring.off", "broken.obj", "3 meshes, 0 with something odd, 1 that"):
        assert what in shown


def test_info_of_a_cloud_of_points(capsys, tmp_path):
    points, _ = shapes.icosphere(2)
    np.savetxt(tmp_path / "scan.xyz", points, encoding="utf-8")
    assert main(["info", str(tmp_path / "scan.xyz"), "--radius", "0.3"]) == 0
    assert "162" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--out", "--png"])
def test_pages_do_not_make_folders(option, capsys, folder):
    place = folder / "misspelt" / "page.html"
    assert main(["view", str(folder / "ball.ply"), "--no-open", option, str(place)]) == 1
    assert "misspelt: no such folder" in capsys.readouterr().err
    assert not place.parent.exists()


def test_an_accelerator_that_is_not_here(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    words = ["train", "segmentation", "--out", str(tmp_path / "run"), "--accelerator", "cuda"]
    assert main(words) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("fieldconv: there is no cuda device")
    assert shown.count("\n") == 1  # nothing was prepared, and nothing said so
    assert not (tmp_path / "run").exists()


def test_ctrl_c_in_training_says_how_to_go_on(capfd, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    ended = []
    monkeypatch.setattr("fieldconv.training.training_run.train_from", stop)
    monkeypatch.setattr("os._exit", lambda code: ended.append(code) or sys.exit(code))
    with pytest.raises(SystemExit):
        main(["train", "segmentation", "--out", "RUN"])
    assert ended == [130]
    assert "--resume" in capfd.readouterr().err


def test_precompute_skips_what_is_done_and_names_what_failed(capsys, folder, tmp_path):
    words = [
        "precompute",
        str(folder),
        "--samples",
        "40",
        "--workers",
        "1",
        "--cache",
        str(tmp_path / "kept"),
    ]
    assert main(words) == 1
    shown = capsys.readouterr()
    assert "2 prepared, 0 were there already, 1 failed" in shown.out
    assert "broken.obj: line 1" in shown.err
    assert main(words) == 1
    assert "0 prepared, 2 were there already, 1 failed" in capsys.readouterr().out
    assert main(["cache", "--folder", str(tmp_path / "kept")]) == 0
    assert "4 files" in capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals for groups of processes")
def test_ctrl_c_keeps_what_is_done(tmp_path):
    meshes = tmp_path / "meshes"
    meshes.mkdir()
    for number in range(20):  # a second or so each
        vertices, faces = shapes.icosphere(4)
        Mesh(vertices * (1 + number / 100), faces).save(meshes / f"{number}.ply")
    words = [
        "precompute",
        str(meshes),
        "--radius",
        "0.25",
        "--workers",
        "1",
        "--cache",
        str(tmp_path / "kept"),
    ]
    running = subprocess.Popen(
        [sys.executable, "-m", "fieldconv.cli", *words],
        stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True, env={**os.environ},
        # Tests that a script runs in the background ignore it, and so would all they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip

    def entries():  # not what is being written
        return [path for path in (tmp_path / "kept").glob("??/*.surface") if path.name[0] != "."]

    while not entries():
        assert running.poll() is None
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "What was finished is kept" in errors
    assert "Traceback" not in errors
    assert "semaphore" not in errors
    assert 0 < len(entries()) < 20


ORPHAN = """
import multiprocessing, os, sys, time
from fieldconv.commands import precompute

def work(path):
    precompute._start_worker(1)
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(120)

if __name__ == "__main__":
    multiprocessing.get_context("spawn").Process(target=work, args=(sys.argv[1],)).start()
    time.sleep(120)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills")
def test_workers_end_when_their_parent_is_killed(tmp_path):
    (tmp_path / "orphan.py").write_text(ORPHAN, encoding="utf-8")
    note = tmp_path / "pid"
    parent = subprocess.Popen([sys.executable, str(tmp_path / "orphan.py"), str(note)])
    while not note.exists() or not note.read_text(encoding="utf-8"):
        assert parent.poll() is None
        time.sleep(0.05)
    worker = int(note.read_text(encoding="utf-8"))
    os.kill(worker, 0)
    parent.kill()
    parent.wait()
    for _ in range(200):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker outlived its parent")
