"""Run the tests of python-crfsuite and sklearn-crfsuite against `partwise.compat`.

    python tools/upstream_tests.py                        # needs the network, for pip
    python tools/upstream_tests.py --sdists FOLDER        # with sdists that are already there
    python tools/upstream_tests.py --ignore-expected      # run tests that are marked to fail, too

The sdists are downloaded by pip. Their tests are copied, and only lines that import from
``pycrfsuite`` and ``sklearn_crfsuite`` are changed. The real packages cannot be imported while the
tests run. The doctests of the files are run too.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PROJECTS: Final = {"python-crfsuite": "0.9.12", "sklearn-crfsuite": "0.5.0"}
_FROM: Final = re.compile(r"^(\s*from )(pycrfsuite|sklearn_crfsuite)\b", re.M)
_IMPORT: Final = re.compile(r"^(\s*)import (pycrfsuite|sklearn_crfsuite)$", re.M)
_BLOCK: Final = '''
import sys


class Block:
    """Refuses to import the originals."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pycrfsuite", "sklearn_crfsuite"):
            raise ImportError(f"{name} must not be imported here")


sys.meta_path.insert(0, Block())
'''


def download(folder: Path) -> None:
    """Download the sdists by pip."""
    wanted = [f"{name}=={version}" for name, version in PROJECTS.items()]
    # Only these: what they are built with may come as wheels.
    command = [sys.executable, "-m", "pip", "download", "--no-deps"]
    command += ["--no-binary", ",".join(PROJECTS)]
    subprocess.run([*command, "-d", str(folder), *wanted], check=True)


def unpack(sdists: Path, name: str, target: Path) -> None:
    """Copy the tests of a project, with other import lines."""
    archive = sdists / f"{name.replace('-', '_')}-{PROJECTS[name]}.tar.gz"
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            path = Path(member.name)
            if len(path.parts) != 3 or path.parts[1] != "tests" or path.suffix != ".py":
                continue
            file = tar.extractfile(member)
            assert file is not None
            text = _FROM.sub(r"\1partwise.compat.\2", file.read().decode())
            text = _IMPORT.sub(r"\1from partwise.compat import \2", text)
            (target / path.name).write_text(text, encoding="utf-8")


def main() -> int:
    """Run the tests, and return how many projects had failures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sdists", type=Path, help="a folder with the sdists")
    parser.add_argument(
        "--ignore-expected", action="store_true", help="run tests that are marked to fail, too"
    )
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        sdists = options.sdists or work
        if options.sdists is None:
            download(sdists)
        (work / "block_originals.py").write_text(_BLOCK, encoding="utf-8")
        paths = [str(work), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        for name in PROJECTS:
            folder = work / name
            folder.mkdir()
            unpack(sdists, name, folder)
            command = [sys.executable, "-m", "pytest", "-q", "-rxXfE", "-p", "block_originals"]
            command += ["-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder)]
            command += ["--doctest-modules", "--import-mode=importlib"]
            command += ["--runxfail"] if options.ignore_expected else []
            print(f"== {name} {PROJECTS[name]}", flush=True)
            result = subprocess.run([*command, str(folder)], cwd=folder, env=environment)
            failures += result.returncode != 0
    return failures


if __name__ == "__main__":
    sys.exit(main())
