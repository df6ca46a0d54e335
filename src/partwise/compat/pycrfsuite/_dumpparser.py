"""What `Tagger.info` returns, and a parser of the text that `Tagger.dump` writes."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["CRFsuiteDumpParser", "ParsedDump"]

_SECTION: Final = re.compile(r"(FILEHEADER|LABELS|ATTRIBUTES|TRANSITIONS|STATE_FEATURES) = \{")
_ENTRY: Final = re.compile(r"(\w+): (.*)")
_WEIGHT: Final = re.compile(r"\(\d+\) (.*) --> (.*): ([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$")


class ParsedDump:
    """What is in a model of CRFsuite.

    Attributes
    ----------
    transitions : dict
        The weights of pairs of labels: ``{(from, to): weight}``.
    state_features : dict
        The weights of attributes with labels: ``{(attribute, label): weight}``.
    header : dict
        The header of the model file, as strings.
    labels, attributes : dict
        The numbers of the names, as strings: ``{name: number}``.

    Examples
    --------
    >>> from partwise.compat import pycrfsuite
    >>> trainer = pycrfsuite.Trainer(verbose=False)
    >>> trainer.append([["the"], ["cat"]], ["DET", "NOUN"])
    >>> trainer.train("tags.crfsuite")
    >>> tagger = pycrfsuite.Tagger()
    >>> with tagger.open("tags.crfsuite"):
    ...     dump = tagger.info()
    >>> sorted(dump.labels), sorted(dump.transitions)
    (['DET', 'NOUN'], [('DET', 'NOUN')])
    """

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


class CRFsuiteDumpParser:
    """Reads the text of ``crfsuite dump``, line by line.

    Attributes
    ----------
    result : ParsedDump
        What was read so far.
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.result = ParsedDump()

    def feed(self, line: str) -> None:
        """Read a line."""
        # Names may end with spaces.
        line = line.lstrip().rstrip("\r\n")
        section = _SECTION.match(line)
        if section:
            self.state = section.group(1)
        elif line == "}":
            self.state = None
        elif line:
            self._entry(line)

    def _entry(self, line: str) -> None:
        result = self.result
        tables = {
            "FILEHEADER": result.header,
            "LABELS": result.labels,
            "ATTRIBUTES": result.attributes,
        }
        weights = {"TRANSITIONS": result.transitions, "STATE_FEATURES": result.state_features}
        pattern = _ENTRY if self.state in tables else _WEIGHT
        found = pattern.match(line)
        if self.state is None or found is None:
            raise ValueError(f"the line {line!r} is none of a dump of CRFsuite")
        if self.state in weights:
            source, target, weight = found.groups()
            weights[self.state][source, target] = float(weight)
        elif self.state == "FILEHEADER":
            result.header[found.group(1)] = found.group(2)
        else:
            tables[self.state][found.group(2)] = found.group(1)
