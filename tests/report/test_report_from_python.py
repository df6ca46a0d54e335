"""Reports on data in Python, and on files that give features by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import Run, runner
from support.grammar_of_arcs import treebank as arcs
from support.grammar_of_phrases import treebank as phrases
from support.report_data import model_and_data

from partwise import (
    ConstituencyParser,
    DependencyParser,
    GraphLabeler,
    KernelClassifier,
    KernelTagger,
    LinearClassifier,
    LinearClassifierCV,
    SegmentTagger,
    SequenceTagger,
    load_model,
    save_model,
)
from partwise.datasets import tagged_text
from partwise.errors import DataError, MismatchError
from partwise.formats.brackets import read_brackets
from partwise.formats.columns import read_columns
from partwise.formats.crfsuite import read_crfsuite
from partwise.formats.graph_text import read_graph_text
from partwise.formats.svmlight import read_svmlight
from partwise.report import GivenFile, gather, model_card, report, report_page
from partwise.tasks.registry import task_of

QUICK: dict[str, Any] = {"tol": 0.05, "max_passes": 60}


def recipes(n: int, seed: int) -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        amount, name = str(rng.integers(1, 9)), str(rng.choice(["flour", "sugar", "milk"]))
        X.append([{"word": amount, "digit": True}, {"word": "cups"}, {"word": name}])
        y.append(["B-QTY", str(rng.choice(["B-UNIT", "B-UNIT", "O"])), "B-NAME"])
        if rng.random() < 0.3:
            y[-1][2] = "O"
    return X, y


def points() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, np.where(X[:, 0] + rng.normal(size=40) > 0, 1.0, 2.0)


def maps(named: bool) -> tuple[list[Any], list[list[int]]]:
    rng = np.random.default_rng(1)
    X: list[Any] = []
    y = []
    for _ in range(12):
        held = rng.normal(size=(4, 2))
        y.append([int(a + 0.7 * rng.normal() > 0) for a in held[:, 0]])
        nodes = [{"high": bool(a > 0)} for a in held[:, 0]] if named else held
        X.append((nodes, [[0, 1], [1, 2], [2, 3]]))
    return X, y


def estimator_and_data(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A fitted estimator, and the arguments of its `score`."""
    if name in ("LinearClassifier", "hinge", "KernelClassifier", "LinearClassifierCV"):
        made = {
            "LinearClassifier": LinearClassifier(**QUICK),
            "hinge": LinearClassifier(loss="hinge", **QUICK),
            "KernelClassifier": KernelClassifier(**QUICK),
            "LinearClassifierCV": LinearClassifierCV(cv=2, steps=2, l2_max=10.0, factor=0.1),
        }[name]
        X, y = points()
        return made.fit(X, y), (X, y), {}
    if name in ("SequenceTagger", "SegmentTagger", "KernelTagger"):
        kinds = {
            "SequenceTagger": SequenceTagger,
            "SegmentTagger": SegmentTagger,
            "KernelTagger": KernelTagger,
        }
        return kinds[name](**QUICK).fit(*recipes(30, 0)), recipes(20, 1), {}
    if name == "segments":
        X, _ = recipes(30, 0)
        right = [[(0, 1, 7), (1, 3, 8)] if i % 4 else [(0, 1, 7)] for i in range(30)]
        return SegmentTagger(outside=0, **QUICK).fit(X, right), (X, right), {}
    if name == "stacked":
        X, y = points()
        more = {"lengths": [4] * 10}
        return SequenceTagger(**QUICK).fit(X, y, **more), (X, y), more
    if name == "columns":
        fitted = SequenceTagger(**QUICK).fit(tagged_text(40, seed=1))
        return fitted, (tagged_text(20, seed=2),), {}
    if name in ("parser", "parser-labelled"):
        parser = DependencyParser(labelled=name != "parser", **QUICK).fit(arcs(4))
        return parser, (arcs(12, seed=1),), {}
    if name == "parser-heads":
        test = arcs(12, seed=1)
        parser = DependencyParser(labelled=True, **QUICK).fit(arcs(4))
        more = {"labels": [one.deprel for one in test]}
        return parser, (test, [one.head for one in test]), more
    if name == "trees":
        return ConstituencyParser(**QUICK).fit(phrases(40)), (phrases(10, seed=1, longest=8),), {}
    X, y = maps(named=name == "graph-names")
    return GraphLabeler(**QUICK).fit(X, y), (X, y), {}


NAMES = (
    "LinearClassifier", "hinge", "KernelClassifier", "LinearClassifierCV", "SequenceTagger",
    "SegmentTagger", "KernelTagger", "segments", "stacked", "columns", "parser",
    "parser-labelled", "parser-heads", "trees", "graph-names", "graph-matrices",
)  # fmt: skip
#: The measure that `score` of the estimator computes.
SCORED = {"parser": "uas", "parser-labelled": "las", "parser-heads": "las", "trees": "f1",
          "SegmentTagger": "f1", "segments": "f1"}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_estimator_has_a_report(name: str, tmp_path: Path) -> None:
    estimator, data, more = estimator_and_data(name)
    page, card = tmp_path / "r.html", tmp_path / "c.md"
    facts = report(estimator, *data, output=page, card=card, **more)
    found = {one.name: one.score.value for one in facts.measures}
    wanted = estimator.score(*data, **more)
    assert found[SCORED.get(name, "accuracy")] == pytest.approx(wanted, abs=1e-12)
    assert page.read_text("utf-8") == report_page(facts)
    assert card.read_text("utf-8") == model_card(facts)
    assert "data given in Python" in report_page(facts)
    assert "### Data for scoring\n\n- source: data given in Python" in model_card(facts)
    assert f"# {type(estimator).__name__}\n" in model_card(facts)
    assert facts.course.trace
    # The model alone gives the same scores, and knows no course.
    bare = report(estimator.model_, *data, output=None, **more)
    assert {one.name: one.score.value for one in bare.measures} == found
    assert not bare.course.trace
    assert bare.data[-1].labels == facts.data[-1].labels


def test_wrong_examples_from_python_are_shown(tmp_path: Path) -> None:
    tagger = SequenceTagger(**QUICK).fit(*recipes(30, 0))
    facts = report(tagger, *recipes(20, 1), output=None)
    assert facts.wrong
    assert facts.wrong[0].quote.words[1] == "cups"
    assert facts.wrong[0].parts
    secret = report(tagger, *recipes(20, 1), output=None, examples=False)
    assert secret.wrong is None
    assert "cups" not in report_page(secret)


def test_unknown_labels_are_not_scored() -> None:
    X, y = recipes(20, 1)
    tagger = SequenceTagger(missing_label="?", **QUICK).fit(X, y)
    some: list[Any] = [list(labels) for labels in y]
    some[0][0], some[1][1], some[2][2] = None, {"O", "B-UNIT"}, "?"
    facts = report(tagger, X, some, output=None)
    assert "3 tokens without a known label, which are not scored." in facts.data[-1].oddities
    X_points, y_points = points()
    partial = [None, *y_points.tolist()[1:]]
    facts = report(LinearClassifier(**QUICK).fit(X_points, y_points), X_points, partial, None)
    assert facts.data[-1].n_examples == 39
    graphs, labels = maps(named=True)
    open_ = [[None, *some[1:]] for some in labels]
    facts = report(GraphLabeler(**QUICK).fit(graphs, labels), graphs, open_, None)
    assert any("12 vertices without a known label" in text for text in facts.data[-1].oddities)
    segmenter = SegmentTagger(**QUICK).fit(X, y)
    facts = report(segmenter, X, [None, *y[1:]], output=None)
    assert "3 tokens without a known label, which are not scored." in facts.data[-1].oddities


def test_equal_examples_are_counted() -> None:
    X, y = recipes(4, 1)
    tagger = SequenceTagger(**QUICK).fit(X, y)
    facts = report(tagger, [*X, X[0]], [*y, y[0]], output=None)
    assert any("equal to an earlier one of the same data" in o for o in facts.data[-1].oddities)
    # The same words with another feature are another example.
    other = [{**token, "more": True} for token in X[0]]
    lone = [X[0], other]
    facts = report(tagger, lone, [y[0], y[0]], output=None)
    assert not any("equal to an earlier one" in text for text in facts.data[-1].oddities)


def test_names_of_columns(tmp_path: Path) -> None:
    X, y = points()
    fitted = LinearClassifier(**QUICK).fit(X, y)
    named = report(fitted, X, y, tmp_path / "r", feature_names=["alpha", "beta", "gamma"])
    rows = {row.feature for table in named.features or () for row in table.rows}
    assert rows <= {"alpha", "beta", "gamma", "constant", "intercept"}
    assert "alpha" in rows
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["left", "middle", "right"])
    report(LinearClassifier(**QUICK).fit(frame, y), frame, y, tmp_path / "r")
    text = (tmp_path / "r").read_text("utf-8")
    assert "middle" in text
    assert ">x1<" not in text


READERS: dict[str, Any] = {
    "classify": read_svmlight, "tag": read_columns, "segment": read_columns,
    "brackets": read_brackets, "graph": read_graph_text,
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_what_a_reader_returned(name: str, tmp_path: Path) -> None:
    path, data = model_and_data(tmp_path, name)
    model = load_model(path)
    facts = report(model, READERS[name](str(data)), output=None, path=path)
    task = task_of(model.task)
    source = task.read_for(model, str(data), labelled=True)
    same = gather(task, model, str(path), scored=GivenFile(str(data), source))
    assert facts.measures == same.measures
    assert facts.data[-1].path == f"data given in Python, read from {data}"
    assert facts.model.path == str(path)
    assert facts.usage == same.usage
    bare = gather(task, model, str(path), scored=GivenFile(str(data), READERS[name](str(data))))
    assert bare.measures == same.measures
    with pytest.raises(DataError, match=r"labels of its own; leave y out|list of trees"):
        report(model, READERS[name](str(data)) if name != "brackets" else 3, [["A"]], output=None)


def test_the_program_for_a_model_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("SequenceTagger", "stacked", "graph-matrices", "segments"):
        estimator, data, more = estimator_and_data(name)
        usage = report(estimator, *data, output=None, **more).usage
        first = usage.program.splitlines()[0]
        assert first == "# after partwise.save_model(model, 'my.model') in Python"
        if name == "SequenceTagger":
            assert "partwise explain my.model new.crf --format crfsuite" in usage.commands
            assert usage.commands[0] == first
        else:
            assert usage.commands == ["# files cannot be given to this model; use it from Python"]
        if name == "stacked":
            save_model(estimator.model_, "my.model")
            exec(usage.program, {})


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    X, y = recipes(6, 0)
    tagger = SequenceTagger(**QUICK).fit(X, y)
    classifier = LinearClassifier(**QUICK).fit(*points())
    task = task_of("tag")
    from sklearn.pipeline import make_pipeline

    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: gather(task, tagger, None), MismatchError, "nothing to score .*give scored="),
        (lambda: report(SequenceTagger(), X, y), MismatchError, "has not been fitted; call fit"),
        (lambda: report(make_pipeline(tagger), X, y), MismatchError, "give its last step"),
        (lambda: report("m.model", X, y), MismatchError, "str where a model is expected"),
        (lambda: report(tagger, X), DataError, "give y, one list of labels per sequence"),
        (lambda: report(tagger, X, y[:2]), DataError, "y has 2 sequences where X has 6"),
        (lambda: report(tagger, [], []), DataError, "no token has a label to compare with"),
        (lambda: report(tagger, X, y, labels=y), MismatchError, "no argument 'labels'"),
        (lambda: report(classifier, np.zeros((2, 3))), DataError, "give y, one label per row"),
        (lambda: report(classifier, np.zeros((2, 3)), [1.0]), DataError, "1 labels for 2 rows"),
    ]
    for call, kind, words in wrong:
        with pytest.raises(kind, match=words):
            call()
    unlabelled = read_columns(_written(tmp_path / "t", "a\nb\n"), labelled=False)
    with pytest.raises(DataError, match="no labels; read it with labelled=True"):
        report(tagger, unlabelled)
    assert not Path("report.html").exists()


def test_gather_takes_an_estimator() -> None:
    X, y = recipes(8, 0)
    tagger = SequenceTagger(**QUICK).fit(X, y)
    given = GivenFile("eight recipes", task_of("tag").source(tagger.model_, X, y), file=False)
    facts = gather(task_of("tag"), tagger, None, trained=given)
    assert facts.on_training_data
    assert "### Data for training and scoring\n\n- source: eight recipes" in model_card(facts)


def _written(path: Path, text: str) -> str:
    path.write_text(text, "utf-8")
    return str(path)


def _by_name(X: list[Any], y: list[list[str]], key: str) -> str:
    """Return sequences as CRFsuite writes them, with the word under another key."""
    blocks = [
        "".join(
            "\t".join([label, f"{key}={token['word']}", *["digit"] * ("digit" in token)]) + "\n"
            for token, label in zip(tokens, labels, strict=True)
        )
        for tokens, labels in zip(X, y, strict=True)
    ]
    return "\n".join(blocks)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.mark.parametrize("kind", [SequenceTagger, SegmentTagger])
@pytest.mark.parametrize(("key", "word"), [("word", "cups"), ("a", "a=cups")])
def test_files_that_give_features_by_name(
    run: Run, tmp_path: Path, kind: Any, key: str, word: str
) -> None:
    model, data = tmp_path / "m", tmp_path / "t.crf"
    save_model(kind(**QUICK).fit(*recipes(30, 0)).model_, model)
    _written(data, _by_name(*recipes(20, 1), key))
    form = ("--format", "crfsuite", "-q")
    page, card = tmp_path / "r", tmp_path / "c"
    for verb in (("report", model, data, "--output", page), ("evaluate", model, data, "--report",
                                                             page)):  # fmt: skip
        code, _, err = run(*verb, "--card", card, *form)
        assert code == 0, err
        assert f">{word}<" in page.read_text("utf-8")
        assert f" {word} " in card.read_text("utf-8")
        assert "new.crf --format crfsuite" in card.read_text("utf-8")
        page.unlink()
    code, _, err = run("predict", model, data, "--spans", "--output", tmp_path / "s", *form)
    assert code == 0, err
    texts = {line.split("\t")[5] for line in (tmp_path / "s").read_text("utf-8").splitlines()}
    assert word in texts
    code, out, _ = run("explain", model, data, "--only", "1", *form)
    assert code == 0
    assert (" cups: " in out) == (key == "word")
    facts = report(load_model(model), read_crfsuite(str(data)), output=None)
    assert facts.wrong
    assert facts.wrong[0].quote.words[1] == word


@pytest.mark.parametrize("task", ["tag", "segment"])
def test_training_on_features_by_name_has_a_report(run: Run, tmp_path: Path, task: str) -> None:
    data = _written(tmp_path / "t.crf", _by_name(*recipes(20, 1), "w"))
    made = ("train", "--task", task, data, "--format", "crfsuite", "--model", tmp_path / "m")
    page, card = tmp_path / "r", tmp_path / "c"
    code, _, err = run(*made, "--report", page, "--card", card, "-q")
    assert code == 0, err
    assert ">cups<" in page.read_text("utf-8")
    # The model knows the format.
    assert "new.crf\n" in card.read_text("utf-8")
    if task == "tag":
        more = ("--pair-marginals", "--output", tmp_path / "p", "-q")
        assert run("predict", tmp_path / "m", data, *more)[0] == 0
        assert '"cups"' in (tmp_path / "p").read_text("utf-8")


def test_equal_sentences_of_features_by_name_are_counted(run: Run, tmp_path: Path) -> None:
    text = "A\tw=a\tx\n\nA\tw=a\ty\n\nA\tw=a\tx\n\n"
    model = SequenceTagger(**QUICK).fit([[{"w": "a"}], [{"w": "b"}]], [["A"], ["B"]]).model_
    read = read_crfsuite(_written(tmp_path / "t", text))
    oddities = report(model, read, output=None).data[-1].oddities
    assert "1 sentence equal to an earlier one of the same data." in oddities
