"""Check that everything names the version that is to be released, and print its changes.

    python tools/release_check.py v0.2.0

The tag, ``partwise.__version__``, the newest heading of ``CHANGELOG.md`` and ``CITATION.cff`` must
agree, and nothing may be left under "Unreleased". What is printed is the section of the changelog,
which becomes the text of the release.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["faults", "main", "notes"]

ROOT: Final = Path(__file__).resolve().parent.parent
_SECTION: Final = re.compile(r"^## \[([^\]]+)\]([^\n]*)\n(.*?)(?=^## |\Z)", re.M | re.S)
_DATE: Final = re.compile(r" - \d{4}-\d{2}-\d{2}")


def faults(tag: str, root: Path = ROOT) -> list[str]:
    """Return a sentence for everything that does not agree with a tag.

    Parameters
    ----------
    tag : str
        The tag, ``"v0.2.0"`` for example.
    root : Path
        The root of the repository.
    """
    if re.fullmatch(r"v\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?", tag) is None:
        return [f"the tag {tag!r} is no version; call it v0.2.0, or v0.2.0rc1"]
    version = tag[1:]
    found = []
    source = (root / "src/partwise/__init__.py").read_text("utf-8")
    own = _single(r'^__version__ = "(.*)"$', source)
    if own != version:
        found.append(f"src/partwise/__init__.py says {own}; set __version__ to {version}")
    cited = _single(r"^version: (.*)$", (root / "CITATION.cff").read_text("utf-8"))
    if cited != version:
        found.append(f"CITATION.cff says {cited}; set version to {version}")
    sections = _SECTION.findall((root / "CHANGELOG.md").read_text("utf-8"))
    released = [(name, rest) for name, rest, _ in sections if name != "Unreleased"]
    if not released or released[0][0] != version:
        newest = released[0][0] if released else "nothing"
        found.append(
            f"the newest version of CHANGELOG.md is {newest}; add the heading "
            f"## [{version}] - YYYY-MM-DD below Unreleased"
        )
    elif _DATE.fullmatch(released[0][1]) is None:
        found.append(f"the heading [{version}] of CHANGELOG.md has no date; add - YYYY-MM-DD")
    if any(name == "Unreleased" and text.strip() for name, _, text in sections):
        found.append(f"CHANGELOG.md has changes under Unreleased; move them to [{version}]")
    return found


def notes(version: str, root: Path = ROOT) -> str:
    """Return the section of the changelog about a version, without its heading."""
    for name, _, text in _SECTION.findall((root / "CHANGELOG.md").read_text("utf-8")):
        if name == version:
            return str(text).strip() + "\n"
    raise ValueError(f"CHANGELOG.md has no heading [{version}]")


def _single(pattern: str, text: str) -> str:
    found = re.findall(pattern, text, re.M)
    return str(found[0]) if len(found) == 1 else "nothing"


def main(argv: Sequence[str], root: Path = ROOT) -> int:
    """Check a tag and print its changes, or what is wrong."""
    if len(argv) != 1:
        print("usage: python tools/release_check.py vX.Y.Z", file=sys.stderr)
        return 2
    found = faults(argv[0], root)
    for line in found:
        print(line, file=sys.stderr)
    if found:
        return 1
    print(notes(argv[0][1:], root), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
