"""Explanations as JSON, as text and as HTML, and the names that they give to features."""

from __future__ import annotations

import doctest
import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from support.explained import CASES, case

import partwise.models.explained
from partwise import (
    GraphLabeler,
    LinearClassifier,
    SegmentTagger,
    SequenceTagger,
    load_model,
    save_model,
)
from partwise.explain import Difference, Explanation, Explanations, Part, RunnerUp
from partwise.explain.explanation import apart
from partwise.models.hashed_names import HashedNames, hashed_numbers, mixed
from partwise.models.numbered import NumberedFeatures
from partwise.problem.storage import Layout
from partwise.tasks.label_form import at, over

SCRIPT = "<script>alert('x')</script>&\"'"


class Tags(HTMLParser):
    """Collects the tags, the attributes and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Tags:
    found = Tags()
    found.feed(page)
    found.close()
    assert found.open == []
    assert found.tags <= {
        "div", "p", "b", "details", "summary", "table", "caption", "thead", "tbody", "tr", "th",
        "td",
    }  # fmt: skip
    assert found.attributes <= {"class", "style", "scope"}
    return found


@pytest.mark.parametrize("name", CASES)
def test_every_explanation_can_be_shown(name: str) -> None:
    model, X, more = case(name)
    found = model.explain(X[:2], **{key: held[:2] for key, held in more.items()})
    assert isinstance(found, Explanations)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()
    page = read(found._repr_html_())
    for one, plain in zip(found, found.to_dict(), strict=True):
        assert isinstance(one, Explanation)
        assert plain["score"] == one.score
        assert len(plain["parts"]) == len(one.parts)
        for part, held in zip(one.parts, plain["parts"], strict=True):
            rival = held["runner_up"]
            assert (None if rival is None else rival["margin"]) == part.margin
            assert held["place"] == list(part.place)
            assert [c["product"] for c in held["contributions"]] == [
                c.product for c in part.contributions
            ]
            assert f"{part.title}: {part.label}" in one.to_text()
            assert part.label in page.text


def test_loaded_models_explain_the_same(tmp_path: Any) -> None:
    for name in ("tagger", "parser-labelled", "brackets", "segmenter", "graph", "kernel-tagger"):
        model, X, _ = case(name)
        save_model(model, tmp_path / name)
        loaded = load_model(tmp_path / name)
        assert loaded.explain(X[:2]).to_dict() == model.explain(X[:2]).to_dict()
        assert str(loaded.explain_weights(5, transitions="kernel" in name)) == str(
            model.explain_weights(5, transitions="kernel" in name)
        )


def test_a_script_stays_text() -> None:
    X = [[{"word": SCRIPT}, {"word": "b"}], [{"word": "b"}, {SCRIPT: 2.0}]]
    tagger = SequenceTagger(l2=0.1).fit(X, [[SCRIPT, "B"], ["B", SCRIPT]])
    assert tagger.explain(X)[0].parts[0].text == SCRIPT
    examples = [{"domains": ["label"], "factors": {SCRIPT: ([[0]], [{"f": SCRIPT}])}}]
    graph = GraphLabeler().fit([*examples, *examples, *examples], [[SCRIPT], [SCRIPT], ["b"]])
    for page in (
        tagger.explain(X)._repr_html_(),
        tagger.explain_weights()._repr_html_(),
        graph.explain(examples)._repr_html_(),
        graph.explain_weights(top=None)._repr_html_(),
    ):
        assert "<script" not in page
        assert SCRIPT in read(page).text


def test_lines_and_control_characters_stay_on_their_line() -> None:
    odd = "a\nb\x1b[31m\u2028c"
    X = [[{"w": odd}], [{"w": "b"}]]
    tagger = SequenceTagger().fit(X, [[odd], ["B"]])
    for text in (str(tagger.explain(X[:1])), str(tagger.explain_weights())):
        assert "\x1b" not in text
        assert "\u2028" not in text
        assert r"a\nb\x1b[31m\u2028c" in text


def test_html_is_readable_on_light_and_dark_pages() -> None:
    model, X, _ = case("tagger")
    page = model.explain(X[:1])._repr_html_()
    # No colour of text is set, so that it is that of the page; backgrounds are transparent.
    assert set(re.findall(r"(?<!-)\bcolor: ([^;]+);", page)) == {"inherit"}
    for alpha in re.findall(r"background: rgba\(\d+, \d+, \d+, ([\d.]+)\)", page):
        assert 0.0 < float(alpha) <= 0.4


def test_top_of_text() -> None:
    model, X, _ = case("parser-labelled")
    one = model.explain(X[:1])[0]
    n = len(one.parts[0].contributions)
    assert n > 5
    block = one.to_text(top=2).split("\n\n")[1].split("\n")
    assert block[3].split()[1:] == [f"{n - 2}", "more"]
    shown = [float(line.split()[0]) for line in block[1:4]]
    assert sum(shown) == pytest.approx(one.parts[0].score, abs=5e-4)
    assert " more" not in one.to_text(top=None)


def test_speaking_for_and_against() -> None:
    model, X, _ = case("tagger")
    for part in model.explain(X[:1])[0].parts:
        plus, minus = part.speaking_for(), part.speaking_against()
        assert [*plus, *reversed(minus)] == list(part.contributions)
        assert all(one.product > 0 for one in plus)
        assert all(one.product < 0 for one in minus)


# Names behind slots


def behind(name: str, kind: str) -> list[tuple[int, list[str]]]:
    """The slots of a kind of site in some explanations, and the names that were hashed there."""
    model, X, more = case(name)
    found = []
    for one in model.explain(X[:4], **{key: held[:4] for key, held in more.items()}):
        for part in one.parts:
            for held in part.contributions:
                match = re.fullmatch(r"hash (\d+) of (\d+)(?:: (.*))?", held.feature, re.S)
                if match and held.kind == kind:
                    assert match[3], held
                    found.append((int(match[1]), match[3].split(" or ")))
    assert found
    return found


@pytest.mark.parametrize(
    ("name", "kind", "n"),
    [
        ("tagger-hashed", "label", 64), ("tagger-steps-hashed", "transition", 256),
        ("segmenter-hashed", "segment", 256), ("segmenter-hashed", "position", 256),
        ("graph-hashed", "word", 16),
    ],
)  # fmt: skip
def test_names_that_were_hashed(name: str, kind: str, n: int) -> None:
    for slot, names in behind(name, kind):
        assert HashedNames(n).find(names).tolist() == [slot] * len(names)


def test_columns_that_were_hashed() -> None:
    for slot, names in behind("classifier-hashed", "label"):
        numbers = np.array([int(name[1:]) for name in names])
        assert (hashed_numbers(mixed(numbers), 8) == slot).all()


def test_arcs_and_spans_that_were_hashed() -> None:
    model, _, _ = case("parser-hashed")
    for _, names in behind("parser-hashed", "arc"):
        for name in names:
            assert re.match(r"[hmb][+-]?\d?\.\w+=", name)
    listed = case("parser-labelled")[0]
    table = listed.features.arc_table
    known = set(table.describe_keys(table.keys))
    hashed = {name for _, names in behind("parser-hashed", "arc") for name in names}
    # Hashing knows no features, so that it also has those that were not seen in training.
    assert len(hashed & known) > 0.3 * len(hashed)
    assert model.features.arc_table.n_hashed
    for kind in ("span", "word"):
        for _, names in behind("brackets-hashed", kind):
            assert all("=" in name for name in names)


def test_supporting_positions() -> None:
    model, X, _ = case("kernel-classifier")
    support = model.features.support
    one = model.explain(X[:1], supports=3)[0]
    (part,) = one.parts
    k = model.label_index[part.label]
    near = support.kernel.gram(_rows(X[:1]), support.rows)[0]
    products = near * support.coef[:, k]
    largest = np.argsort(-abs(products))[:3]
    named = {f"training position {support.index[j]}": products[j] for j in largest}
    found = {held.feature: held.product for held in part.contributions}
    for name, product in named.items():
        assert found.pop(name) == pytest.approx(product)
    (rest,) = (v for name, v in found.items() if "further supporting" in name)
    assert rest == pytest.approx(products.sum() - sum(named.values()))
    whole = model.explain(X[:1], supports=10_000)[0]
    assert not any("further" in held.feature for held in whole.parts[0].contributions)
    assert len(whole.parts[0].contributions) > 10


def _rows(X: Any) -> Any:
    from partwise.problem.rows import Rows

    return Rows.from_dense(X)


def test_rows_and_shapes() -> None:
    """A model whose features only have numbers is explained from rows."""
    model, X, _ = case("classifier")
    from dataclasses import replace

    numbered = replace(model, features=NumberedFeatures(model.layout.n_features))
    assert isinstance(numbered.layout, Layout)
    rows = _rows(X[:2]).append_constant(1.0)
    found = numbered.explain([rows], [1, 1])
    same = model.explain(X[:2])
    for one, other in zip(found, same, strict=True):
        assert one.score == other.score
        assert [c.product for c in one.parts[0].contributions] == [
            c.product for c in other.parts[0].contributions
        ]


def test_estimators_explain_as_their_models_do() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20, 2)), ["a", "b"] * 10
    classifier = LinearClassifier().fit(X, y)
    assert classifier.explain(X[:2]).to_dict() == classifier.model_.explain(X[:2]).to_dict()
    assert str(classifier.explain_weights(3)) == str(classifier.model_.explain_weights(3))
    with pytest.raises(ValueError, match="features"):
        classifier.explain(X[:, :1])
    sequences = [X[:3], X[3:5]]
    tagger = SequenceTagger().fit(sequences, [["a", "b", "a"], ["b", "a"]])
    stacked = tagger.explain(X[:5], lengths=[3, 2])
    assert stacked.to_dict() == tagger.explain(sequences).to_dict()
    assert tagger.explain(sequences, fixed=[{0: "b"}, None])[0].parts[0].label == "b"


def test_examples_in_docstrings() -> None:
    failed, tried = doctest.testmod(partwise.models.explained)
    assert tried > 6
    assert failed == 0


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("2", '"2"'), ("1/2", '"1/2"'), ("½ cup", '"½ cup"'), ("-3", '"-3"'), ("cat", "cat"),
     ("B2", "B2"), (",", ","), ("", "")],
)  # fmt: skip
def test_numbers_are_apart_from_positions(text: str, wanted: str) -> None:
    assert apart(text) == wanted


def test_numeric_tokens_are_in_quotes() -> None:
    X = [[{"word": "2"}, {"word": "cups"}], [{"word": "3"}, {"word": "g"}]]
    y = [["B-QTY", "B-UNIT"], ["B-QTY", "O"]]
    tagger = SequenceTagger(l2=0.1).fit(X, y)
    found = tagger.explain(X[:1])
    assert [part.title for part in found[0].parts] == ['position 0 "2"', "position 1 cups"]
    assert [part.text for part in found[0].parts] == ["2", "cups"]
    text = found.to_text(top=None)
    assert 'position 0 "2": B-QTY' in text
    assert re.search(r'\[label 0 "2" B-QTY, not \S+\]', text)
    assert re.search(r"\[label 1 cups B-UNIT, not O\]", text)
    assert 'position 0 "2": B-QTY' in read(found._repr_html_()).text
    segments = SegmentTagger(l2=0.1).fit(X, y).explain(X[:1])[0]
    assert segments.parts[0].title == 'segment 0-1 "2"'


def test_what_only_the_runner_up_has() -> None:
    rows = (Difference("", "transition", "constant", "", "O -> B", -1.0, 0.75, -0.75),)
    part = Part("position", (1,), "cups", "O", 1.0, None, (), RunnerUp("B", 0.5, rows))
    found = Explanation("tag", "log", ["O"], 1.0, None, (part,))
    assert "constant  [transition O -> B, in the runner-up]  = -1 x 0.75" in found.to_text()
    assert "O -> B, in the runner-up" in read(found._repr_html_()).text


def test_arcs_and_phrases_quote_numbers() -> None:
    words = ["2", "cats"]
    assert at(words, 0, 1) == '1 "2"'
    assert at(words, 1) == "1 cats"
    assert at(words, 5) == "5"
    assert at([""], 0) == "0"
    assert over(words, 0, 2) == '0-2 "2 cats"'
    assert over([], 0, 2) == "0-2"
