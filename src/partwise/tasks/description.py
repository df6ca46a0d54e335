"""Docstrings of estimators, completed by the parameters that they inherit."""

from __future__ import annotations

import inspect
import re
from typing import Any, Final, TypeVar

__all__ = ["documented"]

_Class = TypeVar("_Class", bound=type[Any])

_HEADER: Final = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY: Final = re.compile(r"^(?=\S)([^\n:]+?)(?: :[^\n]*)?\n", re.MULTILINE)
_INHERITED: Final = ("Parameters", "Attributes")


def documented(kind: _Class) -> _Class:
    """Complete the docstring of a class by the parameters and attributes that it inherits.

    Every parameter of the constructor and every attribute gets the description of the nearest class
    that describes it.
    """
    own = _sections(kind.__doc__ or "")
    known: dict[str, dict[str, str]] = {title: {} for title in _INHERITED}
    for base in kind.__mro__:
        sections = _sections(base.__dict__.get("__doc__") or "")
        for title in _INHERITED:
            for name, text in _entries(sections.get(title, "")).items():
                known[title].setdefault(name, text)
    described = known["Parameters"]
    wanted = [described[name] for name in inspect.signature(kind).parameters if name in described]
    lists = {"Parameters": wanted, "Attributes": list(known["Attributes"].values())}
    # One text may describe two parameters, such as "start, end".
    made = {title: "\n".join(dict.fromkeys(texts)) for title, texts in lists.items() if texts}
    rest = {title: text for title, text in own.items() if title and title not in made}
    parts = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in {**made, **rest}.items()]
    kind.__doc__ = "\n\n".join([own.get("", ""), *parts]) + "\n"
    return kind


def _sections(doc: str) -> dict[str, str]:
    """Split a docstring into its sections; the name of the text before them is ""."""
    text = inspect.cleandoc(doc)
    headers = [*_HEADER.finditer(text)]
    ends = [header.start() for header in headers] + [len(text)]
    found = {"": text[: ends[0]].strip()}
    for header, end in zip(headers, ends[1:], strict=True):
        found[header.group(1)] = text[header.end() : end].strip("\n")
    return found


def _entries(section: str) -> dict[str, str]:
    """Return the text that describes each name of a section, its header included."""
    places = [*_ENTRY.finditer(section + "\n")]
    ends = [*(place.start() for place in places), len(section)][1:]
    return {
        name.strip(): section[place.start() : end].rstrip()
        for place, end in zip(places, ends, strict=True)
        for name in place.group(1).split(",")
    }
