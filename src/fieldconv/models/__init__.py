"""Networks that come with the package, by name; each is a checkpoint folder beside this file.

A checkpoint folder holds

- ``model.safetensors``: the weights;
- ``config.json``: task, class names, network settings (with how meshes are prepared), library version;
- ``README.md``: the same in words;
- ``template.ply``: for correspondence, the mesh whose vertices are the outputs.

``bodies`` and ``body-points`` are one network, stored once. Two tasks read its outputs: as parts of the body
(`TemplateParts`), and as points of a template (`TemplatePoints`).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

WEIGHTS, CONFIG, CARD, TEMPLATE = "model.safetensors", "config.json", "README.md", "template.ply"


class Shipped(NamedTuple):
    """A network that comes with the package."""

    folder: Path  # of the checkpoint
    task: str  # that reads the outputs
    about: str  # what it gives, in a few words


BODIES = Path(__file__).parent / "bodies"
MODELS = {
    "bodies": Shipped(BODIES, "template-parts", "people: eight parts and 32 finer ones; dense maps (match)"),
    "body-points": Shipped(BODIES, "template-points", "people: the point of a template at each vertex"),
}
