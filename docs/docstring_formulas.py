"""Formulas in docstrings (``.. math::`` and ``:math:``) become MathML on the site."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))
from hooks import mathml

_BLOCK = re.compile(r"^( *)\.\. math::(.*?)(?=^\1\S|\Z)", re.M | re.S)
_INLINE = re.compile(r":math:`([^`]+)`")


class Formulas(griffe.Extension):
    """Changes docstrings as they are read from the sources."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Put MathML in the place of formulas."""
        if obj.docstring is None:
            return
        text = _BLOCK.sub(
            lambda found: f"{found[1]}{mathml(found[2], 'block')}\n\n" if found[2].strip() else found[0],
            obj.docstring.value,
        )
        obj.docstring.value = _INLINE.sub(lambda found: mathml(found[1], "inline"), text)
