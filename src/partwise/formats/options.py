"""Options: what a user may set for a format or a task, by name on the command line or in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from partwise.formats.tag_schemes import SCHEME_ALIASES, TAG_SCHEMES

__all__ = ["OPTIONS", "Option"]


@dataclass(frozen=True)
class Option:
    """An option of one or several formats or tasks.

    Attributes
    ----------
    flag : str
        The option on the command line: ``"--min-count"``.
    help : str
        What it does, in a few words.
    default
        Its value if it is not given.
    kind : str or tuple
        How its value is read: a name in ``partwise.cli.readers.READERS``, such as "text"; "switch"
        for an option without a value, "choice" for one that also has a form with ``--no-``; or
        the kinds of values of a parameter, see ``partwise.parameters.Parameter``.
    choices : tuple
        The values that it may have; empty if it may have any.
    metavar : str or None
        The name of its value in the help.
    aliases : mapping of str to str
        Other names of some of the values on the command line.
    """

    flag: str
    help: str
    default: Any = None
    kind: Any = "text"
    choices: tuple[Any, ...] = ()
    metavar: str | None = None
    aliases: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        """Its name in Python."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def spelled(self) -> list[str]:
        """All forms of the option on the command line."""
        if self.kind != "choice":
            return [self.flag]
        return [self.flag, f"--no-{self.flag[2:]}"]


_ENCODING: Final = Option(
    "--encoding", "the encoding of the text that is read (default: utf-8)", metavar="NAME"
)
_COLUMNS: Final = Option(
    "--columns",
    "the inputs, separated by commas: for columns numbers from 1 and ranges, elsewhere names "
    "(default: all columns but the label, or the words)",
    metavar="LIST",
)
_LABEL: Final = Option(
    "--label",
    "where the label is: upos, xpos, feats, deprel, lemma, feats:KEY or misc:KEY (default: upos); "
    "for jsonl the key of the labels (default: tags, labels or ner_tags)",
    metavar="NAME",
)
_LABEL_COLUMN: Final = Option(
    "--label-column",
    "the column of the label, from 1, or from the end if negative (default: -1, the last)",
    kind="place",
    metavar="N",
)
_SEPARATOR: Final = Option(
    "--separator",
    "what separates columns: a character, tab or blank (default: a tab if the first line has one, "
    "else blanks and tabs)",
    metavar="TEXT",
)
_LABEL_NAMES: Final = Option(
    "--label-names", "the names of labels that are numbers, from 0, with commas", metavar="LIST"
)
_TOKENIZER: Final = Option(
    "--tokenizer",
    "how text without tokens is cut: words and single marks; the same with don't, well-kept and "
    "3/4 whole, as serve cuts text; or at blanks only (default: words)",
    choices=("words", "compounds", "blanks"),
)
_SPAN_TAGS: Final = Option(
    "--span-tags",
    "the tags that spans become (default: IOB2)",
    choices=tuple(TAG_SCHEMES),
    aliases=SCHEME_ALIASES,
)

_SPANS: Final = (_TOKENIZER, _SPAN_TAGS, _ENCODING)

#: The options of the formats of this package, by the name of the format. They stand here and not
#: beside the readers because the help of the command must not load numpy.
OPTIONS: Final[Mapping[str, tuple[Option, ...]]] = {
    "columns": (_LABEL_COLUMN, _COLUMNS, _SEPARATOR, _ENCODING),
    "crfsuite": (_ENCODING,),
    "conllu": (_LABEL, _COLUMNS, _ENCODING),
    "conllx": (_LABEL, _COLUMNS, _ENCODING),
    "jsonl": (_LABEL, _COLUMNS, _LABEL_NAMES, _ENCODING),
    "spacy": _SPANS,
    "prodigy": _SPANS,
    "doccano": _SPANS,
    "svmlight": (_ENCODING,),
    "conll": (_ENCODING,),
    "brackets": (_ENCODING,),
    "graphs": (_ENCODING,),
}
