"""The task "brackets": one phrase structure tree per sentence, from bracketed files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ...formats.options import Option
from ..base import Task, no_labels
from ..predictions import Predictions, Ranked
from ..spans import SPANS, THRESHOLD, SpanTable, check_spans
from .trainer import ConstituencyTrainer

if TYPE_CHECKING:
    from ...arrays import Floats
    from ...formats.registry import Chosen
    from ...formats.tree import Tree
    from ...models.model import Model
    from .examples import Trees

__all__ = ["BracketTask"]


class BracketTask(Task["Trees"]):
    """Constituency parsers."""

    name = "brackets"
    trainer = "partwise.tasks.constituency.trainer:ConstituencyTrainer"
    declares = ConstituencyTrainer
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
    longest = 60
    comparison = "tasks.constituency.comparison:PhraseComparison"
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
        from .bracketing import Bracketing, phrase_spans

        if spans:
            found_spans = phrase_spans(model, source, threshold, n_jobs)
            return SpanTable(found_spans, [list(tree.words) for tree in source.trees])

        if k:
            found = model.candidates(source, k, probabilities=marginals, n_jobs=n_jobs)
            written = [[replace(one, label=str(one.label)) for one in some] for some in found]
            return Ranked(written, marginals, "tree", lambda i, label: [label])
        trees = model.predict(source, n_jobs=n_jobs)
        tables = model.marginals(source, n_jobs=n_jobs) if marginals else None
        return _Parsed(Bracketing.of(model).labels, trees, tables)


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
