"""Missing and uncertain labels, as users give them to the estimators."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.graph_data import chains, steps

from partwise import (
    ConstituencyParser,
    DependencyParser,
    GraphLabeler,
    KernelClassifier,
    LinearClassifier,
    LinearClassifierCV,
    SegmentTagger,
    SequenceTagger,
    load_model,
    save_model,
)
from partwise.errors import DataError
from partwise.formats.brackets import parse_tree
from partwise.formats.conll import Sentence
from partwise.structures.segments.structure import SemiMarkov
from partwise.tasks.sequences.partial_segments import find_partial
from partwise.tasks.sequences.segment_tags import tags_of

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(40, 3))
CLASSES = (POINTS @ RNG.normal(size=(3, 3))).argmax(axis=1)
WORDS = [[f"w{RNG.integers(9)}" for _ in range(n)] for n in RNG.integers(1, 7, 30)]
TAGS = [["ABC"[int(word[1]) % 3] for word in words] for words in WORDS]


def holes(y: list[list[Any]], share: float = 0.3, seed: int = 1) -> list[list[Any]]:
    rng = np.random.default_rng(seed)
    return [[None if rng.random() < share else label for label in labels] for labels in y]


# Classifiers


def test_classifier_leaves_examples_without_a_label_out() -> None:
    y: list[Any] = CLASSES.tolist()
    y[::4] = [None] * len(y[::4])
    model = LinearClassifier(l2=0.5).fit(POINTS, y)
    kept = np.array([label is not None for label in y])
    plain = LinearClassifier(l2=0.5).fit(POINTS[kept], CLASSES[kept])
    assert np.array_equal(model.coef_, plain.coef_)
    assert model.model_.meta["left_out"] == 10
    assert model.certificate_.steps is None
    marked = np.where(kept, CLASSES, -100)
    marked_model = LinearClassifier(l2=0.5, missing_label=-100).fit(POINTS, marked)
    assert np.array_equal(marked_model.coef_, plain.coef_)
    assert marked_model.classes_.tolist() == [0, 1, 2]
    assert marked_model.score(POINTS, marked) == plain.score(POINTS[kept], CLASSES[kept])
    # Without the parameter the mark is a label.
    assert -100 in LinearClassifier().fit(POINTS, marked).classes_


def test_classifier_sets() -> None:
    y: list[Any] = CLASSES.tolist()
    ones = LinearClassifier().fit(POINTS, [{label} for label in y])
    assert np.array_equal(ones.coef_, LinearClassifier().fit(POINTS, CLASSES).coef_)
    y[::3] = [{label, (label + 1) % 3} for label in y[::3]]
    y[1::3] = [{0, 1, 2}] * len(y[1::3])
    model = LinearClassifier(tol=1e-9).fit(POINTS, y)
    steps_ = model.certificate_.steps
    assert steps_ is not None
    log_proba = model.predict_log_proba(POINTS)
    known = [(i, list(s) if isinstance(s, set) else [s]) for i, s in enumerate(y)]
    loss = -sum(np.log(np.exp(log_proba[i, s]).sum()) for i, s in known)
    weights = model.model_.weights
    assert steps_.objective == pytest.approx(loss + 0.5 * float(weights @ weights), rel=1e-7)
    assert model.model_.meta["left_out"] == len(y[1::3])


def test_classifier_refusals() -> None:
    y: list[Any] = CLASSES.tolist()
    y[3] = {0, 1}
    with pytest.raises(DataError, match=r"example 3 .*hinge loss has no cost for a set"):
        LinearClassifier(loss="hinge").fit(POINTS, y)
    with pytest.raises(DataError, match="a kernel needs labels that are known"):
        KernelClassifier().fit(POINTS, y)
    y[3] = set()
    with pytest.raises(DataError, match=r"position 3 .*no label is allowed"):
        LinearClassifier().fit(POINTS, y)
    with pytest.raises(DataError, match="no example has a label"):
        LinearClassifier().fit(POINTS, [None] * len(y))


# Taggers


@pytest.mark.parametrize("order", [1, 2])
def test_tagger(order: int) -> None:
    y = holes(TAGS)
    model = SequenceTagger(l2=0.5, order=order).fit(WORDS, y)
    assert model.certificate_.converged
    assert model.certificate_.steps is not None
    assert "not a certified optimum" in model.certificate_.verdict
    assert model.score(WORDS, y) > 0.9
    marked = [["?" if label is None else label for label in labels] for labels in y]
    other = SequenceTagger(l2=0.5, order=order, missing_label="?").fit(WORDS, marked)
    assert np.array_equal(model.model_.weights, other.model_.weights)
    assert other.score(WORDS, marked) == model.score(WORDS, y)
    assert "?" in SequenceTagger().fit(WORDS, marked).classes_


def test_tagger_laws() -> None:
    plain = SequenceTagger().fit(WORDS, TAGS)
    ones = SequenceTagger().fit(WORDS, [[{label} for label in labels] for labels in TAGS])
    assert np.array_equal(plain.model_.weights, ones.model_.weights)
    assert ones.certificate_.steps is None
    # One position of which nothing is known has no effect.
    more = SequenceTagger().fit([*WORDS, ["w1"]], [*TAGS, [None]])
    assert np.array_equal(plain.model_.weights, more.model_.weights)
    # A set of all labels is the same as None.
    y = holes(TAGS)
    every = [[set("ABC") if label is None else label for label in labels] for labels in y]
    first, second = (SequenceTagger().fit(WORDS, given) for given in (y, every))
    assert np.array_equal(first.model_.weights, second.model_.weights)


def test_tagger_refusals() -> None:
    y = holes(TAGS)
    s = next(i for i, labels in enumerate(y) if None in labels)
    where = f"sequence {s}, position {y[s].index(None)} "
    with pytest.raises(DataError, match=where + r".*softmax-margin loss has no cost"):
        SequenceTagger(loss="softmax-margin").fit(WORDS, y)
    with pytest.raises(DataError, match=r"position 0 .*the label is missing"):
        SequenceTagger().fit(WORDS, TAGS).log_proba(WORDS[:1], [[None] * len(WORDS[0])])
    with pytest.raises(DataError, match=r"nan|missing"):
        SequenceTagger().fit([["a", "b"]], [[0.0, float("nan")]])


def test_constraints_hold_beside_holes() -> None:
    X = [["x", "y", "z"], ["y", "x"]] * 4
    y = [["B-a", None, "O"], ["O", "B-a"]] * 4
    model = SequenceTagger(constraints="BIO", l2=0.1).fit(X, [*y[:-1], ["B-a", "I-a"]])
    assert model.certificate_.converged
    with pytest.raises(DataError, match=r"sequence 8, position 0 .*the constraints forbid 'I-a'"):
        SequenceTagger(constraints="BIO").fit([*X, ["x", "y"]], [*y, ["I-a", None]])
    with pytest.raises(DataError, match=r"example 8 .*no label agrees"):
        SequenceTagger(constraints="BIO").fit(
            [*X, ["x", "y", "z"]], [*y, ["O", {"I-a", "I-b"}, "O"]]
        )


def test_warm_start_goes_on_from_the_weights() -> None:
    y = holes(TAGS)
    model = SequenceTagger(l2=0.1, tol=1e-5, warm_start=True).fit(WORDS, y)
    first = model.certificate_.passes
    model.fit(WORDS, y)
    assert model.certificate_.converged
    assert model.certificate_.passes < first / 2


def test_model_file(tmp_path: Any) -> None:
    model = SequenceTagger(missing_label="?").fit(
        WORDS, [["?" if x is None else x for x in labels] for labels in holes(TAGS)]
    )
    path = tmp_path / "holes.model"
    save_model(model, path)
    read = load_model(path)
    assert read.certificate == model.certificate_
    assert SequenceTagger.from_model(read).missing_label == "?"


def test_cross_validation() -> None:
    y: list[Any] = CLASSES.tolist()
    y[::5] = [{0, 1, 2} - {(label + 1) % 3} for label in y[::5]]
    model = LinearClassifierCV(cv=2).fit(POINTS, y)
    assert model.certificate_.steps is not None


# Segments


@pytest.mark.parametrize("scheme", ["IOB2", "IOBES", "BILOU"])
def test_partial_tags_allow_what_they_say(scheme: str) -> None:
    names, most = ["O", "a", "b"], 3
    structure = SemiMarkov(3, most, [1, most, most])
    numbers = {name: k for k, name in enumerate(names)}
    topo = structure.topology(4)
    mask = np.zeros(structure.n_parts(topo))
    _, every = structure.k_best(mask, topo, 10_000)
    spelled = [tags_of([(i, j, names[k]) for i, j, k in rows.tolist()], scheme, "O")
               for rows in every]  # fmt: skip
    rng = np.random.default_rng(0)
    for n in rng.choice(len(every), 40):
        tags = [None if rng.random() < 0.4 else tag for tag in spelled[n]]
        if None not in tags:
            continue
        (found,), _ = find_partial([tags], np.array([4]), "O", scheme, None, lambda s, t: "here")
        assert found is not None
        allowed = structure.mask(topo, found.constraints(numbers))
        _, kept = structure.k_best(allowed, topo, 10_000)
        agree = {
            rows.tobytes()
            for rows, text in zip(every, spelled, strict=True)
            if all(tag in (None, own) for tag, own in zip(tags, text, strict=True))
        }
        assert {rows.tobytes() for rows in kept} == agree
        assert {(i, j, numbers[k]) for i, j, k in found.segments()} <= {
            tuple(row) for row in every[n].tolist()
        }


def test_segmenter() -> None:
    X = [["in", "New", "York", "City"], ["Paris", "is"], ["the", "Big", "Apple"]] * 3
    y = [["O", "B-L", "I-L", "I-L"], ["B-L", "O"], ["O", "B-L", "I-L"]] * 3
    plain = SegmentTagger(l2=0.1).fit(X, y)
    y[0] = ["O", "B-L", None, "I-L"]
    y[4] = ["B-L", None]
    y[5] = [None, None, None]
    model = SegmentTagger(l2=0.1).fit(X, y)
    assert model.certificate_.steps is not None
    assert model.model_.meta["left_out"] == 1
    assert model.predict(X) == plain.predict(X)
    assert model.score(X, y) == 1.0
    # The same as segments: of the tokens 1 to 4 nothing is known but their ends.
    spans: list[Any] = [[(1, 4, "L")], [(0, 1, "L")], [(1, 3, "L")]] * 3
    spans[3] = [(1, 4, {"L", "O"})]
    spans[4] = [(0, 1, "L"), (1, 2, None)]
    other = SegmentTagger(l2=0.1).fit(X, spans)
    assert other.certificate_.steps is not None
    with pytest.raises(DataError, match=r"sequence 4 .*hinge loss"):
        SegmentTagger(loss="hinge").fit(X, [*spans[:3], spans[0], *spans[4:]])
    with pytest.raises(DataError, match="write them as IOB2"):
        SegmentTagger(scheme="IOB1").fit([["a", "b"]] * 2, [["O", None], ["I-L", "O"]])
    with pytest.raises(DataError, match="a set of tags"):
        SegmentTagger().fit([["a", "b"]], [["O", {"O", "B-L"}]])


# Trees


def sentences(n: int = 12) -> list[Sentence]:
    made = []
    for k in range(n):
        form = ["the", "dog", "sees", "a", "cat"][: 3 + 2 * (k % 2)]
        head = [2, 3, 0, 5, 3][: len(form)]
        rel = ["det", "nsubj", "root", "det", "obj"][: len(form)]
        pos = ["DT", "NN", "VB", "DT", "NN"][: len(form)]
        made.append(Sentence.from_columns(form, pos=pos, head=head, deprel=rel))
    return made


@pytest.mark.parametrize("projective", [True, False])
def test_dependency_parser(projective: bool) -> None:
    given = sentences()
    heads: list[Any] = [list(s.head) for s in given]
    labels: list[Any] = [list(s.deprel) for s in given]
    heads[0][0] = None
    heads[1][3] = {5, 3}
    labels[2][1] = None
    labels[3][4] = {"obj", "nsubj"}
    heads[4] = [None] * len(heads[4])
    labels[4] = [None] * len(labels[4])
    parser = DependencyParser(labelled=True, projective=projective, l2=0.1)
    model = parser.fit(given, heads, labels)
    assert model.certificate_.steps is not None
    assert model.certificate_.steps.partial == 4
    assert model.model_.meta["left_out"] == 1
    assert model.predict(given) == [list(zip(s.head, s.deprel, strict=True)) for s in given]
    assert model.score(given, heads, labels) == 1.0
    with pytest.raises(DataError, match=r"sentence 0 .*word 1 .*hinge loss"):
        DependencyParser(labelled=True, loss="hinge").fit(given, heads, labels)
    with pytest.raises(DataError, match=r"sentence 0 .*word 1 .*missing or uncertain"):
        model.log_proba(given[:1], heads[:1], labels[:1])


def test_open_heads_are_asked_for() -> None:
    given = sentences()
    given[0] = given[0].with_tree([-1, *given[0].head[1:]])
    with pytest.raises(DataError, match="missing_label"):
        DependencyParser().fit(given)
    model = DependencyParser(missing_label="_").fit(given)
    assert model.certificate_.steps is not None
    assert model.score(given) == 1.0


def test_whole_trees_are_as_before() -> None:
    given = sentences()
    heads = [[{h} if k == 0 else h for h in s.head] for k, s in enumerate(given)]
    with_sets = DependencyParser(tol=1e-8, l2=1.0).fit(given, heads)
    plain = DependencyParser(tol=1e-8, l2=1.0).fit(given)
    assert plain.certificate_.steps is None
    assert with_sets.certificate_.steps is not None
    assert with_sets.certificate_.steps.objective == pytest.approx(plain.certificate_.primal)


# Phrases


def test_constituency_parser() -> None:
    text = [
        "(S (NP (DT the) (NN dog)) (VP (VB sees) (NP (DT a) (NN cat))))",
        "(S (NP (NN dog)) (VP (VB sees) (NP (NN cat))))",
        "(S (NP (DT the) (JJ big) (NN dog)) (VP (VB runs)))",
    ]
    trees = [parse_tree(line) for line in text * 3]
    plain = ConstituencyParser(l2=0.1).fit(trees)
    open_ = parse_tree("(? (? (DT the) (NN dog)) (VB sees) (DT a) (NN cat))")
    nothing = parse_tree("(? (NN dog) (VB sees) (NN cat))")
    wrong = parse_tree("(? (DT the) (? (NN dog) (VB sees)) (DT a) (NN cat))")
    model = ConstituencyParser(l2=0.1, missing_label="?").fit([*trees, open_, nothing, wrong])
    steps_ = model.certificate_.steps
    assert steps_ is not None or model.model_.meta.get("left_out")
    assert list(map(str, model.predict(trees))) == list(map(str, plain.predict(trees)))
    assert model.score([*trees, open_]) == plain.score(trees)
    y: list[Any] = [None] * len(trees)
    y[0] = [(0, 2, "NP"), (2, 5)]
    y[1] = [(1, 3, {"VP", "S"})]
    by_brackets = ConstituencyParser(l2=0.1).fit(trees, y)
    assert by_brackets.certificate_.converged
    with pytest.raises(DataError, match=r"tree 9 .*hinge loss"):
        ConstituencyParser(loss="hinge", missing_label="?").fit([*trees, open_])
    with pytest.raises(DataError, match=r"tree 0 .*bracket"):
        ConstituencyParser().fit(trees, [[(3, 1)], *y[1:]])
    with pytest.raises(DataError, match="has no tag"):
        ConstituencyParser(missing_label="?").fit([*trees, parse_tree("(S (? dog))")])


# Graphs


def test_graph_labeler() -> None:
    X, y = chains()
    given = [(x, steps(len(x))) for x in X]
    partial: list[list[Any]] = [list(labels) for labels in y]
    partial[0][1] = None
    partial[2][0] = {partial[2][0], "ax"}
    partial[1] = [None]
    model = GraphLabeler(l2=0.1).fit(given, partial)
    assert model.certificate_.steps is not None
    assert model.model_.meta["left_out"] == 1
    assert 0.5 < model.score(given, partial) <= 1.0
    marked = [["?" if label is None else label for label in labels] for labels in partial]
    other = GraphLabeler(l2=0.1, missing_label="?").fit(given, marked)
    assert np.array_equal(model.model_.weights, other.model_.weights)
    with pytest.raises(DataError, match=r"example 0, vertex 1 .*hinge loss"):
        GraphLabeler(loss="hinge").fit(given, partial)
    with pytest.raises(DataError, match=r"vertex 0 .*missing"):
        model.log_proba(given, [[None] * len(labels) for labels in y])


def test_many_sets_one_answer() -> None:
    """All ways of hiding a label in two positions give an objective between 0 and that of both."""
    X = [["p", "q"], ["q", "p"], ["p", "p"]]
    whole = SequenceTagger(tol=1e-8).fit(X, [["A", "B"], ["B", "A"], ["A", "A"]])
    for a, b in itertools.product(["A", None], ["B", None]):
        if (a, b) == ("A", "B"):
            continue
        model = SequenceTagger(tol=1e-8).fit(X, [[a, b], ["B", "A"], ["A", "A"]])
        steps_ = model.certificate_.steps
        value = model.certificate_.primal if steps_ is None else steps_.objective
        assert 0.0 < value < whole.certificate_.primal
