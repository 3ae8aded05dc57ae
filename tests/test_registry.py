"""Open sets of named things: a package of its own on disk, another that adds to it, and a script."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fieldconv._registry import Registry
from fieldconv.networks import NETWORKS
from fieldconv.tasks import TASKS

OWN = {
    "base.py": "class Thing:\n    name = ''\n",
    "__init__.py": "",
    "square.py": """
        import collections
        from zoo.base import Thing
        from zoo.round_thing import RoundThing  # another of them, which is not the one of this file
        HELPER = 3
        class Corner: ...
        class Square(Thing):
            name = 'square'
    """,
    "round_thing.py": """
        from zoo.base import Thing
        class RoundThing(Thing):
            name = 'round-thing'
    """,
    "squared_paper/__init__.py": "from zoo.squared_paper.sheet import SquaredPaper\n",
    "squared_paper/sheet.py": """
        from zoo.base import Thing
        class SquaredPaper(Thing):
            name = 'squared-paper'
    """,
}
FOREIGN = """
from zoo.base import Thing
class Star(Thing):
    name = 'star'
class Stranger: ...
number = 5
"""
ENTRIES = """[zoo]
star = zoo_more:Star
stranger = zoo_more:Stranger
number = zoo_more:number
missing = zoo_more:Missing
broken = zoo_broken:Thing
absent = zoo_absent:Thing
[elsewhere]
other = zoo_more:Star
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        lines = [line.removeprefix("        ") for line in text.splitlines()]
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry[Any]]:
    """A package "zoo", and an installed one that adds to it by entry points, as pip would leave it."""
    write(tmp_path / "zoo", OWN)
    write(tmp_path, {"zoo_more.py": FOREIGN, "zoo_broken.py": "raise RuntimeError('no licence')\n"})
    about = {"METADATA": "Metadata-Version: 2.1\nName: zoo-more\nVersion: 1.0\n", "entry_points.txt": ENTRIES}
    write(tmp_path / "zoo_more-1.0.dist-info", about)
    monkeypatch.syspath_prepend(str(tmp_path))

    def base() -> type:
        from zoo.base import Thing  # type: ignore[import-not-found]

        return Thing

    yield Registry("animal", "zoo", base, helpers=("base",))
    for name in [name for name in sys.modules if name.split(".")[0] in ("zoo", "zoo_more", "zoo_broken")]:
        del sys.modules[name]


def test_own_modules_are_found_under_their_names(zoo: Registry[Any]) -> None:
    assert {"square", "round-thing", "squared-paper"} <= set(zoo.names())
    assert "base" not in zoo.names()
    assert zoo.names() == sorted(zoo.names())
    for name, expected in (
        ("square", "Square"),
        ("round-thing", "RoundThing"),
        ("squared-paper", "SquaredPaper"),
    ):
        assert zoo.get(name).__name__ == expected
        assert zoo.get(name).name == name


def test_nothing_is_loaded_before_it_is_asked_for(zoo: Registry[Any]) -> None:
    zoo.names()
    assert not {"zoo.square", "zoo_more"} & set(sys.modules)
    zoo.get("round-thing")
    assert not {"zoo.square", "zoo_more"} & set(sys.modules)


def test_a_name_is_that_of_a_whole_module(zoo: Registry[Any], tmp_path: Path) -> None:
    """square.py may use the class of squared_paper, whose name begins alike, before it defines its own."""
    text = "from zoo.squared_paper import SquaredPaper\nclass Square(SquaredPaper):\n    name = 'square'\n"
    write(tmp_path / "zoo", {"square.py": text})
    assert zoo.get("square").__name__ == "Square"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sqare", "did you mean square?"),
        ("round_thing", "did you mean round-thing?"),
        ("Star", "did you mean star?"),
        (
            "elephant",
            "choose one of absent, broken, missing, number, round-thing, square, squared-paper, star",
        ),
        ("base", "choose one of "),
        ("", "choose one of "),
    ],
)
def test_unknown_names_get_the_nearest(zoo: Registry[Any], name: str, hint: str) -> None:
    with pytest.raises(ValueError, match="unknown animal") as caught:
        zoo.get(name)
    message = str(caught.value)
    assert message.startswith(f"unknown animal {name!r}; {hint}")
    assert "\n" not in message


def test_entry_points_of_other_packages(zoo: Registry[Any]) -> None:
    assert zoo.get("star").__name__ == "Star"
    assert "other" not in zoo.names()  # of another group


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("stranger", "zoo_more:Stranger is no animal: expected a subclass of Thing"),
        ("number", "zoo_more:number is no animal: expected a subclass of Thing"),
        ("missing", "the animal 'missing' (zoo_more:Missing) cannot be loaded: "),
        ("broken", "the animal 'broken' (zoo_broken:Thing) cannot be loaded: no licence"),
        ("absent", "the animal 'absent' (zoo_absent:Thing) cannot be loaded: No module named 'zoo_absent'"),
    ],
)
def test_what_is_wrong_with_a_foreign_one_is_one_line(zoo: Registry[Any], name: str, says: str) -> None:
    with pytest.raises(ValueError, match=r"is no animal|cannot be loaded") as caught:
        zoo.get(name)
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)


def test_all_leaves_out_foreign_ones_that_fail(zoo: Registry[Any]) -> None:
    assert [kind.__name__ for kind in zoo.all()] == ["RoundThing", "Square", "SquaredPaper", "Star"]


def test_registered_at_run_time(zoo: Registry[Any]) -> None:
    from zoo.base import Thing

    @zoo.register
    class Snake(Thing):  # type: ignore[misc]
        name = "snake"

    assert zoo.get("snake") is Snake
    assert "snake" in zoo.names()
    assert Snake in zoo.all()

    class Square(Thing):  # type: ignore[misc]
        name = "square"

    zoo.register(Square)  # a script may replace what is there, for itself
    assert zoo.get("square") is Square
    assert zoo.names().count("square") == 1


def test_an_own_module_without_one_says_so(zoo: Registry[Any], tmp_path: Path) -> None:
    write(tmp_path / "zoo", {"empty.py": "from zoo.base import Thing\n"})
    with pytest.raises(ValueError, match=r"zoo\.empty holds no animal: expected a subclass of Thing"):
        zoo.get("empty")
    with pytest.raises(ValueError, match="holds no animal"):
        zoo.all()


@pytest.mark.parametrize(("registry", "least"), [(TASKS, 4), (NETWORKS, 1)], ids=["tasks", "networks"])
def test_ours_go_by_their_own_names(registry: Registry[Any], least: int) -> None:
    names = registry.names()
    assert len(names) >= least
    for name in names:
        assert registry.get(name).name == name


def test_a_misspelt_task() -> None:
    with pytest.raises(ValueError, match=r"unknown task 'segmentaton'; did you mean segmentation\?"):
        TASKS.get("segmentaton")
