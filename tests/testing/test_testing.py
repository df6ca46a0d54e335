from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.bits import Bits, bits_maximum, ones, subsets

from partwise.arrays import Floats, Ints
from partwise.compiled.jit import cfunc
from partwise.errors import DataError
from partwise.structures.base import ORACLE, Constraints, Structure
from partwise.structures.chain.structure import Chain
from partwise.structures.multiclass import Multiclass, multiclass_entropy
from partwise.testing import check_structure


def forbidden(structure: Structure, topo: Ints, rng: np.random.Generator) -> list[int]:
    return np.flatnonzero(rng.random(int(topo[0])) < 0.4).tolist()


def permitted(structure: Structure, topo: Ints, label: Any, rules: Any) -> bool:
    return not any(label[t] for t in rules)


def surplus(
    structure: Structure, topo: Ints, gold: Any, label: Any, matrix: Floats | None
) -> float:
    return sum(float(k > g) for g, k in zip(gold, label, strict=True))


def check(structure: Structure, **more: Any) -> tuple[str, ...]:
    arguments: dict[str, Any] = {
        "constraints": forbidden, "permitted": permitted, "cost": surplus, "matrices": False,
        "rounds": 1, **more,
    }  # fmt: skip
    return check_structure(structure, [0, 1, 3], subsets, ones, **arguments)


def test_a_sound_structure_passes() -> None:
    check(Bits(), rounds=3)


def test_what_was_not_tried_is_said() -> None:
    assert check(Bits()) == ("nothing_allowed",)
    assert check(Bits(), impossible=lambda structure, topo: range(int(topo[0]))) == ()
    untried = check(Bits(), constraints=None, permitted=None, cost=None)
    assert untried == ("constraints", "nothing_allowed", "part_cost")


class OwnWords(Bits):
    def _check_drawable(self, log_z: float) -> None:
        if not np.isfinite(log_z):
            raise DataError("words of its own")


def test_any_data_error_may_refuse_to_draw() -> None:
    check(OwnWords())


def test_the_structures_of_the_package_pass() -> None:
    def labels(structure: Structure, topo: Ints) -> Any:
        return itertools.product(range(structure.n_labels), repeat=int(topo[0]))

    def parts(structure: Structure, topo: Ints, label: Any) -> list[int]:
        n, length = structure.n_labels, len(label)
        pairs = [length * n + a * n + b for a, b in itertools.pairwise(label)]
        return [t * n + int(k) for t, k in enumerate(label)] + pairs

    check_structure([Chain(2), Chain(3)], [1, 2, 3], labels, parts, rounds=1)
    check_structure(
        Multiclass(3),
        [1],
        lambda structure, topo: [[k] for k in range(structure.n_labels)],
        lambda structure, topo, label: label,
        impossible=lambda structure, topo: Constraints(labels=[0, 1, 2]),
        cost=lambda structure, topo, gold, label, matrix: float(
            gold[0] != label[0] if matrix is None else matrix[gold[0], label[0]]
        ),
    )


class SwappedOracles(Bits):
    marginals = bits_maximum


class OneTooMany(Bits):
    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        return super().k_best(theta, topo, k + 1)


class LostBit(Bits):
    def decode(self, mu: Floats, topo: Ints) -> Ints:
        return (
            super().decode(np.append(mu[:-1], 0.0), topo) if len(mu) else super().decode(mu, topo)
        )


class WrongUses(Bits):
    def sites(self, topo: Ints) -> Any:
        return super().sites(topo)._replace(uses=np.zeros(int(topo[0]), dtype=np.int64))


class Forgetful(Bits):
    def constants(self) -> dict[str, Any]:
        return {"size": 3}


class Biased(Bits):
    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        return super().sample(np.minimum(theta + 0.5, 1e300), topo, size, rng)


class Generous(Bits):
    def mask(self, topo: Ints, constraints: Any) -> Floats:
        return super().mask(topo, list(constraints)[1:])


class Cheap(Bits):
    def part_cost(self, label: Ints, topo: Ints, matrix: Floats | None) -> Floats:
        return super().part_cost(label, topo, matrix) / 2


class DearGold(Bits):
    def part_cost(self, label: Ints, topo: Ints, matrix: Floats | None) -> Floats:
        return super().part_cost(label, topo, matrix) + 0.5


class NoKind(Bits):
    def sites(self, topo: Ints) -> Any:
        return super().sites(topo)._replace(kind=np.full(int(topo[0]), -1))


class FewSites(Bits):
    def sites(self, topo: Ints) -> Any:
        found = super().sites(topo)
        return found._replace(uses=found.uses[:-1])


@cfunc(ORACLE)
def grasping_maximum(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    # The scores are written at the end of the scratch and read at its beginning.
    n = topo[0]
    for t in range(n):
        work[work.size - n + t] = theta[t]
    best = 0.0
    for t in range(n):
        if not theta[t] < np.inf:
            return np.nan
        best += max(work[t], 0.0)
        if mu.size > 0:
            mu[t] = 1.0 if work[t] > 0.0 else 0.0
    return best


class Grasping(Bits):
    maximum = grasping_maximum

    def work_size(self, topo: Ints) -> int:
        return int(topo[0])


class WrongEntropy(Bits):
    marginal_entropy = multiclass_entropy


class Raising(Bits):
    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        raise IndexError("no such part")


@pytest.mark.parametrize(
    ("structure", "law"),
    [
        (SwappedOracles(), "log_partition"),
        (OneTooMany(), "k_best"),
        (LostBit(), "maximum"),
        (WrongUses(), "sites"),
        (Forgetful(), "constants"),
        (Biased(), "samples"),
        (Generous(), "constraints"),
        (Cheap(), "part_cost"),
        (DearGold(), "gold_cost"),
        (NoKind(), "sites"),
        (FewSites(), "sites"),
        (Grasping(), "maximum_counts"),
        (WrongEntropy(), "marginal_entropy"),
        (Raising(), "encode"),
    ],
)
def test_a_broken_law_is_named(structure: Structure, law: str) -> None:
    with pytest.raises(AssertionError, match=f"'bits'.* breaks the law '{law}'") as caught:
        check(structure)
    assert "theta = [" in str(caught.value)
    assert "topo = [" in str(caught.value)


def test_what_an_oracle_raises_or_overwrites_is_said() -> None:
    with pytest.raises(AssertionError, match="no such part"):
        check(Raising())
    with pytest.raises(AssertionError, match="slice it before you reshape it"):
        check(Grasping())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"structures": []}, "nothing to check"),
        ({"shapes": []}, "nothing to check"),
        ({"labels": lambda structure, topo: []}, "there is no label"),
        ({"labels": lambda structure, topo: [[0], [0]]}, "listed twice"),
        ({"permitted": permitted}, "both constraints and permitted"),
    ],
)
def test_wrong_use_is_a_sentence(changes: dict[str, Any], says: str) -> None:
    arguments: dict[str, Any] = {
        "structures": Bits(), "shapes": [1], "labels": subsets, "parts": ones, **changes,
    }  # fmt: skip
    with pytest.raises(ValueError, match=says):
        check_structure(**arguments)


def test_it_needs_neither_pytest_nor_hypothesis() -> None:
    program = (
        "import sys; from support.bits import Bits, ones, subsets; "
        "from partwise.testing import check_structure; "
        "check_structure(Bits(), [2], subsets, ones, rounds=1); "
        "assert not {'pytest', 'hypothesis'} & set(sys.modules)"
    )
    command = [sys.executable, "-O", "-c", program]
    subprocess.run(command, cwd=Path(__file__).parents[1], check=True)
