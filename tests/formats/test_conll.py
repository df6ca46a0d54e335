from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.formats.conll import UNKNOWN, Sentence, read_conll, write_conll

CONLLX = (
    "1\tLas\tel\td\tda\tgen=f|num=p\t2\tESP\t2\t_\n"
    "2\treservas\treserva\tn\tnc\t_\t0\tROOT\t_\t_\n"
    "\n"
    "1\tSi\tsi\tc\tcs\t_\t0\tROOT\t_\t_\n"
    "\n"
)
CONLLU = (
    "# sent_id = 1\n"
    "# text = Vámonos al mar\n"
    "1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tVamos\tir\tVERB\t_\tMood=Imp\t0\troot\t0:root\t_\n"
    "2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t1:obj\tSpaceAfter=No\n"
    "3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "3\ta\ta\tADP\t_\t_\t5\tcase\t5:case\t_\n"
    "4\tel\tel\tDET\t_\t_\t5\tdet\t5:det\t_\n"
    "5\tmar\tmar\tNOUN\t_\t_\t1\tobl\t1:obl:a\t_\n"
    "5.1\tnada\tnada\tPRON\t_\t_\t_\t_\t1:obj\tCopyOf=2\n"
    "\n"
)
THREE = "#\t#\t2\n10\tCD\t0\n\nNo\tUH\t0\n\n"


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def put(folder: Path, data: bytes | str, name: str = "data.conll") -> str:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def written(folder: Path, sentences: list[Sentence]) -> str:
    write_conll(folder / "out.conll", sentences)
    return (folder / "out.conll").read_bytes().decode()


def words(*heads: str) -> str:
    lines = [f"{m}\tw{m}\t_\t_\t_\t_\t{h}\tx\t_\t_\n" for m, h in enumerate(heads, 1)]
    return "".join(lines) + "\n"


def test_conllx(tmp_path):
    first, second = read_conll(put(tmp_path, CONLLX))
    assert first.form == ["Las", "reservas"]
    assert first.lemma == ["el", "reserva"]
    assert first.cpos == ["d", "n"]
    assert first.pos == ["da", "nc"]
    assert first.feats == ["gen=f|num=p", "_"]
    assert first.head == [2, 0]
    assert first.deprel == ["ESP", "ROOT"]
    assert first.comments == []
    assert len(first) == 2
    assert second.form == ["Si"]
    assert str(second.where(1)).endswith("data.conll:4")


def test_conllu_keeps_what_is_no_word(tmp_path):
    path = put(tmp_path, CONLLU)
    (sentence,) = read_conll(path, single_root=True)
    assert sentence.form == ["Vamos", "nos", "a", "el", "mar"]
    assert sentence.head == [0, 1, 5, 5, 1]
    assert sentence.comments == ["# sent_id = 1", "# text = Vámonos al mar"]
    assert str(sentence.where(1)) == f"{path}:4"
    assert str(sentence.where(3)) == f"{path}:7"
    changed = sentence.with_tree([0, 1, 1, 5, 1], ["root", "obj", "mark", "det", "obl"])
    wanted = CONLLU.replace("\t5\tcase\t5:case\t", "\t1\tmark\t5:case\t")
    assert written(tmp_path, [changed]) == wanted
    assert sentence.head == [0, 1, 5, 5, 1]  # the sentence itself is as it was
    assert changed.head == [0, 1, 1, 5, 1]
    assert changed.deprel[2] == "mark"


def test_three_columns(tmp_path):
    first, second = read_conll(put(tmp_path, THREE))
    assert first.form == ["#", "10"]
    assert first.pos == ["#", "CD"]
    assert first.head == [2, 0]
    assert first.lemma == first.cpos == first.feats == first.deprel == ["_", "_"]
    assert first.comments == []
    changed = first.with_tree([0, 1])
    assert written(tmp_path, [changed, second]) == "#\t#\t0\n10\tCD\t1\n\nNo\tUH\t0\n\n"
    with pytest.raises(DataError, match="three columns has no place for relations"):
        first.with_tree([0, 1], ["a", "b"])


@pytest.mark.parametrize(
    "text",
    [
        CONLLX,
        CONLLU,
        THREE,
        CONLLX.rstrip("\n"),
        CONLLX.rstrip("\n") + "\n",
        "\n\n" + CONLLX + "\n \t\n\n",
        CONLLX.replace("\n\n", "\n\n\n"),
        CONLLU + CONLLX,
        CONLLX + CONLLU,
        "# a\tcomment\twith tabs\n" + CONLLX,
        CONLLX.replace("reservas", "las\u00a0re\u2028servas y\u0085"),
    ],
)
def test_an_unchanged_file_is_written_back_byte_for_byte(tmp_path, text):
    sentences = read_conll(put(tmp_path, text))
    assert written(tmp_path, sentences) == text
    same = [s.with_tree(s.head, None if text == THREE else s.deprel) for s in sentences]
    assert written(tmp_path, same) == text


def test_line_ends_and_the_byte_order_mark_are_normalised(tmp_path):
    sentences = read_conll(put(tmp_path, "\ufeff" + CONLLX.replace("\n", "\r\n")))
    assert written(tmp_path, sentences) == CONLLX


def test_sentences_of_several_files_stay_apart(tmp_path):
    for end in ("", "\n"):
        a = read_conll(put(tmp_path, CONLLX.rstrip("\n") + end))
        b = read_conll(put(tmp_path, CONLLU))
        assert written(tmp_path, [*a, *b]) == CONLLX + CONLLU


def test_gzip_and_stdin(tmp_path, monkeypatch):
    packed = put(tmp_path, gzip.compress(CONLLU.encode()), "data")
    assert len(read_conll(packed)[0]) == 5
    write_conll(tmp_path / "out.gz", read_conll(packed))
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == CONLLU
    monkeypatch.setattr(sys, "stdin", Stdin(words("0", "9").encode()))
    with pytest.raises(DataError, match=r"^<stdin>:2: head 9 in a sentence of 2 words"):
        read_conll("-")


def test_heads_that_are_not_known(tmp_path):
    path = put(tmp_path, words("_", "1", "_"))
    with pytest.raises(DataError, match=r":1: head _ where a number is expected; give every word"):
        read_conll(path)
    (sentence,) = read_conll(path, labelled=False)
    assert sentence.head == [UNKNOWN, 1, UNKNOWN]
    parsed = sentence.with_tree([0, UNKNOWN, 2])
    assert written(tmp_path, [parsed]) == words("0", "_", "2")


def test_a_file_to_be_parsed_may_hold_no_trees(tmp_path):
    (sentence,) = read_conll(put(tmp_path, words("2", "1", "3")), labelled=False)
    assert sentence.head == [2, 1, 3]
    assert read_conll(put(tmp_path, "\n \n"), labelled=False) == []
    assert written(tmp_path, []) == ""


def test_several_roots(tmp_path):
    path = put(tmp_path, words("0", "0"))
    assert read_conll(path)[0].head == [0, 0]
    with pytest.raises(DataError, match=r":2: words 1 and 2 both have head 0 where a single root"):
        read_conll(path, single_root=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"no words; expected one word per line"),
        ("# only a comment\n", r"no words"),
        (CONLLX + "\n# only a comment\n\n", r":7: a sentence without words; remove its comments"),
        ("# c\n\n" + CONLLX, r":1: a sentence without words"),
        ("1-2\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", r":1: a sentence without words"),
        ("a b c\n", r":1: no tab in 'a b c'; columns are separated by single tabs, 10 .* or 3"),
        ("a\tb\n", r":1: 2 columns where 10 .* or 3 \(word, tag, head\) are expected"),
        (CONLLX + "1 x y\n", r":6: no tab in '1 x y'.* 10 of them"),
        (CONLLX + "1\tx\ty\n", r":6: 3 columns where 10 are expected; separate columns by"),
        (THREE + "x\ty\t0\tz\n", r":6: 4 columns where 3 are expected"),
        (CONLLX.replace("\n\n1", "\n1", 1), r":3: word number 1 where 3 is expected; number the"),
        (words("0", "1").replace("2\tw2", "3\tw2"), r":2: word number 3 where 2 is expected"),
        (words("0").replace("1\tw1", "x\tw1"), r":1: 'x' is not a word number; expected 1, or a"),
        (words("0").replace("1\tw1", "01\tw1"), r":1: '01' is not a word number"),
        (words("0").replace("w1", ""), r":1: empty form; write _"),
        (words("0", "3"), r":2: head 3 in a sentence of 2 words; heads are 0 .* 1 to 2"),
        (words("0", "9" * 5000), r":2: head 9+ in a sentence of 2 words"),
        (words("0", "x"), r":2: head 'x' is not a number; write the number of the head word"),
        (words("0", "-1"), r":2: head '-1' is not a number"),
        (words("0", "\u0661"), r":2: head .* is not a number"),
        (words("0", ""), r":2: head '' is not a number"),
        (words("2", "1"), r":1: the sentence has no root; give one of its words head 0"),
        (words("0", "3", "2"), r":2: heads run in a circle, 2 \(w2\) -> 3 \(w3\) -> 2 \(w2\);"),
        (words("0", "2"), r":2: heads run in a circle, 2 \(w2\) -> 2 \(w2\);"),
        (words("0", *map(str, range(3, 13)), "2"), r":2: heads .* -> \.\.\. -> 2 \(w2\);"),
        (b"1\tcaf\xe9\t_\t_\t_\t_\t0\tx\t_\t_\n", r":1: byte 0xe9 is not UTF-8 text"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(tmp_path, text, message):
    path = put(tmp_path, text)
    with pytest.raises(DataError, match=message) as caught:
        read_conll(path)
    assert str(caught.value).startswith(path)


def test_a_tree_that_does_not_fit():
    sentence = Sentence.from_columns(["a", "b"])
    with pytest.raises(DataError, match="1 heads for 2 words"):
        sentence.with_tree([0])
    with pytest.raises(DataError, match="3 relations for 2 words"):
        sentence.with_tree([0, 1], ["x"] * 3)
    with pytest.raises(DataError, match=r"<columns>:2: head 3 in a sentence of 2 words"):
        sentence.with_tree([0, 3])
    for bad in ("", "a\tb", "a\n"):
        with pytest.raises(DataError, match="cannot be written to a CoNLL file"):
            sentence.with_tree([0, 1], ["x", bad])


def test_sentences_from_lists(tmp_path):
    sentence = Sentence.from_columns(
        ["It", "works"], pos=["PRP", "VBZ"], head=[2, 0], deprel=["nsubj", "root"]
    )
    assert sentence.pos == ["PRP", "VBZ"]
    assert sentence.head == [2, 0]
    assert sentence.lemma == ["_", "_"]
    again = read_conll(put(tmp_path, written(tmp_path, [sentence, sentence])))
    assert [s.form for s in again] == [["It", "works"]] * 2
    assert Sentence.from_columns(["It"]).head == [UNKNOWN]
    assert Sentence.from_columns(["It"], head=[UNKNOWN]).head == [UNKNOWN]
    with pytest.raises(DataError, match="no column 'tag'; choose from lemma"):
        Sentence.from_columns(["It"], tag=["x"])
    with pytest.raises(DataError, match="2 values of pos for 1 words"):
        Sentence.from_columns(["It"], pos=["x", "y"])
    with pytest.raises(DataError, match="cannot be written"):
        Sentence.from_columns(["It\n"])
    with pytest.raises(DataError, match="without words"):
        Sentence.from_columns([])


FIELD = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1
).filter(lambda text: text != "_")


@given(st.lists(FIELD, min_size=1), st.data())
def test_any_text_survives(tmp_path_factory, forms, data):
    tags = data.draw(st.lists(FIELD, min_size=len(forms), max_size=len(forms)))
    head = [data.draw(st.integers(0, m)) for m in range(len(forms))]
    sentence = Sentence.from_columns(forms, pos=tags, head=head)
    folder = tmp_path_factory.mktemp("any")
    text = written(folder, [sentence, sentence])
    (again, _) = read_conll(put(folder, text))
    assert (again.form, again.pos, again.head) == (forms, tags, head)
