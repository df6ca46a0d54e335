"""What the commands say about mistakes that are easily made."""

from __future__ import annotations

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


# Tags that are none


def test_odd_tags_of_a_scored_file(run: Run, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.txt"
    line = odd(folder / "test.txt", path)
    said = (
        f"partwise: {path}: 1 tag is no tag of IOB2, such as 'b-np' in line {line}, so without "
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
    assert f"{path}: 3 tags are no tags of IOB2, such as 'b-np' in line {line}, so they " in err
    assert "become labels of the model, and labels are scored and not spans" in err
    assert err.count("no tags of IOB2") == 1
    code, _, err = run("evaluate", model, folder / "test.txt")
    assert code == 0
    assert f"{folder / 'test.txt'}: the model knows a label that is no tag of IOB2" in err
    assert "such as 'b-np', so without --scheme labels are scored and not spans" in err


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
    assert "become" not in err


def test_labels_that_are_no_spans_are_no_odd_tags(run: Run, folder: Path, tmp_path: Path) -> None:
    words = tmp_path / "pos.txt"
    lines = (folder / "train.txt").read_text("utf-8").splitlines()
    words.write_text("\n".join(line.rpartition(" ")[0] for line in lines) + "\n", "utf-8")
    train = ["train", "--task", "tag", words, "--model", tmp_path / "m", "--tol", 0.1]
    code, _, err = run(*train)
    assert code == 0
    assert "validate" not in err
