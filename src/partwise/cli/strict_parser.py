"""A parser of arguments whose errors name what is misspelled, and what may have been meant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from partwise.wording import did_you_mean

__all__ = ["Refused", "StrictParser"]

#: Options of CRFsuite that have other names here.
_OF_CRFSUITE: Final = {
    "--c1": "c1 of CRFsuite is --l1 here",
    "--c2": "c2 of CRFsuite is half of l2 here, so l2 is twice that number",
}


class Refused(Exception):
    """Arguments that cannot be understood."""


class StrictParser(argparse.ArgumentParser):
    """A parser that raises its errors, and that knows what was meant by a misspelled name.

    Attributes
    ----------
    verbs
        The parsers of the verbs; None for the parser of a verb.
    """

    verbs: Mapping[str, argparse.ArgumentParser] | None = None

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; what is wrong with those of a verb is said by its own parser."""
        verbs = self.verbs or {}
        if args and not args[0].startswith("-") and args[0] not in verbs:
            known = f"use one of {', '.join(verbs)}"
            self.error(f"unknown command {args[0]!r}; {did_you_mean(args[0], verbs, known)}")
        if args and args[0] in verbs and not {"-h", "--help"} & {*args}:
            # Before what is missing is complained about: it may be there, misspelled.
            _refuse_unknown(verbs[args[0]], _unknown_options(args[1:], verbs[args[0]]))
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            _refuse_unknown(verbs[found.command], unknown)
        return found

    def error(self, message: str) -> NoReturn:
        # What is needed only: all options of a verb would hide the message that follows.
        needed = [one for one in self._actions if one.required or not one.option_strings]
        usage = self.formatter_class(prog=f"{self.prog} [options]")
        usage.add_usage(None, needed, [])
        sys.stderr.write(usage.format_help())
        raise Refused(f"{message} (see {self.prog} --help)")


def _option_names(verb: argparse.ArgumentParser) -> list[str]:
    return [name for action in verb._actions for name in action.option_strings]


def _unknown_options(given: Sequence[str], verb: argparse.ArgumentParser) -> list[str]:
    """Return what argparse takes for an option, but the verb does not have."""
    options = set(_option_names(verb))
    end = given.index("--") if "--" in given else len(given)
    return [
        one
        for one in given[:end]
        if one.startswith("--") and " " not in one and one.partition("=")[0] not in options
    ]


def _refuse_unknown(verb: argparse.ArgumentParser, unknown: Sequence[str]) -> None:
    """End with an error that names unknown arguments, and what may have been meant."""
    if not unknown:
        return
    options = _option_names(verb)
    hints = [_hint(one, options) for one in unknown if one.startswith("--")]
    told = "; ".join(dict.fromkeys(filter(None, hints)))
    verb.error(f"unrecognized arguments: {' '.join(unknown)}" + (f"; {told}" if told else ""))


def _hint(given: str, options: Sequence[str]) -> str:
    """Return what somebody may have meant by an option that a verb does not have."""
    name = given.partition("=")[0]
    if name in _OF_CRFSUITE and "--l1" in options:
        return _OF_CRFSUITE[name]
    return did_you_mean(name, options)
