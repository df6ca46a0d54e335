"""Errors about parameters that an estimator does not have, with the one that may be meant."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Collection
from typing import Any, Final, TypeVar

from ..wording import did_you_mean

__all__ = ["named_parameters"]

_Class = TypeVar("_Class", bound=type[Any])

#: Parameters of other toolkits: the parameter that takes their place here, and how.
_ELSEWHERE: Final = {
    "C": ("l2", "give l2 = 1 / C, or l2 = 2 / C for a classifier of two classes"),
    "alpha": ("l2", "give l2 = n alpha, where n is the number of examples"),
    "c1": ("l1", "c1 of CRFsuite is l1 here"),
    "c2": ("l2", "c2 of CRFsuite is half of l2 here, so l2 is twice that number"),
    "rho1": ("l1", "rho1 of Wapiti is l1 here"),
    "rho2": ("l2", "rho2 of Wapiti is l2 here"),
    "penalty": ("l1", "the penalty is l2/2 |w|^2 + l1 |w|_1 here, so give l2 and l1"),
    "max_iter": ("max_passes", "max_passes limits the passes over the data"),
    "max_iterations": ("max_passes", "max_passes limits the passes over the data"),
    "algorithm": ("solver", "the algorithm is the solver here"),
    "delta": ("tol", "tol is the relative duality gap at which a fit stops"),
    "epsilon": ("tol", "tol is the relative duality gap at which a fit stops"),
    "min_freq": ("min_frequency", "min_freq of CRFsuite is min_frequency here"),
    "all_possible_states": (
        "weights", "give weights='all' for all_possible_states, and weights='observed' without it"
    ),
    "all_possible_transitions": (
        "transition_weights",
        "give transition_weights='all' for all_possible_transitions, and "
        "transition_weights='observed' without it",
    ),
}  # fmt: skip


def named_parameters(kind: _Class) -> _Class:
    """Give the constructor of a class errors that say which parameter may be meant.

    The signature stays as it is, because scikit-learn reads the parameters from it.
    """
    plain = kind.__init__
    known = [name for name in inspect.signature(plain).parameters if name != "self"]

    @functools.wraps(plain)
    def construct(self: Any, *values: Any, **given: Any) -> None:
        try:
            plain(self, *values, **given)
        except TypeError:
            why = _fault(kind.__name__, values, given, known)
            if not why:
                raise
            raise TypeError(why) from None

    kind.__init__ = construct
    return kind


def _fault(kind: str, values: Any, given: Collection[str], known: Collection[str]) -> str:
    """Return what is wrong with the arguments of a constructor; empty if it is something else."""
    if values:
        return f"{kind} takes its parameters by name, as in {kind}(loss='log'); name {values[0]!r}"
    for name in given:
        if name in known:
            continue
        instead, hint = _ELSEWHERE.get(name, ("", ""))
        if instead not in known:
            hint = did_you_mean(name, known, f"it has {', '.join(known)}")
        return f"{kind} has no parameter {name!r}; {hint}"
    return ""
