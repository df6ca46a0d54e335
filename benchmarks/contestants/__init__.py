"""The contestants, one file per library."""

from __future__ import annotations

from .base import Contestant
from .crfsuite import CrfsuiteL2sgd, CrfsuiteLbfgs
from .liblinear_ import LIBLINEAR
from .partwise_ import PARTWISE
from .sklearn_ import SKLEARN

CONTESTANTS: tuple[Contestant, ...] = (
    *PARTWISE,
    CrfsuiteLbfgs(),
    CrfsuiteL2sgd(),
    *SKLEARN,
    *LIBLINEAR,
)


def contestant_named(name: str) -> Contestant:
    """Return the contestant of this name."""
    for contestant in CONTESTANTS:
        if contestant.name == name:
            return contestant
    known = ", ".join(contestant.name for contestant in CONTESTANTS)
    raise KeyError(f"no contestant is called {name!r}; there are {known}.")


def select_contestants(names: list[str], kind: str) -> list[Contestant]:
    """Return those for a kind of problem; ``sklearn`` selects itself and all ``sklearn-...``."""
    for name in names:
        if not any(_matches(contestant, name) for contestant in CONTESTANTS):
            contestant_named(name)
    return [
        contestant
        for contestant in CONTESTANTS
        if kind in contestant.kinds
        and (not names or any(_matches(contestant, name) for name in names))
    ]


def _matches(contestant: Contestant, name: str) -> bool:
    return contestant.name == name or contestant.name.startswith(f"{name}-")
