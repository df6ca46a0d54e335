"""Count what is slow: ``python -m benchmarks.limits`` prints the two tables of docs/limits.md.

The tables have passes over the data until the relative duality gap is proved to be at most tol.
Passes are the same on every machine, and seconds are not.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

from .data import demo_text, digits
from .problems import sentences

MAX_PASSES = 1_000
L2S = (10.0, 1.0, 0.1, 0.01)
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4)


def passes(estimator: Any, x: Any, y: Any, tolerances: tuple[float, ...]) -> list[str]:
    """Return for each tol the passes of a fit that ends when it is certified."""
    from partwise import ConvergenceWarning

    found = []
    for tol in tolerances:
        estimator.set_params(tol=tol, max_passes=MAX_PASSES)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            certificate = estimator.fit(x, y).certificate_
        gap = f"gap {certificate.relative_gap:.1g} after {MAX_PASSES}"
        found.append(f"{certificate.passes:.0f}" if certificate.converged else gap)
    return found


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def main() -> None:
    """Print the tables."""
    from partwise import LinearClassifier, SequenceTagger

    x, y = digits()
    scales = {"pixels from 0 to 1": x, "pixels from 0 to 16": 16 * x}
    rows = [
        [name, *(passes(LinearClassifier(l2=l2), data, y, (1e-3,))[0] for l2 in L2S)]
        for name, data in scales.items()
    ]
    header = ["log loss, tol 1e-3", *(f"l2 = {l2:g}" for l2 in L2S)]
    sys.stdout.write(table(header, rows) + "\n")

    text = list(sentences(demo_text(100, seed=0)))
    tokens, labels = [s.attributes for s in text], [s.labels for s in text]
    rows = []
    for loss in ("log", "softmax-margin", "hinge"):
        classified = passes(LinearClassifier(loss=loss), x, y, TOLERANCES)
        rows.append([f"{loss}, digits", *classified])
        rows.append(
            [f"{loss}, tagger", *passes(SequenceTagger(loss=loss), tokens, labels, TOLERANCES)]
        )
    sys.stdout.write(table(["l2 = 1", *(f"tol {tol:g}" for tol in TOLERANCES)], rows))


if __name__ == "__main__":
    main()
