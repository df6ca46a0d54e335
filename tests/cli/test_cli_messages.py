"""What the commands say about mistakes that are easily made."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from support.commands import Run, one_object, runner, sentence, trained


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("messages"))


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


def odd(path: Path, target: Path, n: int = 1) -> int:
    """Write a file with n tags in lower case, and return the line of the first."""
    lines = path.read_text("utf-8").splitlines()
    places = [i for i, line in enumerate(lines) if line.endswith(" B-NP")][2 : 2 + n]
    for i in places:
        lines[i] = lines[i].removesuffix("B-NP") + "b-np"
    target.write_text("\n".join(lines) + "\n", "utf-8")
    return places[0] + 1


# Files with faults


def test_a_comment_in_the_first_line_is_blamed_itself(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "comment.txt"
    path.write_text("# word tag label\n" + "a DT B-NP\nb NN I-NP\n\n" * 9, "ascii")
    code, out, _ = run("validate", path)
    assert code == 1
    assert out.splitlines() == [
        f"{path}:1:11: 4 columns where most lines have 3; if it is a comment or a heading, remove "
        "it; every token needs the same columns, and a blank line ends a sentence",
        f"{path}: 1 fault, tags by IOB2",
    ]
    train = ["train", "--task", "tag", path, "--model", tmp_path / "m"]
    code, _, err = run(*train)
    assert code == 1
    assert f"{path}:1: 4 columns where most lines have 3" in sentence(err)


def test_faults_of_a_kind_are_listed_a_few_times(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("a DT O\nb O\n" + "a DT O\nx O\nc DT O\n" * 25, "ascii")
    code, out, _ = run("validate", path)
    assert code == 1
    lines = out.splitlines()
    assert len(lines) == 22
    assert f"{path}: 6 more like the last one of this kind, up to line 76: 2 columns" in lines[20]
    assert lines[21] == f"{path}: 26 faults"
    assert len(one_object(run("validate", path, "--json")[1])["faults"]) == 26


@pytest.mark.parametrize("mark", [";", ","])
def test_another_separator_is_hinted_at(run: Run, folder: Path, tmp_path: Path, mark: str) -> None:
    path = tmp_path / "marks.txt"
    path.write_text(f"a{mark}DT{mark}O\n\nb{mark}NN{mark}O\n", "ascii")
    code, _, err = run("train", "--task", "tag", path, "--model", tmp_path / "m")
    assert code == 1
    assert f"{path}:1: 1 column where at least 2 are needed" in sentence(err)
    assert f"or give separator='{mark}' (--separator '{mark}'), which makes 3 columns" in err
    code, _, err = run("predict", folder / "tag", path)
    assert code == 1
    assert f"{path}:1: 1 column where the model takes 2 (without labels)" in sentence(err)
    assert f"--separator '{mark}'" in err
    path.write_text(f"a\n\nb{mark}NN{mark}O\n", "ascii")
    _, _, err = run("train", "--task", "tag", path, "--model", tmp_path / "m")
    assert "--separator" not in sentence(err)


def test_another_separator_is_hinted_at_if_most_lines_have_it(run: Run, tmp_path: Path) -> None:
    path, model = tmp_path / "commas.txt", tmp_path / "m"
    text = "the,O\ndog,B-NP\nsaw,O\n,,O\nAnn,B-NP\n\n" * 8
    path.write_text("the O\ndog B-NP\nsaw O\n, O\nAnn B-NP\n\n" * 8, "ascii")
    assert run("train", "--task", "tag", path, "--model", model, "--tol", 0.1, "-q")[0] == 0
    path.write_text(text, "ascii")
    hint = "give separator=',' (--separator ','), which makes 2 columns of most lines"
    code, out, _ = run("validate", path)
    assert code == 1
    assert f"{path}:1:1: 1 column where at least 2 are needed" in out
    assert hint in out
    for verb in ("evaluate", "report"):
        code, _, err = run(verb, model, path)
        assert code == 1
        assert f"{path}: no labels; give a file to score" in sentence(err)
        assert hint in err
    code, out, err = run("predict", model, path)
    assert (code, out.split()[0]) == (0, "the,O")
    assert err == f"partwise: {path}: every line is read as one token; {hint}\n"


def test_empty_labels_name_the_separator_and_are_one_fault(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "commas.txt"
    path.write_text("a,O\nb,O\n,,O\nc,\nd,O\n", "ascii")
    code, out, _ = run("validate", path, "--separator", ",")
    assert code == 1
    assert out.splitlines() == [
        f"{path}:3:2: 3 columns where line 1 has 2; every token needs the same columns, and a "
        "blank line ends a sentence",
        f"{path}:4:3: empty label; remove the ',' at the end of the line or add the label",
        f"{path}: 2 faults",
    ]
    path.write_text("a\tO\nb\t\n", "ascii")
    assert "remove the tab at the end of the line or add" in run("validate", path)[1]
    path.write_text("O,a\n,b\n", "ascii")
    out = run("validate", path, "--separator", ",", "--label-column", 1)[1]
    assert f"{path}:2:3: empty label; add the label\n" in out


def test_a_file_without_examples_is_not_scored(run: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.write_text("", "ascii")
    for verb in ("evaluate", "report"):
        code, _, err = run(verb, folder / "tag", path)
        assert code == 1
        assert f"{path}: no examples; give a file to score with the right labels" in sentence(err)


def test_a_start_that_takes_attributes(run: Run, folder: Path, tmp_path: Path) -> None:
    path, model = tmp_path / "named.txt", tmp_path / "named"
    path.write_text("A\tw=a\nB\tw=b\n\n", "ascii")
    train = ["train", "--task", "tag", "--quiet"]
    assert run(*train, path, "--format", "crfsuite", "--model", model)[0] == 0
    code, _, err = run(*train, folder / "train.txt", "--model", tmp_path / "m", "--resume", model)
    assert code == 1
    assert "the model to start from takes attributes" in sentence(err)
    assert "--format crfsuite" in err


def test_one_unknown_label_is_in_the_singular(run: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_text("a DT B-XYZ\nb NN O\n", "ascii")
    _, _, err = run("evaluate", folder / "tag", path)
    assert "1 position has a label that the model does not know (B-XYZ); it counts as an err" in err


# Names that are misspelled


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "unknown command 'trian'; did you mean train? (see partwise --help)"),
        (["xyz"], "unknown command 'xyz'; use one of train, path"),
        (["explain", "m", "x", "--frist", "3"], "did you mean --first"),
        (["explain", "m", "x", "--frist", "3"], "(see partwise explain --help)"),
        (["train", "x", "--task", "tag", "--model", "m", "--c1=2"], "c1 of CRFsuite is --l1 here"),
        (["path", "x", "--task", "tag", "--c2", "2"], "c2 of CRFsuite is half of l2 here"),
        (["train", "x", "--task", "tag", "--modle", "m"], "did you mean --model?"),
        (["train", "x", "--task", "tag", "--modle=m"], "unrecognized arguments: --modle=m"),
        (["train", "x", "--task", "tag", "--", "--modle"], "are required: --model"),
        (["explain", "m", "--", "x", "y"], "unrecognized arguments: y"),
        (["solvers", "lbfsg"], "unknown solver 'lbfsg'; did you mean lbfgs?"),
    ],
)
def test_misspelled_names(run: Run, arguments: list[str], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]


def test_errors_of_usage_show_what_is_needed_and_not_all_options(run: Run) -> None:
    code, _, err = run("evaluate", "m")
    assert (code, err.splitlines()) == (
        2,
        [
            "usage: partwise evaluate [options] MODEL FILE",
            "partwise: error: the following arguments are required: FILE "
            "(see partwise evaluate --help)",
        ],
    )
    code, _, err = run("train", "x")
    assert code == 2
    assert "--model OUT" in err
    assert "--tol" not in err


def test_help_is_given_whatever_else_is_wrong(run: Run) -> None:
    code, out, err = run("train", "--modle", "m", "--help")
    assert (code, err) == (0, "")
    assert "--model OUT" in out


# Inputs that would be overwritten


@pytest.mark.parametrize("kind", ["the same", "a symbolic link", "a hard link", "another way"])
def test_predict_does_not_overwrite_its_input(
    run: Run, folder: Path, tmp_path: Path, kind: str
) -> None:
    path, out = tmp_path / "in.txt", tmp_path / "out.txt"
    path.write_bytes((folder / "test.txt").read_bytes())
    if kind == "the same":
        out = path
    elif kind == "a symbolic link":
        out.symlink_to(path)
    elif kind == "a hard link":
        out.hardlink_to(path)
    else:
        (tmp_path / "sub").mkdir()
        out = tmp_path / "sub" / ".." / "in.txt"
    before = path.read_bytes()
    for more in ([], ["--spans"], ["--json"]):
        code, _, err = run("predict", folder / "tag", path, "--output", out, *more)
        assert code == 2
        assert f"--output {out} would overwrite an input; choose another name" in sentence(err)
        assert path.read_bytes() == before


def test_a_template_file_is_an_input(run: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "template"
    path.write_text("U00:%x[0,0]\n", "ascii")
    for verb in (["train"], ["path", "--folds", 2]):
        code, _, err = run(
            *verb, "--task", "tag", folder / "train.txt", "--template", path, "--model", path
        )
        assert code == 2
        assert f"--model {path} would overwrite an input" in sentence(err)
    assert path.read_text("ascii") == "U00:%x[0,0]\n"


def test_a_model_in_the_place_of_data_and_the_other_way_round(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    model, data = folder / "tag", folder / "test.txt"
    for verb in ("evaluate", "predict", "report", "explain"):
        code, _, err = run(verb, data, model)
        assert code == 1
        assert f"{data} is not a partwise model file" in sentence(err)
        assert err.endswith(f"; the model comes first: partwise {verb} {model} {data}\n")
        code, _, err = run(verb, data, data)
        assert code == 1
        assert "comes first" not in sentence(err)
    is_model = f"{model}: is a model file or a checkpoint of partwise and no data"
    for verb in (["evaluate", model], ["train", "--task", "tag", "--model", tmp_path / "m"]):
        code, _, err = run(*verb, model)
        assert code == 1
        assert is_model in sentence(err)
    code, out, _ = run("validate", model)
    assert code == 1
    assert out.splitlines() == [
        f"{is_model}; give a file of examples",
        f"{model}: 1 fault; there may be more after it",
    ]


@pytest.mark.parametrize(("alias", "name"), [("BIO", "IOB2"), ("BIOES", "IOBES")])
def test_schemes_have_other_names(
    run: Run, folder: Path, tmp_path: Path, alias: str, name: str
) -> None:
    model, data = folder / "tag", folder / "test.txt"
    found = [
        one_object(run("evaluate", model, data, "--scheme", one, "--json")[1])["metrics"]
        for one in (alias, name)
    ]
    assert found[0] == found[1]
    assert found[0]["scheme"] == name
    page = tmp_path / "r.html"
    assert run("report", model, data, "--scheme", alias, "--output", page)[0] == 0
    pages = [run("predict", model, data, "--spans", "--scheme", one)[1] for one in (alias, name)]
    assert pages[0] == pages[1]


def test_the_tags_of_segments_have_other_names(run: Run, folder: Path, tmp_path: Path) -> None:
    train = ["train", "--task", "segment", folder / "train.txt", "--tol", 0.1, "-q"]
    for name in ("BIO", "IOB2"):
        assert run(*train, "--tags", name, "--model", tmp_path / name)[0] == 0
    outs = [run("predict", tmp_path / one, folder / "test.txt")[1] for one in ("BIO", "IOB2")]
    assert outs[0] == outs[1]


# Tags that are none


def test_odd_tags_of_a_scored_file(run: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.txt"
    line = odd(folder / "test.txt", path)
    said = (
        f"partwise: {path}: the tag 'b-np' in line {line} is no tag of IOB2, so without "
        f"--scheme labels are scored and not spans; `partwise validate {path}` lists its place\n"
    )
    code, out, err = run("evaluate", folder / "tag", path, "--json")
    assert code == 0
    assert "f1" not in one_object(out)["metrics"]
    assert err.count(said) == 1
    _, _, err = run("report", folder / "tag", path, "--output", tmp_path / "r.html")
    assert err.count(said) == 1
    assert run("evaluate", folder / "tag", path, "--quiet")[2] == ""
    assert run("predict", folder / "tag", path)[2] == ""


def test_odd_tags_of_a_training_file(run: Run, folder: Path, tmp_path: Path) -> None:
    path, model = tmp_path / "odd.txt", tmp_path / "m"
    line = odd(folder / "train.txt", path, 3)
    train = ["train", "--task", "tag", path, "--model", model, "--tol", 0.1]
    code, _, err = run(*train, "--dev", folder / "test.txt")
    assert code == 0
    assert f"{path}: 3 tags are no tags of IOB2, such as 'b-np' in line {line}, so the " in err
    assert "model gets labels that spell no spans, and labels are scored and not spans" in err
    assert err.count("no tags of IOB2") == 1
    code, _, err = run("evaluate", model, folder / "test.txt")
    assert code == 0
    assert f"{folder / 'test.txt'}: the model knows a label that is no tag of IOB2" in err
    assert "such as 'b-np', so without --scheme labels are scored and not spans" in err
    code, _, err = run("path", "--task", "tag", path, "--steps", 2, "--folds", 2, "--tol", 0.1)
    assert code == 0
    assert err.count("3 tags are no tags of IOB2") == 1


@pytest.mark.parametrize("more", [[], ["--out-of-core"]])
def test_odd_tags_of_a_held_out_file(
    run: Run, folder: Path, tmp_path: Path, more: list[str]
) -> None:
    path = tmp_path / "odd.txt"
    odd(folder / "test.txt", path)
    more = [*more, str(tmp_path / "parts")] if more else []
    train = ["train", "--task", "tag", folder / "train.txt", "--model", tmp_path / "m", *more]
    _, _, err = run(*train, "--tol", 0.1, "--dev", path)
    assert err.count("no tag of IOB2") == 1
    assert "the model gets" not in err


def test_labels_that_are_no_spans_are_no_odd_tags(run: Run, folder: Path, tmp_path: Path) -> None:
    words = tmp_path / "pos.txt"
    lines = (folder / "train.txt").read_text("utf-8").splitlines()
    words.write_text("\n".join(line.rpartition(" ")[0] for line in lines) + "\n", "utf-8")
    train = ["train", "--task", "tag", words, "--model", tmp_path / "m", "--tol", 0.1]
    code, _, err = run(*train)
    assert code == 0
    assert "validate" not in err


# Tags that break their scheme


def broken(path: Path, target: Path, n: int) -> int:
    """Write a file with n tags I-NP after O, and return the line of the first."""
    lines = path.read_text("utf-8").splitlines()
    places = [
        i + 1
        for i, (a, b) in enumerate(pairwise(lines))
        if a.endswith(" O") and b.endswith(" B-NP")
    ][:n]  # fmt: skip
    assert len(places) == n
    for i in places:
        lines[i] = lines[i].removesuffix("B-NP") + "I-NP"
    target.write_text("\n".join(lines) + "\n", "utf-8")
    return places[0] + 1


@pytest.mark.parametrize("n", [1, 3])
def test_tags_that_break_their_scheme_are_noted(
    run: Run, folder: Path, tmp_path: Path, n: int
) -> None:
    path = tmp_path / "broken.txt"
    line = broken(folder / "train.txt", path, n)
    place = f"I-NP after O in line {line}"
    said = {
        1: f"the tag {place} breaks IOB2; `partwise validate {path}` says more",
        3: f"3 tags break IOB2, such as {place}; `partwise validate {path}` lists them all",
    }[n]
    command = ["--task", "tag", path, "--model", tmp_path / "m", "--tol", 0.1]
    code, _, err = run("train", *command)
    assert code == 0
    assert err.count(f"partwise: {path}: {said}\n") == 1
    code, _, err = run("path", *command, "--steps", 2, "--folds", 2)
    assert code == 0
    assert err.count(f"partwise: {path}: {said}\n") == 1
    _, out, _ = run("validate", path)
    assert out.splitlines()[-1] == f"{path}: {n} fault{'s' * (n > 1)}, tags by IOB2"
    # With constraints they are refused.
    code, _, err = run("train", *command, "--constraints", "BIO", "-q")
    assert code == 1
    assert "tags break" not in sentence(err)


@pytest.mark.parametrize(
    "text",
    [
        "a B-X\nb I-X\nc O\nd B-Y\n",
        "a I-X\nb I-X\nc O\nd I-Y\ne B-Y\n",  # IOB1
        "a I-X\nb E-X\nc I-X\nd O\ne I-X\n",  # IOE1
        "a I-X\nb I-X\nc O\n",
        "a I-X\nb I-X\nc O\nd B-Y\n",  # half of the spans break IOB2
        "a B-X\nb ?\nc I-X\n",  # what is missing may be anything
        "a NN\nb VB\n",
    ],
)
def test_nothing_is_said_of_tags_of_another_scheme(run: Run, tmp_path: Path, text: str) -> None:
    path = tmp_path / "sound.txt"
    path.write_text((text + "\n") * 9, "ascii")
    command = ["train", "--task", "tag", path, "--model", tmp_path / "m", "--tol", 0.1]
    code, _, err = run(*command, "--missing", "?")
    assert code == 0
    assert "break" not in err


def test_a_sentence_that_ends_within_a_span_is_noted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "ends.txt"
    path.write_text("a B-X\nb E-X\nc O\n\n" * 9 + "a B-X\n\nc O\n", "ascii")
    code, _, err = run("train", "--task", "tag", path, "--model", tmp_path / "m", "--tol", 0.1)
    assert code == 0
    assert "the tag B-X at the end of a sentence in line 37 breaks IOBES; `partwise" in err


def test_slips_are_named_beside_faults_of_tags(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "slip.txt"
    sound = "a B-FOOD\nb I-FOOD\nc O\n\n" * 12
    path.write_text(sound + "a B-FODO\nb I-FOOD\n", "ascii")
    code, out, _ = run("validate", path)
    assert code == 1
    assert out.splitlines() == [
        f"{path}:50:3: I-FOOD after B-FODO breaks IOB2; write B-FOOD, correct the tag before it, "
        "or name another --scheme",
        "the label B-FODO occurs once only; was B-FOOD meant?",
        f"{path}: 1 fault, tags by IOB2",
    ]
    # What could not be read may hold more of these labels.
    path.write_text(sound + "a B-FODO\nb I-FOOD\nc d O\n", "ascii")
    assert "was B-FOOD meant" not in run("validate", path)[1]
