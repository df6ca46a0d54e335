"""The form of tokens: names of features, what is shown, JSON of tags and segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from ...errors import DataError
from ...metrics.labels import looks_like_spans, spans
from ...models.vocabulary import fit_rows
from ..example_form import (
    INTERCEPT,
    SENTENCE,
    TAGS,
    ExampleForm,
    FeatureNames,
    GivenText,
    Item,
    names_in,
)
from ..hashed_text import names_of_rows
from ..json_rows import RefusedInput, matrix
from ..sample_sentences import Sample, best_sample
from .column_file import ColumnFile, as_columns
from .segment_features import scheme_of
from .segment_functions import function_of
from .sources import Sequences
from .token_text import attribute_words, token_words
from .tokens import made_tokens

if TYPE_CHECKING:
    from .features import PositionFeatures

__all__ = ["SegmentTokenForm", "TokenForm"]

#: The names of what a token may be called among its own features, to show it.
_WORD_KEYS: Final = ("word", "form", "token", "text", "w")


class TokenForm(ExampleForm):
    """Sequences of tokens: columns, named features or numbers.

    Labels such as B-NP and I-NP are also answered as spans.
    """

    field = "tokens"

    @property
    def positions(self) -> PositionFeatures:
        """The features of positions."""
        features: PositionFeatures = self.features
        return features

    # Names

    def names(self, given: Sequence[str] | None = None) -> list[FeatureNames]:
        features = self.positions
        hashed = features.n_hashed
        count, *others = self.model.layout.n_features
        if given is not None:
            first = FeatureNames(count, features.n_features, self._named(given), INTERCEPT, hashed)
        elif features.support is not None:
            first = FeatureNames(count, features.n_features, self.scores(0), INTERCEPT, hashed)
        elif features.vocabulary is not None:
            some = features.vocabulary.some
            first = FeatureNames(count, features.n_features, some, INTERCEPT, hashed)
        else:
            made = names_in(None, features.n_features, count, hashed)
            first = replace(made, constant=INTERCEPT)
        kinds = self.model.structure.kinds[1:]
        pairs = zip(kinds, others, strict=True)
        return [first, *(self._of_kind(k, kind, n) for k, (kind, n) in enumerate(pairs, 1))]

    def _of_kind(self, number: int, kind: str, count: int) -> FeatureNames:
        """Return the names of the features of a kind of site other than positions."""
        features = self.positions
        steps = features.n_transition_features or 0
        if kind == "transition" and features.transition_support is not None:
            return FeatureNames(count, features.transition_support.n_scores, self.scores(1))
        if kind == "transition" and steps:
            return names_in(features.transition_vocabulary, steps, count, features.n_hashed)
        return FeatureNames(count, 0)

    def _named(self, names: Sequence[str]) -> Any:
        features = self.positions
        if features.vocabulary is not None or features.n_hashed or features.support is not None:
            raise DataError("the features of the model are not columns; leave out their names")
        if len(names) != features.n_features:
            raise DataError(
                f"{len(names)} names of features where the model has {features.n_features}; give "
                "one for each column"
            )
        return lambda numbers: [str(names[number]) for number in numbers]

    # What users gave

    def given(self, examples: Any, more: Mapping[str, Any]) -> GivenText:
        known = dict(more)
        lengths, steps = known.pop("lengths", None), known.pop("X_transitions", None)
        source = self._source(examples, lengths, steps)
        read = self.features.read(self.model.structure, source, **known)
        behind = self._behind(source, read) if self.positions.n_hashed else {}
        return GivenText(read, _words(source), behind)

    def _source(self, examples: Any, lengths: Any, steps: Any) -> Any:
        if hasattr(examples, "tally"):
            return examples
        return self.positions.source(_listed(examples), lengths, steps)

    def _behind(self, source: Any, read: Any) -> dict[int, Any]:
        """Return the names that were hashed, for each kind of site."""
        positions, n = self.positions, self.positions.n_hashed
        tokens = getattr(read, "positions", read)
        found: dict[int, Any] = {}
        if positions.vocabulary is None:
            found[0] = names_of_rows(tokens.rows, None, None, n)
            if tokens.transitions is not None:
                found[1] = names_of_rows(tokens.transitions, None, None, n)
        elif isinstance(source, (ColumnFile, Sequences)):
            raw = _unhashed(source, positions)
            found[0] = names_of_rows(raw.rows, raw.vocabulary, positions.vocabulary, n)
            if raw.transitions is not None:
                known = positions.transition_vocabulary
                found[1] = names_of_rows(raw.transitions, raw.transition_vocabulary, known, n)
        return found

    # JSON

    @property
    def reads_text(self) -> bool:
        return self._columns == 1

    @property
    def _columns(self) -> int:
        """The number of columns of a token; 0 if tokens are no columns."""
        return self.positions.n_inputs if self.positions.templates is not None else 0

    def reads(self) -> dict[str, Any]:
        n = self._columns
        if n:
            names = self._column_names(n)
            form = "a string" if n == 1 else f"a list of {n} strings: {', '.join(names)}"
            return {
                "kind": "columns",
                "columns": [{"name": name, "required": True} for name in names],
                "about": f"each token is {form}, as in the file that the model was trained on",
            }
        if self.positions.vocabulary is not None:
            about = 'each token is its features: {"w": "The", "title": true}, or a list of names'
            return {"kind": "named", "about": about}
        n = self.positions.n_inputs
        return {"kind": "numbered", "n_features": n, "about": f"each token is {n:,} numbers"}

    def _column_names(self, n: int) -> list[str]:
        templates = self.positions.templates
        tagged = templates is not None and "pos[0]" in templates.names
        names = ["word", *(f"column {c}" for c in range(2, n + 1))]
        return [names[0], "part of speech", *names[2:]] if tagged and n > 1 else names

    def sample(self) -> dict[str, Any]:
        n = self._columns
        if n:
            best = best_sample(self._known)
            return {"tokens": [_token(w, tag, n) for w, tag in zip(*best, strict=True)]}
        names = self.positions.vocabulary
        if names is not None:
            return {"tokens": ["bias"] if names.hashed else list(names.names[:6])}
        return {"tokens": [[0.0] * self.positions.n_inputs] * 3}

    def _known(self, sample: Sample) -> float:
        n = self._columns
        found = as_columns([[_token(w, t, n) for w, t in zip(*sample, strict=True)]], n)
        assert found is not None
        tally = ColumnFile(found).tokens(self.positions).tally
        return tally.known / max(tally.given, 1)

    def from_words(self, words: list[str]) -> Any:
        return words

    def read(self, given: Mapping[str, Any], where: str) -> Item:
        tokens, place = given["tokens"], f"{where}.tokens"
        self.check_length(len(tokens), place)
        example: Any = tokens
        if self._columns:
            words = [row[0] for row in self.token_columns(tokens, self._columns, place)]
        elif self.positions.vocabulary is not None:
            words = [_shown(token, t, place) for t, token in enumerate(tokens)]
        else:
            words = [f"#{t}" for t in range(1, len(tokens) + 1)]
            example = matrix(tokens, self.positions.n_inputs, place)
        steps = self._transitions(given, len(tokens), where)
        return Item(example, words, len(tokens), transitions=steps)

    def _transitions(self, given: Mapping[str, Any], n: int, where: str) -> list[Any] | None:
        templates = self.positions.templates
        wanted = self.positions.input_transitions
        if templates is not None and templates.transitions is not None:
            wanted = False
        steps = given.get("transitions")
        if (steps is not None) != wanted or (steps is not None and len(steps) != n - 1):
            need = "the model has no features of neighbours; leave them out"
            if wanted:
                need = f"give the features of its {n - 1} pairs of neighbours"
            raise RefusedInput("wrong_transitions", need, f"{where}.transitions")
        if steps is not None and self.positions.transition_vocabulary is None:
            width = self.positions.n_transition_features or 0
            return matrix(steps, width, f"{where}.transitions")  # type: ignore[return-value]
        return steps

    def joined(self, items: Sequence[Item]) -> tuple[Any, dict[str, Any]]:
        examples = [item.example for item in items]
        if self._columns:
            found = as_columns(examples, self._columns)
            assert found is not None
            return ColumnFile(found), {}
        if items[0].transitions is not None:
            return examples, {"X_transitions": [item.transitions for item in items]}
        return examples, {}

    # Labels as JSON

    @cached_property
    def _spelling(self) -> bool:
        labels = [label for label in self.model.labels if isinstance(label, str)]
        return len(labels) == len(self.model.labels) and looks_like_spans(labels)

    @property
    def view(self) -> str:  # type: ignore[override]
        """How the page shows a label."""
        return "spans" if self._spelling else "tags"

    def to_json(self, label: Any, item: Item) -> dict[str, Any]:
        if not self._spelling:
            return {"labels": label}
        return {"labels": label, "spans": [one._asdict() for one in spans(label, "conlleval")]}

    def odds(self, table: Any, label: Any, item: Item) -> dict[str, Any]:
        index = self.model.label_index
        return {"probabilities": [float(table[t, index[one]]) for t, one in enumerate(label)]}

    def add_odds(self, answers: Sequence[dict[str, Any]], examples: Any) -> None:
        if self._spelling and any(one["spans"] for one in answers):
            from .tag_spans import span_probabilities

            add_to_spans(answers, span_probabilities(self.model, examples))

    # An example of use

    def file(self) -> tuple[str, list[str]] | None:
        if self.positions.vocabulary is None:
            return None
        if self.positions.templates is not None:
            return "new.txt", []
        # A model that was trained on such a file knows the format.
        return "new.crf", [] if self.model.meta.get("format") else ["--format", "crfsuite"]

    def program(self) -> tuple[list[str], str]:
        positions = self.positions
        n = positions.n_inputs
        if positions.templates is None:
            if positions.vocabulary is None:
                made = f"examples = [numpy.zeros((2, {n}))]  # one row per token"
                return [], made
            return [], 'examples = [[{"word": "The"}, {"word": "dog"}]]  # features by name'
        if n == 1:
            return [], f"examples = [{[*SENTENCE]!r}]  # one list of words per sentence"
        rows = [[w, t, *["_"] * (n - 2)] for w, t in zip(SENTENCE, TAGS, strict=True)]
        return [], f"examples = [{rows!r}]  # the columns of each token"


def add_to_spans(answers: Sequence[dict[str, Any]], found: Sequence[Sequence[Any]]) -> None:
    """Add the probabilities of spans to answers."""
    for one, known in zip(answers, found, strict=True):
        odds = {each[:3]: each.probability for each in known}
        for span in one["spans"]:
            span["probability"] = odds.get((span["start"], span["end"], span["label"]))


class SegmentTokenForm(TokenForm):
    """Sequences of tokens with features of segments."""

    view = "spans"

    @property
    def positions(self) -> PositionFeatures:
        features: PositionFeatures = self.features.positions
        return features

    def names(self, given: Sequence[str] | None = None) -> list[FeatureNames]:
        ExampleForm.names(self, given)
        return super().names()

    def _of_kind(self, number: int, kind: str, count: int) -> FeatureNames:
        if number == 1:
            return names_in(self.features.segment_vocabulary, count)
        return FeatureNames(count, 0)

    def _behind(self, source: Any, read: Any) -> dict[int, Any]:
        found = super()._behind(source, read)
        features = self.features
        make = function_of(features.segment_features, features.function)
        if make is not None and features.segment_vocabulary is not None:
            structure: Any = self.model.structure
            sequences = (
                [make(of, a, b) for a, b in structure.segments(structure.topology(n)).tolist()]
                for of, n in zip(read.tokens, read.lengths.tolist(), strict=True)
            )
            rows, names, _ = fit_rows(sequences)
            n_hashed = self.positions.n_hashed
            found[1] = names_of_rows(rows, names, features.segment_vocabulary, n_hashed)
        return found

    def odds(self, table: Any, label: Any, item: Item) -> dict[str, Any]:
        # The table has those of positions.
        return {}

    def to_json(self, label: Any, item: Item) -> dict[str, Any]:
        scheme = scheme_of(self.model)
        if scheme is None:
            return {"spans": [{"start": a, "end": b, "label": name} for a, b, name in label]}
        return {"labels": label, "spans": [one._asdict() for one in spans(label, scheme)]}

    def add_odds(self, answers: Sequence[dict[str, Any]], examples: Any) -> None:
        from .segment_features import segment_spans

        add_to_spans(answers, segment_spans(self.model, examples))

    def file(self) -> tuple[str, list[str]] | None:
        tagged = self.model.meta.get("scheme") is not None
        return (
            None if not tagged or self.features.segment_features == "function" else super().file()
        )


def _listed(examples: Any) -> Any:
    """Return an iterator of sequences as a list, which can be read more than once."""
    if hasattr(examples, "__next__"):
        examples = list(examples)
    if isinstance(examples, list):
        return [list(item) if hasattr(item, "__next__") else item for item in examples]
    return examples


def _unhashed(source: ColumnFile | Sequences, positions: Any) -> Any:
    """Return the tokens of a source with the names of their features."""
    if isinstance(source, ColumnFile):
        if source.by_name or positions.templates is None:
            return source.tokens()
        return made_tokens(source.columns, positions.templates)
    return replace(source, templates=None, separator=positions.vocabulary.separator).tokens()


def _words(source: Any) -> list[Sequence[str]]:
    if isinstance(source, ColumnFile):
        named = source.columns.attributes
        if named is not None:
            return list(source.columns.split(attribute_words(named)))
        return list(source.words())
    if not isinstance(source, Sequences) or source.lengths is not None:
        return []
    return [token_words(sequence) for sequence in source.X]


def _token(word: str, tag: str, n: int) -> Any:
    return word if n == 1 else [word, tag, *["_"] * (n - 2)]


def _shown(token: Any, t: int, where: str) -> str:
    """Return what to show for a token that is a set of features."""
    if isinstance(token, str):
        return token
    if isinstance(token, dict):
        found = (token[key] for key in _WORD_KEYS if isinstance(token.get(key), str))
        return next(found, f"#{t + 1}")
    if isinstance(token, list):
        return f"#{t + 1}"
    place = f"{where}[{t}]"
    raise RefusedInput("wrong_type", f"{place} must be an object or a list of names", place)
