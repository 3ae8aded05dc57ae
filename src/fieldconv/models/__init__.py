"""Networks that come with the package, found by name; each is a checkpoint folder beside this file."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).parent


class Shipped(NamedTuple):
    """A network that comes with the package.

    Attributes
    ----------
    folder : its checkpoint folder, below this one.
    task : name of the task it answers; one network may answer several.
    about : what it gives, in a few words.
    """

    folder: str
    task: str
    about: str


MODELS = {
    "bodies": Shipped(
        "bodies", "template-parts", "people: eight parts and 32 finer ones; dense maps (match)"
    ),
    "body-points": Shipped("bodies", "template-points", "people: the point of a template at each vertex"),
}


def shipped(name: object) -> Shipped | None:
    """Return the network of that name, if one comes with the package.

    Examples
    --------
    >>> shipped("body-points").task, shipped("a run of mine")
    ('template-points', None)
    """
    return MODELS.get(str(name))


def folder_of(network: Shipped) -> Path:
    """Return the checkpoint folder of a network that comes with the package."""
    return HOME / network.folder
