"""Write the completions and manual pages that the wheel installs into ``share``.

    python tools/share_files.py            # after a change of the command line
    python tools/share_files.py --check    # exit code 1 if a file is not up to date

The files are tracked, so that whoever builds a wheel or a package of a distribution needs no tool
for them. The folders of ``share`` are those where shells and ``man`` look.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from completions import completion
from manual import manual_pages

__all__ = ["main", "share_files"]

SHARE: Final = Path(__file__).resolve().parent.parent / "share"
_SHELLS: Final = {
    "bash": "bash-completion/completions/partwise",
    "zsh": "zsh/site-functions/_partwise",
    "fish": "fish/vendor_completions.d/partwise.fish",
}


def share_files() -> dict[str, str]:
    """Return the texts of all files by their paths in ``share``."""
    files = {path: completion(shell) for shell, path in _SHELLS.items()}
    return files | {f"man/man1/{name}": text for name, text in manual_pages().items()}


def main(argv: Sequence[str] | None = None, share: Path = SHARE) -> int:
    """Write the files, or compare them with those that are there."""
    parser = argparse.ArgumentParser(description="Write completions and manual pages.")
    parser.add_argument("--check", action="store_true", help="only say what is not up to date")
    check = parser.parse_args(argv).check
    wanted = {share / name: text for name, text in share_files().items()}
    present = {path for path in share.rglob("*") if path.is_file()}
    stale = [p for p, text in wanted.items() if p not in present or p.read_text("utf-8") != text]
    left = sorted(present - wanted.keys())
    if check:
        for path in (*stale, *left):
            print(f"{path}: not up to date; run python tools/share_files.py", file=sys.stderr)
        return 1 if stale or left else 0
    for path in left:
        path.unlink()
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wanted[path].encode("utf-8"))
    print(f"{len(wanted)} files, {len(stale)} written, {len(left)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
