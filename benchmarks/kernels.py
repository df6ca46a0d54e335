"""Kernel functions on handwritten words: ``python -m benchmarks.kernels --out DIR``.

Trains chains on fold 0 of the OCR letters, without a kernel, with a cubic one and with RBF, and
tests them on the other folds. Each runs in its own process, whose peak memory is measured.
Prints a Markdown table and writes kernels.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .data import data_file
from .limits import table

FILE = "ocr_letters/letter.data.gz"
MAX_PASSES = 300
#: With this gamma the cubic kernel of a letter with itself is around 0.2.
CUBIC_GAMMA = 0.02


@dataclass(frozen=True)
class Setting:
    """What is trained; if ``kernel`` is None, a tagger without a kernel.

    Without a kernel, l2 is the best of three powers of sqrt(10) on 126 held-out words of fold 0;
    with a kernel, it is one of a few values that were tried there.
    """

    loss: str
    kernel: str | None
    l2: float
    tol: float


SETTINGS = (
    Setting("hinge", None, 10.0, 1e-2),
    Setting("hinge", "poly", 0.3, 1e-2),
    Setting("hinge", "rbf", 1.0, 1e-2),
    Setting("log", None, 3.0, 1e-3),
    Setting("log", "poly", 0.01, 1e-3),
    Setting("log", "rbf", 0.01, 1e-3),
)


@dataclass(frozen=True)
class Words:
    """Handwritten words: the pixels of all letters, the letters, and the lengths of the words."""

    pixels: Any
    lengths: Any
    letters: list[str]
    folds: Any  # a word

    def take(self, wanted: Any) -> tuple[Any, list[str], Any]:
        """Return the pixels, letters and lengths of some words."""
        mine = np.repeat(wanted, self.lengths)
        letters = [letter for letter, kept in zip(self.letters, mine, strict=True) if kept]
        return self.pixels[mine], letters, self.lengths[wanted]


def read_words() -> Words:
    """Return the words of all ten folds."""
    pixels, letters, lengths, folds = [], [], [0], []
    with gzip.open(data_file(FILE), "rt", encoding="ascii") as stream:
        for line in stream:
            _, letter, following, _, _, fold, *image = line.split()
            letters.append(letter)
            pixels.append(np.array(image, dtype=np.uint8))
            lengths[-1] += 1
            if following == "-1":
                folds.append(int(fold))
                lengths.append(0)
    return Words(np.array(pixels, dtype=float), np.array(lengths[:-1]), letters, np.array(folds))


def make_tagger(setting: Setting, passes: float) -> Any:
    """Return the estimator of a setting."""
    from partwise import KernelTagger, SequenceTagger

    shared: dict[str, Any] = {
        "loss": setting.loss,
        "l2": setting.l2,
        "tol": setting.tol,
        "max_passes": passes,
    }
    if setting.kernel is None:
        return SequenceTagger(**shared)
    gamma = CUBIC_GAMMA if setting.kernel == "poly" else "scale"
    return KernelTagger(kernel=setting.kernel, gamma=gamma, **shared)


def measure(setting: Setting, passes: float, n_words: int) -> dict[str, Any]:
    """Train and test one tagger, in this process."""
    from partwise import ConvergenceWarning

    words = read_words()
    train = words.folds == 0
    if n_words:
        train &= np.cumsum(train) <= n_words
    tagger = make_tagger(setting, passes)
    # Compiling or loading code is not part of the measurement.
    pixels, letters, lengths = words.take(train & (np.cumsum(train) <= 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tagger.fit(pixels, letters, lengths=lengths).predict(pixels, lengths=lengths)
        before = resource.getrusage(resource.RUSAGE_SELF)
        pixels, letters, lengths = words.take(train)
        began = time.perf_counter()
        tagger.fit(pixels, letters, lengths=lengths)
    fit_seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF)
    pixels, test_letters, lengths = words.take(words.folds != 0)
    began = time.perf_counter()
    accuracy = tagger.score(pixels, test_letters, lengths=lengths)
    certificate = tagger.certificate_
    return {
        **asdict(setting),
        "accuracy": accuracy,
        "primal": certificate.primal,
        "relative_gap": certificate.relative_gap,
        "passes": certificate.passes,
        "solver_seconds": certificate.seconds,
        "fit_seconds": fit_seconds,
        "fit_cpu_seconds": after.ru_utime - before.ru_utime,
        "predict_seconds": time.perf_counter() - began,
        "letters": len(letters),
        "test_letters": len(test_letters),
        "support": getattr(tagger, "n_support_", 0),
        "peak_mib": after.ru_maxrss / 1024.0,
        "peak_mib_before": before.ru_maxrss / 1024.0,
    }


def apart(number: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure in a new process."""
    command = [sys.executable, "-m", "benchmarks.kernels", "--only", str(number)]
    command += ["--passes", str(options.passes), "--words", str(options.words)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def row(found: dict[str, Any]) -> list[str]:
    """Return a line of the table."""
    kernel = {"poly": "cubic", "rbf": "RBF", None: "none"}[found["kernel"]]
    return [
        found["loss"],
        kernel,
        f"{found['l2']:g}",
        f"{100 * found['accuracy']:.1f}%",
        f"{found['relative_gap']:.1e}",
        f"{found['passes']:.0f}",
        f"{found['fit_seconds']:.1f}",
        f"{found['predict_seconds']:.1f}",
        f"{found['peak_mib'] - found['peak_mib_before']:.0f}",
        str(found["support"] or "-"),
    ]


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("bench-results"), help="folder to write to"
    )
    parser.add_argument("--passes", type=float, default=MAX_PASSES, help="at most")
    parser.add_argument("--words", type=int, default=0, help="words to train on (default: all)")
    parser.add_argument("--only", type=int, help="measure one setting and print it as JSON")
    options = parser.parse_args(arguments)
    if options.only is not None:
        found = measure(SETTINGS[options.only], options.passes, options.words)
        sys.stdout.write(json.dumps(found) + "\n")
        return
    results = [apart(number, options) for number in range(len(SETTINGS))]
    header = [
        "loss", "kernel", "l2", "letters right", "relative gap", "passes", "fit, s", "predict, s",
        "MiB more", "support",
    ]  # fmt: skip
    sys.stdout.write(table(header, [row(found) for found in results]))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "kernels.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
