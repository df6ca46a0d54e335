"""The parameters of CRFsuite's training algorithms, and what they mean here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ...errors import DataError

__all__ = ["ALGORITHMS", "CERTIFIED", "ParameterSet", "find_algorithm"]

_UNLIMITED: Final = 2**31 - 1


@dataclass(frozen=True)
class _Parameter:
    """A parameter: its default, which also gives its type, and a description."""

    default: Any
    help: str

    def read(self, name: str, value: Any) -> Any:
        """Convert a value, which may be a string; raise a ValueError if it has no meaning."""
        kind = type(self.default)
        convert: Callable[[Any], Any] = str if kind is str else float
        try:
            found = convert(value)
            return kind(int(found)) if kind in (bool, int) else kind(found)
        except (TypeError, ValueError, OverflowError):
            raise DataError(f"the parameter {name} is {value!r}; give a {kind.__name__}") from None


_FEATURES: Final = {
    "feature.minfreq": _Parameter(
        0.0,
        "The least sum of the values of an attribute over the tokens of a label, and the least "
        "number of occurrences of a pair of labels, for which there is a weight.",
    ),
    "feature.possible_states": _Parameter(
        False, "Whether an attribute has weights for labels that it was not seen with."
    ),
    "feature.possible_transitions": _Parameter(
        False, "Whether there are weights for pairs of labels that were not seen."
    ),
}
_C2: Final = _Parameter(1.0, "Coefficient for L2 regularization: c2 |w|^2; l2 = 2 c2.")
_PASSES: Final = "The maximum number of passes over the data."
_NO_EFFECT: Final = "It is accepted and has no effect: training stops at a duality gap."


def _gap(default: float) -> _Parameter:
    return _Parameter(default, "Training stops when the relative duality gap is at most this: tol.")


def _online(epsilon: str) -> dict[str, _Parameter]:
    return {
        "max_iterations": _Parameter(100, "The maximum number of iterations."),
        "epsilon": _Parameter(0.0, f"The stopping criterion ({epsilon})."),
    }


#: The parameters of each algorithm, in the order of CRFsuite.
ALGORITHMS: Final[dict[str, dict[str, _Parameter]]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": _Parameter(0.0, "Coefficient for L1 regularization: c1 |w|_1; l1 = c1."),
        "c2": _C2,
        "max_iterations": _Parameter(_UNLIMITED, _PASSES),
        "num_memories": _Parameter(6, f"The memory of L-BFGS. {_NO_EFFECT}"),
        "epsilon": _Parameter(1e-5, f"The precision of the gradient of L-BFGS. {_NO_EFFECT}"),
        "period": _Parameter(10, f"The duration over which L-BFGS looks at delta. {_NO_EFFECT}"),
        "delta": _gap(1e-5),
        "linesearch": _Parameter("MoreThuente", f"The line search of L-BFGS. {_NO_EFFECT}"),
        "max_linesearch": _Parameter(20, f"The number of trials of L-BFGS. {_NO_EFFECT}"),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": _Parameter(1000, _PASSES),
        "period": _Parameter(10, f"The duration over which SGD looks at delta. {_NO_EFFECT}"),
        "delta": _gap(1e-6),
        "calibration.eta": _Parameter(0.1, f"The first learning rate of SGD. {_NO_EFFECT}"),
        "calibration.rate": _Parameter(2.0, f"The change of the learning rate. {_NO_EFFECT}"),
        "calibration.samples": _Parameter(1000.0, f"The instances of calibration. {_NO_EFFECT}"),
        "calibration.candidates": _Parameter(10, f"The number of learning rates. {_NO_EFFECT}"),
        "calibration.max_trials": _Parameter(20, f"The trials of calibration. {_NO_EFFECT}"),
    },
    "averaged-perceptron": {
        **_FEATURES,
        **_online("the ratio of incorrect label predictions"),
    },
    "passive-aggressive": {
        **_FEATURES,
        "type": _Parameter(
            1, "How weights are updated: 0 is PA without slack variables, 1 is PA-I, 2 is PA-II."
        ),
        "c": _Parameter(1.0, "The aggressiveness parameter of PA-I and PA-II."),
        "error_sensitive": _Parameter(
            True, "Whether the cost has the square root of the number of incorrect labels."
        ),
        "averaging": _Parameter(True, "Whether weights are averaged over all updates."),
        **_online("the mean loss"),
    },
    "arow": {
        **_FEATURES,
        "variance": _Parameter(1.0, "The initial variance of every feature weight."),
        "gamma": _Parameter(1.0, "Tradeoff between the loss and the change of the weights."),
        **_online("the mean loss"),
    },
}
#: The algorithms that minimise the objective of the package, to a certified gap.
CERTIFIED: Final = ("lbfgs", "l2sgd")
_ALIASES: Final = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


def find_algorithm(algorithm: str, kind: str = "crf1d") -> str:
    """Return the full name of an algorithm."""
    name = _ALIASES.get(str(algorithm).lower(), str(algorithm).lower())
    if name not in ALGORITHMS or kind != "crf1d":
        raise DataError(
            f"Bad arguments: algorithm={name!r}, type={kind!r}; the algorithms are lbfgs, l2sgd, "
            "ap, pa and arow, and the type is crf1d"
        )
    return name


class ParameterSet:
    """The values of the parameters of an algorithm.

    Parameters
    ----------
    algorithm : str
        The full name of the algorithm.
    """

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self._known = ALGORITHMS[algorithm]
        self.values = {name: parameter.default for name, parameter in self._known.items()}

    def find(self, name: str, value: Any = None) -> _Parameter:
        """Return a parameter."""
        if name not in self._known:
            given = "" if value is None else f" = {value}"
            raise DataError(
                f"Parameter not found: {name}{given}; {self.algorithm} has {', '.join(self._known)}"
            )
        return self._known[name]

    def set(self, name: str, value: Any) -> None:
        """Set the value of a parameter."""
        self.values[name] = self.find(name, value).read(name, value)

    def get(self, name: str) -> Any:
        """Return the value of a parameter."""
        self.find(name)
        return self.values[name]
