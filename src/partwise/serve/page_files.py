"""The files of the page, which come with the package and are read once."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Final

__all__ = ["page_files"]

_KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
#: The pages by their paths; all other files are below /page/.
_PAGES: Final = {"/": "index.html", "/docs": "docs.html"}


def page_files() -> dict[str, tuple[bytes, str, str]]:
    """Return for each path the contents, the media type and a tag of the contents.

    No other path leads to a file, so that no request can name one.
    """
    folder = files(__package__) / "page"
    found: dict[str, tuple[bytes, str, str]] = {}
    paths = {name: path for path, name in _PAGES.items()}
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        kind = _KINDS.get(entry.name[entry.name.rfind(".") :])
        if kind is not None:
            body = entry.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
            found[paths.get(entry.name, f"/page/{entry.name}")] = body, kind, tag
    return found
