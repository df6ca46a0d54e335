from __future__ import annotations

import contextlib
import io
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.commands import Run, one_object, runner, sentence
from support.report_data import HOSTILE, MODELS, hostile_tagger, model_and_data

from partwise import load_model
from partwise.cli import main
from partwise.tasks.registry import task_of

EMPTY = {"meta", "br", "hr", "path", "rect", "line", "circle", "polyline", "polygon"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


class Page(HTMLParser):
    """Reads a page strictly: every element is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in EMPTY
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def check(text: str) -> Page:
    """Check what every page promises, and return it."""
    page = Page(text)
    assert text.startswith('<!doctype html>\n<html lang="en">')
    policy = [a["content"] for tag, a in page.attributes if "http-equiv" in a]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    assert not {"script", "img", "link", "iframe", "object", "embed", "form"} & set(page.names)
    for tag, attributes in page.attributes:
        assert not [name for name in attributes if name.startswith("on")]
        assert not [name for name in attributes if name in ("src", "srcset", "action", "style")]
        assert (attributes.get("href") or "#").startswith("#")
        if tag == "th":
            assert attributes["scope"] in ("col", "row")
        if tag == "svg":
            named = attributes.get("role") == "img" and attributes.get("aria-label")
            assert named or attributes.get("aria-hidden") == "true"
    assert "url(" not in text
    assert "@import" not in text
    assert page.names.count("table") == page.names.count("caption")
    levels = [int(name[1]) for name in page.names if re.fullmatch("h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    ids = [a["id"] for _, a in page.attributes if "id" in a]
    assert len(set(ids)) == len(ids)
    links = {(a["href"] or "")[1:] for tag, a in page.attributes if tag == "a"}
    assert links <= set(ids)
    return page


@pytest.mark.parametrize("name", MODELS)
def test_every_task_has_a_report(run: Run, folder: Path, tmp_path: Path, name: str) -> None:
    path, data = model_and_data(folder, name)
    page_file, card_file = tmp_path / "r.html", tmp_path / "card.md"
    arguments = ("report", path, data, "--output", page_file, "--card", card_file, "--json", "-q")
    code, out, err = run(*arguments)
    assert code == 0, err
    record = one_object(out)
    model = load_model(path)
    task = task_of(model.task)
    source = task.read_for(model, str(data), labelled=True)
    metrics, _ = task.score(model, source, task.defaults("evaluate"))
    for measure, told in record["measures"].items():
        assert told["value"] == pytest.approx(metrics[measure], abs=1e-12)
        assert told["interval"][0] <= told["value"] <= told["interval"][1]
    assert (record["report"], record["card"]) == (str(page_file), str(card_file))
    assert record["examples"] is True
    assert (record["calibration_error"] is not None) == model.probabilistic
    page = check(page_file.read_text("utf-8"))
    card = card_file.read_text("utf-8")
    best = record["measures"][record["headline"]]["value"]
    for text in (page.text, card):
        assert f"{100 * best:.2f}%" in text
        assert "How to use it" in text
        assert ("probabilities" in text) or model.probabilistic
    for title in (
        "Data", "Objective and certificate", "Scores", "Confusion", "Calibration",
        "Strongest features", "Sure and wrong", "How it was made", "seed 0", "numba",
    ):  # fmt: skip
        assert title in page.text
    assert "partwise report" in page.text
    # The same twice over.
    before = page_file.read_bytes()
    assert run(*arguments)[0] == 0
    assert page_file.read_bytes() == before


def test_words_of_a_report(run: Run, folder: Path, tmp_path: Path) -> None:
    path, data = model_and_data(folder, "tag")
    card = tmp_path / "card.md"
    assert run("report", path, data, "--output", tmp_path / "r", "--card", card, "-q")[0] == 0
    page = Page((tmp_path / "r").read_text("utf-8"))
    model = load_model(path)
    assert page.texts.count("in the data") == 1  # the head of a column
    assert "how often each label is in the data" in page.text
    assert "| in the data | predicted |" in card.read_text("utf-8")
    _, _, settings = page.text.partition("Settings of the training")
    wanted = {"loss": model.loss, "l1": model.l1, "l2": model.l2, "tol": model.certificate.tol}
    for name, value in wanted.items():
        assert re.search(rf"\b{name}\s*{re.escape(repr(value))}", settings), name
        assert f"- `{name}`: `{value!r}`" in card.read_text("utf-8")
    _, _, features = page.text.partition("Strongest features")
    assert re.search(r"constant\s+stands for a weight that does not depend on the input", features)


def test_a_page_and_a_card_say_the_same(run: Run, folder: Path, tmp_path: Path) -> None:
    path, data = model_and_data(folder, "tag")
    page, card = tmp_path / "r", tmp_path / "card.md"
    assert run("report", path, data, "--output", page, "--card", card, "-q")[0] == 0
    shown, text = Page(page.read_text("utf-8")).text, card.read_text("utf-8")
    titles = re.findall("^## (.*)$", text, re.M)
    assert titles == re.findall("<h2[^>]*>(.*?)</h2>", page.read_text("utf-8"))
    # What the page draws, the card has as numbers.
    text = re.sub("(?s)\n## Calibration\n.*?(?=\n## )", "", text)
    numbers = set(re.findall(r"[+-]?\d[\d,.]*\d%?", text))
    assert len(numbers) > 100
    assert not {number for number in numbers if number not in shown}
    for drawn in ("bar)", "as a bar", "from 0 to 100%"):
        assert drawn in shown
        assert drawn not in text


def test_rows_that_explain_two_tokens_are_printed_once() -> None:
    from partwise.explain.explanation import Difference, Part, RunnerUp
    from partwise.report.explained import wrong_example
    from partwise.report.facts import WrongExample
    from partwise.report.page import html_block
    from partwise.tasks.comparison import Quote

    rows = (Difference("0 x", "label", "__BOS__", "A", "B", 1.0, 0.5, 0.5),)
    parts = [
        Part("position", (where,), text, "A", 1.0, 0.9, (), RunnerUp("B", 0.5, rows))
        for where, text in enumerate(["x", "y"])
    ]
    quote = Quote("tags", ["x", "y"], ["B", "B"], ["A", "A"], frozenset({(0,), (1,)}))
    drawn = html_block(wrong_example(WrongExample(1, "sure", quote, parts), "sentence", {}))
    assert drawn.count("<table") == 1
    assert drawn.count("<h4") == 2
    assert "<code>__BOS__</code> marks the first token of a sentence" in drawn


@pytest.mark.parametrize("name", ["classify", "tag", "segment", "parse", "brackets", "graph"])
def test_the_program_of_a_report_runs(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from partwise.report.gathering import usage_of

    path, data = model_and_data(folder, name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.graphs").write_bytes(data.read_bytes())
    usage = usage_of(load_model(path), str(path))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(usage.program, {})
    assert len(out.getvalue().splitlines()) >= 2
    assert usage.commands[0].startswith(f"partwise predict {path}")


@pytest.mark.parametrize(
    ("name", "drawn"),
    [("tag", "pw-span-wrong"), ("parse-labelled", "pw-dependencies"), ("brackets", "pw-tree"),
     ("graph", "pw-missed"), ("classify", "Predicted: ")],
)  # fmt: skip
def test_wrong_examples_are_drawn_and_explained(
    run: Run, folder: Path, tmp_path: Path, name: str, drawn: str
) -> None:
    path, data = model_and_data(folder, name)
    assert run("report", path, data, "--output", tmp_path / "r", "-q")[0] == 0
    text = (tmp_path / "r").read_text("utf-8")
    _, _, examples = text.partition('id="wrong"')
    assert drawn in examples
    assert re.search("[Ww]hat the features add to the (margin|score) of", examples)


def test_hostile_text_stays_text(run: Run, tmp_path: Path) -> None:
    model, data = hostile_tagger(tmp_path)
    code, _, err = run(
        "report", model, data, "--output", tmp_path / "r", "--card", tmp_path / "c", "-q"
    )
    assert code == 0, err
    page = check((tmp_path / "r").read_text("utf-8"))
    assert HOSTILE in page.text
    card = (tmp_path / "c").read_text("utf-8")
    # In Markdown a tag is text within code, or after a backslash.
    outside = re.sub(r"(?s)```.*?```|``.*?``|`[^`\n]*`", "", card)
    assert not re.search(r"(?<!\\)<", outside)
    assert HOSTILE in card


def test_nothing_is_quoted_without_examples(run: Run, folder: Path, tmp_path: Path) -> None:
    path, data = model_and_data(folder, "tag")
    words = {line.split()[0] for line in data.read_text("utf-8").splitlines() if line.strip()}
    # Words that a report says by itself tell nothing.
    other = tmp_path / "other"
    assert run("report", *model_and_data(folder, "classify"), "--output", other, "-q")[0] == 0
    telling = {word for word in words if len(word) > 4 and word not in other.read_text("utf-8")}
    telling -= {"against", "asked", "about", "these", "should"}
    assert len(telling) > 20
    page, card = tmp_path / "r", tmp_path / "c"
    report = ("report", path, data, "--output", page, "--card", card, "-q")
    assert run(*report)[0] == 0
    assert [word for word in telling if word in page.read_text("utf-8")]
    code, out, _ = run(*report, "--no-examples", "--json")
    assert code == 0
    assert one_object(out)["examples"] is False
    for file in (page, card):
        found = re.findall(
            r"[\w']+",
            Page(file.read_text("utf-8")).text if file is page else file.read_text("utf-8"),
        )
        assert telling & set(found) == set()
    assert "Quotations of the data are left out." in page.read_text("utf-8")
    check(page.read_text("utf-8"))


def test_faults_are_counted_and_quoted_only_if_allowed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train").write_text("dog B-X\ncat I-X\n\nbird O\n\n" * 3, "ascii")
    (tmp_path / "test").write_text(
        "dog O\ncat I-X\n\ndog O\ncat O\n\nbird I-Y\n\nbird B-X\n\n" * 2, "ascii"
    )
    assert (
        main(["train", "--task", "tag", f"{tmp_path}/train", "--model", f"{tmp_path}/m", "-q"]) == 0
    )
    report = ("report", tmp_path / "m", tmp_path / "test", "--output", tmp_path / "r", "-q")
    assert run(*report)[0] == 0
    text = Page((tmp_path / "r").read_text("utf-8")).text
    assert "partwise validate finds 4 faults (its tags read as IOB2)" in text
    assert f"{tmp_path / 'test'}:2:" in text
    assert "8 sentences equal to another one with other labels." in text
    assert "6 sentences equal to an earlier one of the same file." in text
    assert run(*report, "--no-examples")[0] == 0
    text = Page((tmp_path / "r").read_text("utf-8")).text
    assert "finds 4 faults" in text
    assert f"{tmp_path / 'test'}:2:" not in text


def test_train_draws_its_course(run: Run, folder: Path, tmp_path: Path) -> None:
    model_and_data(folder, "tag")
    train = ("train", "--task", "tag", folder / "tag.train", "--model", tmp_path / "m", "--json")
    page = tmp_path / "r"
    code, out, _ = run(*train, "--report", page, "-q")
    assert code == 0
    told = one_object(out)["report"]
    assert told["on_training_data"] is True
    text = page.read_text("utf-8")
    assert "These are scores on the training data" in check(text).text
    assert 'aria-label="Objective and its lower bound. After ' in text
    assert "Relative gap" in text
    code, out, _ = run(*train, "--report", page, "--dev", folder / "tag.test", "-q")
    assert code == 0
    told = one_object(out)
    assert told["report"]["measures"]["f1"]["value"] == pytest.approx(told["metrics"]["f1"])
    found = check(page.read_text("utf-8")).text
    assert "File for training" in found
    assert "File for scoring" in found
    assert f"--dev {folder / 'tag.test'}" in found or found.count(str(folder / "tag.test")) > 0


def test_path_and_evaluate_write_reports(run: Run, folder: Path, tmp_path: Path) -> None:
    path, data = model_and_data(folder, "classify")
    page, card = tmp_path / "r", tmp_path / "c"
    walk = ("path", "--task", "classify", folder / "classify.train", "--steps", "3", "-q")
    code, out, _ = run(
        *walk, "--folds", "2", "--model", tmp_path / "m", "--report", page, "--card", card
    )
    assert code == 0
    assert f"report: {page}\ncard: {card}" in out
    assert "Score by l2" in page.read_text("utf-8")
    check(page.read_text("utf-8"))
    page.unlink()
    code, out, _ = run("evaluate", path, data, "--report", page, "--json")
    assert code == 0
    record = one_object(out)
    assert record["report"]["report"] == str(page)
    assert record["report"]["measures"]["accuracy"]["value"] == record["metrics"]["accuracy"]
    check(page.read_text("utf-8"))


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("tag", "-PP", "-QQ", r"\d+ spans with a label that the model does not know \(QQ\); they"),
        ("segment", "-PP", "-QQ", r"\d+ spans with a label that the model does not know \(QQ\);"),
        ("brackets", "(PP ", "(QQ ", r"\d+ phrases with a label that the model does not know"),
        ("graph", " sea ", " lake ", r"\d+ vertices with a label that the model does not know"),
    ],
)
def test_labels_that_the_model_does_not_know_are_odd(
    run: Run, folder: Path, tmp_path: Path, name: str, old: str, new: str, said: str
) -> None:
    path, data = model_and_data(folder, name)
    page, renamed = tmp_path / "r.html", tmp_path / "renamed"
    text = data.read_text("utf-8")
    assert old in text
    renamed.write_text(text.replace(old, new), "utf-8")
    assert run("report", path, renamed, "--output", page)[0] == 0
    assert re.search(said, check(page.read_text("utf-8")).text)
    assert run("report", path, data, "--output", page)[0] == 0
    assert "does not know" not in check(page.read_text("utf-8")).text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("evaluate", "M", "D", "--no-examples"), "--no-examples is about a report"),
        (("evaluate", "M", "D", "--report", "-"), "--report - is not possible"),
        (("evaluate", "M", "D", "--report", "M"), "--report .* would overwrite an input"),
        (("report", "M", "D", "--output", "M"), "--output .* would overwrite an input"),
        (("evaluate", "M", "D", "--card", "D"), "--card .* would overwrite an input"),
        (("report", "M", "D", "--output", "T/x", "--card", "T/x"), "--card and --output are both"),
        (("report", "M", "D", "--output", "T/no/x"), "the folder .* does not exist"),
        (("train", "--task", "classify", "D", "--model", "T/x", "--report", "T/x"),
         "--report and --model are both"),
        (("path", "--task", "classify", "D", "--folds", "2", "--report", "T/x"), "give --model"),
        (("train", "--task", "classify", "D", "--model", "T/x", "--report", "T/y",
          "--out-of-core", "T/work"), "needs --dev FILE"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_the_work(
    run: Run, folder: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    path, data = model_and_data(folder, "classify")
    names = {"M": str(path), "D": str(data)}
    given = [names.get(one, one.replace("T/", f"{tmp_path}/")) for one in arguments]
    before = path.read_bytes()
    code, _, err = run(*given, "-q")
    assert code in (1, 2)
    assert re.search(message, sentence(err.splitlines()[-1] + "\n"))
    assert path.read_bytes() == before
    assert not [item for item in tmp_path.iterdir() if item.is_file()]


def test_a_report_from_stdin(
    folder: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, data = model_and_data(folder, "tag")

    class Stdin:
        buffer = io.BytesIO(data.read_bytes())

    monkeypatch.setattr("sys.stdin", Stdin())
    code, out, err = run("report", path, "-", "--output", tmp_path / "r", "--json")
    assert code == 0, err
    assert one_object(out)["input"] == "<stdin>"
    assert "<stdin>" in check((tmp_path / "r").read_text("utf-8")).text


def test_a_full_disk_leaves_the_old_report(
    folder: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, data = model_and_data(folder, "classify")
    (tmp_path / "r").write_text("old", "ascii")

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    code, _, err = run("report", path, data, "--output", tmp_path / "r", "-q")
    assert code == 1
    assert "cannot be written (No space left on device); make room" in sentence(err)
    assert [item.name for item in tmp_path.iterdir()] == ["r"]
    assert (tmp_path / "r").read_text("ascii") == "old"


def test_a_report_needs_no_matplotlib(folder: Path, tmp_path: Path) -> None:
    import subprocess
    import sys

    path, data = model_and_data(folder, "classify")
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from partwise.cli import main\n"
        f"sys.exit(main(['report', {str(path)!r}, {str(data)!r}, '--output', "
        f"{str(tmp_path / 'r')!r}, '-q']))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    check((tmp_path / "r").read_text("utf-8"))


def test_tables_of_features_are_those_of_the_labels(folder: Path) -> None:
    from partwise.report.explained import strongest_features

    path, _ = model_and_data(folder, "tag")
    found = [one.label for one in strongest_features(load_model(path), ["VP", "NP"], True)]
    assert found[:4] == ["B-VP", "I-VP", "B-NP", "I-NP"]
    path, _ = model_and_data(folder, "brackets")
    found = [one.label for one in strongest_features(load_model(path), ["NP", "N"], True)]
    # A label such as NNP is no tag of a span NP.
    assert [label for label in found if label in ("NP", "NN", "NNP")] == ["NP"]
