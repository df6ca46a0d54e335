"""Accessibility of every page and state, by axe-core: wide, on a phone, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import LOOKS, axe, browsing, check_access, page_of
from support.explained import case
from support.serving import Running, column_model, running

_MODELS = {
    "words": lambda: column_model(1),
    "tagger": lambda: case("tagger")[0],
    "parser": lambda: case("parser-labelled")[0],
    "brackets": lambda: case("brackets")[0],
    "classifier": lambda: case("classifier")[0],
    "graph": lambda: case("graph")[0],
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    axe()
    with browsing() as one:
        yield one


@pytest.fixture(scope="module")
def server(browser: Any) -> Iterator[Running]:
    with running({name: make() for name, make in _MODELS.items()}) as one:
        yield one


@pytest.mark.parametrize("look", LOOKS)
def test_every_state_of_the_page(browser: Any, server: Running, look: str) -> None:
    with page_of(browser, server.server.url, **LOOKS[look]) as page:
        page.wait_for_selector("#facts dl")
        check_access(page, "empty")
        page.click("#predict")
        page.wait_for_selector("#error:not([hidden])")
        check_access(page, "error")
        for model in _MODELS:
            page.select_option("#model", model)
            page.click("#sample")
            page.wait_for_selector("#results > li")
            for summary in page.locator("#results details:not([open]) > summary").all():
                summary.click()
            check_access(page, f"{model}: result")
            page.locator("#results button:visible").first.click()
            page.wait_for_selector("#why-body :is(.sum, .hint)")
            check_access(page, f"{model}: explanation")


@pytest.mark.parametrize("look", LOOKS)
def test_the_documents(browser: Any, server: Running, look: str) -> None:
    with page_of(browser, server.server.url + "docs", **LOOKS[look]) as page:
        page.wait_for_selector("section.card")
        for summary in page.locator("summary").all():
            summary.click()
        check_access(page, "docs")
