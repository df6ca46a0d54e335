"""Sessions for those who use nox, and for continuous integration: ``nox --list``.

On Linux and macOS the Makefile does the same for one version of Python; nox runs on Windows too,
and with several versions of Python.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["lint", "tests"]
nox.options.reuse_venv = "yes"

ROOT = Path(__file__).parent
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
#: The tests that run with the oldest versions of what partwise needs.
OLDEST_TESTS = [
    "tests/metrics",
    "tests/tasks/test_scikit_learn.py",
    "tests/tasks/sequences/test_classifier.py",
]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run all tests; what follows -- goes to pytest."""
    session.install("--editable", ".[test,plots]")
    session.run("python", "-m", "pytest", "-n", "2", *session.posargs)


@nox.session(python=PYTHONS)
def doctest(session: nox.Session) -> None:
    """Run the examples of docstrings and pages."""
    session.install("--editable", ".[test,plots]")
    examples = ["tests/test_doctests.py", "tests/test_readme.py", "tests/test_site.py"]
    session.run("python", "-m", "pytest", "-n", "2", *examples, *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types and the layers of the packages."""
    session.install("--editable", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    if sys.version_info >= (3, 11):  # the session has the Python of nox
        session.run("mypy")
    else:
        session.log("left out: types; the last numpy for Python 3.10 describes its own otherwise")
    session.run("lint-imports")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation in build/docs/html, with every warning an error."""
    session.install("--editable", ".[docs]")
    source, site = ROOT / "build/docs/source", ROOT / "build/docs/html"
    shutil.copytree(ROOT / "docs", source, dirs_exist_ok=True)
    strict = ["-W", "--keep-going", "--quiet"]
    session.run("python", "-m", "sphinx", *strict, "-b", "html", str(source), str(site))
    session.run("python", "tools/site_links.py", str(site))


@nox.session(python=PYTHONS[:3])
def oldest(session: nox.Session) -> None:
    """Run some tests with the oldest versions that pyproject.toml allows."""
    # The oldest versions of numpy and scipy have no wheels for later versions of Python.
    session.install("packaging", ".")
    wanted = session.run("python", "tools/oldest.py", "partwise", silent=True)
    constraints = Path(session.create_tmp()) / "oldest.txt"
    constraints.write_text(str(wanted), "utf-8")
    session.log(" ".join(str(wanted).split()))
    session.install("--constraint", str(constraints), ".[test]")
    chosen = session.posargs or OLDEST_TESTS
    session.run("python", "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", *chosen)


@nox.session
def newest(session: nox.Session) -> None:
    """Run all tests with the newest versions of everything, also those before a release."""
    session.install("--pre", "--upgrade", "--upgrade-strategy", "eager", ".[test,plots]")
    session.run("python", "-m", "pip", "list")
    session.run("python", "-m", "pytest", "-n", "2", *session.posargs)


@nox.session
def dist(session: nox.Session) -> None:
    """Build the archive of the sources and the wheel in dist/, and check both."""
    # Neither tool needs the package, nor what it depends on.
    session.install(*nox.project.load_toml()["project"]["optional-dependencies"]["dist"])
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    session.run("python", "-m", "build", "--quiet")
    built = sorted(str(path) for path in (ROOT / "dist").iterdir())
    session.run("python", "-m", "twine", "check", "--strict", *built)
    session.run("python", "tools/sdist_contents.py", _only(session, "*.tar.gz"))


@nox.session(python=PYTHONS)
def wheel(session: nox.Session) -> None:
    """Install the wheel of dist/ alone, away from the sources, and use it."""
    session.install(_only(session, "*-py3-none-any.whl"))
    session.chdir(session.create_tmp())
    session.run("python", str(ROOT / "tools/wheel_alone.py"))
    session.run("partwise", "demo")


@nox.session
def browser(session: nox.Session) -> None:
    """Test the page of ``partwise serve`` in Chromium, and its accessibility by axe-core.

    CHROMIUM and AXE_CORE name a browser and a file that are there already; what they do not name is
    downloaded.
    """
    session.install("--editable", ".[browser,plots]")
    where = "from playwright.sync_api import sync_playwright as s; p = s().start(); "
    where += "print(p.chromium.executable_path); p.stop()"
    if "CHROMIUM" not in os.environ:
        session.run("python", "-m", "playwright", "install", "--with-deps", "chromium")
        found = session.run("python", "-c", where, silent=True)
        session.env["CHROMIUM"] = str(found).strip()
    if "AXE_CORE" not in os.environ:
        folder = session.create_tmp()
        session.run("npm", "install", "--no-save", "--prefix", folder, "axe-core@4", external=True)
        session.env["AXE_CORE"] = str(Path(folder) / "node_modules/axe-core/axe.min.js")
    pages = [
        "tests/serve/test_browser.py",
        "tests/serve/test_accessibility.py",
        "tests/report/test_report_in_browser.py",
    ]
    session.run("python", "-m", "pytest", *pages, *session.posargs)


def _only(session: nox.Session, pattern: str) -> str:
    """Return the one file in dist/ that matches."""
    found = list((ROOT / "dist").glob(pattern))
    if len(found) != 1:
        session.error(f"dist/ has {len(found)} files {pattern} where one is needed: nox -s dist")
    return str(found[0])
