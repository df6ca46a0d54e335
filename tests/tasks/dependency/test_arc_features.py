"""Features of dependency arcs against a plain implementation on strings."""

from __future__ import annotations

import json
import pickle
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.arc_sentences import DOG, DOG_HEADS, Bare, Words

from partwise.errors import DataError, ModelFileError
from partwise.files.container import read_container, write_container
from partwise.tasks.dependency.arc_table import ArcTable
from partwise.tasks.dependency.templates import ARC_TEMPLATES, make_plan
from partwise.tasks.example_form import key_names

FEW = {"max_examples": 12, "deadline": None}


def value(sentence, column, position):
    """What a column has at a position, as a list: of one value, of none, or of several feats."""
    n = len(sentence.form)
    if column == "feat":
        if not 1 <= position <= n:
            return []
        given = (sentence.feats or ["_"] * n)[position - 1]
        return [] if given == "_" else sorted(set(given.split("|")))
    if position < 1:
        return ["<root>"] if position == 0 else ["<begin>"]
    if position > n:
        return ["<end>"]
    if column == "prefix":
        form = sentence.form[position - 1]
        return [form[:5]] if len(form) > 5 else []
    if column == "feats":
        return (
            ["|".join(value(sentence, "feat", position))]
            if value(sentence, "feat", position)
            else []
        )
    found = getattr(sentence, column) or ["_"] * n
    if column != "form" and found[position - 1] == "_":
        return []
    return [found[position - 1]]


def features_of(sentence, h, m, templates=ARC_TEMPLATES):
    """The features of an arc as strings, in the words of `describe`."""
    gap = abs(h - m)
    name = str(gap) if gap < 5 else "5-10" if gap <= 10 else ">10"
    where = f", {'right' if h < m else 'left'}, distance {name}"
    found = set()
    for template in templates:
        partial = [""]
        for atom in template.split():
            place, column = atom.split(".")
            if place == "b":
                values = {
                    v for p in range(min(h, m) + 1, max(h, m)) for v in value(sentence, column, p)
                }
            else:
                position = {"h": h, "m": m}[place[0]] + int(place[1:] or 0)
                values = value(sentence, column, position)
            partial = [f"{text} {atom}={v}".strip() for text in partial for v in values]
        found.update(partial)
    return found | {text + where for text in found}


def arcs_of(sentence):
    n = len(sentence.form)
    return [(h, m) for m in range(1, n + 1) for h in range(n + 1) if h != m]


def seen_in(sentences, heads, templates=ARC_TEMPLATES):
    counts = Counter()
    for sentence, of in zip(sentences, heads, strict=True):
        for m, h in enumerate(of, 1):
            counts.update(features_of(sentence, h, m, templates))
    return counts


def described(features, rows, row):
    numbers = rows.indices[rows.indptr[row] : rows.indptr[row + 1]].tolist()
    assert len(set(numbers)) == len(numbers)
    return {key_names(features).names([n])[0] for n in numbers}


def check_rows(features, sentences, seen, templates=ARC_TEMPLATES):
    rows = features.rows(sentences)
    expected = [features_of(s, h, m, templates) & seen for s in sentences for h, m in arcs_of(s)]
    assert len(rows) == len(expected)
    assert rows.values is None
    assert rows.n_features == features.n_features
    for row, names in enumerate(expected):
        assert described(features, rows, row) == names


@st.composite
def treebanks(draw, columns=True):
    sentences, heads = [], []
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 12))

        def some(words, n=n):
            return draw(st.lists(st.sampled_from(words), min_size=n, max_size=n))

        sentences.append(
            Words(
                some(["a", "b", "longish", "longitude", "lengthy", "_"]),
                some(["a", "b", "_"]) if columns else None,
                some(["X", "Y"]) if columns else None,
                some(["Xa", "Xb", "Ya", "_"]),
                some(["_", "n=s", "n=s|g=f", "g=f|n=s", "g=f|n=p|c=1"]) if columns else None,
            )
        )
        heads.append(
            [draw(st.sampled_from([h for h in range(n + 1) if h != m])) for m in range(1, n + 1)]
        )
    return sentences, heads


def test_arc_by_hand():
    templates = ["h.form", "h.pos m.pos", "h.pos b.pos m.pos", "h+1.cpos m-1.cpos", "h.feat m.feat"]
    features = ArcTable.fit([DOG], [[4, 4, 4, 0]], templates=templates)
    rows = features.rows([DOG])
    # Head 4 (sleeps), modifier 1 (The): the last arc of the first modifier.
    assert described(features, rows, 3) == {
        "h.form=sleeps",
        "h.form=sleeps, left, distance 3",
        "h.pos=VBZ m.pos=DT",
        "h.pos=VBZ m.pos=DT, left, distance 3",
        "h.pos=VBZ b.pos=VBG m.pos=DT",
        "h.pos=VBZ b.pos=VBG m.pos=DT, left, distance 3",
        "h.pos=VBZ b.pos=NN m.pos=DT",
        "h.pos=VBZ b.pos=NN m.pos=DT, left, distance 3",
        "h+1.cpos=<end> m-1.cpos=<root>",
        "h+1.cpos=<end> m-1.cpos=<root>, left, distance 3",
    }
    # Head 4, modifier 3: feats are paired, each with each.
    last = described(features, rows, 11)
    assert {f for f in last if f.startswith("h.feat") and "," not in f} == {
        "h.feat=num=s m.feat=num=s",
        "h.feat=per=3 m.feat=num=s",
    }


def test_all_templates_by_strings():
    features = ArcTable.fit([DOG], [DOG_HEADS])
    seen = seen_in([DOG], [DOG_HEADS])
    assert features.n_features == len(seen)
    assert {key_names(features).names([n])[0] for n in range(features.n_features)} == set(seen)
    check_rows(features, [DOG], set(seen))


@settings(**FEW)
@given(treebanks(), treebanks(), st.integers(1, 3))
def test_rows_against_strings(train, other, min_count):
    features = ArcTable.fit(*train, min_count=min_count)
    seen = {name for name, count in seen_in(*train).items() if count >= min_count}
    assert features.n_features == len(seen)
    check_rows(features, train[0], seen)
    check_rows(features, other[0], seen)


@settings(**FEW)
@given(treebanks(columns=False))
def test_rows_without_columns(train):
    features = ArcTable.fit(*train)
    check_rows(features, train[0], set(seen_in(*train)))


@settings(**FEW)
@given(treebanks())
def test_atoms_of_several_values(train):
    # No template here has a parent, and one mixes values in between with feats of the modifier.
    templates = ["b.form m.feat", "h.feat", "m.feat m+2.form", "h.feat m.feat"]
    features = ArcTable.fit(*train, templates=templates)
    check_rows(features, train[0], set(seen_in(*train, templates)), templates)


def test_rows_are_in_the_order_of_arcs():
    pair = ["h.form m.form"]
    sentences = [DOG, Words(["x"]), Words(["a", "b"])]
    heads = [[2, 3, 4, 0], [0], [0, 1]]
    every = []
    for sentence in sentences:
        words = ["<root>", *sentence.form]
        every += [f"h.form={words[h]} m.form={words[m]}" for h, m in arcs_of(sentence)]
    hashed = ArcTable.fit(sentences, heads, templates=pair, n_hashed=2**20).rows(sentences)
    assert len(hashed) == 16 + 1 + 4 == len(every)
    listed = ArcTable.fit(sentences, heads, templates=pair)
    rows = listed.rows(sentences)
    for row, name in enumerate(every):
        assert described(listed, rows, row) <= {name} | {
            f"{name}, {side}, distance {gap}" for side in ("left", "right") for gap in range(1, 5)
        }
    assert sum(bool(described(listed, rows, row)) for row in range(len(rows))) == 7


def test_distances():
    sentence = Words([f"w{n}" for n in range(14)])
    heads = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    features = ArcTable.fit([sentence], [heads], templates=["h.form"])
    assert [key_names(features).names([n])[0] for n in range(features.n_features)] == [
        "h.form=<root>",
        "h.form=<root>, right, distance 1",
        *["h.form=w0", *(f"h.form=w0, right, distance {gap}" for gap in ("1", "2", "3", "4"))],
        *["h.form=w0, right, distance 5-10", "h.form=w0, right, distance >10"],
    ]


def test_unknown_words_have_no_lexical_features():
    features = ArcTable.fit([DOG], [DOG_HEADS])
    other = Words(["Un", "seen"], ["_", "_"], ["D", "N"], ["DT", "NN"], ["new=1", "_"])
    check_rows(features, [other], set(seen_in([DOG], [DOG_HEADS])))
    names = described(features, features.rows([other]), 1)  # 2 -> 1
    assert "h.pos=NN m.pos=DT" in names
    assert not any("form" in name for name in names)


def test_one_word_and_none():
    features = ArcTable.fit([Words(["x"])], [[0]])
    assert key_names(features).names([0])[0] == "h.pos=<root>"
    assert len(features.rows([Words(["x"])])) == 1
    assert len(features.rows([])) == 0
    assert len(features.rows([Words([])])) == 0
    assert ArcTable.fit([], []).n_features == 0
    assert ArcTable.fit([], []).rows([DOG]).indptr.tolist() == [0] * 17


def test_only_forms_are_needed():
    features = ArcTable.fit([Bare(["a", "b"])], [[2, 0]])
    names = {key_names(features).names([n])[0] for n in range(features.n_features)}
    assert "h.form=b m.form=a, left, distance 1" in names
    assert not any("m.pos" in name or "m.lemma" in name for name in names)


def test_min_count():
    once, twice = (ArcTable.fit([DOG, DOG], [DOG_HEADS, [3, 3, 0, 3]], min_count=n) for n in (1, 2))
    assert 0 < twice.n_features < once.n_features
    assert set(twice.keys) < set(once.keys)


def test_chunks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(3)
    sentences, heads = some_text(rng, 40, 12)
    whole = ArcTable.fit(sentences, heads, min_count=2)
    rows = whole.rows(sentences)
    hashed = ArcTable.fit(sentences, heads, n_hashed=2**10)
    folded = hashed.rows(sentences)
    monkeypatch.setattr("partwise.tasks.dependency.arc_counts.CHUNK", 100)
    parts = ArcTable.fit(sentences, heads, min_count=2)
    assert np.array_equal(whole.keys, parts.keys)
    for one, other in ((rows, parts.rows(sentences)), (folded, hashed.rows(sentences))):
        assert np.array_equal(one.indptr, other.indptr)
        assert np.array_equal(one.indices, other.indices)


@settings(**FEW)
@given(treebanks())
def test_hashing(train):
    sentences, heads = train
    features = ArcTable.fit(sentences, heads, n_hashed=2**22)
    assert features.n_features == 2**22
    rows = features.rows(sentences)
    number = {}
    arcs = [(s, h, m) for s in sentences for h, m in arcs_of(s)]
    for row, (sentence, h, m) in enumerate(arcs):
        mine = set(rows.indices[rows.indptr[row] : rows.indptr[row + 1]].tolist())
        names = features_of(sentence, h, m)
        # All features, seen or not; three collisions in a row of 200 are out of the question.
        assert len(names) - 2 <= len(mine) <= len(names)
        number.setdefault(frozenset(names), mine)
        assert number[frozenset(names)] == mine
    assert key_names(features).names([5])[0] == "hash 5 of 4194304"


def test_hashed_features_occur_once_a_row():
    features = ArcTable.fit([DOG], [DOG_HEADS], n_hashed=32)
    rows = features.rows([DOG])
    for row in range(len(rows)):
        mine = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        assert len(set(mine.tolist())) == len(mine) > 16


@pytest.mark.parametrize("n_hashed", [0, 2**12])
def test_saved_and_loaded(tmp_path, n_hashed):
    rng = np.random.default_rng(0)
    sentences, heads = some_text(rng, 20, 8)
    features = ArcTable.fit(sentences, heads, n_hashed=n_hashed)
    path = tmp_path / "features"
    write_container(path, features.to_json(), features.arrays())
    loaded = ArcTable.from_saved(*read_container(path))
    copied = pickle.loads(pickle.dumps(features))
    other, _ = some_text(rng, 20, 8)
    rows = features.rows(other)
    for again in (loaded, copied):
        assert again.templates == features.templates
        assert again.n_features == features.n_features
        assert key_names(again).names([7])[0] == key_names(features).names([7])[0]
        assert np.array_equal(rows.indptr, again.rows(other).indptr)
        assert np.array_equal(rows.indices, again.rows(other).indices)


def test_damage_is_found():
    features = ArcTable.fit([DOG], [DOG_HEADS])
    data, arrays = json.loads(json.dumps(features.to_json())), features.arrays()
    assert ArcTable.from_saved(data, arrays).n_features == features.n_features

    def refused(why, changes, **replaced):
        with pytest.raises(ModelFileError, match=why):
            ArcTable.from_saved({**data, **changes}, {**arrays, **replaced})

    keys = features.keys
    last = np.int64(len(data["templates"]))
    refused("odd keys", {"more": 1})
    refused("list of strings", {"templates": "h.pos"})
    refused("cannot be read", {"templates": ["h.pos", "x.pos"]})
    refused("odd n_hashed", {"n_hashed": 3})
    refused("odd n_hashed", {"n_hashed": True})
    refused("where features are hashed", {"n_hashed": 4})
    refused("other arrays", {}, extra=keys)
    refused("damaged", {}, form_bytes=arrays["form_bytes"][:-1])
    refused("vector of int64", {}, keys=keys.astype(np.float64))
    refused("do not rise", {}, keys=keys[::-1].copy())
    refused("do not rise", {}, keys=np.concatenate([[-1], keys]))
    refused("no plain feature", {}, keys=keys[1:])
    refused("odd distance", {}, keys=np.concatenate([keys[:1], keys[:1] | 15]))
    refused("no template", {}, keys=np.concatenate([keys, [last << 56 | 16]]))
    refused("too many values", {}, keys=np.array([1 << 55 | 16]))
    refused("odd value", {}, keys=np.array([0]))


def test_same_every_time():
    sentences, heads = some_text(np.random.default_rng(1), 30, 10)
    one, other = (ArcTable.fit(sentences, heads) for _ in range(2))
    assert np.array_equal(one.keys, other.keys)
    assert np.array_equal(one.rows(sentences).indices, one.rows(sentences).indices)
    # What comes before a sentence does not change its rows.
    alone = one.rows(sentences[5:6])
    before = sum(len(s.form) ** 2 for s in sentences[:5])
    among = one.rows(sentences).take(slice(before, before + len(alone)))
    assert np.array_equal(alone.indices, among.indices)


@pytest.mark.parametrize(
    ("sentence", "heads", "options", "why"),
    [
        (Words(["a", "b"], pos=["X"]), [0, 1], {}, "1 values of pos for 2 forms"),
        (Words(["a", 2]), [0, 1], {}, "token 1 .*form is 2, not a string"),
        (Words("ab"), [0, 1], {}, "not a list of strings"),
        (Words(["a", "b"]), [0], {}, "2 integers are expected"),
        (Words(["a", "b"]), [0, 2], {}, r"the head of token 2 \(counted from 1\) is 2"),
        (Words(["a", "b"]), [3, 0], {}, r"the head of token 1 \(counted from 1\) is 3"),
        (Words(["a", "b"]), [0, -2], {}, r"the head of token 2 \(counted from 1\) is -2"),
        (Words(["a"]), [0], {"min_count": 0}, "min_count is 0"),
        (Words(["a"]), [0], {"min_count": 2, "n_hashed": 8}, "keeps no counts"),
        (Words(["a"]), [0], {"n_hashed": 12}, "power of two"),
        (Words(["a"]), [0], {"templates": []}, "0 arc templates"),
        (Words(["a"]), [0], {"templates": ["h.tag"]}, "cannot be read"),
        (Words(["a"]), [0], {"templates": ["h+3.pos"]}, "cannot be read"),
        (Words(["a"]), [0], {"templates": ["b-1.pos"]}, "no offset"),
        (Words(["a"]), [0], {"templates": ["h-1.feat"]}, "h and m only"),
        (Words(["a"]), [0], {"templates": [" "]}, "no atoms"),
        (Words(["a"]), [0], {"templates": ["h.pos h.pos"]}, "twice"),
        (Words(["a"]), [0], {"templates": ["h.pos m.pos", "m.pos h.pos"]}, "twice"),
        (Words(["a"]), [0], {"templates": ["h.feat b.pos"]}, "several values"),
    ],
)
def test_refused(sentence, heads, options, why):
    with pytest.raises(DataError, match=why):
        ArcTable.fit([sentence], [heads], **options)


def test_refused_elsewhere():
    with pytest.raises(DataError, match="heads of 2 sentences for 1"):
        ArcTable.fit([DOG], [DOG_HEADS, [0]])
    with pytest.raises(DataError, match="needs 57 bits"):
        make_plan(["h.form m.form h+1.form"], [2**19] * 7)


def test_the_features_of_the_paper() -> None:
    # Table 1 of McDonald, Crammer and Pereira (2005): words and tags alone, in pairs, all together.
    ends = [[f"{end}.form", f"{end}.pos", f"{end}.form {end}.pos"] for end in "hm"]
    pairs = [f"{a} {b}" for a in ends[0] for b in ends[1]]
    assert {*ends[0], *ends[1], *pairs, "h.pos m.pos b.pos"} <= set(ARC_TEMPLATES)
    around = ["h+1.pos m-1.pos", "h-1.pos m-1.pos", "h+1.pos m+1.pos", "h-1.pos m+1.pos"]
    assert {f"h.pos m.pos {two}" for two in around} <= set(ARC_TEMPLATES)


def test_parents_are_backoffs():
    plan = make_plan(ARC_TEMPLATES, [100] * 7)
    sets = [set(template.split()) for template in ARC_TEMPLATES]
    for k, parent in enumerate(plan.parent):
        assert parent < k
        assert parent < 0 or sets[parent] < sets[k]
        assert (parent < 0) == (len(sets[k]) == 1)


def cut(sentences, heads, length):
    """The same words in sentences of at most so many."""
    pieces, chains = [], []
    for sentence in sentences:
        for first in range(0, len(sentence.form), length):
            part = slice(first, first + length)
            pieces.append(Words(*(column[part] for column in vars(sentence).values())))
            chains.append(list(range(len(pieces[-1].form))))
    return pieces, chains


def some_text(rng, n_sentences, length):
    """Sentences of words with a long tail, with tags and morphology, and trees."""
    sentences, heads = [], []
    for _ in range(n_sentences):
        n = int(rng.integers(1, length + 1))
        word = np.minimum(rng.zipf(1.3, n), 5000)
        sentences.append(
            Words(
                [f"word{w}" for w in word],
                [f"w{w // 2}" for w in word],
                [f"C{w % 7}" for w in word],
                [f"P{w % 31}" for w in word],
                [f"gen={'mf'[w % 2]}|num={'sp'[w % 3 % 2]}" for w in word],
            )
        )
        heads.append([m - 1 for m in range(1, n + 1)])
    return sentences, heads


def calls_of(sentences, heads):
    """How many functions Python calls, those in C included, to find and number the features."""
    ArcTable.fit(sentences, heads).rows(sentences)  # compiles
    calls = 0

    def note(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        features = ArcTable.fit(sentences, heads)
        rows = features.rows(sentences)
    finally:
        sys.setprofile(before)
    return calls, len(rows)


def test_python_works_by_the_word_and_not_by_the_arc():
    # Strings made for each arc in Python would take minutes for a treebank.
    sentences, heads = some_text(np.random.default_rng(2), 60, 40)
    few, n_few = calls_of(*cut(sentences, heads, 4))
    many, n_many = calls_of(sentences, heads)
    assert n_many > 4 * n_few
    assert many < 1.1 * few
