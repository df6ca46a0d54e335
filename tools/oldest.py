"""Print the oldest versions of what an installed package needs, as constraints for pip.

    python tools/oldest.py partwise > constraints.txt
    pip install --constraint constraints.txt partwise

The versions are those that the package declares by ``>=``, for the running Python, without extras.
"""

from __future__ import annotations

import sys
from importlib.metadata import requires

from packaging.requirements import Requirement

__all__ = ["oldest"]


def oldest(package: str) -> list[str]:
    """Return one constraint, such as ``numpy==1.26``, per package that is needed."""
    found = []
    for line in requires(package) or ():
        needed = Requirement(line)
        if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
            continue
        least = [one.version for one in needed.specifier if one.operator == ">="]
        if len(least) != 1:
            sys.exit(f"{package} needs {line}; expected one least version, as in numpy>=1.26")
        found.append(f"{needed.name}=={least[0]}")
    return found


if __name__ == "__main__":
    print("\n".join(oldest(sys.argv[1])))
