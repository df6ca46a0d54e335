"""Accessibility of every page and state, by axe-core: wide, on a phone, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import axe, browsing, page_of
from support.explained import case
from support.serving import Running, column_model, running

_LOOKS: dict[str, dict[str, Any]] = {
    "wide": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True},
    "phone-dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}
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


def _check(page: Any, state: str) -> None:
    """Fail for what axe finds serious or critical, and for a page wider than the screen."""
    # Evaluated by the browser's tools, which the policy of the page does not concern.
    page.evaluate(axe().read_text("utf-8"))
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    bad = [
        (one["id"], one["impact"], [node["html"][:120] for node in one["nodes"][:3]])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert bad == [], state
    wide = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0, state


@pytest.mark.parametrize("look", _LOOKS)
def test_every_state_of_the_page(browser: Any, server: Running, look: str) -> None:
    with page_of(browser, server.server.url, **_LOOKS[look]) as page:
        page.wait_for_selector("#facts dl")
        _check(page, "empty")
        page.click("#predict")
        page.wait_for_selector("#error:not([hidden])")
        _check(page, "error")
        for model in _MODELS:
            page.select_option("#model", model)
            page.click("#sample")
            page.wait_for_selector("#results > li")
            for summary in page.locator("#results details:not([open]) > summary").all():
                summary.click()
            _check(page, f"{model}: result")
            page.locator("#results button:visible").first.click()
            page.wait_for_selector("#why-body :is(.sum, .hint)")
            _check(page, f"{model}: explanation")


@pytest.mark.parametrize("look", _LOOKS)
def test_the_documents(browser: Any, server: Running, look: str) -> None:
    with page_of(browser, server.server.url + "docs", **_LOOKS[look]) as page:
        page.wait_for_selector("section.card")
        for summary in page.locator("summary").all():
            summary.click()
        _check(page, "docs")
