from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import Run, one_object, runner, sentence, trained

from partwise.tasks.sequences.trainers import PRESETS

VERBS = ("train", "predict", "evaluate", "info", "demo")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("cli"))


# Help, version, usage


def test_version_and_help(run: Run) -> None:
    assert run("--version")[:2] == (0, "partwise 0.1.0\n")
    code, out, _ = run("--help")
    assert code == 0
    assert all(verb in out for verb in VERBS)
    assert "exit codes:" in out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(run: Run, verb: str) -> None:
    code, out, _ = run(verb, "--help")
    assert code == 0
    assert f"\n  partwise {verb}" in out or f"| partwise {verb}" in out
    assert "--json" in out


def test_choices_are_those_of_the_library() -> None:
    from partwise.tasks.sequences.constraints import SCHEME_NAMES

    assert set(PRESETS) <= set(SCHEME_NAMES)


def test_the_quick_verbs_do_without_the_compiler(files: Path) -> None:
    check = (
        "import sys; from partwise.cli import main; code = main(sys.argv[1:]);"
        "heavy = {'numba', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    for arguments in (["--version"], ["train", "--help"], ["info", str(files / "tag")]):
        command = [sys.executable, "-c", check, *arguments]
        subprocess.run(command, check=True, capture_output=True)


def test_training_does_without_sklearn(files: Path, tmp_path: Path) -> None:
    check = (
        "import sys; from partwise.cli import main; code = main(sys.argv[1:]);"
        "heavy = {'sklearn', 'matplotlib'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    training = ["train", "--task", "classify", files / "train.svm", "--model", tmp_path / "model"]
    command = [sys.executable, "-c", check, *map(str, training)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["paint"],
        ["train"],
        ["train", "--task", "paint", "x", "--model", "m"],
        ["train", "--task", "tag", "x", "--model", "m", "--l2", "0"],
        ["train", "--task", "tag", "x", "--model", "m", "--tol", "nan"],
        ["train", "--task", "tag", "x", "--model", "m", "--max-passes", "-1"],
        ["train", "--task", "tag", "x", "--model", "m", "--jobs", "0"],
        ["train", "--task", "tag", "x", "--model", "m", "--loss", "squared"],
        ["train", "--task", "tag", "x", "--model", "-"],
        ["train", "--task", "tag", "x", "--model", "m", "--plot", "-"],
        ["train", "--task", "tag", "-", "--model", "m", "--dev", "-"],
        ["train", "--task", "tag", "x", "--model", "m", "--bias", "1"],
        ["train", "--task", "classify", "x", "--model", "m", "--constraints", "BIO"],
        ["train", "--task", "classify", "x", "--model", "m", "--no-spelling"],
        ["predict", "m", "x", "--k", "0"],
        ["evaluate", "m", "x", "--scheme", "BIOX"],
    ],
)
def test_usage_errors_exit_2(run: Run, arguments: list[str]) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert "error: " in err
    code, out, _ = run(*arguments, "--json")
    assert code == 2
    assert one_object(out)["error"] in err


def test_options_that_do_not_go_together(run: Run, files: Path, tmp_path: Path) -> None:
    train = ["train", "--task", "tag", files / "train.txt", "--model", tmp_path / "m"]
    code, _, err = run(*train, "--solver", "bcfw")
    assert code == 2
    assert "bcfw needs the hinge loss" in sentence(err)
    assert "train.txt" not in err
    code, _, err = run(*train, "--order", "2", "--resume", files / "tag")
    assert code == 2
    assert "cannot start from the weights of a chain" in sentence(err)


@pytest.mark.parametrize(
    ("label", "message"),
    [("I-X", "forbid 'I-X' after 'O'"), ("Z-X", "'Z-X' does not fit the constraints BIO")],
)
def test_a_label_that_breaks_the_constraints_has_a_line(
    run: Run, tmp_path: Path, label: str, message: str
) -> None:
    (tmp_path / "tags").write_text(f"a O\nb B-X\n\na O\nc {label}\n", "ascii")
    train = ["train", "--task", "tag", tmp_path / "tags", "--model", tmp_path / "m"]
    code, _, err = run(*train, "--constraints", "BIO")
    assert code == 1
    assert "tags:5: " in sentence(err)
    assert message in err


@pytest.mark.skipif(os.name == "nt", reason="shells of POSIX")
def test_streams_that_are_closed(files: Path, tmp_path: Path) -> None:
    train = f"train --task classify {files}/train.svm --model {tmp_path}/model"
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        command = f"{sys.executable} -m partwise {train} {closed}"
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        assert done.returncode == 0
        assert "Traceback" not in done.stderr
        (tmp_path / "model").unlink()


def test_an_unknown_solver_is_a_usage_error(run: Run, files: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "tag", files / "train.txt", "--model", tmp_path / "m")
    code, _, err = run(*train, "--solver", "magic")
    assert code == 2
    assert "'magic'" in sentence(err)
    assert "online-eg" in err or "auto" in err


# Train


@pytest.mark.parametrize("task", ["tag", "classify"])
def test_train_reports_its_certificate(run: Run, files: Path, tmp_path: Path, task: str) -> None:
    suffix = {"tag": "txt", "classify": "svm"}[task]
    data, model = files / f"train.{suffix}", tmp_path / "model"
    code, out, err = run("train", "--task", task, data, "--model", model, "--dev", data, "--json")
    record = one_object(out)
    assert code == 0
    assert record["command"] == "train"
    assert record["converged"] is True
    assert record["relative_gap"] <= 1e-4
    assert record["gap"] == pytest.approx(record["objective"] - record["dual"])
    assert record["n_weights"] > 0
    assert record["passes"] > 0
    assert record["metrics"]["accuracy"] > 0.95
    assert "relative gap" in err
    assert model.exists()


def test_train_says_it_in_words(run: Run, files: Path, tmp_path: Path) -> None:
    code, out, err = run(
        "train", "--task", "tag", files / "train.txt", "--model", tmp_path / "m", "-v",
        "--dev", files / "test.txt", "--constraints", "BIO", "--start-end", "--spelling",
        "--weights", "observed", "--min-count", "2", "--jobs", "2", "--seed", "3",
    )  # fmt: skip
    assert code == 0
    assert "certified: no weights have an objective below" in out
    assert "conlleval" in out
    assert "overall" in out
    assert "examples" in err


def test_quiet_is_quiet(run: Run, files: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "tag", files / "train.txt", "--model", tmp_path / "m")
    assert run(*train, "--quiet")[2] == ""
    assert run(*train, "--quiet", "--max-passes", "1")[2] == ""


def test_spelling_is_the_default_for_one_column(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("Ann\tN\nruns\tV\n\nTom\tN\nwalks\tV\n", "ascii")
    for option in ([], ["--no-spelling"]):
        train = ("train", "--task", "tag", tmp_path / "one", *option)
        assert run(*train, "--model", tmp_path / f"m{len(option)}")[0] == 0
    (tmp_path / "new").write_text("Sue\njumps\n", "ascii")
    _, out, _ = run("predict", tmp_path / "m0", tmp_path / "new")
    assert out == "Sue N\njumps V\n\n"
    sizes = [(tmp_path / name).stat().st_size for name in ("m0", "m1")]
    assert sizes[0] > sizes[1]


def test_max_passes_stops_with_3_and_resume_goes_on(run: Run, files: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "tag", files / "train.txt", "--json", "--model")
    code, out, err = run(*train, tmp_path / "short", "--max-passes", "1")
    record = one_object(out)
    assert code == 3
    assert record["converged"] is False
    assert record["relative_gap"] > 1e-4
    assert "--resume" in err
    assert "Warning" not in err
    assert run("evaluate", tmp_path / "short", files / "test.txt")[0] == 0

    code, out, _ = run(*train, tmp_path / "full", "--resume", tmp_path / "short")
    assert code == 0
    assert one_object(out)["converged"] is True
    code, out, _ = run(*train, tmp_path / "again", "--resume", tmp_path / "full")
    assert code == 0
    assert one_object(out)["passes"] <= record["passes"] + 9


def test_training_twice_gives_the_same_bytes(run: Run, files: Path, tmp_path: Path) -> None:
    weights = []
    for name in ("a", "b"):
        train = ("train", "--task", "classify", files / "train.svm", "--model", tmp_path / name)
        record = one_object(run(*train, "--json")[1])
        weights.append((record["objective"], record["dual"], record["passes"]))
    assert weights[0] == weights[1]


def test_a_plot_is_drawn(run: Run, files: Path, tmp_path: Path) -> None:
    picture = tmp_path / "curve.png"
    train = ("train", "--task", "tag", files / "train.txt", "--model", tmp_path / "m")
    assert run(*train, "--plot", picture)[0] == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_plot_does_not_take_the_place_of_another_file(
    run: Run, files: Path, tmp_path: Path
) -> None:
    model = tmp_path / "m"
    train = ("train", "--task", "tag", files / "train.txt", "--model", model)
    code, _, err = run(*train, "--plot", tmp_path / "x" / ".." / "m")
    assert code in (1, 2)
    code, _, err = run(*train, "--plot", model)
    assert code == 2
    assert "--plot and --model are both" in sentence(err)
    saved = tmp_path / "saved"
    code, _, err = run(*train, "--plot", saved, "--checkpoint", saved)
    assert code == 2
    assert "--checkpoint and --plot are both" in sentence(err)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("task", ["tag", "classify"])
def test_resume_never_ends_with_a_worse_model(
    task: str, run: Run, files: Path, tmp_path: Path
) -> None:
    data = files / ("train.txt" if task == "tag" else "train.svm")
    model = tmp_path / "m"
    train = ("train", "--task", task, data, "--loss", "hinge", "--l2", "0.01", "--tol", "1e-9")
    common = ("--model", model, "--json")
    first = one_object(run(*train, *common, "--max-passes", "40")[1])
    again = one_object(run(*train, *common, "--max-passes", "1", "--resume", model)[1])
    assert again["objective"] <= first["objective"] * (1.0 + 1e-12)
    assert again["dual"] >= 0.0


def test_targets_are_checked_before_training(run: Run, files: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "tag", files / "train.txt", "--model")
    code, _, err = run(*train, tmp_path / "nowhere" / "m")
    assert code == 1
    assert "does not exist" in sentence(err)
    code, _, err = run(*train, tmp_path)
    assert code == 1
    assert "folder" in sentence(err)
    code, _, err = run(*train, files / "train.txt")
    assert code == 2
    assert "overwrite" in sentence(err)
    code, _, err = run(*train, tmp_path / "m", "--plot", tmp_path / "nowhere" / "p.png")
    assert code == 1
    assert "p.png" in sentence(err)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names there")
def test_a_pipe_is_not_replaced(run: Run, files: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    train = ("train", "--task", "tag", files / "train.txt", "--model")
    for target in ((pipe,), (tmp_path / "m", "--plot", pipe)):
        code, _, err = run(*train, *target)
        assert code == 1
        assert "not a plain file" in sentence(err)
    assert pipe.is_fifo()
    assert not (tmp_path / "m").exists()


def test_a_bad_dev_file_is_found_before_training(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "dev").write_text("the DT\n", "ascii")
    train = ("train", "--task", "tag", files / "train.txt", "--model", tmp_path / "m")
    code, _, err = run(*train, "--dev", tmp_path / "dev")
    assert code == 1
    assert "dev:1: 2 columns where 3" in sentence(err)
    assert not (tmp_path / "m").exists()


# Bad input


@pytest.mark.parametrize(
    ("task", "text", "expected"),
    [
        ("tag", "the DT B-NP\ndog NN\n", "data:2: 2 columns where line 1 has 3"),
        ("tag", "", "no tokens"),
        ("tag", "\n\n", "no tokens"),
        ("tag", "the\ndog\n", "1 column where at least 2"),
        ("tag", "the X\ndog X\n", "one class only, 'X'"),
        ("classify", "", "no examples"),
        ("classify", "1 1:nan\n2 1:1\n", "data:1: '1:nan'"),
        ("classify", "1 1:1\n2 x\n", "data:2: 'x'"),
        ("classify", "1:1\n", "data:1: begins with '1:1'"),
        ("classify", "1 1:1\n1 2:1\n", "one class only, '1'"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_bad_data_is_one_sentence(
    run: Run, tmp_path: Path, task: str, text: str, expected: str, as_json: bool
) -> None:
    (tmp_path / "data").write_text(text, "ascii")
    options = ["--json"] if as_json else []
    code, out, err = run(
        "train", "--task", task, tmp_path / "data", "--model", tmp_path / "m", *options
    )
    assert code == 1
    assert expected in sentence(err)
    assert str(tmp_path / "data") in err
    if as_json:
        assert expected in one_object(out)["error"]
    else:
        assert out == ""
    assert not (tmp_path / "m").exists()


def test_missing_files_are_named(run: Run, files: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    train = ("train", "--task", "tag", files / "train.txt", "--model", tmp_path / "m")
    for arguments in (
        ("train", "--task", "tag", gone, "--model", tmp_path / "m"),
        (*train, "--dev", gone),
        (*train, "--resume", gone),
        ("predict", gone, files / "test.txt"),
        ("predict", files / "tag", gone),
        ("evaluate", gone, files / "test.txt"),
        ("evaluate", files / "tag", gone),
        ("info", gone),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (1, "")
        assert str(gone) in sentence(err)


def test_a_damaged_model_is_refused(run: Run, files: Path, tmp_path: Path) -> None:
    data = bytearray((files / "tag").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "damaged").write_bytes(bytes(data))
    (tmp_path / "cut").write_bytes(bytes(data[:100]))
    for name in ("damaged", "cut"):
        for verb in ("predict", "evaluate", "info"):
            arguments = [verb, tmp_path / name, files / "test.txt"][: 2 if verb == "info" else 3]
            code, out, err = run(*arguments)
            assert (code, out) == (1, "")
            assert name in sentence(err)


def test_resume_refuses_another_task(run: Run, files: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "tag", files / "train.txt", "--model", tmp_path / "m")
    code, _, err = run(*train, "--resume", files / "classify")
    assert code == 1
    assert "--task classify" in sentence(err)


def test_help_comes_without_numpy() -> None:
    code = "from partwise.cli import main; main(['train', '--help']); import sys"
    check = f"{code}; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True, capture_output=True)


def test_equal_examples_are_counted_in_the_record(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("1 1:1\n2 2:1\n" * 3, "ascii")
    train = ("train", "--task", "classify", tmp_path / "data", "--model", tmp_path / "m", "--json")
    assert one_object(run(*train)[1])["n_examples"] == 6


def test_a_model_of_another_task_is_refused(run: Run, tmp_path: Path) -> None:
    from partwise.files.container import read_container, write_container

    (tmp_path / "data").write_text("1 1:1\n2 2:1\n", "ascii")
    train = ("train", "--task", "classify", tmp_path / "data", "--model", tmp_path / "m", "--quiet")
    assert run(*train)[0] == 0
    header, arrays = read_container(tmp_path / "m")
    header["task"] = "parse"
    write_container(tmp_path / "m", header, arrays)
    code, _, err = run("predict", tmp_path / "m", tmp_path / "data")
    assert code == 1
    assert "whose models have arcs features" in sentence(err)
