"""Which sources of the package a file imports, directly or through others.

Only the text is read: importing to find out would load what nobody asked for.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent

_FROM: Final = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)", re.M)
_IMPORT: Final = re.compile(r"^[ \t]*import[ \t]+(partwise[\w.]*)", re.M)
_NAME: Final = re.compile(r"\w+")


def stamp(path: Path) -> str:
    """Hash a file and every source of the package that it imports, directly or through others.

    Parameters
    ----------
    path : Path
        A source of the package, or a file that a user wrote.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        source = waiting.pop()
        if source not in found:
            found.add(source)
            waiting.extend(_imports(source))
    digest = hashlib.sha256()
    for source in sorted(found):
        digest.update(f"{source.name}\0{_content(source)}\0".encode())
    return digest.hexdigest()


@functools.cache
def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.cache
def _imports(path: Path) -> tuple[Path, ...]:
    """List the sources of the package that a file names in its import statements."""
    # The package itself only knows where its public names live; it holds no compiled function.
    if path == ROOT / "__init__.py":
        return ()
    text = path.read_text(encoding="utf-8")
    found: set[Path] = set()
    for dots, module, names in _FROM.findall(text):
        words = [*module.split(".")] if module else []
        if dots:
            if not path.is_relative_to(ROOT):
                continue
            folder = path.parents[len(dots) - 1]
        elif words and words[0] == ROOT.name:
            folder, words = ROOT, words[1:]
        else:
            continue
        found.update(_modules(folder.joinpath(*words), _NAME.findall(names)))
    for module in _IMPORT.findall(text):
        words = module.split(".")[1:]
        # `import partwise` may lead to any compiled function.
        found.update(_modules(ROOT.joinpath(*words), []) if words else ROOT.rglob("*.py"))
    return tuple(sorted(found))


def _modules(target: Path, names: list[str]) -> Iterator[Path]:
    """Return the file of a module; for a package also its modules among the names."""
    if target.is_dir():
        candidates = [target / "__init__.py", *(target / f"{name}.py" for name in names)]
    else:
        candidates = [target.with_suffix(".py")]
    return (path for path in candidates if path.is_file())
