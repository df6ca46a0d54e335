"""docs/papers.md: what its tables name exists, and what they say is run as published runs."""

from __future__ import annotations

import json
import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from support.commands import training_file

from benchmarks.papers import all_figures
from benchmarks.papers.__main__ import main as draw
from partwise.cli import main

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/papers.md").read_text("utf-8")
CODE = re.compile(r"`([^`]+)`")
#: How the last column of a row begins.
STATES = ("same", "option", "impossible", "missing", "wrong")
FIGURES = {figure.key: figure for figure in all_figures()}


class Row(NamedTuple):
    paper: str
    item: str
    here: str
    published: str
    file: str
    test: str
    figure: str
    difference: str


def rows() -> list[Row]:
    found, paper = [], ""
    for line in PAGE.splitlines():
        if line.startswith("## "):
            paper = line[3:6]
        elif line.startswith("| ") and paper.isdigit() and not line.startswith("| In the paper"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            assert len(cells) == 7, line
            found.append(Row(paper, *cells))
    return found


ROWS = rows()
OPTIONS = sorted({text for row in ROWS for text in CODE.findall(row.published) if text[0] == "-"})
NAMES = sorted({text for row in ROWS for text in CODE.findall(row.published) if text[0] != "-"})


def test_every_paper_has_its_rows() -> None:
    assert {row.paper for row in ROWS} == {"000", "001", "002", "003", "004"}
    items = [(row.paper, row.item) for row in ROWS]
    assert len(items) == len(set(items))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.paper} {row.item[:40]}")
def test_what_a_row_names_exists(row: Row) -> None:
    assert row.difference.startswith(STATES)
    for name in CODE.findall(row.file):
        assert (ROOT / "src/partwise" / name).is_file() or (ROOT / name).is_file(), name
    for name in CODE.findall(row.test):
        file, _, function = name.partition("::")
        assert re.search(rf"^def {function}\(", (ROOT / file).read_text("utf-8"), re.M), name
    for name in CODE.findall(row.figure):
        _, paper, *what = shlex.split(name)
        assert f"{paper}-{'-'.join(what).removeprefix('--')}" in FIGURES, name


@pytest.mark.parametrize("name", NAMES)
def test_a_dotted_name_can_be_imported(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert hasattr(import_module(module), attribute)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("papers")


@pytest.mark.parametrize("options", OPTIONS)
def test_options_run(options: str, data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    given = shlex.split(options)
    task = given[given.index("--task") + 1]
    file = data / task
    if not file.exists():
        training_file(task, file)
    passes = () if "--max-passes" in given else ("--max-passes", "3")
    code = main(["train", *given, *passes, str(file), "--model", str(data / "model"), "-q"])
    assert code in (0, 3), capfd.readouterr().err


@pytest.mark.parametrize("key", FIGURES)
def test_a_figure_is_drawn(key: str, tmp_path: Path) -> None:
    paper, kind, *number = key.split("-")
    draw(["--quick", "--out", str(tmp_path), "--paper", paper, f"--{kind}", *number])
    outcome = json.loads((tmp_path / f"{key}.json").read_text("utf-8"))["outcome"]
    assert outcome["claims"]
    assert (tmp_path / f"{key}.png").exists() == bool(outcome["panels"])
    assert FIGURES[key].title in (tmp_path / "papers.md").read_text("utf-8")
