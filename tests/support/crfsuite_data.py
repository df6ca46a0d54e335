"""Random sequences in the forms that python-crfsuite takes, and fits of both toolkits."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pycrfsuite

from partwise.compat import pycrfsuite as ours

VALUES = [1.0, -1.0, 2.0, 0.5, 0, 0.0, True, False, "a", "b"]


def random_sequences(seed: int, n: int = 25, names: int = 12) -> tuple[list[Any], list[Any]]:
    """Tokens whose features are numbers of both signs, zeros, bools and strings."""
    draw = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        length = draw.randint(1, 6)
        X.append(
            [
                {f"f{draw.randint(0, names)}": draw.choice(VALUES) for _ in range(3)}
                for _ in range(length)
            ]
        )
        y.append([draw.choice("ABC") for _ in range(length)])
    return X, y


def trained(
    module: Any, algorithm: str, X: Any, y: Any, path: Path, **parameters: Any
) -> tuple[Any, Any]:
    """Train with either toolkit; return the trainer and an open tagger."""
    trainer = module.Trainer(algorithm, verbose=False)
    trainer.set_params({name.replace("__", "."): value for name, value in parameters.items()})
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(tokens, labels)
    trainer.train(str(path))
    tagger = module.Tagger()
    tagger.open(str(path))
    return trainer, tagger


def both(
    algorithm: str, X: Any, y: Any, folder: Path, **parameters: Any
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Train with CRFsuite and with partwise; return trainer and tagger of each."""
    theirs = trained(pycrfsuite, algorithm, X, y, folder / "theirs", **parameters)
    return theirs, trained(ours, algorithm, X, y, folder / "ours", **parameters)


def assert_same_weights(theirs: Any, mine: Any, tolerance: float) -> None:
    """Compare labels, keys and weights of two taggers."""
    assert theirs.labels() == mine.labels()
    a, b = theirs.info(), mine.info()
    for one, other in ((a.state_features, b.state_features), (a.transitions, b.transitions)):
        assert one.keys() == other.keys()
        worst = max((abs(one[key] - other[key]) for key in one), default=0.0)
        assert worst <= tolerance
