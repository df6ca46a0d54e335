"""Compare an archive of the sources with what git tracks: ``tools/sdist_contents.py ARCHIVE``.

Nothing that is tracked may be missing, as tests, documentation and packages of distributions are
made from the archive, and nothing may be in it that is not tracked, but for what setuptools adds.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

__all__ = ["differences", "main"]

ROOT: Final = Path(__file__).resolve().parent.parent
#: What setuptools adds.
_ADDED: Final = ("PKG-INFO", "setup.cfg", "src/partwise.egg-info/")


def differences(tracked: Iterable[str], packed: Iterable[str]) -> list[str]:
    """Return a sentence for every file that is missing, and for every one that should not be there.

    Parameters
    ----------
    tracked : iterable of str
        The paths that git tracks.
    packed : iterable of str
        The paths in the archive, without its folder.
    """
    wanted, found = set(tracked), set(packed)
    found = {path for path in found if not path.startswith(_ADDED)}
    return [
        *(f"{path} is tracked and not packed; see MANIFEST.in" for path in sorted(wanted - found)),
        *(f"{path} is packed and not tracked" for path in sorted(found - wanted)),
    ]


def main(argv: Sequence[str], root: Path = ROOT) -> int:
    """Compare, print what differs, and return the exit code."""
    if len(argv) != 1:
        print("usage: python tools/sdist_contents.py dist/partwise-X.Y.Z.tar.gz", file=sys.stderr)
        return 2
    with tarfile.open(argv[0]) as archive:
        packed = [one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()]
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        print(f"{root}: not a clone, so there is nothing to compare with", file=sys.stderr)
        return 2
    # A file that was removed and not yet committed is not missing.
    tracked = [path for path in listed.stdout.split("\0") if path and (root / path).exists()]
    found = differences(tracked, packed)
    for line in found:
        print(line, file=sys.stderr)
    print(f"{len(tracked)} files tracked, {len(packed)} packed, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
