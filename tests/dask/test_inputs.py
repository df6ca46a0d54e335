"""What a fit on a cluster takes, and what it gives."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from support import grammar_of_arcs, grammar_of_phrases
from support.dask_clusters import classes, weights_hash

from partwise.dask import (
    DaskConstituencyParser,
    DaskDependencyParser,
    DaskLinearClassifier,
    DaskSequenceTagger,
    Files,
)
from partwise.errors import DataError, MismatchError

dask = pytest.importorskip("dask")
bags = pytest.importorskip("dask.bag")
arrays = pytest.importorskip("dask.array")

pytestmark = pytest.mark.filterwarnings("ignore::partwise.ConvergenceWarning")
HOW: dict[str, Any] = {"tol": 1e-9, "max_passes": 3, "blocks": 4}


def tagged() -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(1)
    X = [[str(rng.choice(["a", "b", "c", "d"])) for _ in range(4)] for _ in range(24)]
    return X, [["V" if word in "ab" else "N" for word in words] for words in X]


@pytest.fixture(scope="module")
def tagger(client: Any) -> Any:
    X, y = tagged()
    return DaskSequenceTagger(**HOW, client=client).fit(X, y)


def parts(items: list[Any], n: int = 3) -> list[Any]:
    size = len(items) // n
    cut = [items[k * size : None if k + 1 == n else (k + 1) * size] for k in range(n)]
    return [dask.delayed(part) for part in cut]


def forms() -> dict[str, Any]:
    X, y = tagged()
    pairs = list(zip(X, y, strict=True))
    return {
        "bag": (bags.from_sequence(X, npartitions=5), bags.from_sequence(y, npartitions=5)),
        "bag of pairs": (bags.from_sequence(pairs, npartitions=3),),
        "delayed": (dask.delayed(X), dask.delayed(y)),
        "list of delayed": (parts(X), parts(y)),
    }


@pytest.mark.parametrize("form", list(forms()))
def test_every_form_of_the_same_data_gives_the_same_tagger(
    client: Any, tagger: Any, form: str
) -> None:
    made = DaskSequenceTagger(**HOW, client=client).fit(*forms()[form])
    assert weights_hash(made) == weights_hash(tagger)


def test_arrays_and_frames_give_the_same_classifier(client: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    X, y = classes(60)
    plain = DaskLinearClassifier(**HOW, client=client).fit(X, y)
    many = DaskLinearClassifier(**HOW, client=client)
    many.fit(arrays.from_array(X, chunks=(25, 4)), arrays.from_array(y, chunks=25))
    assert weights_hash(many) == weights_hash(plain)
    names = [f"x{k}" for k in range(X.shape[1])]
    table = frames.from_pandas(pandas.DataFrame(X, columns=names), npartitions=3)
    labels = frames.from_pandas(pandas.Series(y), npartitions=3)
    tabled = DaskLinearClassifier(**HOW, client=client).fit(table, labels)
    assert weights_hash(tabled) == weights_hash(plain)
    right = plain.to_local().predict(X)
    found = many.predict(arrays.from_array(X, chunks=(25, 4)))
    np.testing.assert_array_equal(client.compute(found).result(), right)
    assert client.compute(tabled.predict(table)).result().tolist() == right.tolist()
    weights = np.linspace(0.5, 1.5, 60)
    one = DaskLinearClassifier(**HOW, client=client).fit(X, y, weights)
    two = DaskLinearClassifier(**HOW, client=client).fit(X, y, arrays.from_array(weights, chunks=7))
    assert weights_hash(one) == weights_hash(two) != weights_hash(plain)


def test_trees_come_in_bags_too(client: Any) -> None:
    arcs, phrases = grammar_of_arcs.treebank(16), grammar_of_phrases.treebank(16)
    for kind, trees in ((DaskDependencyParser, arcs), (DaskConstituencyParser, phrases)):
        plain = kind(**HOW, client=client).fit(trees)
        bag = bags.from_sequence(trees, npartitions=3)
        other = kind(**HOW, client=client).fit(bag)
        assert weights_hash(plain) == weights_hash(other)


def test_a_glob_is_the_files_in_the_order_of_their_names(
    client: Any, files: dict[str, str], tmp_path: Path
) -> None:
    lines = Path(files["classify"]).read_text().splitlines(keepends=True)
    (tmp_path / "b").write_text("".join(lines[100:]))
    (tmp_path / "a").write_text("".join(lines[:100]))
    whole = DaskLinearClassifier(**HOW, client=client).fit(files["classify"])
    several = DaskLinearClassifier(**HOW, client=client).fit(Files([tmp_path / "*"]))
    assert weights_hash(several) == weights_hash(whole)
    assert (len(whole.files_), len(several.files_)) == (1, 2)


def test_predictions_are_those_of_one_machine(client: Any, tagger: Any) -> None:
    X, y = tagged()
    local = tagger.to_local()
    right = local.predict(X)
    bag = tagger.predict(bags.from_sequence(X, npartitions=5))
    assert client.compute(bag).result() == right
    found = tagger.predict(parts(X))
    assert [tags for part in client.gather(client.compute(found)) for tags in part] == right
    with client.as_current():
        for form in forms().values():
            assert tagger.score(*form) == local.score(X, y)
    assert type(local).__name__ == "SequenceTagger"
    assert local.certificate_ == tagger.certificate_
    assert pickle.loads(pickle.dumps(local)).predict(X[:2]) == right[:2]


def test_it_is_an_estimator_of_scikit_learn(client: Any, tagger: Any) -> None:
    assert tagger.client_ is client
    copy = clone(tagger)
    assert copy.client is client
    assert not hasattr(copy, "model_")
    assert {"client", "blocks", "exchanges", "l2"} <= set(tagger.get_params())
    assert "blocks=4" in repr(tagger)
    assert copy.set_params(blocks=2).blocks == 2
    assert len(tagger.costs_) == len(tagger.trace_)
    assert tagger.replayed_ == 0


def refused(
    client: Any, match: str, *data: Any, kind: Any = DaskSequenceTagger, **how: Any
) -> None:
    with pytest.raises((DataError, MismatchError), match=match):
        DaskSequenceTagger(**{**HOW, **how}, client=client).fit(*data)


def test_what_cannot_be_trained_on_is_refused(client: Any, tmp_path: Path) -> None:
    X, y = tagged()
    refused(client, "no such file where the workers are", str(tmp_path / "none*"))
    refused(client, "a worker cannot read it: No such file", str(tmp_path / "none"))
    refused(client, "X and y have 2 and 3 parts", parts(X, 3), parts(y, 2))
    refused(client, "files hold their labels; leave y out", "train.txt", y)
    refused(client, r"pairs \(x, y\)", bags.from_sequence(["a", "b"], npartitions=1))
    refused(client, "there are no examples", [], [])
    refused(client, "24 examples cannot make 25 blocks", X, y, blocks=25)
    refused(client, "blocks", X, y, blocks=0)
    refused(client, "exchanges", X, y, exchanges=-1)
    refused(client, "on a cluster it is 'auto' or 'blocks'", X, y, solver="lbfgs")
    refused(client, "out_of_core is for one machine", X, y, out_of_core=str(tmp_path / "f"))
    refused(client, "give blocks and exchanges", X, y, solver_options={"blocks": 3})
    refused(client, "l1 > 0 with the hinge", X, y, loss="hinge", l1=0.1)
