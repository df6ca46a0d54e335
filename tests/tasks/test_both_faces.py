"""What the command trained is used from Python, and the other way; odd input to estimators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import Run, one_object, runner
from support.grammar_of_arcs import treebank as arc_trees
from support.grammar_of_phrases import treebank as phrase_trees

from partwise import (
    ConstituencyParser,
    DataError,
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
from partwise.cli import main
from partwise.datasets import tagged_text, write
from partwise.formats.brackets import read_brackets, write_brackets
from partwise.formats.columns import read_columns
from partwise.formats.conll import read_conll, write_conll

#: What no model keeps: it belongs to the process that fits.
TOKENS = [[{"w": "the"}, {"w": "dog"}, {"w": "barks"}], [{"w": "a"}, {"w": "dog"}]]
TAGS = [["B-NP", "I-NP", "O"], ["B-NP", "I-NP"]]

# From the command line to Python, and back


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doors")
    write(tagged_text(40, seed=1), folder / "tag")
    write(tagged_text(40, seed=1), folder / "segment")
    (folder / "classify").write_text("1 1:1 3:2\n2 2:1\n1 1:2\n2 2:3 3:1\n", "ascii")
    write_conll(folder / "parse", arc_trees(12))
    write_brackets(folder / "brackets", phrase_trees(12))
    few = ["--tol", "0.1", "--quiet", "--weights", "observed", "--min-count", "2"]
    more = {"segment": ["--segment-features", "text"], "brackets": ["--max-length", "9"]}
    for task in ("tag", "segment", "classify", "parse", "brackets"):
        train = ["train", "--task", task, f"{folder}/{task}", "--model", f"{folder}/{task}.model"]
        assert main([*train, *few, *more.get(task, [])]) == 0
    return folder


@pytest.mark.parametrize(("task", "kind"), [("tag", SequenceTagger), ("segment", SegmentTagger)])
def test_templates_read_columns_and_nothing_else(
    task: str, kind: Any, folder: Path, run: Run
) -> None:
    tagger = kind.from_model(load_model(folder / f"{task}.model"))
    assert (tagger.weights, tagger.min_count) == ("observed", 2)
    columns = read_columns(str(folder / task))
    words, tags = columns.split(columns.fields[0]), columns.split(columns.fields[1])
    dicts = [
        [{"word": word, "pos": tag} for word, tag in zip(*pair, strict=True)]
        for pair in zip(words, tags, strict=True)
    ]
    lists = [[[word] for word in sentence] for sentence in words]
    gold = [["O"] * len(sentence) for sentence in words]
    methods: list[Callable[[Any], Any]] = [
        tagger.predict, tagger.predict_marginals, lambda X: tagger.score(X, gold),
    ]  # fmt: skip
    for given in (dicts, words) if task == "segment" else (dicts, words, lists):
        for method in methods:
            with pytest.raises(DataError, match="made by templates from the columns of a file"):
                method(given)
    code, out, _ = run("predict", folder / f"{task}.model", folder / task, "--json")
    assert code == 0
    wanted = one_object(out)["predictions"]
    pairs = [list(zip(*pair, strict=True)) for pair in zip(words, tags, strict=True)]
    listed = [[list(token) for token in sentence] for sentence in pairs]
    for given in (columns, pairs, listed):
        assert tagger.predict(given) == wanted
        assert load_model(folder / f"{task}.model").predict(given) == wanted
    if task == "tag":
        named = [
            [[f"w[0]={word}", f"pos[0]={tag}"] for word, tag in zip(*pair, strict=True)]
            for pair in zip(words, tags, strict=True)
        ]
        assert len(tagger.predict(named)) == len(words)


def test_other_tasks_read_the_same_in_python(folder: Path, run: Run, tmp_path: Path) -> None:
    for task in ("classify", "parse", "brackets"):
        code, _, err = run(
            "predict", folder / f"{task}.model", folder / task, "--output", tmp_path / task
        )
        assert (code, err) == (0, "")
    classifier = LinearClassifier.from_model(load_model(folder / "classify.model"))
    X = [[1, 0, 2], [0, 1, 0], [2, 0, 0], [0, 3, 1]]
    assert classifier.predict(X).tolist() == (tmp_path / "classify").read_text().split()
    parser = DependencyParser.from_model(load_model(folder / "parse.model"))
    assert (parser.min_count, parser.nonprojective_gold) == (2, "lift")
    found = [list(sentence.head) for sentence in read_conll(str(tmp_path / "parse"))]
    assert parser.predict(arc_trees(12)) == found
    brackets = ConstituencyParser.from_model(load_model(folder / "brackets.model"))
    assert (brackets.min_count, brackets.max_length) == (2, 9)
    written = read_brackets(str(tmp_path / "brackets")).trees
    assert list(map(str, brackets.predict(phrase_trees(12)))) == list(map(str, written))


def test_models_from_python_on_the_command_line(folder: Path, run: Run, tmp_path: Path) -> None:
    save_model(SequenceTagger(tol=0.3).fit(TOKENS, TAGS), tmp_path / "tag")
    save_model(SegmentTagger(tol=0.3).fit(TOKENS, TAGS), tmp_path / "segment")
    for task in ("tag", "segment"):
        code, _, err = run("predict", tmp_path / task, folder / task)
        assert code == 1
        assert "was not trained on column files" in err
    parser = DependencyParser(tol=0.1).fit(arc_trees(12))
    save_model(parser, tmp_path / "parse")
    assert (
        run("predict", tmp_path / "parse", folder / "parse", "--output", tmp_path / "out")[0] == 0
    )
    found = [list(sentence.head) for sentence in read_conll(str(tmp_path / "out"))]
    assert found == parser.predict(arc_trees(12))
    X, y = (
        np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 1.0]]),
        [1, 2] * 2,
    )
    for classifier in (LinearClassifier(tol=0.1), KernelClassifier(tol=0.1)):
        save_model(classifier.fit(X, y), tmp_path / "classify")
        code, out, _ = run("predict", tmp_path / "classify", folder / "classify")
        assert out.split() == list(map(str, classifier.predict(X)))
    graph = ([{"w": "x"}, {"w": "y"}], [[0, 1]])
    save_model(GraphLabeler(tol=0.3).fit([graph], [["A", "B"]]), tmp_path / "graph")
    code, _, err = run("predict", tmp_path / "graph", folder / "tag")
    assert code == 1
    assert "begin it with node, edge, vertex, factor or #" in err
    (tmp_path / "graphs").write_text("node 0 ? w=x\nnode 1 ? w=y\nedge 0 1\n", "utf-8")
    code, out, _ = run("predict", tmp_path / "graph", tmp_path / "graphs")
    assert out.split("\n")[:2] == ["node 0 A w=x", "node 1 B w=y"]


STRANGE_FILES = {
    "tag": "unseen ?? O\ntoo ?? O\n\n",
    "segment": "7-up ?? O\n8-up ?? O\n\n",
    "classify": "1 7:1 8:2\n2 9:1\n",
    "parse": "1\tunseen\t_\t?\t?\t_\t0\troot\t_\t_\n\n",
    "brackets": "(? (?? 7-up8) (?? 8-up9))\n",
}


@pytest.mark.parametrize("task", STRANGE_FILES)
def test_files_of_unknown_features_are_warned_of(
    task: str, folder: Path, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "strange").write_text(STRANGE_FILES[task], "utf-8")
    for verb in ("predict", "evaluate"):
        more = ["--marginals"] if verb == "predict" else []
        code, _, err = run(verb, folder / f"{task}.model", tmp_path / "strange", *more)
        lines = [line for line in err.splitlines() if "knows none of the" in line]
        assert code == 0
        assert len(lines) == 1
        assert lines[0].startswith(f"partwise: {tmp_path / 'strange'}: the model knows none of")
        code, _, err = run(verb, folder / f"{task}.model", folder / task)
        assert (code, err) == (0, "")
    (tmp_path / "empty").write_text("", "utf-8")
    if task != "parse":
        assert run("predict", folder / f"{task}.model", tmp_path / "empty")[::2] == (0, "")


# Bad input


@pytest.mark.parametrize("callbacks", [3, "no", [print, 3]])
def test_callbacks_that_are_none(callbacks: Any) -> None:
    with pytest.raises(DataError, match=r"callbacks is .*; callbacks must be functions"):
        SequenceTagger(callbacks=callbacks).fit(TOKENS, TAGS)


def test_dicts_that_hold_themselves() -> None:
    token: dict[str, Any] = {"w": "a"}
    token["self"] = {"again": token}
    for method in (SequenceTagger().fit, SegmentTagger().fit):
        with pytest.raises(DataError, match=r"sequence 0, token 1 .* must not hold itself"):
            method([["a", token]], [["A", "B"]])
    with pytest.raises(DataError, match=r"kind .node., factor 1 .* must not hold itself"):
        GraphLabeler().fit([([{}, token], [])], [["A", "B"]])
    deep: dict[str, Any] = {"w": "a"}
    for _ in range(50):
        deep = {"in": deep}
    made = SequenceTagger(tol=0.3).fit([[deep, "b"]], [["A", "B"]])
    assert made.vocabulary_.names[0] == "in:" * 50 + "w=a"


@pytest.mark.parametrize(
    "y",
    [
        [1, "a", 1],
        ["a", 1, 1],
        np.array([1, "a", 1], dtype=object),
        ("a", True, "b"),
        [1.5, "a", 2],
    ],
)
def test_labels_of_two_kinds_are_refused(y: Any) -> None:
    X = np.eye(3)
    for kind in (LinearClassifier, KernelClassifier, LinearClassifierCV):
        with pytest.raises(DataError, match="y mixes strings with other labels"):
            kind().fit(X, y)
    message = "use one type for all labels"
    for tagger in (SequenceTagger, SegmentTagger):
        with pytest.raises(DataError, match=message):
            tagger().fit([["x", "y", "z"]], [list(y)])
    with pytest.raises(DataError, match=message):
        KernelTagger().fit(X, list(y), lengths=[3])
    with pytest.raises(DataError, match=message):
        SegmentTagger().fit([["x", "y", "z"]], [[(t, t + 1, y[t]) for t in range(3)]])
    with pytest.raises(DataError, match=message):
        GraphLabeler().fit([(X, [])], [list(y)])


@pytest.mark.parametrize(
    "y",
    [[1, np.int64(2), 1], ["a", np.str_("b"), "a"], [True, False, True], [True, np.False_, True]],
)
def test_labels_of_one_kind_are_taken(y: Any) -> None:
    made = LinearClassifier(tol=0.3).fit(np.eye(3), y)
    assert set(made.classes_.tolist()) == set(y)
    assert len(SequenceTagger(tol=0.3).fit([["x", "y", "z"]], [y]).classes_) == 2
