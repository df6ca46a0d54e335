"""Reports in a real browser: their accessibility on every screen, and markup that stays text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import LOOKS, axe, browsing, check_access, page_of
from support.report_data import HOSTILE, hostile_tagger, model_and_data

from partwise.cli import main

_MODELS = ("tag", "tag-hinge", "segment", "parse-labelled", "brackets", "classify", "graph")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as one:
        yield one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


def _report(model: Path, data: Path) -> str:
    page = model.parent / f"{model.name}.html"
    if not page.exists():
        assert main(["report", str(model), str(data), "--output", str(page), "-q"]) == 0
    return page.as_uri()


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", _MODELS)
def test_everybody_can_read_a_report(browser: Any, folder: Path, name: str, look: str) -> None:
    axe()
    with page_of(browser, _report(*model_and_data(folder, name)), **LOOKS[look]) as page:
        for summary in page.locator("details:not([open]) > summary").all():
            summary.click()
        check_access(page, name)


def test_markup_stays_text_in_a_report(browser: Any, tmp_path: Path) -> None:
    with page_of(browser, _report(*hostile_tagger(tmp_path))) as page:
        assert HOSTILE in page.inner_text("body")
        assert page.evaluate("document.scripts.length") == 0
        assert page.locator("img, iframe, object, embed").count() == 0
