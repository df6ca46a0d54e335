"""The format that a file is read in: the one that was chosen, or the default of the task."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from partwise.errors import DataError, FormatError, Place
from partwise.formats.base import Format
from partwise.formats.faults import STRICT
from partwise.formats.registry import FORMATS, format_of
from partwise.formats.source import Text, read_text

__all__ = ["Chosen", "other_formats"]

#: The number of lines that are looked at.
_LINES: Final = 50


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
        """Return a choice, which may be given by the name of a format or by None."""
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
        unknown = self.options.keys() - form.own(dict(self.options)).keys()
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


def other_formats(text: str, form: Format) -> dict[str, str]:
    """Return the formats that a text looks like, and why; all hold the same as a format.

    Parameters
    ----------
    text : str
        The text of a file.
    form : Format
        The format that the text is read in, which is not among the result.
    """
    lines = _first_lines(text)
    found: dict[str, str] = {}
    if lines:
        for name, other in FORMATS.usable().items():
            if other is not form and other.holds == form.holds and other.signs is not None:
                why = other.signs(lines)
                if why is not None:
                    found[name] = why
    return found


def _first_lines(text: str) -> list[str]:
    lines: list[str] = []
    begin = 0
    while begin < len(text) and len(lines) < _LINES:
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        if text[begin:end].strip():
            lines.append(text[begin:end])
        begin = end + 1
    return lines


def _check_signs(source: Text, default: str, form: Format) -> None:
    others = other_formats(source.text, form)
    if others:
        first, why = next(iter(others.items()))
        choices = " or ".join(f"--format {name}" for name in others)
        raise FormatError(
            f"looks like the format {first} ({why}) and would be read as {default}; "
            f"say {choices} to read it so, or --format {default} if it is {form.summary}",
            place=Place(source.name),
        )
