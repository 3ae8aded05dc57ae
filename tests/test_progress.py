"""Progress of long calls, with and without a terminal."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from fieldconv._progress import Progress, track


def clock(*times: float) -> Callable[[], float]:
    """The given seconds, one after another; the last one for ever."""
    left = list(times)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_a_line_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with Progress("Preparing meshes", 8, clock=lambda: now[0]) as progress:
        for seconds in (4.0, 11.0, 12.0, 22.0):
            now[0] = seconds
            progress.step()
    assert capsys.readouterr().err.splitlines() == [
        "Preparing meshes: 2 of 8, about 33 s left",
        "Preparing meshes: 4 of 8, about 22 s left",
    ]


def test_what_was_done_before_is_not_counted_as_speed(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("epoch 5/6, step", 60, begun=40, clock=clock(0.0, 20.0)) as progress:
        progress.reach(50, note="loss 0.5")
        assert progress.seconds_left() == 20.0
    assert capsys.readouterr().err == "epoch 5/6, step: 50 of 60, loss 0.5, about 20 s left\n"


def test_shares_are_in_percent(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("comparing", 60.0, share=True, clock=clock(0.0, 20.0)) as progress:
        progress.reach(15.0, what="run 1/2")
        progress.say("run 1 done [sic]")
    assert capsys.readouterr().err.splitlines() == ["run 1/2: 25 %, about 1 min 0 s left", "run 1 done [sic]"]


def test_an_unknown_end(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("Reading", clock=clock(0.0, 20.0)) as progress:
        progress.step(1500)
    assert capsys.readouterr().err == "Reading: 1,500\n"


def test_short_calls_say_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(range(3), "Reading", total=3)) == [0, 1, 2]
    assert list(track([1, 2], "Reading")) == [1, 2]
    assert capsys.readouterr().err == ""


def test_quiet_calls_say_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("Reading", 3, quiet=True, clock=clock(0.0, 20.0)) as progress:
        progress.step()
        progress.say("something")
    assert capsys.readouterr().err == ""


def test_a_bar_in_a_terminal() -> None:
    """It shows what, how many and the note; lines stay, the bar does not."""
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=120)
    with Progress("Preparing [a]", 4, console=terminal) as progress:
        progress.step(3, note="2.0 meshes/s")
        progress.say("one line")
    shown = screen.getvalue()
    for text in ("Preparing [a]", "3/4", "2.0 meshes/s", "one line"):
        assert text in shown
    assert shown.rstrip().endswith("\x1b[2K")  # the bar is taken away
