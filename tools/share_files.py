"""Write the completions and manual pages that the wheel installs into ``share``.

    python tools/share_files.py FOLDER    # to look at them

tools/build_backend.py writes them when the wheel is built, from the parser of the command. That
takes shtab and nothing that partwise needs when it runs. The folders are those where shells and
``man`` look.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).resolve().parent.parent / "src"
if __name__ == "__main__":
    sys.path.insert(0, str(SOURCES))

from completions import completion  # noqa: E402
from manual import manual_pages  # noqa: E402

__all__ = ["SOURCES", "main", "share_files", "write"]

_SHELLS: Final = {
    "bash": "bash-completion/completions/partwise",
    "zsh": "zsh/site-functions/_partwise",
    "fish": "fish/vendor_completions.d/partwise.fish",
}


def share_files() -> dict[str, str]:
    """Return the texts of all files by their paths in ``share``."""
    files = {path: completion(shell) for shell, path in _SHELLS.items()}
    return files | {f"man/man1/{name}": text for name, text in manual_pages().items()}


def write(folder: Path) -> None:
    """Write all files into a folder."""
    for name, text in share_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))


def main(argv: Sequence[str]) -> int:
    """Write the files into the folder that is named, and return the exit code."""
    if len(argv) != 1:
        print("usage: python tools/share_files.py FOLDER", file=sys.stderr)
        return 2
    write(Path(argv[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
