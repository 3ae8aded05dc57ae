"""What the documentation shows runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def snippets(page: str) -> list[str]:
    """The blocks of Python on a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)


def test_a_task_and_a_network_of_ones_own(tmp_path: Path) -> None:
    code = "\n\n".join(snippets("docs/extending.md"))
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "mean_error" in ran.stdout
