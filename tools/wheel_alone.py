"""Check an installed wheel, by the Python of an environment that has nothing else.

    python -m venv /tmp/alone
    /tmp/alone/bin/python -m pip install dist/*.whl
    cd /tmp && /tmp/alone/bin/python .../tools/wheel_alone.py

The package must come from the environment and not from the sources, ``import partwise`` must load
nothing heavy, and the command, its completions and its manual pages must be where they belong.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib.metadata import files, version
from pathlib import Path
from typing import Final

__all__ = ["faults"]

_SHARED: Final = (
    "share/bash-completion/completions/partwise",
    "share/zsh/site-functions/_partwise",
    "share/fish/vendor_completions.d/partwise.fish",
    "share/man/man1/partwise.1",
    "share/man/man1/partwise-train.1",
)
#: Files that are no modules, one of each folder.
_DATA: Final = (
    "partwise/pictures/drawings.css",
    "partwise/report/page.css",
    "partwise/serve/page/index.html",
)


def faults() -> list[str]:
    """Return a sentence for everything that is wrong with the installed package."""
    found = []
    before = set(sys.modules)
    import partwise

    if not Path(partwise.__file__).is_relative_to(sys.prefix):
        found.append(f"partwise was imported from {partwise.__file__}, not from the wheel")
    loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
    if heavy := loaded - {"partwise"} - sys.stdlib_module_names:
        found.append(f"import partwise must load nothing heavy, and loads {sorted(heavy)}")
    if version("partwise") != partwise.__version__:
        found.append(f"the metadata say {version('partwise')}, the package {partwise.__version__}")
    compiled = [str(one) for one in files("partwise") or () if one.suffix in (".so", ".pyd")]
    if compiled:
        found.append(f"the wheel must be pure Python, and holds {compiled}")
    packed = {one.as_posix() for one in files("partwise") or ()}
    found += [f"{name} is not in the wheel" for name in _DATA if name not in packed]
    for name in _SHARED:
        if not (Path(sys.prefix) / name).is_file():
            found.append(f"{name} is not in {sys.prefix}")
    command = Path(sysconfig.get_path("scripts")) / "partwise"
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    if said.stdout.strip() != f"partwise {partwise.__version__}":
        found.append(f"partwise --version printed {said.stdout!r}{said.stderr}")
    return found


if __name__ == "__main__":
    wrong = faults()
    print("\n".join(wrong or [f"partwise {version('partwise')} is installed as it should be"]))
    sys.exit(bool(wrong))
