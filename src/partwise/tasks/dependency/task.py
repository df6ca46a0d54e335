"""The task "parse": one dependency tree per sentence, from CoNLL files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import MismatchError
from ...formats.options import Option
from ..base import Task
from ..fixed import FIXED
from ..labels import missing_of
from ..predictions import Predictions
from .parameters import DependencyParameters

if TYPE_CHECKING:
    from ...formats.registry import Chosen
    from ...models.model import Model
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
