"""Tokens of taggers and segmenters: columns, named features or numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...tasks.sequences.column_file import ColumnFile, as_columns
from ...tasks.sequences.features import PositionFeatures
from ..faults import Fault
from .base import Exchange, Item
from .numbers import matrix
from .samples import Sample, best_sample

__all__ = ["TokenExchange"]

#: The names of what a token may be called among its own features, to show it.
_WORD_KEYS = ("word", "form", "token", "text", "w")


class TokenExchange(Exchange):
    """What taggers and segmenters share."""

    @property
    def positions(self) -> PositionFeatures:
        """The features of positions."""
        features = getattr(self.model.features, "positions", self.model.features)
        assert isinstance(features, PositionFeatures)
        return features

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
            return {"tokens": [self._token(w, tag, n) for w, tag in zip(*best, strict=True)]}
        names = self.positions.vocabulary
        if names is not None:
            return {"tokens": ["bias"] if names.hashed else list(names.names[:6])}
        return {"tokens": [[0.0] * self.positions.n_inputs] * 3}

    @staticmethod
    def _token(word: str, tag: str, n: int) -> Any:
        return word if n == 1 else [word, tag, *["_"] * (n - 2)]

    def _known(self, sample: Sample) -> float:
        n = self._columns
        columns = as_columns([[self._token(w, t, n) for w, t in zip(*sample, strict=True)]], n)
        assert columns is not None
        tally = ColumnFile(columns).tokens(self.positions).tally
        return tally.known / max(tally.given, 1)

    def from_words(self, words: list[str]) -> Any:
        return words

    def read_field(self, given: Mapping[str, Any], where: str) -> Item:
        tokens, place = given["tokens"], f"{where}.tokens"
        self.check_length(len(tokens), place)
        if self._columns:
            words = self._words_of_columns(tokens, place)
            example: Any = tokens
        elif self.positions.vocabulary is not None:
            words = [_shown(token, t, place) for t, token in enumerate(tokens)]
            example = tokens
        else:
            words = [f"#{t}" for t in range(1, len(tokens) + 1)]
            example = matrix(tokens, self.positions.n_inputs, place)
        steps = self._transitions(given, len(tokens), where)
        return Item(example, words, len(tokens), transitions=steps)

    def _words_of_columns(self, tokens: Sequence[Any], where: str) -> list[str]:
        n = self._columns
        words = []
        for t, token in enumerate(tokens):
            values = [token] if isinstance(token, str) else token
            fits = isinstance(values, list) and len(values) == n
            if not fits or not all(isinstance(value, str) for value in values):
                raise Fault(
                    422, "wrong_columns",
                    f"{where}[{t}] is not a token of this model; {self.reads()['about']}",
                    f"{where}[{t}]",
                )  # fmt: skip
            words.append(values[0])
        return words

    def _transitions(self, given: Mapping[str, Any], n: int, where: str) -> list[Any] | None:
        templates = self.positions.templates
        wanted = self.positions.input_transitions
        if templates is not None and templates.transitions is not None:
            wanted = False
        steps = given.get("transitions")
        if (steps is not None) != wanted or (steps is not None and len(steps) != n - 1):
            need = f"give the features of its {n - 1} pairs of neighbours" if wanted else (
                "the model has no features of neighbours; leave them out"
            )  # fmt: skip
            raise Fault(422, "wrong_transitions", need, f"{where}.transitions")
        if steps is not None and self.positions.transition_vocabulary is None:
            width = self.positions.n_transition_features or 0
            return matrix(steps, width, f"{where}.transitions")  # type: ignore[return-value]
        return steps

    def given(self, items: Sequence[Item]) -> tuple[Any, dict[str, Any]]:
        examples = [item.example for item in items]
        if self._columns:
            columns = as_columns(examples, self._columns)
            assert columns is not None
            return ColumnFile(columns), {}
        if items[0].transitions is not None:
            return examples, {"X_transitions": [item.transitions for item in items]}
        return examples, {}


def _shown(token: Any, t: int, where: str) -> str:
    """Return what to show for a token that is a set of features."""
    if isinstance(token, str):
        return token
    if isinstance(token, dict):
        found = (token[key] for key in _WORD_KEYS if isinstance(token.get(key), str))
        return next(found, f"#{t + 1}")
    if isinstance(token, list):
        return f"#{t + 1}"
    raise Fault(
        422, "wrong_type", f"{where}[{t}] must be an object or a list of names", f"{where}[{t}]"
    )
