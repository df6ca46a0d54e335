"""Models of other programs, converted: the same labels and scores, and how far they were off.

    PARTWISE_DATA=... python -m benchmarks.foreign_models --sentences 2000 crfsuite wapiti

Every program trains a model, which is then converted. Reported are the labels of the test set that
differ, the largest difference between scores of the converted model and sums of the weights in the
file, which are read here once more in the simplest way, the difference to what the program itself
prints, and the distance of the program's weights from the optimum of its own objective, certified
by a fit that starts from them. Programs that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .crfpp_binary import write_crfpp_binary, write_crfpp_text
from .data import Rows, data_file, mnist, read_columns, svmlight

#: The template of CRF++'s example for CoNLL-2000.
TEMPLATE = [
    *(f"U{k:02}:%x[{k - 2},0]" for k in range(5)),
    "U05:%x[-1,0]/%x[0,0]",
    "U06:%x[0,0]/%x[1,0]",
    *(f"U{k + 10}:%x[{k - 2},1]" for k in range(5)),
    *(f"U{k + 17}:%x[{k - 2},1]/%x[{k - 1},1]" for k in range(4)),
    *(f"U{k + 21}:%x[{k - 2},1]/%x[{k - 1},1]/%x[{k},1]" for k in range(3)),
    "B",
]
#: The program that trains Wapiti, in a process of its own, because it writes to stderr itself.
WAPITI = """
import sys, wapiti
data, patterns, out, rho1, rho2 = sys.argv[1:]
model = wapiti.Model(
    patterns=open(patterns).read(), rho1=float(rho1), rho2=float(rho2), nthread=1, maxiter=200
)
model.train([one for one in open(data).read().split("\\n\\n") if one.strip()])
model.save(out)
for one in sys.stdin.read().split("\\n\\n"):
    if one.strip():
        print(model.label_sequence(one).decode().replace("\\n", " "))
"""


@dataclass
class Row:
    """What was found out about one model."""

    model: str
    weights: int
    differing_labels: int
    labels: int
    score_error: float
    program_error: float
    objective: float
    optimum: float
    above: float

    def text(self) -> str:
        """Return the row of the table."""
        return (
            f"| {self.model} | {self.weights:,} | {self.differing_labels} of {self.labels:,} | "
            f"{self.score_error:.1e} | {self.program_error:.1e} | {self.objective:.6f} | "
            f"{self.optimum:.6f} | {self.above / self.objective:.1e} |"
        )


Sentences = list[Rows]
Weights = dict[tuple[str, ...], float]


def command(*arguments: str) -> dict[str, Any]:
    """Run partwise and return its record."""
    program = [sys.executable, "-m", "partwise", *arguments, "--json", "-q"]
    done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{' '.join(arguments)}: {found}")
    return found


def columns(sentences: Sentences, labels: bool) -> str:
    """Return sentences as a column file."""
    width = None if labels else -1
    return "\n".join("".join(" ".join(row[:width]) + "\n" for row in one) for one in sentences)


def chain_score(weights: Weights, features: list[list[str]], labels: list[str]) -> float:
    """Add up the weights of a sentence: (feature, label) and (label, next label)."""
    states = (weights.get((name, y)) for names, y in zip(features, labels, strict=True)
              for name in names)  # fmt: skip
    steps = (weights.get(pair) for pair in pairwise(labels))
    return math.fsum(one for one in (*states, *steps) if one is not None)


def largest_error(model: Any, X: list[Any], features: Any, weights: Weights) -> float:
    """Return the largest difference between the scores of best labels and sums of weights."""
    best = model.k_best(X, k=1)
    return max(
        abs(float(scores[0]) - chain_score(weights, names, labels[0]))
        for (scores, labels), names in zip(best, features, strict=True)
    )


def differing(found: list[list[str]], wanted: list[list[str]]) -> tuple[int, int]:
    """Return how many labels differ, and how many there are."""
    pairs = [(a, b) for x, y in zip(found, wanted, strict=True) for a, b in zip(x, y, strict=True)]
    return sum(a != b for a, b in pairs), len(pairs)


def crfsuite(train: Sentences, test: Sentences, folder: Path, tol: float) -> Iterator[Row]:
    """CRFsuite's L-BFGS, with l2 alone and with l1 and l2."""
    import pycrfsuite

    from partwise import SequenceTagger, Templates
    from partwise.models.foreign.crfsuite import read_crfsuite_model
    from partwise.models.foreign.registry import read_model

    templates = Templates(TEMPLATE[:-1])
    X, T = (templates.apply([[row[:-1] for row in one] for one in part]) for part in (train, test))
    y = [[row[-1] for row in one] for one in train]
    for c1, c2 in ((0.0, 0.5), (0.5, 0.01)):
        path = str(folder / "crfsuite")
        trainer = pycrfsuite.Trainer(verbose=False)
        trainer.set_params({"c1": c1, "c2": c2})
        for tokens, labels in zip(X, y, strict=True):
            trainer.append(tokens, labels)
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        wanted = [tagger.tag(tokens) for tokens in T]
        model = read_model(path, "crfsuite-model")
        raw = read_crfsuite_model(path)
        weights: Weights = {(raw.attributes[a], raw.labels[b]): w for a, b, w in
                   zip(*raw.state_features, strict=True)}  # fmt: skip
        weights |= {(raw.labels[a], raw.labels[b]): w for a, b, w in
                    zip(*raw.transitions, strict=True)}  # fmt: skip
        found = model.predict(T)
        # The program's own number is the probability of its labels.
        odds = np.array([tagger.set(one) or tagger.probability(labels)
                         for one, labels in zip(T, wanted, strict=True)])  # fmt: skip
        mine = np.exp(model.log_proba(T, labels=wanted))
        fit = SequenceTagger.from_model(model).set_params(
            l2=2 * c2, l1=c1, weights="observed", tol=tol, warm_start=True, max_passes=3000
        )
        fit.fit(X, y)
        start = fit.started_from_
        assert start is not None
        yield Row(
            f"CRFsuite lbfgs, c1 = {c1:g}, c2 = {c2:g}", len(model.weights),
            *differing(found, wanted), largest_error(model, T, T, weights),
            float(np.abs(odds - mine).max()), start.objective, fit.certificate_.primal,
            start.above(fit.certificate_)[1],
        )  # fmt: skip


def wapiti(train: Sentences, test: Sentences, folder: Path, tol: float) -> Iterator[Row]:
    """Wapiti's L-BFGS, with l2 alone and with its default l1 and l2."""
    import wapiti as _  # noqa: F401

    from partwise import Templates
    from partwise.models.foreign.registry import read_model

    data, patterns, path = (str(folder / name) for name in ("train.txt", "patterns", "wapiti"))
    Path(data).write_text(columns(train, True))
    Path(patterns).write_text("\n".join(TEMPLATE) + "\n")
    names = Templates(TEMPLATE, "wapiti").apply([[row[:-1] for row in one] for one in test])
    X = [[list(row[:-1]) for row in one] for one in test]
    for rho1, rho2 in (("0", "1"), ("0.5", "0.0001")):
        done = subprocess.run(
            [sys.executable, "-c", WAPITI, data, patterns, path, rho1, rho2],
            input=columns(test, False), capture_output=True, text=True, check=True,
        )  # fmt: skip
        wanted = [line.split() for line in done.stdout.splitlines()]
        printed = re.findall(r"obj=(\S+)", done.stderr)[-1]
        model = read_model(path, "wapiti-model")
        command("convert", path, f"{path}.model", "--from", "wapiti-model")
        record = command(
            "train", "--task", "tag", data, "--resume", f"{path}.model", "--model", f"{path}.fit",
            "--l1", rho1, "--l2", rho2, "--tol", str(tol), "--max-passes", "3000",
        )  # fmt: skip
        objective = record["start"]["objective"]
        yield Row(
            f"Wapiti l-bfgs, rho1 = {rho1}, rho2 = {rho2}", len(model.weights),
            *differing(model.predict(X), wanted),
            largest_error(model, X, names, wapiti_weights(path)),
            abs(float(printed) - round(objective, len(printed.partition(".")[2]))), objective,
            record["objective"], record["start"]["most_above_optimum"],
        )  # fmt: skip


def wapiti_weights(path: str) -> Weights:
    """Read the weights of a Wapiti model with u patterns and b, in the simplest way."""
    text = Path(path).read_text()
    _, labels_text, rest = text.split("#qrk#")
    labels = re.findall(r"^\d+:(.*),$", labels_text, re.MULTILINE)
    observations = re.findall(r"^\d+:(.*),$", rest, re.MULTILINE)
    keys: list[tuple[str, ...]] = []
    for name in observations:
        if name[0] == "u":
            keys += [(name, y) for y in labels]
        else:
            keys += [(a, b) for a in labels for b in labels]
    pairs = re.findall(r"^(\d+)=(\S+)$", rest, re.MULTILINE)
    return {keys[int(number)]: float.fromhex(value) for number, value in pairs}


def crfpp(train: Sentences, test: Sentences, folder: Path, tol: float) -> Iterator[Row]:
    """CRF++'s tagger.

    Its learner has no package, so partwise trains, loosely, and writes the files. The tagger reads
    a binary model, whose weights are of 32 bits, and adds them up in 32 bits.
    """
    import pycrfpp

    from partwise import Templates, load_model
    from partwise.models.foreign.registry import read_model

    train = train[:400]
    data, patterns, path = (str(folder / name) for name in ("small.txt", "template", "crfpp"))
    Path(data).write_text(columns(train, True))
    Path(patterns).write_text("\n".join(TEMPLATE) + "\n")
    command("train", "--task", "tag", data, "--template", patterns, "--model", f"{path}.loose",
            "--l2", "1", "--tol", "1e-2")  # fmt: skip
    weights = write_crfpp_text(load_model(f"{path}.loose"), TEMPLATE, f"{path}.txt")
    write_crfpp_binary(f"{path}.txt", path)
    tagger = pycrfpp.Tagger(f"-v 1 -m {path}")
    wanted, odds = [], []
    for one in test:
        tagger.clear()
        for row in one:
            tagger.add(" ".join(row[:-1]))
        tagger.parse()
        wanted.append([tagger.y2(t) for t in range(tagger.size())])
        odds.append(tagger.prob())
    model = read_model(f"{path}.txt", "crfpp-model")
    command("convert", f"{path}.txt", f"{path}.model", "--from", "crfpp-model")
    record = command("train", "--task", "tag", data, "--resume", f"{path}.model", "--model",
                     f"{path}.fit", "--l2", "1", "--tol", str(tol))  # fmt: skip
    X = [[list(row[:-1]) for row in one] for one in test]
    names = Templates(TEMPLATE).apply(X)
    mine = np.exp(model.log_proba(X, labels=wanted))
    yield Row(
        f"CRF++ tagger, c = 1, {len(train)} sentences", len(model.weights),
        *differing(model.predict(X), wanted), largest_error(model, X, names, weights),
        float(np.abs(mine - np.array(odds)).max()), record["start"]["objective"],
        record["objective"], record["start"]["most_above_optimum"],
    )  # fmt: skip


def liblinear(train: Sentences, test: Sentences, folder: Path, tol: float) -> Iterator[Row]:
    """LIBLINEAR: all solver types on two classes, and on ten."""
    from liblinear.liblinearutil import predict, save_model
    from liblinear.liblinearutil import train as fit

    a9a = (*svmlight("libsvm/a9a.gz", 123), *svmlight("libsvm/a9a.t.gz", 123))
    X, y = mnist("train")
    digits = (X[:5000], y[:5000], *mnist("t10k"))
    for name, (X, y, T, t), solvers in (("a9a", a9a, range(8)), ("mnist 5,000", digits, range(5))):
        for solver in solvers:
            held = fit(y.astype(float), X, f"-s {solver} -c 0.1 -q")
            path = str(folder / f"liblinear-{solver}")
            save_model(path, held)
            wanted, _, values = predict(t.astype(float), T, held, "-q")
            yield liblinear_row(f"LIBLINEAR -s {solver}, {name}", path, (X, y, T), wanted,
                                np.array(values), tol)  # fmt: skip


def liblinear_row(
    name: str, path: str, data: tuple[Any, Any, Any], wanted: list[float], values: Any, tol: float
) -> Row:
    """Compare one model; the objective is nan where partwise has none of its kind."""
    from partwise import LinearClassifier
    from partwise.models.foreign.registry import read_model

    X, y, T = data
    model = read_model(path, "liblinear-model")
    found = model.predict(T)
    scores = np.array([[dict(zip(labels, s, strict=True))[k] for k in model.labels] for s, labels in
                       model.k_best(T, k=len(model.labels))])  # fmt: skip
    lines = Path(path).read_text().split("\nw\n")[1].split()
    W = np.array(lines, dtype=float).reshape(T.shape[1], -1)
    sums = np.asarray(T @ W)
    mine = scores
    if len(model.labels) == 2:
        # The label of the first column comes last in the model, and LIBLINEAR prints its value.
        mine = scores[:, 1:] - scores[:, :1] if W.shape[1] == 1 else scores[:, 1:]
        sums = sums[:, :1]
    objective = optimum = above = math.nan
    if model.origin is not None and model.origin.comparable:
        l2 = 20.0 if W.shape[1] == 1 else 10.0
        loss = "log" if model.loss == "log" else "hinge"
        fit = LinearClassifier.from_model(model).set_params(
            l2=l2, loss=loss, tol=tol, warm_start=True, max_passes=20000
        )
        fit.fit(X, [str(int(label)) for label in y])
        start = fit.started_from_
        assert start is not None
        objective, optimum = start.objective, fit.certificate_.primal
        above = start.above(fit.certificate_)[1]
    different = sum(int(a) != int(b) for a, b in zip(found, wanted, strict=True))
    return Row(name, model.weights.size, different, len(wanted), float(np.abs(mine - sums).max()),
               float(np.abs(mine - values).max()), objective, optimum, above)  # fmt: skip


PROGRAMS: dict[str, Callable[[Sentences, Sentences, Path, float], Iterator[Row]]] = {
    "crfsuite": crfsuite,
    "wapiti": wapiti,
    "crfpp": crfpp,
    "liblinear": liblinear,
}


def main() -> None:
    """Compare the programs that are installed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--sentences", type=int, default=8936, help="of CoNLL-2000, to train on")
    parser.add_argument("--tol", type=float, default=1e-6, help="relative gap of the optimum")
    parser.add_argument("--json", metavar="FILE", help="also write the rows to this file")
    given = parser.parse_args()
    train = read_columns(data_file("conll2000/train.txt.gz"))[: given.sentences]
    test = read_columns(data_file("conll2000/test.txt.gz"))
    out = sys.stdout
    out.write(
        "| model | weights | labels that differ | scores off | program's own off | its objective | "
        "certified optimum | relative distance |\n|---|---|---|---|---|---|---|---|\n"
    )
    rows = []
    for name in given.programs or PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                for row in PROGRAMS[name](train, test, Path(folder), given.tol):
                    rows.append(asdict(row))
                    out.write(row.text() + "\n")
                    out.flush()
            except ImportError as error:
                sys.stderr.write(f"{name} is left out: {error}\n")
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
