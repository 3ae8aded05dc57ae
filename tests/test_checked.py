"""Values as files hold them: known names, right types, one line about what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Optional

import pytest

from fieldconv._checked import check_choices, check_count, checked, field_types


@dataclass(frozen=True)
class Settings:
    KINDS: ClassVar[tuple[str, ...]] = ("a", "b")

    count: int = 1
    size: float = 1.0
    loud: bool = False
    name: str = ""
    kind: Literal["a", "b"] = "a"
    limit: int | None = None
    share: Optional[float] = None  # noqa: UP045
    widths: tuple[int, ...] = ()
    names: tuple[str, ...] | None = None


GOOD: list[tuple[str, Any]] = [
    ("count", -3),
    ("size", 2.5),
    ("size", 2),  # a whole number is a number
    ("loud", True),
    ("name", "x"),
    ("kind", "b"),
    ("limit", None),
    ("limit", 7),
    ("share", 0.5),
    ("share", 1),
    ("share", None),
    ("widths", (1, 2, 3)),
    ("widths", ()),
    ("names", None),
    ("names", ("a",)),
]


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_right_values_pass_as_they_are(name: str, value: Any) -> None:
    assert checked(Settings, {name: value}) == {name: value}


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("count", 1.5, "count is 1.5; give a whole number"),
        ("count", True, "count is True; give a whole number"),
        ("count", "3", "count is '3'; give a whole number"),
        ("count", None, "count is None; give a whole number"),
        ("size", "far", "size is 'far'; give a number"),
        ("size", True, "size is True; give a number"),
        ("loud", 1, "loud is 1; give true or false"),
        ("name", 3, "name is 3; give text"),
        ("kind", "c", "kind is 'c'; choose one of a, b"),
        ("kind", None, "kind is None; choose one of a, b"),
        ("limit", 1.5, "limit is 1.5; give a whole number or nothing"),
        ("limit", False, "limit is False; give a whole number or nothing"),
        ("share", "half", "share is 'half'; give a number or nothing"),
        ("widths", 3, "widths is 3; give a list; each entry is a whole number"),
        ("widths", (1, 2.5), r"widths is \(1, 2.5\); give a list; each entry is a whole number"),
        ("names", "abc", "names is 'abc'; give a list; each entry is text or nothing"),
        ("colour", 1, "unknown setting 'colour'; choose among count, size, loud"),
        ("KINDS", ("a",), "unknown setting 'KINDS'"),
    ],
)
def test_wrong_values_say_what_is_expected(name: str, value: Any, says: str) -> None:
    with pytest.raises(ValueError, match=f"^{says}") as caught:
        checked(Settings, {"size": 1.0, name: value})
    assert "\n" not in str(caught.value)


def test_lists_become_tuples() -> None:
    """As JSON has lists only."""
    found = checked(Settings, {"widths": [1, 2], "names": ["a", "b"]})
    assert found == {"widths": (1, 2), "names": ("a", "b")}
    assert Settings(**found).widths == (1, 2)


def test_types_of_fields_without_those_of_the_class() -> None:
    assert list(field_types(Settings)) == [
        *("count", "size", "loud", "name", "kind", "limit", "share", "widths", "names")
    ]
    assert field_types(Settings)["count"] is int


def test_words() -> None:
    check_choices(Settings(), kind=("a", "b"), name=("",))
    with pytest.raises(ValueError, match=r"^kind is 'a'; choose one of x, y$"):
        check_choices(Settings(), kind=("x", "y"))


@pytest.mark.parametrize(("value", "least"), [(1, 1), (7, 1), (0, 0), (-2, -2)])
def test_counts(value: int, least: int) -> None:
    check_count("blocks", value, least)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, None, "3", float("nan")])
def test_wrong_counts(value: object) -> None:
    with pytest.raises(ValueError, match=r"^blocks is .*; give a whole number from 1 up$"):
        check_count("blocks", value)
