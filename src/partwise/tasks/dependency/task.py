"""The task "parse": one dependency tree per sentence, from CoNLL files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import MismatchError
from ...formats.options import Option
from ..base import Task
from ..labels import FIXED, missing_of
from ..predictions import Predictions, heading, ranking_record
from .trainer import DependencyTrainer

if TYPE_CHECKING:
    from ...arrays import Floats
    from ...formats.conll import Sentence
    from ...formats.registry import Chosen
    from ...models.model import Candidate, Model
    from .treebank import Treebank

__all__ = ["ParseTask"]

#: What is written into MISC before the probabilities of a head, and of a head and its relation.
_ARC, _LABEL = "ArcProb=", "LabelProb="


class ParseTask(Task["Treebank"]):
    """Dependency parsers."""

    name = "parse"
    trainer = "partwise.tasks.dependency.trainer:DependencyTrainer"
    declares = DependencyTrainer
    features = "arcs"
    format = "conll"
    headline = ("las", "uas")
    summary = "one dependency tree per sentence"
    example = "train.conllu --model trees.model --labelled --l2 10"
    reads = (
        "reads CoNLL-X and CoNLL-U files, or files of three columns cut by tabs: word, part of "
        "speech, head"
    )
    writes = (
        "writes the file with the predicted heads (and relations) in it and all else as it was; "
        "with --marginals also the probability of every head, as ArcProb=0.993 in column 10 "
        "(MISC), with relations also LabelProb=, that of head and relation; where column 9 is a "
        "number (PHEAD of CoNLL-X) or there are three columns, in columns of their own at the "
        'end; with --k N, for each sentence up to N trees, best first, each with a comment "# k=1 '
        'score=..." (and "probability=..." with --marginals)'
    )
    # The time of a parser grows with the cube of the length.
    longest = 120
    comparison = "tasks.dependency.comparison:TreeComparison"
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "predict": (FIXED,),
        "evaluate": (
            Option(
                "--punctuation",
                "which words count: all; none: those with a letter or digit; conllx: all but "
                "Unicode punctuation; or parts of speech to leave out, as in PUNCT,SYM "
                "(default: all)",
                default="all",
                metavar="RULE",
            ),
        ),
    }

    def resemblance(self, lines: Sequence[str]) -> int:
        words = [line.split("\t") for line in lines if not line.startswith("#")]
        if not words:
            return 0
        if all(len(fields) == 10 and fields[0][:1].isdigit() for fields in words):
            return 2
        return int(all(len(fields) == 3 and fields[2].isdigit() for fields in words))

    def check_given(self, verb: str, given: Mapping[str, Any]) -> None:
        if verb == "predict" and given["fixed"] not in (None, "_"):
            raise MismatchError(
                f"--fixed {given['fixed']}: a head that is not known is _ in CoNLL files; give "
                "--fixed _"
            )

    def read(self, path: str, given: Mapping[str, Any], like: Treebank | None = None) -> Treebank:
        """Read a CoNLL file with trees; those of a file to evaluate on may have several roots."""
        from .treebank import Treebank, no_relations

        if like is not None:
            # A file with missing heads has no trees to check yet.
            whole = given["missing"] is None
            return Treebank.of_file(self.reader(given["format"]), path, labelled=whole)
        source = self.read_part(path, given, None)
        if given["labelled"] and {name for of in source.relations or () for name in of} == {"_"}:
            raise no_relations(source.path)
        return source

    def read_part(self, path: str, given: Mapping[str, Any], first: Treebank | None) -> Treebank:
        from .treebank import Treebank

        whole = given["missing"] is None
        single_root = whole and not given["several_roots"]
        reader = self.reader(given["format"])
        return Treebank.of_file(reader, path, labelled=whole, single_root=single_root)

    def read_for(
        self, model: Model, path: str, labelled: bool, format: Chosen | str | None = None
    ) -> Treebank:
        from .features import arc_features_of
        from .treebank import Treebank

        arc_features_of(model)
        # A file with missing heads has no trees to check.
        whole = labelled and missing_of(model) is None
        return Treebank.of_file(self.reader(format), path, labelled=whole)

    def source(self, model: Model, X: Any, y: Any = None, **more: Any) -> Treebank:
        from .gold import check_trees
        from .treebank import Treebank

        self.refuse_others(more, "labels")
        labelled = bool(model.labels)
        source = Treebank.of(X, y, more.get("labels"), labelled)
        source = source.with_missing(missing_of(model), labelled)
        check_trees(source.sentences, source.heads, source.relations, partial=True)
        return source

    def predict(
        self,
        model: Model,
        source: Treebank,
        *,
        k: int | None,
        marginals: bool,
        n_jobs: int | None,
        fixed: str | None = None,
    ) -> Predictions:
        from ...formats.conll import UNKNOWN

        sentences = source.sentences
        how: dict[str, Any] = {"n_jobs": n_jobs}
        if fixed is not None:
            how["fixed"] = [
                [None if head == UNKNOWN else head for head in heads] for heads in source.heads
            ]
        if k:
            found = model.candidates(source, k, probabilities=marginals, **how)
            return _RankedTrees(model, sentences, found, marginals)
        trees = model.predict(source, **how)
        tables = model.marginals(source, **how) if marginals else None
        return _ParsedSentences(model, sentences, trees, tables)


@dataclass(frozen=True, eq=False)
class _ParsedSentences(Predictions):
    """The best tree of every sentence, and perhaps the probabilities of arcs.

    Attributes
    ----------
    model : Model
        The model.
    sentences : list of Sentence
        The file.
    trees : list
        What `Model.predict` returned.
    marginals : list of ndarray or None
        What `Model.marginals` returned.
    """

    model: Model
    sentences: list[Sentence]
    trees: list[Any]
    marginals: list[Floats] | None

    def write(self, path: str) -> None:
        from ...formats.conll import write_conll
        from .treebank import filled

        parsed = filled(self.sentences, self.trees, bool(self.model.labels))
        if self.marginals is not None:
            own = _own_columns(self.sentences)
            some = zip(parsed, self.trees, self.marginals, strict=True)
            parsed = [_with_odds(s, self._odds(tree, mu), own) for s, tree, mu in some]
        write_conll(path, parsed)

    def _odds(self, tree: Sequence[Any], mu: Floats) -> list[tuple[float, ...]]:
        """Return for every word the probability of its head and, with relations, of its arc."""
        if not self.model.labels:
            return [(float(mu[word, head]),) for word, head in enumerate(tree)]
        index = self.model.label_index
        return [
            (float(mu[word, head].sum()), float(mu[word, head, index[relation]]))
            for word, (head, relation) in enumerate(tree)
        ]

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = {"labels": list(self.model.labels), "predictions": self.trees}
        if self.marginals is not None:
            arcs = (mu.sum(axis=2) if self.model.labels else mu for mu in self.marginals)
            found["marginals"] = [mu.tolist() for mu in arcs]
        return found


def _own_columns(sentences: Sequence[Sentence]) -> bool:
    """Return whether column 10 is not MISC but PDEPREL: column 9, PHEAD, is then a number."""
    words = (s.rows[place].split("\t") for s in sentences for place in s.places)
    return any(len(fields) == 3 or fields[8].isdigit() for fields in words)


def _with_odds(sentence: Sentence, odds: Sequence[tuple[float, ...]], own: bool) -> Sentence:
    """Return a sentence with probabilities in MISC, or in columns of their own at the end."""
    rows = list(sentence.rows)
    for place, numbers in zip(sentence.places, odds, strict=True):
        text = rows[place].removesuffix("\n")
        end = rows[place][len(text) :]
        if own:
            rows[place] = "\t".join([text, *(f"{p:.6f}" for p in numbers)]) + end
            continue
        *fields, misc = text.split("\t")
        # Those of an earlier run are replaced.
        kept = [item for item in misc.split("|") if not item.startswith((_ARC, _LABEL))]
        new = [f"{name}{p:.6f}" for name, p in zip((_ARC, _LABEL), numbers, strict=False)]
        rows[place] = "\t".join([*fields, "|".join([*(k for k in kept if k != "_"), *new])]) + end
    return replace(sentence, rows=tuple(rows))


@dataclass(frozen=True, eq=False)
class _RankedTrees(Predictions):
    """The k best trees of every sentence, each written as a sentence of its own.

    Attributes
    ----------
    model : Model
        The model.
    sentences : list of Sentence
        The file.
    candidates : list of list of Candidate
        The trees of each sentence, best first.
    probabilities : bool
        Whether to write their probabilities.
    """

    model: Model
    sentences: list[Sentence]
    candidates: list[list[Candidate]]
    probabilities: bool

    def write(self, path: str) -> None:
        from ...formats.conll import write_conll

        write_conll(path, self._all())

    def _all(self) -> Iterator[Sentence]:
        from .treebank import filled

        labelled = bool(self.model.labels)
        for sentence, some in zip(self.sentences, self.candidates, strict=True):
            trees = [one.label for one in some]
            found = zip(some, filled([sentence] * len(some), trees, labelled), strict=True)
            for rank, (one, parsed) in enumerate(found, 1):
                rows = list(parsed.rows)
                # Blank lines at the head of a file would part the comment from its sentence.
                while not rows[0].strip():
                    del rows[0]
                rows.insert(0, heading(rank, one, self.probabilities) + "\n")
                yield replace(parsed, rows=tuple(rows))

    def record(self) -> dict[str, Any]:
        return ranking_record(self.candidates, "tree")
