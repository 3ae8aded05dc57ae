"""Look through the built documentation: every link leads somewhere, nothing is loaded from elsewhere.

Called by `make docs`.
"""

from __future__ import annotations

import re
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).resolve().parents[1] / "site"
LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("link", "href"), ("source", "src")}


class Page(HTMLParser):
    """What a page links to, what it loads, and the names within it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        for name in ("href", "src"):
            if name in given:
                kind = self.loads if (tag, name) in LOADS else self.links
                kind.append(unescape(given[name]))


def problems(site: Path) -> list[str]:
    """Return what is wrong with a site, one line each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        here = path.relative_to(site).as_posix()
        if here == "404.html":
            continue  # its addresses are those of a server
        for address in page.loads:
            if re.match(r"(https?:)?//", address):
                found.append(f"{here} loads {address}")
        for address in (*page.links, *page.loads):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc or address.startswith("data:"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{here} links to {address}, which is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].names:
                found.append(f"{here} links to {address}, but there is no such place on that page")
    for path in site.rglob("*.css"):
        for address in re.findall(
            r"url\(\s*[\"']?((?:https?:)?//[^)\"']+)", path.read_text(encoding="utf-8")
        ):
            found.append(f"{path.relative_to(site).as_posix()} loads {address}")
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    wrong = problems(SITE)
    print("\n".join(wrong) or f"all links of {len(list(SITE.rglob('*.html')))} pages lead somewhere")
    sys.exit(1 if wrong else 0)
