"""What a law of structures is tried on: a structure, all labels of one shape, and scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..structures.base import Structure, call

__all__ = [
    "PATTERNS", "SPARE", "TOLERANCE", "Case", "Label", "PartTable", "close", "draw_scores", "flat",
    "hold", "largest", "log_sum", "probabilities",
]  # fmt: skip

#: How far a number may be from the enumeration, relative to max(1, its size).
TOLERANCE: Final = 1e-10
PATTERNS: Final = ("zero", "small", "large", "tiny", "steep", "masked", "masked steep")
#: Written behind the arrays that an oracle gets, to see whether it stays inside them.
_CANARY: Final = 1234.5
#: By how much the scratch exceeds ``work_size``; a prime, so that no array fills it by chance.
SPARE: Final = 13


def hold(condition: Any, sentence: str) -> None:
    """Raise an AssertionError with this sentence, also where Python runs without asserts."""
    if not condition:
        raise AssertionError(sentence)


def close(got: Any, expected: Any, scale: float = 1.0, what: str = "") -> None:
    """Assert that numbers agree to 1e-10 of max(1, scale, |expected|)."""
    np.testing.assert_allclose(
        np.asarray(got, dtype=float),
        np.asarray(expected, dtype=float),
        rtol=TOLERANCE,
        atol=TOLERANCE * max(1.0, scale),
        err_msg=what,
    )


def draw_scores(pattern: str, n: int, rng: np.random.Generator) -> Floats:
    """Draw the scores of n parts in one of the ``PATTERNS``."""
    if pattern.startswith("masked"):
        theta = draw_scores(pattern[7:] or "small", n, rng)
        theta[rng.random(n) < rng.choice([0.1, 0.3, 0.6])] = -np.inf
        return theta
    if pattern == "steep":  # differences at which exponentials underflow, alone or together
        steps = np.array([-710.0, -640.0, -310.0, -150.0, 0.0, 150.0, 310.0])
        return rng.choice(steps, n)
    scale, base = {"zero": (0, 0), "small": (3, 0), "large": (1e4, 0), "tiny": (1e-9, 2)}[pattern]
    return base + rng.uniform(-scale, scale, n)


def largest(theta: Floats) -> float:
    """Return the largest absolute value of the finite scores."""
    return float(np.abs(theta[np.isfinite(theta)]).max(initial=0.0))


#: A label as tables list it.
Label = tuple[int, ...]


def log_sum(scores: npt.NDArray[Any]) -> Any:
    """Compute log sum exp; -inf for nothing."""
    top = scores.max(initial=-np.inf)
    return top + np.log(np.exp(scores - top).sum()) if top > -np.inf else -np.inf


def probabilities(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the share of every score in the sum of exponentials."""
    shares: npt.NDArray[Any] = np.exp(scores - log_sum(scores))
    return shares


def flat(label: Any) -> Label:
    """Return a label as tables list it."""
    return tuple(np.ravel(label).tolist())


@dataclass(frozen=True)
class PartTable:
    """All labels of an example: ``counts[y, r]`` is how often label y holds part r."""

    labels: list[Label]
    counts: Floats

    @staticmethod
    def of(n_parts: int, labels: Iterable[Any], parts: Callable[[Any], Iterable[int]]) -> PartTable:
        """Write all labels out, with the parts that each one holds."""
        listed = list(labels)
        counts = np.zeros((len(listed), n_parts))
        for y, label in enumerate(listed):
            for part in parts(label):
                counts[y, part] += 1
        return PartTable([flat(label) for label in listed], counts)

    def scores(self, theta: Floats) -> npt.NDArray[np.longdouble]:
        """Return the score of every label."""
        forbidden = self.counts @ np.isneginf(theta) > 0
        finite = np.where(np.isneginf(theta), 0.0, theta)
        scores = self.counts.astype(np.longdouble) @ finite.astype(np.longdouble)
        scores[forbidden] = -np.inf
        return scores

    def keep(self, kept: Sequence[bool]) -> PartTable:
        """Keep some of the labels."""
        labels = [label for label, wanted in zip(self.labels, kept, strict=True) if wanted]
        return PartTable(labels, self.counts[np.array(kept, dtype=bool)])

    def place(self, label: Any) -> int:
        """Return the number of a label that the structure returned."""
        wanted = flat(label)
        if wanted not in self.labels:
            raise AssertionError(f"{wanted} is not a label of this shape")
        return self.labels.index(wanted)


@dataclass(frozen=True)
class Case:
    """A structure, one shape with all its labels, and scores of its parts.

    Attributes
    ----------
    structure, topo
        The structure and the shape, as `structure.topology` describes it.
    table
        All labels.
    theta
        The scores.
    rng
        For what a law draws.
    array
        Turns a label of the table into the array that the structure takes.
    """

    structure: Structure
    topo: Ints
    table: PartTable
    theta: Floats
    rng: np.random.Generator
    array: Callable[[Label], Ints] = lambda label: np.array(label, dtype=np.int64)

    def run(self, oracle: Any, theta: Floats, wanted: bool = True) -> tuple[float, Floats]:
        """Call an oracle with the least scratch and with more, and expect the same of both."""
        value, mu = self._run(oracle, theta, wanted, 0)
        again, mu_again = self._run(oracle, theta, wanted, SPARE)
        hold(
            np.array_equal([value, *mu], [again, *mu_again], equal_nan=True),
            f"{value} becomes {again} where work has more than work_size(topo) numbers; one buffer "
            "serves all examples: slice it before you reshape it, and let work_size "
            "give all that the oracles use",
        )
        return value, mu

    def _run(self, oracle: Any, theta: Floats, wanted: bool, spare: int) -> tuple[float, Floats]:
        """Call an oracle with junk in mu and in the scratch, and watch that it stays inside."""
        n, size = self.structure.n_parts(self.topo), self.structure.work_size(self.topo)
        mu = np.full((n if wanted else 0) + 4, np.nan)
        work = np.full(size + spare + 4, np.nan)
        mu[-4:] = work[-4:] = _CANARY
        given = theta.copy()
        value = float(call(oracle, self.structure.spec, self.topo, given, mu[:-4], work[:-4]))
        hold((mu[-4:] == _CANARY).all(), "the oracle writes beyond mu")
        hold((work[-4:] == _CANARY).all(), "the oracle writes beyond the scratch; see work_size")
        hold(np.array_equal(given, theta, equal_nan=True), "the oracle changes theta")
        return value, mu[:-4]
