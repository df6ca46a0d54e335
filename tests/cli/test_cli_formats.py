"""Files of all formats: trained on, predicted, evaluated, converted and validated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from support.commands import Run, one_object, runner, sentence
from support.mutated_files import CONLLU, CRFSUITE, FILES
from support.same_tokens import digest, reading, spread

from partwise import SequenceTagger, load_model
from partwise.cli import main
from partwise.datasets import tagged_text, write
from partwise.formats.columns import Columns, read_columns
from partwise.formats.conversion import convert
from partwise.formats.crfsuite import read_crfsuite
from partwise.formats.options import Option
from partwise.formats.registry import FORMATS, Format
from partwise.formats.source import read_text

SIGNS = {
    "crfsuite": CRFSUITE.partition("\n")[2],
    "conllu": CONLLU,
    "jsonl": FILES["jsonl"][2],
    "spacy": FILES["spacy"][2],
    "prodigy": FILES["prodigy"][2],
    "doccano": FILES["doccano"][2],
}


def flags(options: dict[str, Any]) -> list[str]:
    return [
        part for key, value in options.items() for part in (f"--{key.replace('_', '-')}", value)
    ]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words and tags in all formats, and a model that was trained on the column file."""
    folder = tmp_path_factory.mktemp("formats")
    write(tagged_text(25, seed=3), folder / "full.txt")
    columns = read_columns(folder / "full.txt")
    rows = zip(columns.split(columns.fields[0]), columns.split(columns.labels or []), strict=True)
    text = "".join("".join(f"{w} {t}\n" for w, t in zip(*row, strict=True)) + "\n" for row in rows)
    (folder / "words.txt").write_text(text, "utf-8")
    assert main([*train(folder / "words.txt", folder / "model"), "--quiet"]) == 0
    return folder


def train(path: Path, model: Path) -> list[str]:
    return ["train", "--task", "tag", str(path), "--model", str(model), "--tol", "1e-3"]


def test_the_same_tokens_in_all_formats_give_the_same_model(folder: Path, run: Run) -> None:
    files = spread(folder / "words.txt", folder)
    assert len(files) >= 8
    expected = digest(load_model(folder / "model"))
    plain = run("evaluate", folder / "model", folder / "words.txt", "--json")[1]
    metrics = one_object(plain)["metrics"]
    for name, path in files.items():
        kind, options = reading(name, files)
        model = folder / f"{name}.model"
        command = [*train(path, model), "--quiet", "--format", kind, *flags(options)]
        assert run(*command)[0] == 0, name
        assert digest(load_model(model)) == expected, name
        # The model remembers the format of its file.
        code, out, _ = run("evaluate", model, path, "--json")
        assert (code, one_object(out)["metrics"]) == (0, metrics), name
        if name == "conllu":
            # An option alone changes what the model remembers.
            code, _, err = run("evaluate", model, path, "--label", "upos")
            assert (code, "no labels" in sentence(err)) == (1, True)
        # A model of another format reads the file if the format is named.
        code, out, _ = run(
            "evaluate", folder / "model", path, "--format", kind, *flags(options), "--json"
        )
        assert (code, one_object(out)["metrics"]) == (0, metrics), name
        # What is predicted stands where labels stand.
        labelled = folder / f"{name}.out"
        assert run("predict", model, path, "--output", labelled)[0] == 0, name
        if kind != "columns":
            code, out, _ = run("evaluate", model, labelled, "--json")
            assert (code, one_object(out)["metrics"]["accuracy"]) == (0, 1.0), name


@pytest.mark.parametrize("kind", SIGNS)
def test_signs_of_another_format(kind: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text(SIGNS[kind], "utf-8")
    for command in (train(path, tmp_path / "m"), ["validate", path]):
        code, _, err = run(*command)
        assert code == 2
        assert f"--format {kind}" in sentence(err)
        assert "--format columns" in err
    assert not (tmp_path / "m").exists()
    # Who says that these are columns is believed: other faults are named then.
    code, _, err = run(*train(path, tmp_path / "m"), "--format", "columns", "--quiet")
    assert code in (0, 1)
    assert "looks like the format" not in err


def test_columns_have_no_signs_of_other_formats(folder: Path, run: Run, tmp_path: Path) -> None:
    for text in (
        "{ -LRB- O\n} -RRB- O\n",
        "# NN B-NP\n1 CD I-NP\n",
        "La\tCase=Nom\tB-NP\nle\tCase=Acc\tO\n",
        "1\ta\tb\tO\n2\tc\td\tB-X\n",
        "http://x.de\tURL\nwww\tO\n",
    ):
        path = tmp_path / "in"
        path.write_text(text, "utf-8")
        assert run("validate", path)[::2] == (0, ""), text


def test_predictions_keep_everything_else(run: Run, tmp_path: Path) -> None:
    path, model, out = tmp_path / "in", tmp_path / "m", tmp_path / "out"
    path.write_text(CONLLU, "utf-8")
    options = ["--format", "conllu", "--label", "upos", "--columns", "form,lemma"]
    assert run(*train(path, model), *options, "--l2", "0.01", "--quiet")[0] == 0
    assert run("predict", model, path, "--output", out)[0] == 0
    assert out.read_text("utf-8").rstrip("\n") == CONLLU.rstrip("\n")
    path.write_text(CONLLU.replace("\tPROPN\t", "\t_\t"), "utf-8")
    code, text, _ = run("predict", model, path, "--marginals")
    assert code == 0
    lines = text.splitlines()
    assert lines[0] == "# sent_id = 1"
    assert lines[2].startswith("1\tAnn\tAnn\tPROPN\tNNP\tNumber=Sing\t4\tnsubj\t_\tNE=B-PER|Label")
    assert lines[4] == "3-4\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_"
    code, text, _ = run("predict", model, path, "--k", 2)
    assert code == 0
    assert text.startswith("# k=1 score=")


def test_predictions_in_json_lines(run: Run, tmp_path: Path) -> None:
    path, model = tmp_path / "in", tmp_path / "m"
    kind, _, text = FILES["prodigy"]
    path.write_text(text, "utf-8")
    assert run(*train(path, model), "--format", kind, "--l2", "0.01", "--quiet")[0] == 0
    code, out, _ = run("predict", model, path)
    assert code == 0
    objects = [json.loads(line) for line in out.splitlines()]
    given = [json.loads(line) for line in text.splitlines()]
    assert objects[0] == given[0]
    assert objects[1].keys() == given[1].keys()
    assert objects[2]["_input_hash"] == -5
    assert objects[2]["spans"][0] == {**given[2]["spans"][0], "token_start": 1, "token_end": 1}
    code, out, _ = run("predict", model, path, "--marginals")
    assert len(json.loads(out.splitlines()[0])["token_probabilities"]) == 3
    code, out, _ = run("predict", model, path, "--k", 2)
    assert [json.loads(line)["k"] for line in out.splitlines()][:2] == [1, 2]


def test_crfsuites_data_are_features(run: Run, tmp_path: Path) -> None:
    path, model = tmp_path / "in", tmp_path / "m"
    path.write_text(CRFSUITE, "utf-8")
    found = read_crfsuite(path)
    assert found.attributes is not None
    assert run(*train(path, model), "--format", "crfsuite", "--tol", "1e-9", "--quiet")[0] == 0
    tokens = []
    for t in range(len(found)):
        token: dict[str, float] = {}
        for name, value in found.attributes.of(t):
            token[name] = token.get(name, 0.0) + value
        tokens.append(token)
    X = [tokens[:3], tokens[3:]]
    y = found.split(found.labels or [])
    other = SequenceTagger(tol=1e-9).fit(X, y, sample_weight=[2.5, 1.0])
    trained = load_model(model)
    assert trained.labels == other.model_.labels
    np.testing.assert_allclose(trained.weights, other.model_.weights, atol=1e-5)
    assert trained.predict(X) == other.predict(X)
    # A model from Python reads such files too.
    from partwise import save_model

    save_model(other, tmp_path / "python")
    code, out, _ = run("predict", tmp_path / "python", path, "--format", "crfsuite")
    assert code == 0
    assert out.splitlines()[0] == "@weight:2.5"
    assert out.splitlines()[1].partition("\t")[2] == "w=Ann\tlen:3.0\tbias"
    code, _, err = run("predict", tmp_path / "python", path, "--format", "columns")
    assert (code, "--format crfsuite" in sentence(err)) == (1, True)
    code, _, err = run("predict", tmp_path / "python", path, "--format", "crfsuite", "--k", 2)
    assert (code, "no place for several labellings" in sentence(err)) == (1, True)


def test_segments_from_other_formats(run: Run, tmp_path: Path) -> None:
    path, model = tmp_path / "in", tmp_path / "m"
    path.write_text(FILES["doccano"][2], "utf-8")
    command = ["train", "--task", "segment", path, "--model", model, "--format", "doccano"]
    assert run(*command, "--segment-features", "text", "--l2", "0.01", "--quiet")[0] == 0
    code, out, _ = run("predict", model, path)
    assert code == 0
    assert [json.loads(line)["label"] for line in out.splitlines()] == [
        [[0, 7, "PER"]],
        [[3, 7, "LOC"]],
    ]
    path.write_text(CRFSUITE, "utf-8")
    code, _, err = run(*command[:-1], "crfsuite", "--segment-features", "text", "--quiet")
    assert (code, "no words" in sentence(err)) == (1, True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--label", "upos"], "--label is no option of the format columns; it belongs to conllu"),
        (["--format", "nonesuch"], "unknown format 'nonesuch'"),
        (["--encoding", "nonesuch"], "unknown encoding 'nonesuch'"),
        (["--label-column", "0"], "0 is no column"),
        (["--format", "conllu", "--separator", "x"], "--separator is no option of the format con"),
    ],
)
def test_options_that_do_not_fit(options: list[str], says: str, folder: Path, run: Run) -> None:
    code, _, err = run(*train(folder / "words.txt", folder / "never"), *options)
    assert code == 2
    assert says in err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--label-column", "9"], "there is no column 9 in a file of 2 columns"),
        (["--columns", "1,2"], "column 2 is the label, and --columns names it as an input too"),
        (["--columns", "x"], "'x' is no column"),
        (["--columns", "1,,2"], "nothing between two commas"),
    ],
)
def test_columns_that_there_are_not(options: list[str], says: str, folder: Path, run: Run) -> None:
    code, _, err = run(*train(folder / "words.txt", folder / "never"), *options, "-q")
    assert code == 1
    assert says in sentence(err)


def test_encodings(run: Run, folder: Path, tmp_path: Path) -> None:
    text = "Café B-LOC\nist O\n\nÜber O\nRom B-LOC\n"
    path, model = tmp_path / "in", tmp_path / "m"
    path.write_bytes(text.encode("latin-1"))
    code, _, err = run(*train(path, model), "-q")
    assert code == 1
    assert ":1: byte 0xe9 is not UTF-8 text (byte 4 of the file)" in sentence(err)
    assert "--encoding latin-1" in err
    assert run(*train(path, model), "--encoding", "latin-1", "-q")[0] == 0
    code, out, _ = run("predict", model, path, "--encoding", "latin-1")
    assert (code, out.split()[0]) == (0, "Café")
    for encoding in ("utf-16", "utf-8-sig", "cp1252"):
        path.write_bytes(text.encode(encoding))
        assert run("validate", path, "--encoding", encoding)[0] == 0
    path.write_bytes(("\ufeff" + text).encode())
    assert run("predict", model, path)[1].split()[0] == "Café"
    # All lines that cannot be decoded are named at once.
    path.write_bytes(text.encode("latin-1"))
    code, out, _ = run("validate", path, "--json")
    found = [(one["line"], one["column"]) for one in one_object(out)["faults"]]
    assert (code, found) == (1, [(1, 4), (4, 1)])


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        ("caf\u00e9 O\n".encode("latin-1"), "LATIN1"),
        ("\u201ccaf\u00e9\u201d O\n".encode("cp1252"), "CP1252"),
        # The euro sign in UTF-8 has such bytes too, but there they are right.
        ("\u20ac O\n".encode() + "caf\u00e9 O\n".encode("latin-1"), "LATIN1"),
        # 0x81 is no character of Windows-1252.
        (b"\x93x\x81 O\n", "LATIN1"),
    ],
)
def test_the_encoding_that_is_suggested_fits(
    run: Run, tmp_path: Path, data: bytes, advice: str
) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"a O\n" * 5 + data)
    code, out, _ = run("validate", path)
    assert code == 1
    assert f"`iconv -f {advice} -t UTF-8`" in out
    name = {"LATIN1": "latin-1", "CP1252": "cp1252"}[advice]
    assert f"--encoding {name}" in out
    assert run("validate", path, "--encoding", name)[0] == 0


@pytest.mark.parametrize("text", ["Caf\u00e9 B-LOC\nist O\n" * 30, "a O\n" * 30])
def test_validate_ends_at_a_file_that_is_no_utf8_at_all(
    run: Run, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "in"
    path.write_bytes(text.encode("utf-16"))
    code, out, _ = run("validate", path)
    assert code == 1
    first, last = out.splitlines()
    assert first.startswith(f"{path}:1:1: byte 0xff is not UTF-8 text (byte 1 of the file); give ")
    assert "--encoding utf-16" in first
    assert last == f"{path}: 1 fault; there may be more after it"
    assert run("validate", path, "--encoding", "utf-16")[0] == 0


def test_boundaries_of_documents(run: Run, tmp_path: Path) -> None:
    text = "-DOCSTART- -X- O\n\nAnn NNP B-PER\nran VBD O\n\n-DOCSTART- -X- O\n\nit PRP O\n\n"
    path, model = tmp_path / "in", tmp_path / "m"
    path.write_text(text, "utf-8")
    code, out, _ = run(*train(path, model), "--json", "-q")
    assert (code, one_object(out)["n_examples"]) == (0, 2)
    code, out, _ = run("predict", model, path)
    assert out.splitlines()[0] == "-DOCSTART- -X- O"
    assert out.count("-DOCSTART-") == 2
    assert run("convert", path, tmp_path / "o", "--from", "columns", "--to", "jsonl")[0] == 1
    assert run("convert", path, "-", "--from", "columns", "--to", "columns")[1] == text


def test_chosen_columns_are_kept_in_the_output(run: Run, tmp_path: Path) -> None:
    path, model = tmp_path / "in", tmp_path / "m"
    path.write_text("B-PER\tx\tAnn\t1\nO\ty\tran\t2\n\nO\tz\tit\t3\n", "utf-8")
    chosen = ["--label-column", "1", "--columns", "3"]
    assert run(*train(path, model), *chosen, "--l2", "0.01", "-q")[0] == 0
    code, out, _ = run("predict", model, path)
    assert (code, out) == (
        0,
        "B-PER\tx\tAnn\t1\tB-PER\nO\ty\tran\t2\tO\n\nO\tz\tit\t3\tO\n\n",
    )
    code, out, _ = run("predict", model, path, "--k", 1)
    assert out.splitlines()[1] == "B-PER\tx\tAnn\t1\tB-PER"


def test_convert_names_what_is_lost(run: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "in", tmp_path / "out"
    path.write_text(CONLLU, "utf-8")
    command = ["convert", path, out, "--from", "conllu", "--to", "columns", "--label", "upos"]
    code, _, err = run(*command)
    assert code == 1
    assert "no place for 3 comments, 2 multiword tokens and empty nodes, " in sentence(err)
    assert not out.exists()
    code, text, _ = run(*command, "--drop", "--json")
    assert code == 0
    assert one_object(text)["dropped"]["comments"] == 3
    assert out.read_text("utf-8").startswith("Ann\tPROPN\nLee\tPROPN\n")
    path.write_text(CRFSUITE, "utf-8")
    code, _, err = run("convert", path, out, "--from", "crfsuite", "--to", "jsonl", "--drop")
    assert (code, "holds features and no tokens" in sentence(err)) == (1, True)
    code, _, err = run("convert", path, out, "--from", "crfsuite", "--to", "svmlight")
    assert (code, "hold rows of numbers" in sentence(err)) == (2, True)
    code, _, err = run("convert", path, out, "--from", "crfsuite", "--to", "crfsuite", "--out", "x")
    assert (code, "write NAME=VALUE" in sentence(err)) == (2, True)
    code, _, err = run("convert", path, path, "--from", "crfsuite", "--to", "crfsuite")
    assert (code, "would overwrite an input" in sentence(err)) == (2, True)


def test_validate_finds_all_faults(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text(
        "Ann NNP B-PER\nLee I-PER\nran VBD O\n\nit PRP I-PER\nis VBZ B-PER\nof IN I-LOC\nx Y Q\n"
        "a b O\nc d O\nb c O\nd e O\nf g O\nh i B-PER\n",
        "utf-8",
    )
    code, out, err = run("validate", path)
    assert (code, err) == (1, "")
    assert [line[len(str(path)) :].split(";")[0] for line in out.splitlines()] == [
        ":2:10: 2 columns where line 1 has 3",
        ":5:8: I-PER at the start of a sentence breaks IOB2",
        ":7:7: I-LOC after B-PER breaks IOB2",
        ":8:5: 'Q' is no tag of IOB2: a tag is O, or one of B, I followed by - and a type",
        ": 4 faults, tags by IOB2",
    ]
    assert "sentence breaks IOB2; write B-PER, or name another --scheme" in out
    assert "write B-LOC, correct the tag before it, or name another --scheme" in out
    code, out, _ = run("validate", path, "--scheme", "IOB1", "--json")
    found = one_object(out)
    assert (code, [one["line"] for one in found["faults"]]) == (1, [1, 2, 8, 14])
    code, out, _ = run("validate", path, "--constraints", "IOBES", "--json")
    assert [one["line"] for one in one_object(out)["faults"]] == [2, 5, 6, 7, 8, 14]
    path.write_text("a b\nc d\n", "utf-8")
    assert run("validate", path)[0] == 0


def test_validate_other_tasks(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "in"
    row = "1\ta\t_\tN\tN\t_\t{}\troot\t_\t_\n\n"
    path.write_text(row.format(0) + row.format(1) + row.format("x") + row.format(0), "utf-8")
    code, out, _ = run("validate", path, "--task", "parse", "--json")
    found = one_object(out)
    assert (code, [one["line"] for one in found["faults"]]) == (1, [3, 5])
    assert found["n_examples"] == 2
    path.write_text("1 1:1\n2 1:x\n\n3 2:1 2:2 # twice\n4 0:1\n5:1\n6,7 1:1\n8 1:3\n", "utf-8")
    code, out, _ = run("validate", path, "--task", "classify", "--json")
    found = one_object(out)
    assert (code, found["n_examples"], found["complete"]) == (1, 2, True)
    assert [one["line"] for one in found["faults"]] == [2, 4, 5, 6, 7]
    path.write_text("(S (NN a))\n(S (NN)\n", "utf-8")
    code, out, _ = run("validate", path, "--task", "brackets", "--json")
    found = one_object(out)
    assert (code, found["n_faults"], found["complete"]) == (1, 1, False)
    path.write_text("1 1:1\n2 1:2\n", "utf-8")
    code, out, _ = run("validate", path, "--task", "classify")
    assert (code, out) == (0, f"{path}: sound; 2 examples\n2 labels: 1 1, 2 1\n")
    code, _, err = run("validate", tmp_path / "nonesuch")
    assert (code, "no such file" in sentence(err)) == (1, True)


@pytest.mark.parametrize(
    ("task", "text", "labels"),
    [
        ("tag", "a B-NP\nb I-NP\n\nc B-NP\n", {"B-NP": 2, "I-NP": 1}),
        ("tag", "a B-NP\nb I-VP\n\nc B-NP\n", {"B-NP": 2, "I-VP": 1}),
        ("classify", "b 1:1\na 1:2\na 1:3\n", {"a": 2, "b": 1}),
        ("parse", "a D 2\nb N 0\n", {}),
        (
            "parse",
            "1\ta\t_\tD\tD\t_\t2\tdet\t_\t_\n2\tb\t_\tN\tN\t_\t0\troot\t_\t_\n",
            {"det": 1, "root": 1},
        ),
        ("brackets", "(S (NP (D a) (N b)) (VP (V c) (NP (N d))))\n", {"NP": 2, "S": 1, "VP": 1}),
        ("graph", "node v a f\nnode w b f\nedge v w\n", {"a": 1, "b": 1}),
    ],
)
def test_labels_of_a_validated_file_are_counted(
    run: Run, tmp_path: Path, task: str, text: str, labels: dict[str, int]
) -> None:
    path = tmp_path / "f"
    path.write_text(text, "utf-8")
    _, out, _ = run("validate", path, "--task", task, "--json")
    assert list(one_object(out)["labels"].items()) == list(labels.items())


def test_a_validated_file_with_a_label_that_looks_misspelled(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("a B-PRED\nb I-PRED\nc O\n\n" * 20 + "a B-PRE\n", "utf-8")
    code, out, _ = run("validate", path)
    assert (code, out.splitlines()) == (
        0,
        [
            f"{path}: sound; 21 examples, tags by IOB2",
            "4 labels: B-PRED 20, I-PRED 20, O 20, B-PRE 1",
            "the label B-PRE occurs once only; was B-PRED meant?",
        ],
    )
    found = one_object(run("validate", path, "--json")[1])
    assert found["likely_slips"] == {"B-PRE": "B-PRED"}


def test_a_format_of_ones_own_with_options(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: str, mark: str = "/", **wanted: Any) -> Columns:
        given = read_text(path)
        name, text = given.name, given.text
        tokens = [token.rpartition(mark) for token in text.split()]
        lengths = np.array([len(line.split()) for line in text.splitlines()])
        lines = np.repeat(np.arange(1, len(lengths) + 1), lengths)
        fields = ([word for word, _, _ in tokens],)
        return Columns(name, fields, [label for _, _, label in tokens], lengths, lines)

    def signs(lines: Sequence[str]) -> str | None:
        return "a bar in every word" if all("|" in word for word in lines[0].split()) else None

    options = (Option("--mark", "what stands before the label", metavar="TEXT"),)
    form = Format("tokens in columns", read, "word|label", options=options, signs=signs)
    monkeypatch.setitem(FORMATS, "bars", form)
    path, model = tmp_path / "in", tmp_path / "m"
    path.write_text("the|D dog|N\na|D cat|N\n", "utf-8")
    code, _, err = run(*train(path, model))
    assert code == 2
    assert "looks like the format bars (a bar in every word)" in sentence(err)
    assert run(*train(path, model), "--format", "bars", "--mark", "|", "-q")[0] == 0
    assert run("predict", model, path)[1].split()[2::3] == list("DNDN")
    code, out, _ = run("validate", path, "--format", "bars", "--json")
    assert (code, one_object(out)["n_examples"]) == (0, 2)
    code, _, err = run("convert", path, tmp_path / "o", "--from", "columns", "--to", "bars")
    assert (code, "can be read and not written" in sentence(err)) == (1, True)


def test_crfsuite_itself_reaches_the_same_objective(folder: Path, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "in"
    convert(folder / "full.txt", path, "columns", "crfsuite")
    found = read_crfsuite(path)
    assert found.attributes is not None
    tokens = [dict(found.attributes.of(t)) for t in range(len(found))]
    ends = np.cumsum(found.lengths).tolist()
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=True)
    trainer.set_params({"c2": 0.5, "epsilon": 1e-9, "delta": 1e-12, "max_iterations": 5000})
    trainer.set_params({"feature.possible_states": True, "feature.possible_transitions": True})
    for begin, end, labels in zip([0, *ends], ends, found.split(found.labels or []), strict=False):
        trainer.append(tokens[begin:end], labels)
    trainer.train(str(tmp_path / "theirs"))
    command = [*train(path, tmp_path / "m"), "--format", "crfsuite", "--tol", "1e-9", "--json"]
    code, out, _ = run(*command, "--quiet")
    assert code == 0
    theirs = trainer.logparser.last_iteration["loss"]
    assert one_object(out)["objective"] == pytest.approx(theirs, rel=1e-7)
