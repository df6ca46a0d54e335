"""Check the built documentation: ``python tools/site_links.py FOLDER``.

Every link from page to page must lead to a page and a place that are there, and no page may load
anything from elsewhere: scripts, styles, fonts and pictures must be in the folder.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

__all__ = ["faults", "main"]

#: Where each element names what a browser fetches by itself.
_LOADED: Final = {
    "audio": "src", "embed": "src", "iframe": "src", "img": "src", "input": "src",
    "object": "data", "script": "src", "source": "src", "track": "src", "video": "src",
}  # fmt: skip
#: Links in the head of a page that are never fetched.
_NAMED: Final = frozenset({"author", "canonical", "license", "next", "prev", "search", "up"})
_STYLE_URL: Final = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)


class _Page(HTMLParser):
    """The places of a page, what it links to, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the attributes that name a place or an address."""
        found = {name: value for name, value in attrs if value}
        self.places.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and "href" in found and found.get("rel", "") not in _NAMED:
            self.loaded.append(found["href"])
        if tag in _LOADED and _LOADED[tag] in found:
            self.loaded.append(found[_LOADED[tag]])
        if "srcset" in found:
            self.loaded += [part.split()[0] for part in found["srcset"].split(",") if part.strip()]
        if "style" in found:
            self.loaded += _style_urls(found["style"])
        self._in_style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        """Leave a style sheet."""
        self._in_style = False

    def handle_data(self, data: str) -> None:
        """Read a style sheet in the page."""
        if self._in_style:
            self.loaded += _style_urls(data)


def _style_urls(text: str) -> list[str]:
    return [a or b for a, b in _STYLE_URL.findall(_COMMENT.sub("", text))]


class _File(NamedTuple):
    places: set[str]
    links: list[str]
    loaded: list[str]


def _read(path: Path) -> _File:
    text = path.read_text("utf-8")
    if path.suffix == ".css":
        return _File(set(), [], _style_urls(text))
    page = _Page()
    page.feed(text)
    return _File(page.places, page.links, page.loaded)


def faults(folder: Path) -> Iterator[str]:
    """Yield one sentence per dead link and per address of elsewhere that a browser would load."""
    folder = folder.resolve()
    paths = [path for path in sorted(folder.rglob("*.*")) if path.suffix in (".html", ".css")]
    # A theme keeps templates there, which are no pages.
    paths = [path for path in paths if path.suffix == ".css" or "_static" not in path.parts]
    files = {path: _read(path) for path in paths}
    for path, file in files.items():
        where = path.relative_to(folder)
        for address in file.loaded:
            if _is_foreign(address):
                yield f"{where}: loads {address}, which is not in the folder"
        for address in dict.fromkeys([*file.links, *file.loaded]):
            if fault := _dead(path, address, files):
                yield f"{where}: {fault}"


def _is_foreign(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def _dead(path: Path, address: str, files: dict[Path, _File]) -> str | None:
    """Return what is wrong with an address in the folder, if anything is."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target = target / "index.html"
    if not target.is_file():
        return f"{address} leads to no file"
    place = unquote(parts.fragment)
    if place and target in files and target.suffix == ".html" and place not in files[target].places:
        return f"{address} leads to a page without that place"
    return None


def main(arguments: list[str]) -> int:
    """Print the faults of a folder, and return how the program ends."""
    if len(arguments) != 1 or not (Path(arguments[0]) / "index.html").is_file():
        sys.stderr.write("usage: site_links.py FOLDER, a folder with an index.html\n")
        return 2
    found = list(faults(Path(arguments[0])))
    for fault in found:
        sys.stderr.write(fault + "\n")
    pages = len(list(Path(arguments[0]).rglob("*.html")))
    sys.stdout.write(f"{pages} pages, {len(found)} dead links or addresses of elsewhere\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
