"""A small part of the campaign of tests/torture.py: a few cases of each kind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

if os.name == "nt":
    pytest.skip("kills and forks", allow_module_level=True)

import torture


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[torture.Workshop]:
    before = os.environ.get("FIELDCONV_CACHE")
    yield torture.Workshop(tmp_path_factory.mktemp("torture") / "shop")
    if before is None:
        os.environ.pop("FIELDCONV_CACHE", None)
    else:
        os.environ["FIELDCONV_CACHE"] = before


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, campaign in torture.CAMPAIGNS.items() if campaign.few])
def test_nothing_fails(name: str, shop: torture.Workshop, tmp_path: Path) -> None:
    ended = [torture.attempt(name, seed, shop) for seed in range(torture.CAMPAIGNS[name].few)]
    wrong = {seed: said for seed, (how, said) in enumerate(ended) if how == "failed"}
    assert not wrong


def test_failures_are_told_from_refusals() -> None:
    """The judge itself: a traceback, or a refusal without a line, is a failure."""
    assert torture.judged(torture.Ended(0, "", "")) == torture.PASSED
    assert torture.judged(torture.Ended(1, "", "fieldconv: no such file\n")) == torture.REFUSED
    for code, errors in (
        (1, ""),
        (1, "Traceback …\nfieldconv: x"),
        (-11, ""),
        (1, "fieldconv: " + "x" * 9999),
    ):
        with pytest.raises(torture.Failure):
            torture.judged(torture.Ended(code, "", errors))
