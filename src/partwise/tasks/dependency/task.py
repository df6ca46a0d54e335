"""The task "parse": one dependency tree per sentence, from CoNLL files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import MismatchError
from ...formats.options import Option
from ..base import Task
from ..fixed import FIXED
from ..missing import missing_of, with_unscored
from ..predictions import Predictions
from .parameters import DependencyParameters

if TYPE_CHECKING:
    from ...formats.registry import Chosen
    from ...metrics.attachment import AttachmentScores
    from ...models.model import Model
    from ..comparison import Comparison
    from .treebank import Treebank

__all__ = ["Parse"]


class Parse(Task["Treebank"]):
    """Dependency parsers."""

    name = "parse"
    trainer = "partwise.tasks.dependency.trainer:DependencyTrainer"
    declares = DependencyParameters
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
        from .predictions import ParsedSentences, RankedTrees

        sentences = source.sentences
        how: dict[str, Any] = {"n_jobs": n_jobs}
        if fixed is not None:
            how["fixed"] = [
                [None if head == UNKNOWN else head for head in heads] for heads in source.heads
            ]
        if k:
            found = model.candidates(source, k, probabilities=marginals, **how)
            return RankedTrees(model, sentences, found, marginals)
        trees = model.predict(source, **how)
        tables = model.marginals(source, **how) if marginals else None
        return ParsedSentences(model, sentences, trees, tables)

    def score(
        self, model: Model, source: Treebank, given: Mapping[str, Any], n_jobs: int | None = 1
    ) -> tuple[dict[str, Any], str]:
        """Count right heads, right relations and right sentences."""
        from ..labels import note_unknown, spelled
        from .treebank import separated

        punctuation = given["punctuation"]
        source = source.with_missing(missing_of(model), bool(model.labels))
        trees = model.predict(source, n_jobs=n_jobs)
        heads, relations = separated(trees, bool(model.labels))
        if relations is not None:
            note_unknown(source.path or "", _known(source), spelled(model.labels))
        scores = _attachment(source, heads, relations, punctuation)
        left = source.n_positions - sum(map(len, source.certain()))
        metrics, text = _metrics(scores, punctuation), _table(scores, punctuation)
        return with_unscored(metrics, text, left, "words")

    def compare(
        self,
        model: Model,
        source: Treebank,
        given: Mapping[str, Any],
        n_jobs: int | None = 1,
        *,
        probabilities: bool = False,
    ) -> Comparison:
        from .comparison import compare_trees

        return compare_trees(model, source, given["punctuation"], n_jobs, probabilities)


def _attachment(
    source: Treebank,
    heads: list[list[int]],
    relations: list[list[str]] | None,
    punctuation: str,
) -> AttachmentScores:
    """Compare predicted heads and relations with those of a file."""
    from ...metrics.attachment import POLICIES, attachment_scores
    from ..labels import note_absent

    sentences = source.sentences
    left_out = punctuation if punctuation in POLICIES else frozenset(punctuation.split(","))
    if not isinstance(left_out, str):
        note_absent("--punctuation", left_out, {t for s in sentences for t in (*s.cpos, *s.pos)})
    # A part of speech may be a fine or a coarse one.
    tags = [
        [coarse if coarse in left_out else fine for coarse, fine in zip(s.cpos, s.pos, strict=True)]
        for s in sentences
    ]
    known = source.certain()

    def some(columns: Sequence[Sequence[Any]] | None) -> Any:
        if columns is None:
            return None
        return [[of[t] for t in words] for of, words in zip(columns, known, strict=True)]

    return attachment_scores(
        some(source.heads),
        some(heads),
        gold_labels=None if relations is None else some(source.relations),
        pred_labels=some(relations),
        forms=some([sentence.form for sentence in sentences]),
        tags=some(tags),
        punctuation=left_out,
    )


def _known(source: Treebank) -> list[list[str]]:
    """Return the relations of the words of which all is known."""
    pairs = zip(source.relations or (), source.certain(), strict=False)
    return [[of[t] for t in words] for of, words in pairs]


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
