"""``partwise path``."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import SVMLIGHT, Run, one_object, process, runner, sentence
from support.grammar_of_arcs import treebank as arcs
from support.grammar_of_phrases import treebank as phrases

from partwise import load_model
from partwise.cli import main
from partwise.datasets import tagged_text, write
from partwise.formats.brackets import write_brackets
from partwise.formats.conll import write_conll
from partwise.tasks.registry import TASKS, task_of

SHORT = ["--l2-max", "10", "--factor", "0.2", "--steps", "3"]
FILES = {
    "tag": ("train.txt", "dev.txt"),
    "classify": ("train.svm", "train.svm"),
    "parse": ("train.conll", "dev.conll"),
    "brackets": ("train.mrg", "dev.mrg"),
    "segment": ("train.txt", "dev.txt"),
    "graph": ("train.graphs", "train.graphs"),
}
SCORES = {"tag": "f1", "classify": "accuracy", "parse": "uas", "brackets": "f1", "segment": "f1",
          "graph": "accuracy"}  # fmt: skip
GRAPHS = "node a x f\nnode b y g:2\nedge a b\n\nnode a y g\nnode b x f\nnode c x\nedge b c\n\n"


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("path")
    write(tagged_text(60, seed=1), folder / "train.txt")
    write(tagged_text(20, seed=2), folder / "dev.txt")
    (folder / "train.svm").write_text(SVMLIGHT, "ascii")
    (folder / "train.graphs").write_text(GRAPHS * 8, "ascii")
    write_conll(folder / "train.conll", arcs(40))
    write_conll(folder / "dev.conll", arcs(15, seed=1))
    write_brackets(folder / "train.mrg", phrases(40))
    write_brackets(folder / "dev.mrg", phrases(10, seed=1, longest=8))
    return folder


def given(files: Path, task: str, *more: object) -> list[object]:
    train, dev = FILES[task]
    return ["path", "--task", task, files / train, "--dev", files / dev, *SHORT, *more]


def rows_of(text: str) -> list[list[str]]:
    """The rows of the table, as words."""
    lines = [line.split() for line in text.splitlines()]
    # Of all tables only this one has numbers such as 1.38e-04.
    return [words for words in lines if len(words) >= 5 and "e-" in words[4]]


@pytest.mark.parametrize("task", TASKS)
def test_every_task_in_json(run: Run, files: Path, tmp_path: Path, task: str) -> None:
    code, out, err = run(*given(files, task, "--model", tmp_path / "best", "--json"))
    record = one_object(out)
    assert code == 0
    assert [row["l2"] for row in record["path"]] == pytest.approx([10.0, 2.0, 0.4])
    for row in record["path"]:
        assert set(row) == {"l2", "passes", "seconds", "relative_gap", "score"}
        assert row["relative_gap"] <= 1e-3
    best = max(record["path"], key=lambda row: row["score"])
    assert record["score_name"] == SCORES[task]
    assert record["metrics"][SCORES[task]] == record["score"] == best["score"]
    assert record["l2"] == best["l2"]
    for name in ("objective", "dual", "gap", "relative_gap", "passes", "seconds", "n_weights"):
        assert record[name] > 0.0
    assert record["converged"] is True
    assert record["passes"] == best["passes"]
    assert record["total_passes"] == pytest.approx(sum(row["passes"] for row in record["path"]))
    # Stdout is JSON, and the table is on stderr.
    assert len(rows_of(err)) == 3
    model = load_model(tmp_path / "best")
    assert model.l2 == record["l2"]
    assert model.certificate.primal == record["objective"]
    dev = files / FILES[task][1]
    record = one_object(run("evaluate", tmp_path / "best", dev, "--json")[1])
    assert record["metrics"][SCORES[task]] == best["score"]


def test_the_table(run: Run, files: Path, tmp_path: Path) -> None:
    code, out, err = run(*given(files, "classify", "--plot", tmp_path / "path.png"))
    assert code == 0
    assert all("the best l2, 10, is the largest" in line for line in err.splitlines())
    header, *rest = out.splitlines()
    assert header.split() == ["l2", "passes", "total", "seconds", "relative", "gap", "accuracy"]
    rows = rows_of(out)
    assert [row[0] for row in rows] == ["10", "2", "0.4"]
    passes = [float(row[1]) for row in rows]
    assert float(rows[-1][2]) == pytest.approx(sum(passes), abs=0.02)
    assert rows[0][5].endswith("%")
    assert rest[3].startswith("best: l2 = ")
    assert rest[4].startswith("certified: ")
    assert "model:" not in out
    assert (tmp_path / "path.png").read_bytes()[:4] == b"\x89PNG"


def test_quiet_json_leaves_stderr_empty(run: Run, files: Path) -> None:
    code, _, err = run(*given(files, "classify", "--json", "--quiet"))
    assert (code, err) == (0, "")


def test_options_of_tasks(run: Run, files: Path) -> None:
    record = one_object(run(*given(files, "parse", "--labelled", "--json"))[1])
    assert record["score_name"] == "las"
    code, _, err = run(*given(files, "parse", "--bias", 1))
    assert code == 2
    assert "--bias belongs to --task classify" in sentence(err)


def test_folds(run: Run, files: Path, tmp_path: Path) -> None:
    path = ["path", "--task", "tag", files / "train.txt", *SHORT, "--folds", 3]
    code, out, _ = run(*path, "--model", tmp_path / "best", "--json")
    record = one_object(out)
    assert code == 0
    for row in record["path"]:
        assert len(row["scores"]) == 3
        assert row["score"] == pytest.approx(sum(row["scores"]) / 3)
    assert record["l2"] == max(record["path"], key=lambda row: row["score"])["l2"]
    assert record["n_examples"] == 60
    assert record["metrics"] is None
    assert load_model(tmp_path / "best").l2 == record["l2"]
    again = one_object(run(*path, "--json")[1])
    assert [row["scores"] for row in again["path"]] == [row["scores"] for row in record["path"]]
    code, out, _ = run(*path, "--rule", "one-se")
    assert code == 0
    assert out.count("fold ") == 3
    assert "the whole file" in out
    assert "mean score +- its standard error\n" in out
    assert "  +- " in out
    assert "\nchosen: l2 = " in out
    assert "best:" not in out
    assert "\nbest: l2 = " in run(*path)[1]


@pytest.mark.parametrize("task", TASKS)
def test_every_task_can_be_cut(files: Path, task: str) -> None:
    tool = task_of(task)
    source = tool.read(str(files / FILES[task][0]), tool.defaults("train"))
    parts = [list(range(0, len(source), 2)), list(range(1, len(source), 2))]
    taken = [source.take(part) for part in parts]
    assert [len(some) for some in taken] == [len(part) for part in parts]
    assert sum(some.n_positions for some in taken) == source.n_positions


def test_what_does_not_go_together(run: Run, files: Path, tmp_path: Path) -> None:
    train = ["path", "--task", "tag", files / "train.txt", *SHORT]
    for more, why in (
        ([], "either --dev FILE or --folds K"),
        (["--dev", files / "dev.txt", "--folds", 3], "either --dev FILE or --folds K"),
        (["--dev", files / "dev.txt", "--rule", "one-se"], "--rule one-se needs --folds"),
        (["--folds", 1], "nothing to train on"),
        (["--folds", 3, "--model", "-"], "--model - is not possible"),
        (["--folds", 3, "--model", files / "train.txt"], "would overwrite an input"),
        (["--folds", 3, "--solver", "magic"], "unknown solver 'magic'"),
    ):
        code, out, err = run(*train, *more)
        assert (code, out) == (2, "")
        assert why in sentence(err)
    for more, why in (
        (["--dev", tmp_path / "none"], "none"),
        (["--folds", 3, "--model", tmp_path / "no" / "folder"], "does not exist"),
        (["--folds", 600], "60 examples cannot make 600 folds"),
    ):
        code, out, err = run(*train, *more)
        assert (code, out) == (1, "")
        assert why in sentence(err)
    for option, value in (("--factor", "1"), ("--steps", "0"), ("--l2-max", "-1")):
        assert run(*train, "--folds", 3, option, value)[0] == 2


def test_a_path_that_ends_early(run: Run, files: Path, tmp_path: Path) -> None:
    hard = ["--factor", "1e-4", "--max-passes", "12", "--tol", "1e-5"]
    code, out, err = run(*given(files, "tag", *hard, "--model", tmp_path / "best", "--json"))
    record = one_object(out)
    assert code == 3
    assert len(record["path"]) == 2
    assert record["path"][1]["relative_gap"] > 1e-5
    assert record["converged"] is True
    assert record["l2"] == 10.0
    assert "not certified to tol 1e-05" in err
    assert load_model(tmp_path / "best").certificate.converged


def test_messages_come_once(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "dev.svm").write_text(SVMLIGHT + "9 1:1\n", "ascii")
    path = ["path", "--task", "classify", files / "train.svm", "--dev", tmp_path / "dev.svm"]
    code, _, err = run(*path, *SHORT)
    assert code == 0
    assert err.count("a label that the model does not know") == 1


def test_no_sklearn_is_needed(files: Path) -> None:
    path = [str(item) for item in given(files, "classify", "--json", "--quiet")]
    code = (
        f"import sys; from partwise.cli import main; assert main({path}) == 0; "
        "assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_ctrl_c_keeps_what_is_done(files: Path, tmp_path: Path) -> None:
    path = given(files, "tag", "--model", tmp_path / "best", "--json")
    # So many steps that it is not at the end before the signal comes, however late that is.
    more = ["--steps", 10**6, "--factor", 0.999999, "--tol", 1e-6, "--max-passes", "inf"]
    with process(*path, *more) as running:
        assert running.stderr is not None
        seen = 0
        while seen < 3:
            seen += bool(rows_of(running.stderr.readline()))
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate()  # both streams: a full one would stop it
    assert running.returncode == 3
    record = one_object(out)
    assert 3 <= len(record["path"]) < 10**6
    assert record["converged"] is True
    assert load_model(tmp_path / "best").l2 == record["l2"]


def test_rows_come_as_they_are_made(files: Path) -> None:
    path = given(files, "tag", "--steps", 10**6, "--factor", 0.999999, "--tol", 1e-5)
    with process(*path) as running:
        assert running.stdout is not None
        assert running.stdout.readline().split()[0] == "l2"
        assert rows_of(running.stdout.readline())
        assert running.poll() is None
        running.kill()


def test_help_names_the_verb(run: Run) -> None:
    code, out, _ = run("path", "--help")
    assert code == 0
    assert "partwise path --task tag" in out
    assert main(["path"]) == 2


def test_the_best_at_an_end_of_the_grid(run: Run, files: Path) -> None:
    wide = ["--l2-max", "100", "--factor", "0.1", "--steps", "2"]
    path = ["path", "--task", "tag", files / "train.txt", "--tol", "1e-2", *wide]
    for how in (["--dev", files / "dev.txt"], ["--folds", "2"]):
        code, out, err = run(*path, *how)
        assert code == 0
        assert "; the best l2 is the smallest that was tried" in out
        assert "a smaller one may be better: use more --steps, or --extend N" in err
        record = one_object(run(*path, *how, "--json", "--quiet")[1])
        assert record["edge"] == "smallest"
        record = one_object(run(*path, *how, "--extend", "4", "--json", "--quiet")[1])
        assert record["edge"] is None
        assert len(record["path"]) > 3
        assert record["l2"] < 10


def test_extend_is_a_number(run: Run, files: Path) -> None:
    code, _, err = run("path", "--task", "tag", files / "train.txt", "--folds", 2, "--extend", -1)
    assert code == 2
    assert "--extend" in err


def test_a_plain_warm_start(run: Run, files: Path) -> None:
    """Every fit begins where the last one ended, in folds and for the final model too."""
    path = ["path", "--task", "tag", files / "train.txt", "--l2-max", "10", "--steps", "4"]
    path += ["--tol", "1e-3", "--solver", "online-eg", "--json", "--quiet"]
    for how in (["--dev", files / "dev.txt"], ["--folds", "2"]):
        records = [
            one_object(run(*path, *how, "--warm-start", kind)[1])
            for kind in ("extrapolated", "plain")
        ]
        gaps = [[row["relative_gap"] for row in record["path"]] for record in records]
        assert gaps[0][:2] == gaps[1][:2]
        assert gaps[0][2] != gaps[1][2]
    assert run(*path, "--folds", "2", "--warm-start", "cold")[0] == 2
