"""Progress where there is no terminal."""

from fieldconv.labels import parallel
from fieldconv.labels.parallel import Lines, followed


def test_a_line_every_ten_seconds(monkeypatch, capsys):
    clock = iter([0.0, 4.0, 11.0, 12.0, 22.0])
    monkeypatch.setattr(parallel.time, "monotonic", lambda: next(clock))
    lines = Lines("Preparing meshes", 8)
    for _ in range(4):
        lines.step()
    assert capsys.readouterr().err.splitlines() == [
        "Preparing meshes: 2 of 8, about 33 s left",
        "Preparing meshes: 4 of 8, about 22 s left",
    ]


def test_short_calls_say_nothing(capsys):
    assert list(followed(range(3), "Reading", total=3)) == [0, 1, 2]
    assert capsys.readouterr().err == ""
