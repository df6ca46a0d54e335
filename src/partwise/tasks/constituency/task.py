"""``--task brackets``: a phrase structure tree a sentence, from bracketed files."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..base import Task, no_labels
from ..options import MIN_COUNT, Option
from ..predictions import Predictions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from partwise.formats.brackets import Brackets
    from partwise.formats.tree import Tree
    from partwise.metrics.bracketing import BracketScores
    from partwise.models.model import Model
    from partwise.tasks.constituency.span_parser import Ranked, SpanParser
    from partwise.training.loop import Callback

__all__ = ["BracketTask"]


class BracketTask(Task["Brackets"]):
    """Constituency parsers."""

    name = "brackets"
    estimator = "ConstituencyParser"
    summary = "a phrase structure tree a sentence"
    example = "train.mrg --model phrases.model --max-length 40 --horizontal 0"
    reads = (
        "reads bracketed trees as in the Penn Treebank, without their traces and function tags; "
        "to predict, ((DT the) (NN dog)) will do; --max-length N trains on sentences of up to N "
        "words"
    )
    writes = (
        "writes bracketed trees, one a line; with --marginals the probability of every phrase "
        "follows its label, as in (NP=0.993 (DT the) (NN dog)); with --k N, for each sentence up "
        'to N trees, best first, each below a line "# k=1 score=..." (and "probability=..." with '
        "--marginals)"
    )
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "train": (
            MIN_COUNT,
            Option(
                "--max-length",
                "words of a sentence at most",
                kind="whole number",
                metavar="N",
            ),
            Option(
                "--horizontal",
                "siblings that the symbols of partial phrases name (default: 1)",
                default=1,
                kind="number from 0",
                metavar="N",
            ),
            Option(
                "--vertical",
                "labels of the path to the root that symbols name (default: 1, their own)",
                default=1,
                kind="whole number",
                metavar="N",
            ),
            Option(
                "--side",
                "where the partial phrases of long phrases go (default: right)",
                default="right",
                choices=("right", "left"),
            ),
            Option(
                "--splits",
                "features of the points at which spans are split; slower",
                default=False,
                kind="switch",
            ),
            Option(
                "--predict-tags",
                "predict tags with the tree, rather than take those of the file",
                default=False,
                kind="switch",
            ),
        ),
        "evaluate": (
            Option(
                "--evalb",
                "as evalb does: leave punctuation out, and read PRT as ADVP",
                default=False,
                kind="switch",
            ),
        ),
    }

    def resemblance(self, lines: Sequence[str]) -> int:
        """See whether there are brackets first and last."""
        text = "".join(line.strip() for line in lines)
        return 2 if text.startswith("(") and text.count("(") > 1 and text.endswith(")") else 0

    def read(
        self, path: str, arguments: argparse.Namespace, like: Brackets | None = None
    ) -> Brackets:
        """Read bracketed trees."""
        from partwise.formats.brackets import read_brackets

        return read_brackets(path)

    def read_for(self, model: Model, path: str, labelled: bool) -> Brackets:
        """Read bracketed trees; those to be compared with must have phrases."""
        from partwise.formats.brackets import read_brackets

        source = read_brackets(path, empty=True)
        phrases = (node for tree in source.trees for node in tree.nodes() if node.children)
        if labelled and not any(node.label for node in phrases):
            raise no_labels(source.path, len(source.trees), "brackets around phrases")
        return source

    def sizes(self, source: Brackets) -> tuple[int, int]:
        """Count sentences and words."""
        return len(source.trees), sum(len(tree.leaves()) for tree in source.trees)

    def fit(
        self,
        arguments: argparse.Namespace,
        source: Brackets,
        initial: Model | None,
        callbacks: Sequence[Callback],
    ) -> Trained:
        """Train a parser."""
        from partwise.tasks.constituency.fit import fit_brackets, gold_derivations
        from partwise.tasks.constituency.normal_form import NormalForm

        given = {"max_length": arguments.max_length}
        settings = settings_of(arguments, min_count=arguments.min_count, given=given)
        form = NormalForm(arguments.side, arguments.horizontal, arguments.vertical)
        gold = gold_derivations(source.trees, form, arguments.max_length)
        model, fit = fit_brackets(
            gold,
            settings,
            tagged=not arguments.predict_tags,
            splits=arguments.splits,
            callbacks=callbacks,
            initial=initial,
        )
        record = {
            "n_long": gold.n_long,
            "n_rules": len(gold.grammar.rules),
            "n_symbols": len(gold.grammar.symbols),
        }
        return Trained(model, fit, len(gold.sentences), record)

    def predict(self, model: Model, source: Brackets, arguments: argparse.Namespace) -> Predictions:
        """Predict the trees of all sentences."""
        from partwise.tasks.constituency.span_parser import SpanParser, sentence_of

        from ..labels import note_unknown_features

        parser = SpanParser(model)
        sentences = [sentence_of(tree) for tree in source.trees]
        note_unknown_features(source.path, parser.encoder.tally(sentences))
        if arguments.k:
            ranked = parser.k_best(
                sentences, arguments.k, probabilities=arguments.marginals, n_jobs=arguments.jobs
            )
            return _Ranked(ranked, arguments.marginals)
        trees = parser.predict(sentences, n_jobs=arguments.jobs)
        marginals = None
        if arguments.marginals:
            marginals = parser.marginals(sentences, n_jobs=arguments.jobs)
        return _Parsed(parser, trees, marginals)

    def score(
        self, model: Model, source: Brackets, arguments: argparse.Namespace
    ) -> tuple[dict[str, Any], str]:
        """Count right brackets."""
        from partwise.metrics.bracketing import PUNCTUATION, bracket_scores
        from partwise.tasks.constituency.span_parser import SpanParser, sentence_of

        from ..labels import note_unknown_features

        parser = SpanParser(model)
        sentences = [sentence_of(tree) for tree in source.trees]
        note_unknown_features(source.path, parser.encoder.tally(sentences))
        found = parser.predict(sentences, n_jobs=arguments.jobs)
        rules: dict[str, Any] = {}
        if arguments.evalb:
            rules = {"delete": PUNCTUATION, "equal": {"PRT": "ADVP"}}
        scores = bracket_scores(source.trees, found, **rules)
        tags = None if parser.encoder.tagged else _tag_accuracy(source.trees, found)
        return _metrics(scores, tags), _table(scores, tags)


@dataclass(frozen=True, eq=False)
class _Parsed(Predictions):
    parser: SpanParser
    trees: list[Tree]
    marginals: list[NDArray[np.float64]] | None

    def write(self, path: str) -> None:
        from partwise.formats.brackets import write_brackets

        trees = self.trees
        if self.marginals is not None:
            index = {label: number for number, label in enumerate(self.parser.labels)}
            pairs = zip(trees, self.marginals, strict=True)
            trees = [_with_odds(tree, mu, index) for tree, mu in pairs]
        write_brackets(path, trees)

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "labels": list(self.parser.labels),
            "predictions": [str(tree) for tree in self.trees],
        }
        if self.marginals is not None:
            found["marginals"] = [mu.tolist() for mu in self.marginals]
        return found


def _with_odds(tree: Tree, mu: NDArray[np.float64], index: Mapping[str, int]) -> Tree:
    """Write the probability of every phrase after its label."""
    from partwise.formats.tree import Tree

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
    rankings: list[list[Ranked]]
    probabilities: bool

    def write(self, path: str) -> None:
        from partwise.formats.source import writing

        with writing(path) as stream:
            for ranking in self.rankings:
                for rank, one in enumerate(ranking, 1):
                    text = f"# k={rank} score={one.score:.6f}"
                    if self.probabilities:
                        text += f" probability={math.exp(one.log_proba):.6g}"
                    stream.write(f"{text}\n{one.tree}\n")

    def record(self) -> dict[str, Any]:
        return {
            "candidates": [
                [
                    {
                        "tree": str(one.tree),
                        "score": one.score,
                        "probability": math.exp(one.log_proba),
                    }
                    for one in ranking
                ]
                for ranking in self.rankings
            ]
        }


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
