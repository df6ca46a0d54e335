"""The command line for labellers of the vertices of graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.commands import Run, one_object, runner

from partwise import GraphLabeler, load_model, save_model
from partwise.formats.graph_text import read_graph_text


def _maps(n: int, seed: int) -> str:
    rng = np.random.default_rng(seed)
    colours = {"sea": "blue", "land": "green"}
    blocks = []
    for _ in range(n):
        size = int(rng.integers(3, 6))
        labels = rng.choice([*colours], size)
        lines = []
        for v, label in enumerate(labels):
            colour = colours[label] if rng.random() < 0.8 else "grey"
            lines.append(f"node v{v} {label} {colour} height:{rng.normal():.3f}")
        lines += [f"edge v{v} v{(v + 1) % size} near:{rng.random():.2f}" for v in range(size)]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("graphs")
    (made / "train").write_text(_maps(20, 0), "utf-8")
    (made / "test").write_text(_maps(6, 1), "utf-8")
    (made / "bare").write_text(
        _maps(6, 1).replace(" sea ", " ? ").replace(" land ", " ? "), "utf-8"
    )
    file = read_graph_text(made / "train")
    labeler = GraphLabeler(symmetric=True, tol=1e-8).fit(file.examples(), file.labels())
    save_model(labeler.model_, made / "python")
    return made


@pytest.fixture
def model(call: Run, folder: Path) -> Path:
    path = folder / "model"
    if not path.exists():
        train = ("train", "--task", "graph", folder / "train", "--model", path, "--symmetric")
        code, _, err = call(*train, "--tol", "1e-8", "-q")
        assert code == 0, err
    return path


def test_the_command_trains_what_the_estimator_does(model: Path, folder: Path) -> None:
    ours, theirs = load_model(model), load_model(folder / "python")
    assert ours.certificate.primal == pytest.approx(theirs.certificate.primal, rel=1e-7)
    assert np.abs(ours.weights - theirs.weights).max() < 1e-3
    file = read_graph_text(folder / "test")
    assert ours.predict(file) == ours.predict(file.examples())
    assert GraphLabeler.from_model(ours).predict(file.examples()) == ours.predict(file)


def test_predict_writes_the_labels_into_the_file(call: Run, model: Path, folder: Path) -> None:
    code, out, err = call("predict", model, folder / "bare")
    assert (code, err) == (0, "")
    found = [label for labels in load_model(model).predict(read_graph_text(folder / "test"))
             for label in labels]  # fmt: skip
    labels = iter(found)
    expected = "".join(
        line.replace("?", next(labels)) if line.startswith("node") else line
        for line in (folder / "bare").read_text("utf-8").splitlines(keepends=True)
    )
    assert out == expected + "\n"
    assert call("predict", model, folder / "test")[1] == out


def test_probabilities_and_the_k_best(call: Run, model: Path, folder: Path, tmp_path: Path) -> None:
    record = one_object(call("predict", model, folder / "bare", "--marginals", "--json")[1])
    assert record["labels"] == ["land", "sea"]
    assert record["vertices"][0][:2] == ["v0", "v1"]
    tables = load_model(model).marginals(read_graph_text(folder / "test"))
    for ours, theirs in zip(record["marginals"], tables, strict=True):
        assert np.allclose(ours, theirs)
    code, out, _ = call("predict", model, folder / "bare", "--marginals")
    comments = [line.split() for line in out.splitlines() if line.startswith("# p ")]
    assert comments[0][:3] == ["#", "p", "v0"]
    assert comments[0][3] == f"land:{tables[0][0][0]:.6f}"
    # The output is a file of graphs, whose probabilities a second run replaces.
    again = tmp_path / "again"
    again.write_text(out, "utf-8")
    assert call("predict", model, again, "--marginals")[1] == out
    code, out, _ = call("predict", model, folder / "bare", "--k", "3", "--marginals")
    assert code == 0
    assert [line.split()[1] for line in out.splitlines() if line.startswith("# k=")] == [
        "k=1", "k=2", "k=3",
    ] * 6  # fmt: skip


def test_evaluate_path_and_resume(call: Run, model: Path, folder: Path, tmp_path: Path) -> None:
    metrics = one_object(call("evaluate", model, folder / "test", "--json")[1])["metrics"]
    file = read_graph_text(folder / "test")
    labeler = GraphLabeler.from_model(load_model(model))
    assert metrics["accuracy"] == pytest.approx(labeler.score(file.examples(), file.labels()))
    assert set(metrics["by_label"]) == {"land", "sea"}
    code, out, _ = call(
        "path", "--task", "graph", folder / "train", "--folds", "2", "--steps", "2", "--json", "-q",
        "--model", tmp_path / "best",
    )  # fmt: skip
    assert code == 0
    assert one_object(out)["score_name"] == "accuracy"
    code, out, err = call(
        "train", "--task", "graph", folder / "train", "--model", tmp_path / "again", "--symmetric",
        "--resume", model, "--dev", folder / "test", "--json", "-q",
    )  # fmt: skip
    assert code == 0, err
    assert one_object(out)["metrics"]["accuracy"] == pytest.approx(metrics["accuracy"])


def test_edges_that_have_features_only_in_training(
    call: Run, model: Path, folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "plain"
    file.write_text("node a ? blue\nnode b ? grey\nedge a b\n", "utf-8")
    code, out, err = call("predict", model, file)
    assert (code, err) == (0, "")
    assert out.startswith("node a sea blue\n")


def test_several_domains_and_larger_factors(call: Run, tmp_path: Path) -> None:
    file, model = tmp_path / "train", tmp_path / "model"
    block = (
        "vertex w weather {}\nvertex d day {}\nvertex e day {}\nfactor sky w {}\n"
        "factor date d {}\nfactor date e {}\nfactor both w,d,e\n\n"
    )
    rows = [
        ("sun", "mon", "sun", "blue", "1", "7"),
        ("rain", "tue", "mon", "grey", "2", "1"),
        ("sun", "tue", "tue", "blue", "2", "2"),
    ]
    file.write_text("".join(block.format(*row) for row in rows), "utf-8")
    assert call("train", "--task", "graph", file, "--model", model, "-q", "--l2", "0.1")[0] == 0
    record = one_object(call("predict", model, file, "--marginals", "--json")[1])
    assert record["labels"] == {"day": ["mon", "sun", "tue"], "weather": ["rain", "sun"]}
    assert record["predictions"] == [list(row[:3]) for row in rows]
    assert [len(row) for row in record["marginals"][0]] == [2, 3, 3]
    assert "# p w rain:" in call("predict", model, file, "--marginals")[1]


def test_what_cannot_be_read_is_named(call: Run, model: Path, folder: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_text("node a sea\nedge a b\n", "utf-8")
    code, _, err = call("train", "--task", "graph", bad, "--model", tmp_path / "m")
    assert code == 1
    assert f"{bad}:2:8: the graph has no vertex 'b'" in err
    code, _, err = call("evaluate", model, folder / "bare")
    assert code == 1
    assert "no labels; give a file to score" in err
    bad.write_text("node a sea\nnode b ?\n", "utf-8")
    code, _, err = call("evaluate", model, bad)
    assert code == 1
    assert f"{bad}:2:8: the label is not known" in err
    bad.write_text("node a sea\nfactor far a\n", "utf-8")
    code, _, err = call("predict", model, bad)
    assert code == 1
    assert f"{bad}:2: a factor of kind 'far', which was not seen in training" in err
    bad.write_text("vertex a place sea\nfactor node a\n", "utf-8")
    train = ("train", "--task", "graph", folder / "train", "--model", tmp_path / "m", "--dev", bad)
    for command in (("predict", model, bad), train):
        code, _, err = call(*command)
        assert code == 1
        assert f"{bad}:2: a factor of kind 'node' over vertices of place, where those of" in err
    assert not (tmp_path / "m").exists()
    code, _, err = call("train", "--task", "tag", folder / "train", "--model", tmp_path / "m")
    assert code == 1
    assert "it looks like a file for --task graph" in err
    labeler = GraphLabeler().fit([(np.eye(2), [[0, 1]])], [["a", "b"]])
    save_model(labeler.model_, tmp_path / "m")
    code, _, err = call("predict", tmp_path / "m", folder / "test")
    assert code == 1
    assert "trained on matrices" in err
