"""The backend that builds partwise: setuptools, which is given completions and manual pages.

They are made from the parser of the command and written into ``build/share``, where ``data-files``
of ``pyproject.toml`` finds them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any, Final

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable",
    "get_requires_for_build_sdist", "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
]  # fmt: skip

_ROOT: Final = Path(__file__).resolve().parent.parent


def build_wheel(*given: Any, **named: Any) -> str:
    """Build the wheel."""
    _write_share()
    return str(build_meta.build_wheel(*given, **named))


def build_editable(*given: Any, **named: Any) -> str:
    """Build the wheel that points to the sources."""
    _write_share()
    return str(build_meta.build_editable(*given, **named))


def _write_share() -> None:
    # These sources, and not a partwise that is installed.
    sys.path.insert(0, str(_ROOT / "src"))
    from share_files import write

    shutil.rmtree(_ROOT / "build/share", ignore_errors=True)
    write(_ROOT / "build/share")
