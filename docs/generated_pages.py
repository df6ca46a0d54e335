"""Pages that are made from the package: the papers, the reference, and files at the root.

Nothing here needs Sphinx.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from public_names import FURTHER, SECTIONS

from partwise.solvers.facts import SolverFacts, facts_of
from partwise.solvers.papers import Paper
from partwise.solvers.registry import SOLVERS

__all__ = ["paper_page", "reference_page", "root_page", "write_pages"]

#: Pages of the site, and the files at the root of the repository that they show.
ROOT_PAGES: Final = {"changelog": "CHANGELOG.md", "contributing": "CONTRIBUTING.md"}
_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")

_PAPERS = """
## Which papers a solver comes from

This table is made from the solvers themselves, so it names all of them. [Solvers](solvers.md) says
which one to use, and `partwise solvers NAME` describes one.

"""
_REFERENCE = """Reference
=========

Everything here is loaded when it is first used, so that ``import partwise`` is fast.
"""


def paper_page() -> str:
    """Return the page of papers, with a table of which solver comes from which paper."""
    solvers: dict[Paper, list[SolverFacts]] = {}
    for name in SOLVERS:
        if SOLVERS.built_in(name) and name != "auto":
            facts = facts_of(SOLVERS[name])
            for paper in facts.papers:
                solvers.setdefault(paper, []).append(facts)
    rows = ["| paper | solver | what it is |", "|---|---|---|"]
    for paper in sorted(solvers, key=lambda paper: (paper.citation, paper.title)):
        for place, facts in enumerate(solvers[paper]):
            cited = "" if place else f"{paper.citation}. *{paper.title}*. {paper.place}."
            rows.append(f"| {cited} | `{facts.name}` | {facts.summary} |")
    written = Path(__file__).with_name("papers.md").read_text("utf-8")
    return written + _PAPERS + "\n".join(rows) + "\n"


def reference_page() -> str:
    """Return the page that lists all public names; each gets a page of its own."""
    parts = [_REFERENCE]
    for section in (*SECTIONS, FURTHER):
        text = section.text.replace("`", "``")
        names = "\n".join(f"   {name}" for name in section.names)
        parts.append(
            f"{section.title}\n{'-' * len(section.title)}\n\n{text}\n\n"
            f".. autosummary::\n   :toctree: generated\n\n{names}\n"
        )
    return "\n".join(parts)


def root_page(text: str) -> str:
    """Return the text of a file at the root, with links that lead to the pages of the site.

    Files that are not on the site are named without a link.
    """

    def link(found: re.Match[str]) -> str:
        target = found[2]
        if target.startswith("docs/") and target.endswith(".md"):
            return f"[{found[1].removeprefix('docs/')}]({target.removeprefix('docs/')})"
        return found[1]

    return _LINK.sub(link, text)


def write_pages(folder: Path) -> None:
    """Write the pages into the folder of the sources; those that are the same stay as they are."""
    root = next(parent for parent in folder.parents if (parent / "pyproject.toml").exists())
    pages = {"papers.md": paper_page(), "api/index.rst": reference_page()}
    for page, file in ROOT_PAGES.items():
        pages[f"{page}.md"] = root_page((root / file).read_text("utf-8"))
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        # Sphinx reads again what has a new time.
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
