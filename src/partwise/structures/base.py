"""What every structure offers, and what is derived from its two oracles.

A label y is a set of *parts*; a vector theta gives each part a score, and the score of y is the
sum over its parts. Parts whose features do not depend on their position are *tied*: they share
one entry of theta, and y then holds a *count* for that entry. Two compiled oracles know the
structure, and are compiled when they are first used:

``marginals(spec, topo, theta, mu, work) -> logZ``
    log sum_y exp(theta.y); mu receives the expected counts. With an empty mu only logZ is wanted.
``maximum(spec, topo, theta, mu, work) -> score``
    max_y theta.y; mu receives the counts of one maximiser.

A structure may bring one of the two alone: the solvers and predictions that need the other one
are then refused. A structure whose marginals determine the entropy may bring a third:

``marginal_entropy(spec, topo, mu, slope, work) -> H``
    The entropy of the label distribution with these marginals; slope receives dH/dmu.

One whose labels are built by a dynamic program may list its steps: see ``Structure.steps``.

theta may hold -inf for a forbidden part; if no label is left, both oracles return -inf. An oracle
never raises: it returns nan for scores that are nan or +inf, and the caller says which example it
was.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..compiled.jit import cfunc, njit
from ..errors import DataError, MismatchError

if TYPE_CHECKING:
    from .steps import Steps

#: The one signature of all oracles, so that one compiled solver serves every structure.
ORACLE: Final = "float64(int64[::1], int64[::1], float64[::1], float64[::1], float64[::1])"

#: What the two oracles compute, in the words of a message.
ORACLE_WORDS: Final = {"marginals": "marginals", "maximum": "best labels"}


@cfunc(ORACLE)
def no_oracle(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Return nan; this callback takes the place of an oracle that is not needed or not there."""
    return np.nan


class Sites(NamedTuple):
    """Where features attach: a site is a run of parts that the same features score.

    ``part[s]`` is the first part of site s, ``width[s]`` its number of parts, ``kind[s]`` indexes
    the structure's ``kinds`` and ``uses[s]`` bounds how many of its parts, counted with
    repetition, one label can hold.
    """

    part: Ints
    width: Ints
    kind: Ints
    uses: Ints


class Structure(ABC):
    """A family of labels that decompose into parts.

    Subclasses are final. They hold their constants in ``spec``, describe the shape of one example
    by a small integer vector ``topo``, and bring their oracles as callbacks.
    """

    name: ClassVar[str]
    #: The kinds of sites, in the order in which their features are laid out.
    kinds: tuple[str, ...]
    #: The oracles, marked by :func:`partwise.compiled.jit.cfunc` with the signature ``ORACLE``;
    #: None where the structure has none.
    marginals: ClassVar[Any] = None
    maximum: ClassVar[Any] = None
    marginal_entropy: ClassVar[Any] = None

    #: How many labels its parts tell apart; 0 where parts carry no label numbers.
    n_labels: int = 0
    #: How many labels a model file may ask for; fewer where there is one number per pair of labels.
    max_labels: ClassVar[int] = 2**24

    @property
    def has_entropy(self) -> bool:
        """Whether ``marginal_entropy`` can be used with these constants."""
        return self.has_oracle("marginal_entropy")

    @property
    def has_steps(self) -> bool:
        """Whether labels can be built step by step; see ``steps``."""
        return type(self).steps is not Structure.steps

    def has_oracle(self, name: str) -> bool:
        """Return whether the structure brings an oracle, without compiling it."""
        return inspect.getattr_static(self, name, None) is not None

    def oracle(self, name: str) -> Any:
        """Return a compiled oracle, ``"marginals"`` or ``"maximum"``, for compiled functions.

        Raises
        ------
        MismatchError
            If the structure does not bring it.
        """
        found = getattr(self, name)
        if found is None:
            raise MismatchError(f"{ORACLE_WORDS[name]} are not known for {self.name} labels")
        return found

    @abstractmethod
    def constants(self) -> dict[str, Any]:
        """Return the arguments that make this structure again, as JSON can hold them."""

    @classmethod
    def check_constants(cls, constants: dict[str, Any]) -> None:
        """Raise a DataError unless constants that were read from a file can be used.

        By default they must be the arguments of the constructor: a whole number where it says int,
        a truth value where it says bool, anything made of whole numbers, texts and truth values
        where it says something else. Numbers are from 0 to 2**31 - 1, and ``n_labels`` from 1 to
        ``max_labels``. A structure that allocates more for its constants than they take in the
        file says here how large they may be; one with other constants says how these look.
        """
        arguments = inspect.signature(cls).parameters
        if constants.keys() != arguments.keys():
            raise DataError(
                f"a {cls.name} with the constants {', '.join(sorted(constants))}; expected "
                f"{', '.join(sorted(arguments))}"
            )
        for name, value in constants.items():
            wanted = arguments[name].annotation
            if wanted in ("int", int) and type(value) is not int:
                raise DataError(f"{name} of a {cls.name} is {value!r}; expected a whole number")
            if wanted in ("bool", bool) and type(value) is not bool:
                raise DataError(f"{name} of a {cls.name} is {value!r}; expected true or false")
            _check_plain(f"{name} of a {cls.name}", value)
        if "n_labels" in constants:
            n_labels = constants["n_labels"]
            if not 1 <= n_labels <= cls.max_labels:
                raise DataError(
                    f"n_labels of a {cls.name} is {n_labels}; expected 1 to {cls.max_labels}"
                )

    @property
    @abstractmethod
    def spec(self) -> Ints:
        """The constants that the oracles need; they are the same for all examples."""

    @property
    @abstractmethod
    def widths(self) -> tuple[int, ...]:
        """For each kind of site, its number of parts; 0 for a kind that is not in use."""

    @abstractmethod
    def topology(self, shape: Any) -> Ints:
        """Describe the shape of an example.

        The shape is the number of positions as a rule; a structure may ask for something else.
        """

    @abstractmethod
    def n_parts(self, topo: Ints) -> int:
        """Count the parts of an example."""

    @abstractmethod
    def work_size(self, topo: Ints) -> int:
        """Count the float64 numbers that the oracles need as scratch."""

    @abstractmethod
    def sites(self, topo: Ints) -> Sites:
        """List the sites, those of kind 0 first and in the order of the positions."""

    def steps(self, topo: Ints) -> Steps:
        """List the steps in which a dynamic program builds the labels of an example.

        Every label has one way to be built. `partwise.structures.steps` says what the steps are
        for; a structure need not have this method.
        """
        raise MismatchError(f"{self.name} labels are not built in steps")

    def rivals(self, topo: Ints) -> Ints:
        """Say which sites no label uses at once: rows of group, begin, end and most of each site.

        Of the sites of one group, a label uses none whose intervals from begin up to end overlap,
        and of the sites of one kind at most `most`. By default every site is of its own, with the
        group -1.
        """
        own = np.array([[-1], [0], [1], [0]], dtype=np.int64)
        return np.tile(own, len(self.sites(topo).part))

    @abstractmethod
    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        """Return the distinct parts of a label and their counts."""

    @abstractmethod
    def decode(self, mu: Floats, topo: Ints) -> Ints:
        """Return the label whose part counts are mu."""

    @abstractmethod
    def part_cost(self, label: Ints, topo: Ints, matrix: Floats | None) -> Floats:
        """Spread the cost of an error, where `label` is right, over the parts.

        The cost of a label is the sum over its parts, counted with repetition. Where parts carry
        label numbers, ``matrix[gold, predicted]`` is the cost of one part; without a matrix each
        error costs 1.
        """

    @abstractmethod
    def mask(self, topo: Ints, constraints: Any) -> Floats:
        """Turn hard constraints into a vector over the parts: 0 is allowed, -inf forbidden.

        Structures that label positions take :class:`Constraints`, others a type of their own.
        """

    @abstractmethod
    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        """Return the scores and the labels of the k best, best first (fewer if there are fewer)."""

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        """Draw labels with probability exp(theta.y) / Z.

        A structure without marginals need not have this method.

        Raises
        ------
        DataError
            If there is no label to draw.
        """
        raise MismatchError(f"{self.name} labels cannot be drawn at random")

    def encode_all(
        self, labels: Sequence[Ints], topologies: Sequence[Ints]
    ) -> tuple[Ints, Ints, Floats]:
        """Encode many labels.

        Returns where the parts of each begin and end (one number more than there are labels), the
        parts and their counts, one label after the other.
        """
        encoded = []
        for i, (y, topo) in enumerate(zip(labels, topologies, strict=True)):
            try:
                encoded.append(self.encode(y, topo))
            except DataError as error:
                error.within(unit="example", example=i)
                raise
        ends = np.cumsum([0, *(len(parts) for parts, _ in encoded)])
        parts = np.concatenate([np.zeros(0, dtype=np.int64), *(parts for parts, _ in encoded)])
        return ends, parts, np.concatenate([np.zeros(0), *(counts for _, counts in encoded)])

    def part_costs(
        self, labels: Sequence[Ints], topologies: Sequence[Ints], matrix: Floats | None
    ) -> Floats:
        """Return the costs of the parts of many examples, one example after the other."""
        return np.concatenate(
            [self.part_cost(y, topo, matrix) for y, topo in zip(labels, topologies, strict=True)]
        )

    def decode_all(self, mu: Floats, topologies: Sequence[Ints]) -> list[Ints]:
        """Return the labels of many examples, whose counts follow each other in mu."""
        labels, at = [], 0
        for topo in topologies:
            n = self.n_parts(topo)
            labels.append(self.decode(mu[at : at + n], topo))
            at += n
        return labels

    def constraints_to_json(self, constraints: Any) -> Any:
        """Return hard constraints as JSON can hold them; by default those in label numbers."""
        if not isinstance(constraints, Constraints):
            raise DataError(f"the constraints of a {self.name} cannot be saved; leave them out")
        return {
            name: np.asarray(held, dtype=np.int64).tolist() if len(held) else []
            for name, held in constraints._asdict().items()
            if name != "allowed"
        }

    def constraints_from_json(self, data: Any) -> Any:
        """Read what `constraints_to_json` returned, from a file that may hold anything."""
        names = set(Constraints._fields) - {"allowed"}
        if not isinstance(data, dict) or data.keys() != names:
            raise DataError(f"constraints that do not hold just {', '.join(sorted(names))}")
        for name, held in data.items():
            pairs = name == "transitions"
            items = held if isinstance(held, list) else [None]
            for item in items:
                some = item if pairs and isinstance(item, list) else [item]
                named = all(type(k) is int and 0 <= k < self.n_labels for k in some)
                if not named or len(some) != 1 + pairs:
                    raise DataError(f"the constraints {name} name no label: {item!r}")
        return Constraints(
            data["labels"], [(a, b) for a, b in data["transitions"]], data["starts"], data["ends"]
        )

    def match_slots(self, other: Structure, labels: Ints) -> tuple[Ints, ...]:
        """Find the parts of each kind of site in another structure.

        ``labels[k]`` is the number that label k has in the other structure, or -1 if it has none.
        By default only a structure with the same constants and labels can be matched.

        Returns
        -------
        tuple of ndarray
            One array per kind, with one number for each of ``widths[kind]`` parts, counted within
            the site; -1 where the other structure has no such part.
        """
        same = type(self) is type(other) and self.kinds == other.kinds
        same = same and self.constants() == other.constants()
        if not same or not np.array_equal(labels, np.arange(len(labels))):
            raise MismatchError(
                f"a {self.name} cannot start from the weights of a {other.name} with other "
                "constants or labels; start from a model of the same kind and labels, or from none"
            )
        return tuple(np.arange(width) for width in self.widths)

    # Derived from the oracles, the same for all structures.

    def log_partition(self, theta: Floats, topo: Ints) -> float:
        """Compute log sum_y exp(theta.y)."""
        return self._call("marginals", theta, topo, np.empty(0))

    def expected_parts(self, theta: Floats, topo: Ints) -> tuple[float, Floats]:
        """Compute logZ and the expected count of every part."""
        mu = np.zeros(self.n_parts(topo))
        return self._call("marginals", theta, topo, mu), mu

    def best(self, theta: Floats, topo: Ints) -> tuple[float, Ints]:
        """Compute the best score and a label that has it."""
        mu = np.zeros(self.n_parts(topo))
        score = self._call("maximum", theta, topo, mu)
        return score, self.decode(mu, topo)

    def entropy(self, theta: Floats, topo: Ints) -> float:
        """Compute the entropy of the distribution exp(theta.y) / Z, in nats."""
        log_z, mu = self.expected_parts(theta, topo)
        used = mu > 0
        return log_z - float(theta[used] @ mu[used])

    def _check_drawable(self, log_z: float) -> None:
        if not np.isfinite(log_z):
            raise DataError(
                f"no label can be drawn, as log Z is {log_z}: allow at least one label, and give "
                "scores that are finite or -inf"
            )

    def _drawable(self, theta: Floats, topo: Ints) -> Floats:
        """Return the scores for a compiled function that draws, if there is a label to draw."""
        self._check_drawable(self.log_partition(theta, topo))
        return np.ascontiguousarray(theta, dtype=np.float64)

    def _call(self, oracle: str, theta: Floats, topo: Ints, mu: Floats) -> float:
        work = np.empty(self.work_size(topo))
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        return float(call(self.oracle(oracle), self.spec, topo, theta, mu, work))


class Constraints(NamedTuple):
    """Hard constraints, in label numbers.

    ``labels``: forbidden everywhere; ``transitions``: forbidden pairs (from, to); ``starts`` and
    ``ends``: forbidden first and last labels; ``allowed``: for some positions, the only labels
    allowed there (a fixed label is a set of one).
    """

    labels: Sequence[int] = ()
    transitions: Sequence[tuple[int, int]] = ()
    starts: Sequence[int] = ()
    ends: Sequence[int] = ()
    allowed: Sequence[tuple[int, Sequence[int]]] = ()


def _check_plain(what: str, value: Any) -> None:
    """Raise a DataError unless a value is made of counts, texts and truth values."""
    if isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            _check_plain(what, item)
    elif not (value is None or type(value) in (str, bool)) and not (
        type(value) is int and 0 <= value < 2**31
    ):
        raise DataError(f"{what} holds {value!r}; expected a whole number from 0 to {2**31 - 1}")


def label_tuples(labels: Ints, n_other: int, size: int) -> Ints:
    """Renumber tuples of labels, for `Structure.match_slots`.

    Tuples are numbered row by row: (a, b) is ``a n + b``. ``labels[k]`` is the other number of
    label k among `n_other`, -1 if it has none; so for tuples that hold such a label.
    """
    numbers = np.zeros(1, dtype=np.int64)
    for _ in range(size):
        joined = numbers[:, None] * n_other + labels
        joined[(numbers[:, None] < 0) | (labels < 0)] = -1
        numbers = joined.ravel()
    return numbers


def label_costs(gold: Ints, n_labels: int, matrix: Floats | None) -> Floats:
    """Return the cost of every label at every position; see `Structure.part_cost`."""
    if matrix is not None:
        return matrix[gold]
    cost = np.ones((len(gold), n_labels))
    cost[np.arange(len(gold)), gold] = 0.0
    return cost


def only_allowed(labels: Sequence[int], n_labels: int) -> Floats:
    """Return a mask over the labels: 0 for those that are allowed, -inf for all others."""
    mask = np.full(n_labels, -np.inf)
    mask[list(labels)] = 0.0
    return mask


@njit
def call(oracle: Any, spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Call an oracle from Python."""
    return oracle(spec, topo, theta, mu, work)
