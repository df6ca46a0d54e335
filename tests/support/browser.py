"""A real browser for the tests of the page, and a checker of accessibility.

The tests need Playwright's Python package and a Chromium: on Debian,
``apt-get install chromium && pip install playwright``. The accessibility of the page is checked by
axe-core, whose file the environment variable AXE_CORE names: ``npm install axe-core`` puts it at
``node_modules/axe-core/axe.min.js``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

#: The screens on which pages are looked at.
LOOKS: dict[str, dict[str, Any]] = {
    "wide": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True},
    "phone-dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}


def chromium() -> str:
    """Return the path of a browser, or skip the test and say how to install one."""
    pytest.importorskip(
        "playwright", reason="the page is tested in a browser: pip install playwright"
    )
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if found is None:
        pytest.skip("the page is tested in Chromium: apt-get install chromium, or set CHROMIUM")
    return found


def axe() -> Path:
    """Return the file of axe-core, or skip the test and say how to get it."""
    found = os.environ.get("AXE_CORE")
    if found is None:
        pytest.skip(
            "accessibility is checked by axe-core: npm install axe-core, and set AXE_CORE to "
            "node_modules/axe-core/axe.min.js"
        )
    return Path(found)


@contextmanager
def browsing() -> Iterator[Any]:
    """Start a browser."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def page_of(browser: Any, url: str, **options: Any) -> Iterator[Any]:
    """Open a page, and fail if it makes an error or asks another server for anything."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda one: wrong.append(one.text) if one.type == "error" else None)
    origin = url.split("/", 3)[2]
    page.on("request", lambda one: wrong.append(one.url) if f"//{origin}/" not in one.url else None)
    page.goto(url)
    try:
        yield page
    finally:
        context.close()
    # An answer that refuses a request is logged by the browser, and shown by the page.
    assert [text for text in wrong if "Failed to load resource" not in text] == []


def check_access(page: Any, state: str) -> None:
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
