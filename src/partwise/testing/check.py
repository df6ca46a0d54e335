"""Check a structure of your own against the enumeration of all its labels.

:func:`check_structure` needs neither pytest nor hypothesis: call it in any test. It is the same
suite that the structures of this package are under.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..structures.base import Structure
from . import laws
from .cases import Case, Label, PartTable, draw_scores, flat
from .laws import LAWS, NEEDS

__all__ = ["check_law", "check_structure"]


def check_structure(
    structures: Structure | Iterable[Structure],
    shapes: Iterable[Any],
    labels: Callable[[Structure, Ints], Iterable[Any]],
    parts: Callable[[Structure, Ints, Any], Iterable[int]],
    *,
    constraints: Callable[[Structure, Ints, np.random.Generator], Any] | None = None,
    permitted: Callable[[Structure, Ints, Any, Any], bool] | None = None,
    impossible: Callable[[Structure, Ints], Any] | None = None,
    cost: Callable[[Structure, Ints, Any, Any, Floats | None], float] | None = None,
    matrices: bool = True,
    rounds: int = 3,
    seed: int = 0,
) -> tuple[str, ...]:
    """Put structures under the laws that every structure obeys.

    For each structure and shape all labels are written out. The oracles, k-best, sampling,
    entropy, encoding, sites and constants are then compared with that table at 1e-10, for scores
    that are zero, small, huge, tiny, steep and forbidden; costs and masks too, if the optional
    arguments say what they should be.

    Parameters
    ----------
    structures : Structure or iterable of Structure
        What to check; small, and with all values of its switches.
    shapes : iterable
        Shapes of examples, as `Structure.topology` takes them; so small that all labels can be
        written out. Give the empty example too, if there can be one.
    labels : callable
        ``labels(structure, topo)`` lists all labels, as the structure takes them.
    parts : callable
        ``parts(structure, topo, label)`` lists the parts of a label, repeated as often as it holds
        them. Write it in the plainest way: it is what the oracles are compared with.
    constraints : callable or None
        ``constraints(structure, topo, rng)`` draws hard constraints as `Structure.mask` takes them.
    permitted : callable or None
        ``permitted(structure, topo, label, rules)`` returns whether a label keeps such constraints;
        needed along with `constraints`.
    impossible : callable or None
        ``impossible(structure, topo)`` returns constraints that no label keeps.
    cost : callable or None
        ``cost(structure, topo, gold, label, matrix)`` is what predicting `label` costs where `gold`
        is right: ``matrix[g, k]`` for each part that carries a label number, and, where the matrix
        is None, what `Structure.part_cost` defines.
    matrices : bool
        Whether costs may come from a matrix of ``n_labels x n_labels``; if not, or if n_labels is
        0, the matrix is always None.
    rounds : int
        How often every law is tried with each pattern of scores, shape and structure.
    seed : int
        Draws the scores; the same seed gives the same check.

    Returns
    -------
    tuple of str
        The laws that were not tried, since they need an argument that was not given:
        "constraints" needs `constraints` and `permitted`, "nothing_allowed" needs `impossible`,
        "part_cost" needs `cost`. Empty if all were.

    Raises
    ------
    AssertionError
        If a law is broken. The message says which law, what it demands, the shape and theta.

    Examples
    --------
    >>> from partwise.structures.multiclass import Multiclass
    >>> check_structure(
    ...     [Multiclass(2), Multiclass(3)],
    ...     shapes=[1],
    ...     labels=lambda structure, topo: [[k] for k in range(structure.n_labels)],
    ...     parts=lambda structure, topo, label: label,
    ... )
    ('constraints', 'nothing_allowed', 'part_cost')
    """
    if (constraints is None) != (permitted is None):
        raise ValueError("give both constraints and permitted, or neither")
    given = [structures] if isinstance(structures, Structure) else list(structures)
    sizes = list(shapes)
    if not given or not sizes:
        raise ValueError("there is nothing to check; give at least one structure and one shape")
    hooks = _Hooks(constraints, permitted, impossible, cost, matrices)
    rng = np.random.default_rng(seed)
    for structure in given:
        for shape in sizes:
            instance = _written_out(structure, shape, labels, parts)
            for _ in range(rounds):
                _check(instance, hooks, rng)
    return hooks.untried()


class _Hooks(NamedTuple):
    """What a user knows about a structure besides its labels and parts."""

    constraints: Callable[[Structure, Ints, np.random.Generator], Any] | None
    permitted: Callable[[Structure, Ints, Any, Any], bool] | None
    impossible: Callable[[Structure, Ints], Any] | None
    cost: Callable[[Structure, Ints, Any, Any, Floats | None], float] | None
    matrices: bool

    def untried(self) -> tuple[str, ...]:
        """Name the laws that cannot be tried."""
        needed = {
            laws.constraints: self.constraints,
            laws.nothing_allowed: self.impossible,
            laws.part_cost: self.cost,
        }
        return tuple(law.__name__ for law, hook in needed.items() if hook is None)


class _Instance(NamedTuple):
    """A structure and one shape, with its labels as a table and as arrays."""

    structure: Structure
    topo: Ints
    table: PartTable
    arrays: dict[Label, Ints]

    def draw(self, pattern: str, rng: np.random.Generator) -> Case:
        """Draw scores."""
        theta = draw_scores(pattern, self.structure.n_parts(self.topo), rng)
        array = self.arrays.__getitem__
        return Case(self.structure, self.topo, self.table, theta, rng, array)


def _written_out(
    structure: Structure,
    shape: Any,
    labels: Callable[[Structure, Ints], Iterable[Any]],
    parts: Callable[[Structure, Ints, Any], Iterable[int]],
) -> _Instance:
    topo = np.ascontiguousarray(structure.topology(shape), dtype=np.int64)
    listed = list(labels(structure, topo))
    arrays = {flat(label): np.asarray(label, dtype=np.int64) for label in listed}
    if not listed or len(arrays) != len(listed):
        why = "a label is listed twice" if listed else "there is no label"
        raise ValueError(f"{structure.name}, shape {shape!r}: {why}; list each label once")
    table = PartTable.of(structure.n_parts(topo), listed, partial(parts, structure, topo))
    return _Instance(structure, topo, table, arrays)


def _check(instance: _Instance, hooks: _Hooks, rng: np.random.Generator) -> None:
    """Try every law once with each pattern of scores."""
    structure, topo, _, arrays = instance
    for law, patterns in LAWS.items():
        for pattern in patterns:
            check_law(law, instance.draw(pattern, rng))
    draw, permitted, cost = hooks.constraints, hooks.permitted, hooks.cost
    for pattern in ("small", "large", "steep"):
        if draw is not None and permitted is not None:
            keeps = partial(_permitted, permitted, instance)
            rules = draw(structure, topo, rng)
            check_law(laws.constraints, instance.draw(pattern, rng), rules, keeps)
        if hooks.impossible is not None:
            rules = hooks.impossible(structure, topo)
            check_law(laws.nothing_allowed, instance.draw(pattern, rng), rules)
    if cost is not None:

        def price(gold: Label, label: Label, matrix: Floats | None) -> float:
            return cost(structure, topo, arrays[gold], arrays[label], matrix)

        n = structure.n_labels
        for matrix in (None, rng.random((n, n))) if hooks.matrices and n else (None,):
            check_law(laws.part_cost, instance.draw("zero", rng), price, matrix)


def _permitted(permitted: Any, instance: _Instance, label: Label, rules: Any) -> bool:
    return bool(permitted(instance.structure, instance.topo, instance.arrays[label], rules))


def check_law(law: Callable[..., None], case: Case, *more: Any) -> None:
    """Try one law, and say which one it was if it does not hold.

    A law about an oracle that the structure does not bring is left out.

    Parameters
    ----------
    law : callable
        One of the laws in ``partwise.testing.laws``.
    case : Case
        What to try it on.
    more
        What else the law takes.

    Raises
    ------
    AssertionError
        If the law is broken. The message says which law, what it demands, the shape and theta.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.structures.multiclass import Multiclass
    >>> from partwise.testing import check_law, laws
    >>> from partwise.testing.cases import Case, PartTable
    >>> structure, topo = Multiclass(2), Multiclass(2).topology(1)
    >>> table = PartTable.of(2, [[0], [1]], lambda label: label)
    >>> rng = np.random.default_rng(0)
    >>> check_law(laws.maximum, Case(structure, topo, table, np.array([0.5, -0.5]), rng))
    """
    if law in NEEDS and not case.structure.has_oracle(NEEDS[law]):
        return
    try:
        law(case, *more)
    except Exception as error:  # the code under test may raise anything at all
        demand = (law.__doc__ or "").strip().splitlines()[0]
        what = str(error).strip() if isinstance(error, AssertionError) else repr(error)
        raise AssertionError(
            f"the structure {case.structure.name!r} with the constants "
            f"{case.structure.constants()} breaks the law {law.__name__!r}.\n{demand}\n{what}\n"
            f"topo = {case.topo.tolist()}\ntheta = {case.theta.tolist()}"
        ) from error
