"""The task "brackets": one phrase structure tree per sentence, from bracketed files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DataError, Place
from ...formats.options import Option
from ..base import Task, no_labels
from ..missing import missing_of, with_unscored
from ..predictions import Predictions, heading, ranking_record
from ..spans import SPANS, THRESHOLD, SpanTable, check_spans
from .parameters import ConstituencyParameters

if TYPE_CHECKING:
    from ...arrays import Floats
    from ...formats.registry import Chosen
    from ...formats.tree import Tree
    from ...metrics.bracketing import BracketScores
    from ...models.model import Candidate, Model
    from ..comparison import Comparison
    from .examples import Trees

__all__ = ["BracketTask"]


class BracketTask(Task["Trees"]):
    """Constituency parsers."""

    name = "brackets"
    trainer = "partwise.tasks.constituency.trainer:ConstituencyTrainer"
    declares = ConstituencyParameters
    features = "spans"
    format = "brackets"
    summary = "one phrase structure tree per sentence"
    example = "train.mrg --model phrases.model --max-length 40 --horizontal 0"
    reads = (
        "reads bracketed trees as in the Penn Treebank, without their traces and function tags; "
        "to predict, ((DT the) (NN dog)) will do; --max-length N trains on sentences of up to N "
        "words"
    )
    writes = (
        "writes bracketed trees, one per line; with --marginals the probability of every phrase "
        "follows its label, as in (NP=0.993 (DT the) (NN dog)); with --k N, for each sentence up "
        'to N trees, best first, each below a line "# k=1 score=..." (and "probability=..." with '
        "--marginals); with --spans, a table of phrases as --task tag writes it"
    )
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "predict": (SPANS, THRESHOLD),
        "evaluate": (
            Option(
                "--evalb",
                "as evalb does: leave punctuation out, and read PRT as ADVP",
                default=False,
                kind="switch",
            ),
        ),
    }

    def check_given(self, verb: str, given: Mapping[str, Any]) -> None:
        if verb == "predict":
            check_spans(given)

    def resemblance(self, lines: Sequence[str]) -> int:
        text = "".join(line.strip() for line in lines)
        return 2 if text.startswith("(") and text.count("(") > 1 and text.endswith(")") else 0

    def read(self, path: str, given: Mapping[str, Any], like: Trees | None = None) -> Trees:
        from .examples import Trees

        return Trees.of(self.reader(given["format"])(path))

    def read_for(
        self, model: Model, path: str, labelled: bool, format: Chosen | str | None = None
    ) -> Trees:
        from .examples import Trees

        source = self.reader(format)(path, empty=True)
        phrases = (node for tree in source.trees for node in tree.nodes() if node.children)
        if labelled and not any(node.label for node in phrases):
            raise no_labels(source.path, len(source.trees), "brackets around phrases")
        return Trees.of(source)

    def source(self, model: Model, X: Any, y: Any = None, **more: Any) -> Trees:
        """Return trees, which are their own labels; y is not used."""
        from .examples import Trees, read_trees

        self.refuse_others(more)
        return Trees(read_trees(X), getattr(X, "path", None))

    def predict(
        self,
        model: Model,
        source: Trees,
        *,
        k: int | None,
        marginals: bool,
        n_jobs: int | None,
        spans: bool = False,
        threshold: float | None = None,
    ) -> Predictions:
        from .bracketing import Bracketing
        from .phrase_spans import phrase_spans

        if spans:
            found_spans = phrase_spans(model, source, threshold, n_jobs)
            return SpanTable(found_spans, [list(tree.words) for tree in source.trees])

        if k:
            found = model.candidates(source, k, probabilities=marginals, n_jobs=n_jobs)
            written = [[replace(one, label=str(one.label)) for one in some] for some in found]
            return _Ranked(written, marginals)
        trees = model.predict(source, n_jobs=n_jobs)
        tables = model.marginals(source, n_jobs=n_jobs) if marginals else None
        return _Parsed(Bracketing.of(model).labels, trees, tables)

    def score(
        self, model: Model, source: Trees, given: Mapping[str, Any], n_jobs: int | None = 1
    ) -> tuple[dict[str, Any], str]:
        from ...metrics.bracketing import PUNCTUATION, bracket_scores
        from .features import SpanFeatures

        assert isinstance(model.features, SpanFeatures)
        n = len(source)
        known = [i for i, mine in enumerate(source.known(missing_of(model))) if mine is None]
        if not known:
            raise DataError(
                "no tree has all its labels, so none can be scored", place=Place(source.path)
            )
        source = source.take(known)
        found = model.predict(source, n_jobs=n_jobs)
        rules: dict[str, Any] = {}
        if given["evalb"]:
            rules = {"delete": PUNCTUATION, "equal": {"PRT": "ADVP"}}
        scores = bracket_scores(source.trees, found, **rules)
        tags = None if model.features.tagged else _tag_accuracy(source.trees, found)
        metrics, text = _metrics(scores, tags), _table(scores, tags)
        return with_unscored(metrics, text, n - len(known), "trees")

    def compare(
        self,
        model: Model,
        source: Trees,
        given: Mapping[str, Any],
        n_jobs: int | None = 1,
        *,
        probabilities: bool = False,
    ) -> Comparison:
        from .comparison import compare_phrases

        return compare_phrases(model, source, given["evalb"], n_jobs, probabilities)


@dataclass(frozen=True, eq=False)
class _Parsed(Predictions):
    """The best tree of every sentence, and perhaps the probabilities of all phrases.

    Attributes
    ----------
    labels
        The labels of phrases.
    trees
        The trees.
    marginals
        For each sentence the probability of every phrase, see
        :meth:`partwise.ConstituencyParser.predict_marginals`.
    """

    labels: Sequence[str]
    trees: list[Tree]
    marginals: list[Floats] | None

    def write(self, path: str) -> None:
        from ...formats.brackets import write_brackets

        trees = self.trees
        if self.marginals is not None:
            index = {label: number for number, label in enumerate(self.labels)}
            pairs = zip(trees, self.marginals, strict=True)
            trees = [_with_odds(tree, mu, index) for tree, mu in pairs]
        write_brackets(path, trees)

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "labels": list(self.labels),
            "predictions": [str(tree) for tree in self.trees],
        }
        if self.marginals is not None:
            found["marginals"] = [mu.tolist() for mu in self.marginals]
        return found


def _with_odds(tree: Tree, mu: Floats, index: Mapping[str, int]) -> Tree:
    """Return the tree with the probability of every phrase after its label."""
    from ...formats.tree import Tree

    brackets = tree.brackets()

    def phrase(node: Tree, children: list[Tree]) -> Tree:
        # Phrases are met in the opposite order, children first.
        label, start, end = brackets.pop()
        # A flat tree may have a root that no phrase has.
        odds = mu[start, end, index[label]] if label in index else 0.0
        return Tree(f"{label}={min(float(odds), 1.0):.6f}", tuple(children))

    return tree.fold(lambda node: node, phrase)


@dataclass(frozen=True, eq=False)
class _Ranked(Predictions):
    """The k best trees of every sentence.

    Attributes
    ----------
    candidates
        The trees of each sentence as text, best first.
    probabilities
        Whether to write their probabilities.
    """

    candidates: list[list[Candidate]]
    probabilities: bool

    def write(self, path: str) -> None:
        from ...formats.source import writing

        with writing(path) as stream:
            for ranking in self.candidates:
                for rank, one in enumerate(ranking, 1):
                    stream.write(f"{heading(rank, one, self.probabilities)}\n{one.label}\n")

    def record(self) -> dict[str, Any]:
        return ranking_record(self.candidates, "tree")


def _tag_accuracy(gold: Sequence[Tree], found: Sequence[Tree]) -> float:
    pairs = [
        a == b
        for g, f in zip(gold, found, strict=True)
        for a, b in zip(g.tags, f.tags, strict=True)
    ]
    return sum(pairs) / len(pairs)


def _metrics(scores: BracketScores, tags: float | None) -> dict[str, Any]:
    from ..labels import by_type

    found = {
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "complete": scores.complete_match,
        "crossing": scores.average_crossing,
        "no_crossing": scores.no_crossing,
        "sentences": scores.sentences,
        "by_label": by_type(scores.labelled),
    }
    return found if tags is None else {**found, "tag_accuracy": tags}


def _table(scores: BracketScores, tags: float | None) -> str:
    of = f"of {scores.sentences:,} sentences"
    lines = [
        ("bracket precision", f"{scores.precision:.4%}"),
        ("bracket recall", f"{scores.recall:.4%}"),
        ("bracket F1", f"{scores.f1:.4%}"),
        ("complete match", f"{scores.complete_match:.4%} {of}"),
        ("crossing brackets", f"{scores.average_crossing:.4f} a sentence"),
        ("no crossing", f"{scores.no_crossing:.4%} {of}"),
    ]
    if tags is not None:
        lines.append(("tags right", f"{tags:.4%}"))
    return "\n".join(f"{name:18}  {value}" for name, value in lines)
