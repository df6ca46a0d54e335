"""The documentation as far as it can be checked without Sphinx; ``make docs`` builds it."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from partwise.solvers.papers import Paper
from partwise.solvers.registry import SOLVERS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
sys.path[:0] = [str(DOCS), str(ROOT / "tools")]

import site_links  # noqa: E402
from generated_pages import ROOT_PAGES, paper_page, reference_page, root_page  # noqa: E402

#: Pages that are made when the site is built.
MADE = {"api/index", "tutorials/index", *ROOT_PAGES}
PAGES = {path.relative_to(DOCS).with_suffix("").as_posix(): path for path in DOCS.rglob("*.md")}
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.M | re.S)
ANCHOR = re.compile(r"\]\(([\w./-]*)#([\w-]+)\)")


def entries(page: str) -> list[str]:
    """The pages that the contents of a page list."""
    folder = page.rpartition("/")[0]
    listed = [line for tree in TREE.findall(PAGES[page].read_text("utf-8")) for line in
              tree.splitlines() if line and not line.startswith(":")]  # fmt: skip
    return [f"{folder}/{name}" if folder else name for name in listed]


def configuration() -> dict[str, ast.expr]:
    tree = ast.parse((DOCS / "conf.py").read_text("utf-8"))
    return {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def test_every_page_is_in_the_contents_once() -> None:
    seen: list[str] = []
    waiting = ["index"]
    while waiting:
        page = waiting.pop()
        seen.append(page)
        if page in PAGES:
            waiting += entries(page)
    assert sorted(set(seen)) == sorted(seen), "a page is listed twice"
    assert set(seen) <= PAGES.keys() | MADE, "the contents list pages that are not there"
    assert PAGES.keys() <= set(seen), "pages that no contents list"


def test_the_site_loads_nothing_from_elsewhere() -> None:
    found = configuration()
    extensions = ast.literal_eval(found["extensions"])
    assert "sphinx.ext.intersphinx" not in extensions
    assert ast.literal_eval(found["nitpicky"]) is True
    for path in (DOCS / "_static").iterdir():
        assert "//" not in path.read_text("utf-8").replace("/*", "").replace("*/", ""), path


def test_warnings_are_errors() -> None:
    make = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(r"^\t\$\(BIN\)/python -m sphinx -W --keep-going ", make, re.M)
    assert "tools/site_links.py build/docs/html" in make


def slug(heading: str) -> str:
    """The name of a heading in links, as GitHub and MyST make it."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


@pytest.mark.parametrize("page", PAGES)
def test_links_to_headings(page: str) -> None:
    for target, anchor in ANCHOR.findall(PAGES[page].read_text("utf-8")):
        path = (PAGES[page].parent / target).resolve() if target else PAGES[page]
        headings = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.M)
        assert anchor in {slug(heading) for heading in headings}, (target, anchor)


def test_the_page_of_papers_has_all_solvers() -> None:
    page = paper_page()
    for name in SOLVERS:
        if SOLVERS.built_in(name) and name != "auto":
            assert f"| `{name}` |" in page
            for paper in SOLVERS[name].papers:
                assert isinstance(paper, Paper)
                assert paper.title in page


def test_the_reference_lists_names() -> None:
    page = reference_page()
    assert "\n   partwise.SequenceTagger\n" in page
    assert "\n   partwise.formats.read_columns\n" in page
    for title in re.findall(r"^(.+)\n-+$", page, re.M):
        assert page.count(f"\n{title}\n{'-' * len(title)}\n") == 1


def test_messages_name_pages_by_titles_that_there_are() -> None:
    titles = {path.read_text("utf-8").partition("\n")[0].removeprefix("# ") for path in
              PAGES.values()}  # fmt: skip
    named = []
    for path in (ROOT / "src").rglob("*.py"):
        source = path.read_text("utf-8")
        # An installed package has no such files.
        assert not re.search(r"docs/[\w/-]+\.md", source), path
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named += re.findall(r"on the page '([^']+)'", node.value)
    assert named
    assert set(named) <= titles


def test_links_of_files_at_the_root() -> None:
    text = "[docs/a.md](docs/a.md), [x](docs/a.md#b), [L](LICENSE), [w](https://w.org/)"
    assert root_page(text) == "[a.md](a.md), x, L, [w](https://w.org/)"


def test_tutorials() -> None:
    examples = sorted((DOCS / "examples").glob("*.py"))
    assert len(examples) == 6
    for path in examples:
        first = ast.get_docstring(ast.parse(path.read_text("utf-8")))
        assert first is not None
        title, rule = first.splitlines()[:2]
        assert rule == "=" * len(title)


SOUND = """<html id="top"><head><link rel="stylesheet" href="a.css"><link rel="next" href="b.html">
<script src="a.js"></script></head><body><h1 id="here">x</h1><a href="#here">x</a>
<a href="b.html#there">x</a><a href="https://elsewhere.org/">x</a><img src="data:,x">
</body></html>"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "index.html").write_text(SOUND, "utf-8")
    (tmp_path / "b.html").write_text('<p id="there">x</p>', "utf-8")
    (tmp_path / "a.css").write_text("p { background: url(a.js) } /* url(//x.org/) */", "utf-8")
    (tmp_path / "a.js").write_text("", "utf-8")
    return tmp_path


def test_a_sound_site(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "_static").mkdir()
    (site / "_static" / "template.html").write_text('<a href="{{ page }}">x</a>', "utf-8")
    assert site_links.main([str(site)]) == 0
    assert capsys.readouterr().out == "3 pages, 0 dead links or addresses of elsewhere\n"


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("b.html", '<a href="c.html">x</a><p id="there">', "b.html: c.html leads to no file"),
        ("b.html", "<p>x</p>", "index.html: b.html#there leads to a page without that place"),
        ("b.html", '<p id="there"><a href="#no">', "b.html: #no leads to a page without"),
        ("a.css", "@import '//x.org/a.css';", "a.css: loads //x.org/a.css"),
        ("a.css", "p { background: url(gone.png) }", "a.css: gone.png leads to no file"),
        ("b.html", '<p id="there"><img src="https://x.org/a.png">', "b.html: loads https://x.org"),
        ("b.html", '<p id="there" style="background: url(http://x.org/)">', "b.html: loads http:"),
        ("b.html", '<p id="there"><style>@import "http://x.org/";</style>', "b.html: loads http:"),
        ("b.html", '<p id="there"><img srcset="a.js 1x, //x.org/b 2x">', "b.html: loads //x.org/b"),
    ],
)
def test_faults_of_a_site(
    site: Path, file: str, text: str, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / file).write_text(text, "utf-8")
    assert site_links.main([str(site)]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert errors[0].startswith(fault)


def test_a_folder_without_pages_is_refused(tmp_path: Path) -> None:
    assert site_links.main([str(tmp_path)]) == 2
    assert site_links.main([]) == 2
