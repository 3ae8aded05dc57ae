"""Help texts from docstrings: of the parameters of a command, and of the fields of settings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from itertools import pairwise


def command_texts(command: Callable[..., object]) -> tuple[list[str], list[str], dict[str, str]]:
    """Return a command's description by paragraphs, its examples, and what ``Args:`` says of each parameter.

    Examples
    --------
    >>> def show(mesh, radius):
    ...     '''Show a mesh.
    ...
    ...     $ fieldconv show MESH
    ...
    ...     Args:
    ...         mesh: File of a mesh,
    ...             or of points.
    ...         radius: Radius of discs.
    ...     '''
    >>> about, examples, texts = command_texts(show)
    >>> about, examples, texts["mesh"]
    (['Show a mesh.'], ['fieldconv show MESH'], 'File of a mesh, or of points.')
    """
    body, _, parameters = (inspect.getdoc(command) or "").partition("\nArgs:\n")
    lines = body.splitlines()
    examples = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    about = "\n".join(line for line in lines if not line.startswith("$ "))
    paragraphs = [" ".join(paragraph.split()) for paragraph in about.split("\n\n")]
    return [text for text in paragraphs if text], examples, _entries(textwrap.dedent(parameters), ": ")


def field_texts(kind: type[object]) -> dict[str, str]:
    """Return the text of each field of a dataclass and its bases.

    It is the docstring below a field, or is in the section "Parameters" of the class.

    Examples
    --------
    >>> from fieldconv.surface.settings import SurfaceSettings
    >>> field_texts(SurfaceSettings)["eigenfunctions"]
    'Number of eigenfunctions in an eigenbasis.'
    """
    texts: dict[str, str] = {}
    for part in reversed(kind.__mro__[:-1]):
        sections = re.split(r"^(\w+)\n-{3,}$", inspect.cleandoc(part.__doc__ or ""), flags=re.MULTILINE)
        named = dict(zip(sections[1::2], sections[2::2], strict=True))
        texts |= _entries(named.get("Parameters", ""), " : ") | _below_fields(part)
    return texts


def _entries(section: str, separator: str) -> dict[str, str]:
    """Return the texts of a section by name. A line that begins with names is followed by indented text."""
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line and not line[0].isspace():
            head, _, line = line.partition(separator)
            names = head.split(", ")
            texts |= dict.fromkeys(names, "")
            if separator == " : ":  # what follows is the type
                continue
        texts |= {name: f"{texts[name]} {line.strip()}".strip() for name in names}
    return texts


def _below_fields(kind: type[object]) -> dict[str, str]:
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError):  # it has no source file
        return {}
    return {
        field.target.id: " ".join(below.value.value.split())
        for field, below in pairwise(getattr(tree, "body", []))
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(below.value.value, str)
    }
