"""What a file format is, the registry of formats by name, and the one that a file is read in."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from partwise.errors import DataError, FormatError, MismatchError, Place
from partwise.formats.faults import STRICT
from partwise.formats.options import OPTIONS, Option
from partwise.formats.source import Text, read_text
from partwise.registry import Registry

__all__ = ["FORMATS", "Chosen", "Format", "format_of", "format_options"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    holds : str
        What the files hold: "tokens in columns", "rows of numbers", "dependency trees",
        "phrase-structure trees" or "graphs". Formats that hold the same can replace each other.
    read : callable
        ``read(path, **wanted)`` reads a file, where ``-`` is stdin. All formats that hold the same
        return the same type, such as :class:`partwise.formats.Columns`. It takes the same
        keyword arguments as the reader of the built-in format, and its own options.
    summary : str
        What the files look like, in a few words.
    ends : {"blank line", "line", "brackets"} or None
        What ends an example, so that text can be read as it arrives: a blank line, the end of its
        line, or the end of the line on which its brackets are closed. With "blank line", a later
        example is read together with the first one, which may say how the file is laid out. If
        None, the text is read as a whole.
    separate : {"blank line", "line", "brackets"} or None
        The same for files to train on, if it differs from `ends`: formats whose predictions are
        written as a whole may be read in parts all the same.
    verbatim : bool
        Whether predictions are written into the file as it is, blank lines included.
    write : callable or None
        ``write(path, columns, labels=None, probabilities=None, notes=None, **options)`` writes a
        file, see :func:`partwise.formats.write_tokens`; None if there is no writer.
    options : tuple of Option
        What can be set. Each is a keyword argument of `read`, and of `write` where it applies.
    signs : callable or None
        ``signs(lines)`` takes the first lines of a file, without blank ones, and says in a few
        words why they look like this format; None if they do not.
    finds_all : bool
        Whether `read` takes `faults`, a :class:`partwise.formats.faults.Faults`, and reports all
        faults of a file to it.
    by_name : bool
        Whether the files hold features of tokens by name, and no columns.

    Examples
    --------
    >>> from partwise.formats import Format
    >>> from partwise.formats import read_columns
    >>> Format("tokens in columns", read_columns, "columns of my own", ends="blank line").cut
    'blank line'
    """

    holds: str
    read: Callable[..., Any]
    summary: str
    write: Callable[..., None] | None = None
    options: tuple[Option, ...] = ()
    signs: Callable[[Sequence[str]], str | None] | None = None
    finds_all: bool = False
    by_name: bool = False
    ends: str | None = None
    verbatim: bool = False
    separate: str | None = None

    @property
    def cut(self) -> str | None:
        """What ends an example in a file to train on; None if such files are read as a whole."""
        return self.separate or self.ends


FORMATS: Final[Registry[Format]] = Registry(
    "partwise.formats",
    {
        "columns": "formats.columns:FORMAT",
        "crfsuite": "formats.crfsuite:FORMAT",
        "conllu": "formats.conllu:CONLLU",
        "conllx": "formats.conllu:CONLLX",
        "jsonl": "formats.jsonl:FORMAT",
        "spacy": "formats.spans:SPACY",
        "prodigy": "formats.spans:PRODIGY",
        "doccano": "formats.spans:DOCCANO",
        "svmlight": "formats.svmlight:FORMAT",
        "conll": "formats.conll:FORMAT",
        "brackets": "formats.brackets:FORMAT",
        "graphs": "formats.graph_text:FORMAT",
    },
)


def format_options() -> dict[str, tuple[Option, ...]]:
    """Return the options of all formats; only formats of other packages are imported for it."""
    found = {name: OPTIONS[name] for name in FORMATS if name in OPTIONS}
    for name in FORMATS:
        if name not in found:
            try:
                found[name] = FORMATS[name].options
            except MismatchError as error:
                _log.debug("%s", error)
    return found


def format_of(name: str, holds: str) -> Format:
    """Find a format by its name.

    Parameters
    ----------
    name : str
        A name in ``FORMATS``.
    holds : str
        What its files must hold.
    """
    if name in FORMATS and FORMATS[name].holds == holds:
        return FORMATS[name]
    fitting = [known for known, form in FORMATS.usable().items() if form.holds == holds]
    if name not in FORMATS:
        raise DataError(f"unknown format {name!r}; for {holds} use one of {', '.join(fitting)}")
    raise DataError(
        f"files of the format {name!r} hold {FORMATS[name].holds}, and not {holds}; use one of "
        f"{', '.join(fitting)}"
    )


#: The number of lines whose form is looked at, which are not blank.
_LINES: Final = 50
_FILLED: Final = re.compile(r"^.*\S.*$", re.MULTILINE)


@dataclass(frozen=True)
class Chosen:
    """A format and its options.

    Attributes
    ----------
    name : str or None
        The name of the format; None is the default, unless the file looks like another one.
    options : mapping
        The values of the options that were given, by name.
    """

    name: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Chosen | str | None) -> Chosen:
        """Return a choice as it is; the name of a format, or None, is one without options."""
        return given if isinstance(given, Chosen) else cls(given)

    def record(self) -> dict[str, Any] | None:
        """Return what a model keeps of the choice; None if nothing was chosen."""
        # The encoding belongs to one file, and the model may be given others.
        options = {name: value for name, value in self.options.items() if name != "encoding"}
        if self.name is None and not options:
            return None
        return {"name": self.name, "options": options}

    def after(self, record: Any) -> Chosen:
        """Return the choice, completed by what a model has kept of the one in training."""
        if self.name is not None or not isinstance(record, Mapping):
            return self
        options, name = record.get("options"), record.get("name")
        if not isinstance(options, Mapping) or not (name is None or isinstance(name, str)):
            return self
        # A model file may hold anything.
        sound = {
            key: value
            for key, value in options.items()
            if isinstance(value, int if key == "label_column" else str)
        }
        return Chosen(name, {**sound, **self.options})

    def format(self, default: str) -> Format:
        """Return the format.

        Parameters
        ----------
        default : str
            The format of the task. Files of other formats must hold the same.

        Raises
        ------
        DataError
            If there is no such format, or it does not have one of the options.
        """
        usual = FORMATS[default]
        form = usual if self.name is None else format_of(self.name, usual.holds)
        unknown = self.options.keys() - {option.name for option in form.options}
        if unknown:
            flag = "--" + min(unknown).replace("_", "-")
            having = [
                name
                for name, other in FORMATS.usable().items()
                if min(unknown) in {option.name for option in other.options}
            ]
            raise DataError(
                f"{flag} is no option of the format {self.name or default}; "
                f"{'it belongs to ' + ', '.join(having) if having else 'leave it out'}"
            )
        return form

    def read(self, default: str, path: str | os.PathLike[str] | Text, **wanted: Any) -> Any:
        """Read a file.

        Parameters
        ----------
        default : str
            The format of the task.
        path
            The file; ``-`` is stdin.
        **wanted
            The arguments of the reader.

        Raises
        ------
        FormatError
            If no format was chosen and the file looks like another one than the default.
        """
        form = self.format(default)
        source: Any = path
        if self.name is None and form.write is not None:
            source = read_text(path, self.options.get("encoding"), wanted.get("faults", STRICT))
            _check_signs(source, default, form)
        return form.read(source, **self.options, **wanted)


def _check_signs(source: Text, default: str, form: Format) -> None:
    """Raise a FormatError if a text looks like another format that holds the same.

    Parameters
    ----------
    source : Text
        The text.
    default, form
        The format that it would be read in, and its name.
    """
    lines = [found.group() for found in islice(_FILLED.finditer(source.text), _LINES)]
    if not lines:
        return
    others: dict[str, str] = {}
    for name, other in FORMATS.usable().items():
        if other is not form and other.holds == form.holds and other.signs is not None:
            why = other.signs(lines)
            if why is not None:
                others[name] = why
    if others:
        first, why = next(iter(others.items()))
        choices = " or ".join(f"--format {name}" for name in others)
        raise FormatError(
            f"looks like the format {first} ({why}) and would be read as {default}; "
            f"say {choices} to read it so, or --format {default} if it is {form.summary}",
            place=Place(source.name),
        )
