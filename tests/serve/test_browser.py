"""The page in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import browsing, page_of
from support.explained import case
from support.serving import SCRIPT, Running, column_model, hostile_model, running

_MODELS = {
    "words": lambda: column_model(1),
    "columns": lambda: column_model(2),
    "tagger": lambda: case("tagger")[0],
    "hinge": lambda: case("tagger-hinge")[0],
    "segmenter": lambda: case("segmenter")[0],
    "parser": lambda: case("parser-labelled")[0],
    "brackets": lambda: case("brackets")[0],
    "classifier": lambda: case("classifier")[0],
    "graph": lambda: case("graph")[0],
    SCRIPT: hostile_model,
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as one:
        yield one


@pytest.fixture(scope="module")
def server(browser: Any) -> Iterator[Running]:
    with running({name: make() for name, make in _MODELS.items()}) as one:
        yield one


@pytest.fixture
def page(browser: Any, server: Running) -> Iterator[Any]:
    with page_of(browser, server.server.url) as one:
        yield one


def _choose(page: Any, model: str) -> None:
    page.select_option("#model", model)
    page.wait_for_selector(f"#facts strong:text-is({model!r})" if model != SCRIPT else "#facts dl")


def _predict(page: Any) -> None:
    page.click("#predict")
    page.wait_for_selector("#results > li")


def _fill_tree(page: Any) -> None:
    """Predict a sentence that the grammar derives."""
    model, trees, _ = case("brackets")
    tree = next(tree for tree, label in zip(trees, model.k_best(trees[:20]), strict=False)
                if label[0][0] > -1e300)  # fmt: skip
    pairs = zip(tree.words, tree.tags, strict=True)
    page.fill("#given", "\n".join(f"{word}\t{tag}" for word, tag in pairs))
    page.click("#predict")
    page.wait_for_selector("#results > li")


def _explained(page: Any) -> str:
    page.wait_for_selector("#why .sum")
    text: str = page.inner_text("#why")
    return text


def test_text_to_spans_to_an_explanation(page: Any, server: Running) -> None:
    _choose(page, "words")
    page.fill("#given", "The dog saw Anna Bell. Anna saw a dog.")
    _predict(page)
    assert page.locator("#results > li").count() == 2
    assert page.inner_text("#status") == "2 results"
    button = page.get_by_role("button", name=re.compile(r"Anna Bell\s*:\s*PER\s*,\s*probability"))
    assert button.count() == 1
    button.click()
    text = _explained(page)
    assert "Why “Anna Bell”?" in text
    assert "B-PER" in text
    assert "I-PER" in text
    assert "Spoke for it" in text
    assert "U0:Anna" in text
    assert button.get_attribute("aria-pressed") == "true"


def test_everything_works_by_keyboard(page: Any) -> None:
    _choose(page, "words")
    page.focus("#given")
    page.keyboard.type("Anna saw a dog.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#results > li")
    assert page.evaluate("document.activeElement.id") == "result-title"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").startswith("Anna")
    page.keyboard.press("Enter")
    _explained(page)
    assert page.evaluate("document.activeElement.id") == "why-title"
    page.keyboard.press("Escape")
    assert page.is_hidden("#why")
    assert page.evaluate("document.activeElement.textContent").startswith("Anna")


@pytest.mark.parametrize("model", [name for name in _MODELS if name != SCRIPT])
def test_the_example_of_every_model_is_predicted_and_explained(page: Any, model: str) -> None:
    _choose(page, model)
    page.click("#sample")
    page.wait_for_selector("#results > li")
    assert page.is_hidden("#error")
    if model == "brackets":
        # Its grammar, which derives only what is like its training data, has no tree for it.
        _fill_tree(page)
        page.locator("#results summary").first.click()
    page.locator("#results button").first.click()
    assert "Together:" in _explained(page)


def test_arcs_are_drawn_and_can_be_clicked(page: Any) -> None:
    _choose(page, "parser")
    page.select_option("#mode", "text")
    page.fill("#given", "one two three")
    _predict(page)
    assert page.locator("svg .arc").count() == 3
    assert page.locator("#results div > details tbody tr").count() == 3
    page.locator("svg .arc text").first.click()
    assert "the head of" in _explained(page)
    assert page.locator("svg .arc.chosen").count() == 1


def test_trees_are_drawn_and_can_be_clicked(page: Any) -> None:
    _choose(page, "brackets")
    _fill_tree(page)
    phrases = page.locator("#results div > details tbody tr").count()
    assert page.locator("svg .node").count() > phrases > 0
    page.locator("#results summary").first.click()
    page.locator("svg .node text").first.click()
    assert "Together:" in _explained(page)


def test_classes_have_bars_and_alternatives(page: Any) -> None:
    _choose(page, "classifier")
    page.fill("#given", "1:1 3:-0.5\n0.1 0.2 0.3 0.4 0.5")
    _predict(page)
    assert page.locator("#results > li").count() == 2
    assert page.locator("#results > li:first-child .bars li").count() == 4
    page.locator("#results summary").first.click()
    assert page.locator("#results > li:first-child tbody tr").count() == 4


def test_models_without_probabilities_say_so(page: Any) -> None:
    _choose(page, "hinge")
    page.click("#sample")
    page.wait_for_selector("#results > li")
    assert "no probabilities" in page.inner_text("#result-hint")
    assert "%" not in page.inner_text("#results")


@pytest.mark.parametrize(
    ("name", "text", "model", "results"),
    [
        ("words.txt", "Anna saw.\nThe dog.\n", "words", 2),
        ("data.txt", "Anna a NP\nsaw w O\n\nBell l NP\n", "columns", 2),
        ("some.conllu", "# text = a b\n1\ta\t_\tX\tY\t_\t2\tz\t_\t_\n2\tb" + "\t_" * 8 + "\n",
         "parser", 1),
        ("rows.svm", "a 1:1 2:3\nb 5:1\n", "classifier", 2),
        ("some.jsonl", '{"tokens": ["Anna"]}\n{"text": "Bell. Anna."}\n', "words", 3),
    ],
)  # fmt: skip
def test_files_can_be_opened(
    page: Any, tmp_path: Path, name: str, text: str, model: str, results: int
) -> None:
    _choose(page, model)
    (tmp_path / name).write_text(text, "utf-8")
    page.set_input_files("#file", tmp_path / name)
    page.wait_for_selector(f"#status:has-text({name!r})")
    _predict(page)
    assert page.locator("#results > li").count() == results


def test_a_file_can_be_dropped(page: Any) -> None:
    _choose(page, "words")
    transfer = page.evaluate_handle(
        "() => { const t = new DataTransfer();"
        " t.items.add(new File(['Anna saw.'], 'a.txt', {type: 'text/plain'})); return t; }"
    )
    page.dispatch_event("#drop", "drop", {"dataTransfer": transfer})
    page.wait_for_selector("#status:has-text('a.txt')")
    assert page.input_value("#given") == "Anna saw."


def test_errors_are_told_in_place(page: Any) -> None:
    _choose(page, "columns")
    page.fill("#given", "Anna a\nsaw\n")
    page.click("#predict")
    page.wait_for_selector("#error:not([hidden])")
    assert "inputs[0].tokens[1]" in page.inner_text("#error")
    page.fill("#given", "  ")
    page.click("#predict")
    assert "nothing to predict" in page.inner_text("#error")
    assert page.is_visible("#empty")


def test_a_server_that_has_gone_is_told(browser: Any) -> None:
    with running({"words": column_model(1)}) as own:
        context = browser.new_context()
        page = context.new_page()
        page.goto(own.server.url)
        page.wait_for_selector("#facts dl")
    page.fill("#given", "Anna")
    page.click("#predict")
    page.wait_for_selector("#error:not([hidden])")
    assert "does not answer" in page.inner_text("#error")
    context.close()


def test_markup_stays_text_everywhere(page: Any) -> None:
    _choose(page, SCRIPT)
    page.select_option("#mode", "json")
    token = f'{{"w": "{_escaped(SCRIPT)}", "{_escaped(SCRIPT)}": "a"}}'
    page.fill("#given", f'{{"tokens": [{token}, {{"w": "<b>b</b>"}}, {{"w": "c"}}, {{"w": "b"}}]}}')
    _predict(page)
    assert SCRIPT in page.inner_text("#results")
    assert "<b>b</b>" in page.inner_text("#results")
    page.locator("#results button").first.click()
    assert SCRIPT in _explained(page)
    for button in page.locator("#results button").all()[1:]:
        button.click()
        assert "Together:" in _explained(page)
    assert SCRIPT in page.inner_text("#facts")
    assert page.evaluate("document.scripts.length") == 1
    assert page.locator("#results b, #results img, #facts img, #why img").count() == 0
    assert page.title() == "partwise: try a model"
    page.goto(page.url.split("#")[0] + "docs")
    page.wait_for_selector("pre")
    assert SCRIPT in page.inner_text("#main")
    assert page.title() == "partwise: API"


def _escaped(text: str) -> str:
    return text.replace('"', '\\"')


def test_inline_scripts_are_refused_by_the_policy(browser: Any, server: Running) -> None:
    page = browser.new_page()
    page.goto(server.server.url)
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); }"
    )
    assert page.evaluate("() => window.ran") is None
    page.close()


def test_the_documents_are_drawn(page: Any, server: Running) -> None:
    page.goto(server.server.url + "docs")
    page.wait_for_selector("section.card")
    assert page.locator("section.card").count() == 6
    assert "curl -s" in page.inner_text("#paths")
