"""``--task parse``: a dependency tree a sentence, from CoNLL files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from partwise.errors import DataError

from ..base import Task
from ..options import MIN_COUNT, Option
from ..predictions import Predictions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from partwise.formats.conll import Sentence
    from partwise.metrics.attachment import AttachmentScores
    from partwise.models.model import Model
    from partwise.tasks.dependency.arc_parser import ArcParser
    from partwise.training.loop import Callback

    from ..candidates import Candidate

__all__ = ["NONPROJECTIVE", "Parse", "Treebank"]

#: As in partwise.tasks.dependency.gold, which imports numpy.
NONPROJECTIVE: Final = ("lift", "skip", "raise")

#: What --marginals writes into MISC.
_ARC, _LABEL = "ArcProb=", "LabelProb="


@dataclass(frozen=True, eq=False)
class Treebank:
    """A CoNLL file.

    Attributes
    ----------
    path
        The file, as messages name it.
    sentences
        Its sentences.
    """

    path: str
    sentences: list[Sentence]

    def take(self, which: Sequence[int]) -> Treebank:
        """Give some of the sentences, by their numbers from 0."""
        return Treebank(self.path, [self.sentences[i] for i in which])


class Parse(Task[Treebank]):
    """Dependency parsers."""

    name = "parse"
    estimator = "DependencyParser"
    headline = ("las", "uas")
    summary = "a dependency tree a sentence"
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
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "train": (
            MIN_COUNT,
            Option(
                "--labelled",
                "predict relations too; with many of them, --weights observed saves memory",
                default=False,
                kind="switch",
            ),
            Option(
                "--trees",
                "whether arcs may cross (default: projective, they may not)",
                default="projective",
                choices=("projective", "any"),
            ),
            Option(
                "--nonprojective",
                "what --trees projective does with training trees that are not projective: "
                "lift words to heads further up, skip the sentences, or stop (default: lift)",
                default="lift",
                choices=NONPROJECTIVE,
            ),
            Option(
                "--several-roots",
                "more than one word of a sentence may have head 0",
                default=False,
                kind="switch",
            ),
            Option(
                "--hashing",
                "hash features to N numbers, a power of two, instead of listing them",
                kind="power of two",
                metavar="N",
            ),
        ),
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
        """See whether there are ten columns and the first is a number."""
        words = [line.split("\t") for line in lines if not line.startswith("#")]
        if not words:
            return 0
        if all(len(fields) == 10 and fields[0][:1].isdigit() for fields in words):
            return 2
        return int(all(len(fields) == 3 and fields[2].isdigit() for fields in words))

    def read(
        self, path: str, arguments: argparse.Namespace, like: Treebank | None = None
    ) -> Treebank:
        """Read a CoNLL file with trees; those of ``--dev`` may have several roots."""
        single_root = like is None and not arguments.several_roots
        return _read(path, labelled=True, single_root=single_root)

    def read_for(self, model: Model, path: str, labelled: bool) -> Treebank:
        """Read a CoNLL file."""
        return _read(path, labelled=labelled)

    def sizes(self, source: Treebank) -> tuple[int, int]:
        """Count sentences and words."""
        return len(source.sentences), sum(map(len, source.sentences))

    def fit(
        self,
        arguments: argparse.Namespace,
        source: Treebank,
        initial: Model | None,
        callbacks: Sequence[Callback],
    ) -> Trained:
        """Train a parser."""
        from partwise.tasks.dependency.fit import fit_parser
        from partwise.tasks.dependency.gold import gold_trees

        given = {"nonprojective_gold": arguments.nonprojective}
        settings = settings_of(arguments, min_count=arguments.min_count, given=given)
        trees = {
            "projective": arguments.trees == "projective",
            "single_root": not arguments.several_roots,
        }
        gold = gold_trees(
            source.sentences,
            [sentence.head for sentence in source.sentences],
            _relations(source) if arguments.labelled else None,
            nonprojective=arguments.nonprojective,
            **trees,
        )
        model, fit = fit_parser(
            gold,
            settings,
            n_hashed=arguments.hashing or 0,
            callbacks=callbacks,
            initial=initial,
            **trees,
        )
        record = {"n_lifted": gold.lifted, "n_skipped": gold.skipped}
        return Trained(model, fit, len(gold.sentences), record)

    def predict(self, model: Model, source: Treebank, arguments: argparse.Namespace) -> Predictions:
        """Predict the trees of all sentences."""
        from partwise.tasks.dependency.arc_parser import ArcParser

        from ..labels import note_unknown_features

        parser = ArcParser(model)
        sentences = source.sentences
        note_unknown_features(source.path, parser.encoder.tally(sentences))
        if arguments.k:
            found = _candidates(parser, sentences, arguments)
            return _Ranked(parser, sentences, found, arguments.marginals)
        trees = parser.predict(sentences, n_jobs=arguments.jobs)
        marginals = None
        if arguments.marginals:
            marginals = parser.marginals(sentences, n_jobs=arguments.jobs)
        return _Parsed(parser, sentences, trees, marginals)

    def score(
        self, model: Model, source: Treebank, arguments: argparse.Namespace
    ) -> tuple[dict[str, Any], str]:
        """Count right heads, right relations and right sentences."""
        from partwise.tasks.dependency.arc_parser import ArcParser

        from ..labels import note_unknown, note_unknown_features

        parser = ArcParser(model)
        sentences = source.sentences
        note_unknown_features(source.path, parser.encoder.tally(sentences))
        trees = parser.predict(sentences, n_jobs=arguments.jobs)
        relations = None
        if parser.relations:
            relations = [parser.named(tree) or [] for tree in trees]
            note_unknown(source.path, [s.deprel for s in sentences], parser.relations)
        heads = [tree[:, 0].tolist() for tree in trees]
        scores = _attachment(sentences, heads, relations, arguments.punctuation)
        return _metrics(scores, arguments.punctuation), _table(scores, arguments.punctuation)


def _read(path: str, *, labelled: bool, single_root: bool = False) -> Treebank:
    from partwise.formats.conll import read_conll

    name = "<stdin>" if path == "-" else path
    return Treebank(name, read_conll(path, labelled=labelled, single_root=single_root))


def _relations(source: Treebank) -> list[list[str]]:
    found = [sentence.deprel for sentence in source.sentences]
    if {relation for of in found for relation in of} == {"_"}:
        raise DataError(
            f"{source.path}: --labelled, and no word has a relation (column 8); leave --labelled "
            "out, or give a file with relations"
        )
    return found


@dataclass(frozen=True, eq=False)
class _Parsed(Predictions):
    parser: ArcParser
    sentences: list[Sentence]
    trees: list[NDArray[np.int64]]
    marginals: list[NDArray[np.float64]] | None

    def write(self, path: str) -> None:
        from partwise.formats.conll import write_conll

        filled = self.parser.filled(self.sentences, self.trees)
        if self.marginals is not None:
            labelled = bool(self.parser.relations)
            some = zip(filled, self.trees, self.marginals, strict=True)
            own = _own_columns(self.sentences)
            filled = [_with_odds(s, _odds(tree, mu, labelled), own) for s, tree, mu in some]
        write_conll(path, filled)

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "labels": list(self.parser.relations),
            "predictions": [_plain(self.parser, tree) for tree in self.trees],
        }
        if self.marginals is not None:
            found["marginals"] = [mu.sum(axis=2).tolist() for mu in self.marginals]
        return found


def _odds(
    tree: NDArray[np.int64], mu: NDArray[np.float64], labelled: bool
) -> list[tuple[float, ...]]:
    """Give for every word the probability of its head and, with relations, of its arc."""
    found: list[tuple[float, ...]] = []
    for word, (head, label) in enumerate(tree.tolist()):
        arc = mu[word, head]
        found.append((float(arc.sum()), float(arc[label])) if labelled else (float(arc[0]),))
    return found


def _own_columns(sentences: Sequence[Sentence]) -> bool:
    """Whether column 10 is not MISC: it is PDEPREL where column 9, PHEAD, is a number."""
    words = (s.rows[place].split("\t") for s in sentences for place in s.places)
    return any(len(fields) == 3 or fields[8].isdigit() for fields in words)


def _with_odds(sentence: Sentence, odds: Sequence[tuple[float, ...]], own: bool) -> Sentence:
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
class _Ranked(Predictions):
    parser: ArcParser
    sentences: list[Sentence]
    candidates: list[list[Candidate]]
    probabilities: bool

    def write(self, path: str) -> None:
        from partwise.formats.conll import write_conll

        write_conll(path, self._all())

    def _all(self) -> Iterator[Sentence]:
        from ..candidates import heading

        for sentence, some in zip(self.sentences, self.candidates, strict=True):
            for rank, one in enumerate(some, 1):
                (filled,) = self.parser.filled([sentence], [one.label])
                rows = list(filled.rows)
                # Blank lines at the head of a file would part the comment from its sentence.
                while not rows[0].strip():
                    del rows[0]
                rows.insert(0, heading(rank, one, self.probabilities) + "\n")
                yield replace(filled, rows=tuple(rows))

    def record(self) -> dict[str, Any]:
        return {
            "candidates": [
                [
                    {
                        "tree": _plain(self.parser, one.label),
                        "score": one.score,
                        "probability": one.probability,
                    }
                    for one in some
                ]
                for some in self.candidates
            ]
        }


def _plain(parser: ArcParser, tree: NDArray[np.int64]) -> list[Any]:
    """Give heads, or pairs of head and relation."""
    names = parser.named(tree)
    heads: list[Any] = tree[:, 0].tolist()
    return heads if names is None else [list(pair) for pair in zip(heads, names, strict=True)]


def _candidates(
    parser: ArcParser, sentences: list[Sentence], arguments: argparse.Namespace
) -> list[list[Candidate]]:
    from ..candidates import find_candidates

    found: list[list[Candidate]] = []
    for some in parser.stretches(sentences):
        found += find_candidates(
            parser.model,
            some.features,
            some.shapes,
            arguments.k,
            probabilities=arguments.marginals,
            n_jobs=arguments.jobs,
        )
    return found


def _attachment(
    sentences: list[Sentence],
    heads: list[list[int]],
    relations: list[list[str]] | None,
    punctuation: str,
) -> AttachmentScores:
    from partwise.metrics.attachment import POLICIES, attachment_scores

    from ..labels import note_absent

    left_out = punctuation if punctuation in POLICIES else frozenset(punctuation.split(","))
    if not isinstance(left_out, str):
        note_absent("--punctuation", left_out, {t for s in sentences for t in (*s.cpos, *s.pos)})
    # A part of speech may be a fine or a coarse one.
    tags = [
        [coarse if coarse in left_out else fine for coarse, fine in zip(s.cpos, s.pos, strict=True)]
        for s in sentences
    ]
    return attachment_scores(
        [sentence.head for sentence in sentences],
        heads,
        gold_labels=None if relations is None else [sentence.deprel for sentence in sentences],
        pred_labels=relations,
        forms=[sentence.form for sentence in sentences],
        tags=tags,
        punctuation=left_out,
    )


def _metrics(scores: AttachmentScores, punctuation: str) -> dict[str, Any]:
    found = {
        "uas": scores.uas,
        "complete_heads": scores.unlabelled_match,
        "words": scores.words,
        "sentences": scores.sentences,
        "punctuation": punctuation,
    }
    if scores.labelled:
        found["las"] = scores.las
        found["label_accuracy"] = scores.label_accuracy
        found["complete"] = scores.labelled_match
    return found


def _table(scores: AttachmentScores, punctuation: str) -> str:
    words, sentences = f"of {scores.words:,} words", f"of {scores.sentences:,} sentences"
    lines = [("head right (UAS)", scores.uas, words)]
    if scores.labelled:
        lines += [
            ("head and relation right (LAS)", scores.las, words),
            ("relation right", scores.label_accuracy, words),
        ]
    lines.append(("all heads right", scores.unlabelled_match, sentences))
    if scores.labelled:
        lines.append(("all heads and relations right", scores.labelled_match, sentences))
    texts = [f"{name:29}  {value:.4%} {of}" for name, value, of in lines]
    return "\n".join([*texts, f"{'punctuation':29}  {punctuation}"])
