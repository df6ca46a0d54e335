"""Files of feature templates in the language of CRF++ or of Wapiti."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from ...errors import DataError, ModelFileError, Place
from ...formats.columns import Columns
from ...formats.source import read_text
from ...values import one_of
from .column_file import given_columns
from .extraction import ColumnTemplates, Item, Look, Plan, Recipe, number_features
from .patterns import DIALECTS, OUTSIDE, Pattern, read_pattern, sign_of_wapiti
from .templates import TemplateSet
from .wapiti_regexp import whole_name

__all__ = ["DEFAULT", "Templates", "as_templates", "templates_from_json"]

#: The value of `templates` of estimators for the templates of column files.
DEFAULT: Final = "default"

_log = logging.getLogger(__name__)


class Templates(ColumnTemplates):
    """Feature templates in the language of CRF++ or of Wapiti.

    ``U01:%x[-1,0]/%x[0,0]`` gives each token a feature such as ``U01:the/dog``, from column 0 of
    the token before it and of its own. Lines that begin with B give features to pairs of
    neighbouring labels. The page Templates of the documentation describes the
    language.

    Parameters
    ----------
    lines : iterable of str
        One template each; blank lines and comments may be among them.
    dialect : {"crfpp", "wapiti"} or None
        The program whose rules hold. If None, Wapiti if some line has what only Wapiti knows,
        otherwise CRF++.
    path : str
        Where the lines are from, for messages.

    Attributes
    ----------
    patterns : tuple of Pattern
        The templates.
    dialect : str
        The dialect.

    Examples
    --------
    >>> from partwise import Templates
    >>> templates = Templates(["U00:%x[0,0]", "U01:%x[-1,0]/%x[0,0]", "B"])
    >>> templates.apply([["the", "dog"]])
    [[['U00:the', 'U01:_B-1/the'], ['U00:dog', 'U01:the/dog']]]
    """

    def __init__(
        self, lines: Iterable[str], dialect: str | None = None, path: str = "templates"
    ) -> None:
        lines = [lines] if isinstance(lines, str) else list(lines)
        for number, line in enumerate(lines, 1):
            if not isinstance(line, str) or "\n" in line:
                raise DataError(
                    f"{line!r} is not one line of text; give one", place=Place(path, number)
                )
        if dialect is None:
            dialect = _dialect(lines, path)
        one_of("dialect", dialect, DIALECTS)
        self._set(lines, dialect, path)
        if not self.patterns:
            raise DataError(
                "no templates; write one per line, U00:%x[0,0] for example", place=Place(path)
            )
        self._note_twins()

    def _set(self, lines: Sequence[str], dialect: str, path: str) -> None:
        found = (read_pattern(line, dialect, path, n) for n, line in enumerate(lines, 1))
        self.patterns: tuple[Pattern, ...] = tuple(one for one in found if one is not None)
        self.dialect = dialect
        self.path = path

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Templates) and self.dialect == other.dialect
        return same and self.patterns == other.patterns  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.dialect, self.patterns))

    def __repr__(self) -> str:
        return f"Templates({self.names!r}, dialect={self.dialect!r})"

    @classmethod
    def read(cls, path: str | os.PathLike[str], dialect: str | None = None) -> Templates:
        """Read a template file; parameters are those of the class."""
        text = read_text(path)
        return cls(text.text.split("\n"), dialect, text.name)

    def apply(self, X: Sequence[Sequence[Any]]) -> list[list[list[str]]]:
        """Return the names of the features of each token of each sequence.

        Parameters
        ----------
        X : sequence of sequences
            Tokens, each a list of strings, one per column, or one string if there is one column.
        """
        return self._apply(X, self.positions)

    def apply_transitions(self, X: Sequence[Sequence[Any]]) -> list[list[list[str]]]:
        """Return the names of the features of each pair of neighbouring tokens.

        The first pair of a sequence is that of its first two tokens. Parameters are those of
        `apply`.
        """
        pairs = [one for one in self.patterns if one.of_pairs]
        return self._apply(X, _plan(pairs, self.dialect, steps=True))

    def _apply(self, X: Sequence[Sequence[Any]], plan: Plan) -> list[list[list[str]]]:
        columns = given_columns(X, self)
        rows, vocabulary = number_features(columns, plan)
        names, ends = vocabulary.names, rows.indptr.tolist()
        times = [1] * len(rows.indices) if rows.values is None else rows.values.tolist()
        flat = []
        for a, b in pairwise(ends):
            several = zip(rows.indices[a:b].tolist(), times[a:b], strict=True)
            flat.append([names[k] for k, n in several for _ in range(int(n))])
        found, begin = [], 0
        for length in columns.lengths.tolist():
            end = begin + max(length - plan.steps, 0)
            found.append(flat[begin:end])
            begin = end
        return found

    @property
    def names(self) -> list[str]:
        return [one.text for one in self.patterns]

    @property
    def examples(self) -> list[str]:
        shown = [one for one in self.patterns if one.of_tokens][:3]
        return ["...".join(one.texts) for one in shown]

    @cached_property
    def n_columns(self) -> int:
        used = (macro.column for one in self.patterns for macro in one.macros)
        return 1 + max(used, default=0)

    @cached_property
    def positions(self) -> Plan:
        return _plan([one for one in self.patterns if one.of_tokens], self.dialect)

    @cached_property
    def transitions(self) -> Plan | None:
        plain = self._plain
        others = [one for one in self.patterns if one.of_pairs and one is not plain]
        return _plan(others, self.dialect, steps=True) if others else None

    @property
    def plain_transition(self) -> bool:
        return self._plain is not None

    @property
    def _plain(self) -> Pattern | None:
        """The first pattern of pairs without macros, such as ``B``."""
        return next((one for one in self.patterns if one.of_pairs and not one.macros), None)

    def check(self, columns: Columns) -> None:
        n = len(columns.fields)
        for one in self.patterns:
            for macro, at in zip(one.macros, one.columns, strict=True):
                if macro.column >= n:
                    raise DataError(
                        f"%{macro.letter} looks at column "
                        f"{macro.column}, and {columns.path} has {n} besides the label, counted "
                        "from 0; give a smaller number, or a file with more columns",
                        place=Place(self.path, one.line, at),
                    )

    def _note_twins(self) -> None:
        """Log a warning about patterns that cannot be told apart."""
        known: dict[tuple[str, ...], Pattern] = {}
        for one in self.patterns:
            first = known.setdefault(one.texts, one)
            if first is one or not (one.texts[0][1:].strip(":") or one == first):
                # Without an identifier, features are shared on purpose.
                continue
            _log.warning(
                "%s:%d: %s has the identifier of line %d, so that the two share features; give it "
                "one of its own unless this is meant",
                self.path, one.line, one.text, first.line,
            )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {"dialect": self.dialect, "patterns": self.names}

    @classmethod
    def from_json(cls, data: Any) -> Templates:
        """Rebuild templates from what `to_json` returned.

        Raises
        ------
        ModelFileError
            If the object cannot be the result of `to_json`.
        """
        damaged = "the model file is damaged"
        if not isinstance(data, dict) or data.keys() != {"dialect", "patterns"}:
            raise ModelFileError(f"feature templates: no dialect and patterns; {damaged}")
        dialect, lines = data["dialect"], data["patterns"]
        if not isinstance(dialect, str) or dialect not in DIALECTS:
            raise ModelFileError(f"feature templates: unknown dialect {dialect!r}; {damaged}")
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise ModelFileError(f"feature templates: patterns that are no text; {damaged}")
        made = cls.__new__(cls)
        try:
            made._set(lines, dialect, "feature templates")
        except DataError as error:
            raise ModelFileError(f"{error}; {damaged}") from None
        if made.names != lines or not lines:
            raise ModelFileError(f"feature templates: patterns that are none; {damaged}")
        return made


def _plan(patterns: Iterable[Pattern], dialect: str, steps: bool = False) -> Plan:
    """Return how features are made by patterns."""
    numbers: dict[tuple[int, str, str | None], int] = {}
    looks: list[Look] = []
    recipes, cuts = [], False
    for one in patterns:
        items = []
        for macro in one.macros:
            key = (macro.column, macro.letter, macro.regexp)
            if key not in numbers:
                numbers[key] = len(looks)
                looks.append(Look(macro.column, macro.derive()))
                cuts = cuts or macro.letter in "mM"
            items.append(Item(numbers[key], macro.offset, macro.origin))
        recipes.append(Recipe(one.texts, tuple(items)))
    finish = whole_name if cuts else None
    return Plan(tuple(looks), tuple(recipes), OUTSIDE[dialect], finish, steps=steps)


def _dialect(lines: Sequence[str], path: str) -> str:
    """Choose the dialect of some lines, and log why."""
    for number, line in enumerate(lines, 1):
        sign = None if line.startswith("#") else sign_of_wapiti(line)
        if sign is not None:
            _log.info("%s: templates of Wapiti, because line %d %s", path, number, sign)
            return "wapiti"
    _log.info("%s: templates of CRF++, because nothing is of Wapiti only", path)
    return "crfpp"


def as_templates(given: Any) -> ColumnTemplates:
    """Return templates in any of the forms that estimators take: also a path, or lines."""
    if isinstance(given, ColumnTemplates):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Templates.read(given)
    if isinstance(given, Iterable):
        return Templates(given)
    raise DataError(
        f"templates is {given!r}; give partwise.Templates, the path of a template file, a list of "
        f"lines, or {DEFAULT!r}"
    )


def templates_from_json(data: Any) -> ColumnTemplates:
    """Rebuild templates of either kind from what `to_json` returned."""
    if isinstance(data, dict) and "patterns" in data:
        return Templates.from_json(data)
    return TemplateSet.from_json(data)
