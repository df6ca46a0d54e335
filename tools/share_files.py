"""Write the completions and manual pages that the wheel installs into ``share``.

    python tools/share_files.py FOLDER    # to look at them

tools/build_backend.py writes them when the wheel is built, from the parser of the command. That
takes shtab and nothing that partwise needs when it runs. The folders are those where shells and
``man`` look.

Completions for bash, zsh and fish are made by shtab, which is kept up by the people of tqdm and
knows all three shells; what it writes needs no Python when a user presses Tab. What the parser does
not say is added here: which values are files and folders, and the names of solvers and formats,
which the parser takes as text because other packages can add some.

Manual pages are one of the command, and one per verb, as git has them. Tools that make them for any
argparse program (argparse-manpage, help2man) leave out the epilogs of verbs, which have the
examples, or copy the usage as the running Python prints it, which differs between versions. Here
the text is the same under every Python.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import shtab

SOURCES: Final = Path(__file__).resolve().parent.parent / "src"
if __name__ == "__main__":
    sys.path.insert(0, str(SOURCES))

import partwise  # noqa: E402
from partwise.cli.parser import build_parser  # noqa: E402
from partwise.formats.registry import FORMATS  # noqa: E402
from partwise.models.foreign.registry import MODEL_FORMATS  # noqa: E402
from partwise.registry import Registry  # noqa: E402
from partwise.solvers.registry import SOLVERS  # noqa: E402

__all__ = ["SOURCES", "described_parser", "main", "share_files", "verbs_of", "write"]

_SHELLS: Final = {
    "bash": "bash-completion/completions/partwise",
    "zsh": "zsh/site-functions/_partwise",
    "fish": "fish/vendor_completions.d/partwise.fish",
}


def share_files() -> dict[str, str]:
    """Return the texts of all files by their paths in ``share``."""
    files = {path: completion(shell) for shell, path in _SHELLS.items()}
    return files | {f"man/man1/{name}": text for name, text in manual_pages().items()}


def write(folder: Path) -> None:
    """Write all files into a folder."""
    for name, text in share_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))


def main(argv: Sequence[str]) -> int:
    """Write the files into the folder that is named, and return the exit code."""
    if len(argv) != 1:
        print("usage: python tools/share_files.py FOLDER", file=sys.stderr)
        return 2
    write(Path(argv[0]))
    return 0


# Completions

#: What the values of arguments are called in the help where they are files or folders.
_FILES: Final = frozenset(
    {"BEST", "DATA", "FILE", "HTML", "IN", "MD", "MODEL", "OUT", "PNG", "TRAIN"}
)
_FOLDERS: Final = frozenset({"DIR"})


def completion(shell: str) -> str:
    """Return the completion of ``partwise`` for a shell.

    Parameters
    ----------
    shell : str
        "bash", "zsh" or "fish".
    """
    text: str = shtab.complete(described_parser(), shell=shell)
    return text.rstrip("\n") + "\n"


def described_parser() -> argparse.ArgumentParser:
    """Return the parser of the command, with all that can be completed."""
    parser = build_parser()
    for name, verb in verbs_of(parser).items():
        for action in verb._actions:
            _describe(name, action)
    return parser


def verbs_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the verbs by their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise ValueError(f"{parser.prog} has no verbs")


def _describe(verb: str, action: Any) -> None:
    """Note what the value of an argument may be."""
    if action.metavar in _FILES:
        action.complete = shtab.FILE
    elif action.metavar in _FOLDERS:
        action.complete = shtab.DIRECTORY
    elif "--solver" in action.option_strings or (verb == "solvers" and action.dest == "name"):
        action.choices = list(_own(SOLVERS))
    elif "--format" in action.option_strings:
        action.choices = list(_own(FORMATS))
    elif verb == "convert" and action.dest in ("from_format", "to_format"):
        action.choices = [*_own(FORMATS), *_own(MODEL_FORMATS)]


def _own(names: Registry[Any]) -> Iterator[str]:
    """Return the names of this package: those of others may not be there for the user."""
    return (name for name in names if names.built_in(name))


# Manual pages

#: Epilogs say what the exit codes are; the pages have a section for them.
_CODES: Final = re.compile(r"^exit codes:\n(.*?)\n\n(.*)\Z", re.M | re.S)
_CODE: Final = re.compile(r"^  (\d[\d, ]*?)  (.*(?:\n     .*)*)", re.M)
_EXAMPLES: Final = re.compile(r"^examples?:\n((?:  .*\n?)+)", re.M)
_ENVIRONMENT: Final = r"""
.SH ENVIRONMENT
.TP
.B NUMBA_CACHE_DIR
Where compiled code is kept. By default it is kept beside the sources of partwise, or in the cache
folder of the user if nothing can be written there.
"""


def manual_pages() -> dict[str, str]:
    """Return the pages by the names of their files."""
    parser = build_parser()
    verbs = verbs_of(parser)
    pages = {"partwise.1": _page_of_all(parser, verbs)}
    for name, verb in verbs.items():
        pages[f"partwise-{name}.1"] = _page_of_verb(name, verb, list(verbs))
    return pages


def _page_of_all(parser: argparse.ArgumentParser, verbs: dict[str, argparse.ArgumentParser]) -> str:
    lines = [
        *_heading("partwise", parser.description),
        ".SH SYNOPSIS",
        r".B partwise",
        r"\fICOMMAND\fR [\fIOPTION\fR ...]",
        ".br",
        r".B partwise",
        r"[\fB\-\-help\fR | \fB\-\-version\fR]",
        ".SH DESCRIPTION",
        _sentence(parser.description),
        *_epilogue(parser.epilog),
        ".SH COMMANDS",
    ]
    for name, verb in verbs.items():
        lines += [".TP", rf"\fBpartwise\-{name}\fR(1)", _sentence(verb.description)]
    lines += _codes(parser.epilog)
    lines.append(_ENVIRONMENT.strip("\n"))
    lines += _see_also([f"partwise-{name}" for name in verbs])
    return "\n".join(lines) + "\n"


def _page_of_verb(name: str, verb: argparse.ArgumentParser, verbs: list[str]) -> str:
    lines = [
        *_heading(f"partwise-{name}", verb.description),
        ".SH SYNOPSIS",
        rf"\fBpartwise {name}\fR " + " ".join(_synopsis(verb)),
        ".SH DESCRIPTION",
        _sentence(verb.description),
        *_epilogue(verb.epilog),
    ]
    for group in verb._action_groups:
        listed = [one for one in group._group_actions if one.help != argparse.SUPPRESS]
        if not listed:
            continue
        # What argparse calls its own groups depends on the version of Python.
        title = group.title or ""
        if group is verb._positionals:
            title = "arguments"
        elif group is verb._optionals:
            title = "options"
        lines.append(f".SH {_escaped(title.upper())}")
        if group.description:
            lines.append(_sentence(group.description))
        for action in listed:
            lines += [".TP", _spelled(action), _sentence(_help(verb, action))]
    lines += _codes(verb.epilog)
    lines += _see_also(["partwise", *(f"partwise-{one}" for one in verbs if one != name)])
    return "\n".join(lines) + "\n"


def _heading(name: str, summary: str | None) -> list[str]:
    said = (summary or "").rstrip(".")
    said = said[:1].lower() + said[1:]
    version = _escaped(f"partwise {partwise.__version__}")
    return [
        r".\" Made by tools/manual.py from the parser of the command.",
        f'.TH {_escaped(name.upper())} 1 "" "{version}" "partwise"',
        ".nh",
        ".ad l",
        ".SH NAME",
        f"{_escaped(name)} \\- {_escaped(said)}",
    ]


def _synopsis(verb: argparse.ArgumentParser) -> Iterator[str]:
    """Return what a verb needs, and that it takes options."""
    for action in verb._actions:
        if action.option_strings and action.required:
            value = action.metavar or action.dest.upper()
            yield rf"\fB{_escaped(action.option_strings[-1])}\fR \fI{_escaped(str(value))}\fR"
    yield r"[\fIOPTION\fR ...]"
    for action in verb._actions:
        if not action.option_strings:
            shape = {"?": "[{}]", "+": "{} ..."}.get(str(action.nargs), "{}")
            yield shape.format(_value(action))


def _spelled(action: argparse.Action) -> str:
    """Return an argument as users write it."""
    if not action.option_strings:
        return _value(action)
    flags = ", ".join(rf"\fB{_escaped(flag)}\fR" for flag in action.option_strings)
    return flags if action.nargs == 0 else f"{flags} {_value(action)}"


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return rf"\fI{_escaped(action.metavar)}\fR"
    if action.choices is not None:
        return " | ".join(rf"\fB{_escaped(str(one))}\fR" for one in action.choices)
    return rf"\fI{_escaped(action.dest.upper())}\fR"


def _help(verb: argparse.ArgumentParser, action: argparse.Action) -> str:
    if isinstance(action, argparse._HelpAction):
        return "print a shorter form of this page"
    return (action.help or "") % {**vars(action), "prog": verb.prog}


def _epilogue(text: str | None) -> list[str]:
    """Return the examples and paragraphs of an epilog, without its exit codes."""
    kept = _CODES.sub("", text or "")
    lines: list[str] = []
    for part in re.split(r"(?<=\n)\n+", kept):
        examples = _EXAMPLES.match(part)
        if examples:
            shown = "\n".join(_escaped(line[2:]) for line in examples[1].splitlines())
            lines += [".PP", "Examples:", ".PP", ".RS 4", ".nf", shown, ".fi", ".RE"]
            part = part[examples.end() :]
        # A task per paragraph: what it reads or writes.
        for paragraph in re.split(r"\n(?! )(?=--task )", part.strip("\n")):
            if paragraph:
                lines += [".PP", _sentence(" ".join(paragraph.split()))]
    return lines


def _codes(text: str | None) -> list[str]:
    found = _CODES.search(text or "")
    if found is None:
        raise ValueError("the epilog of a command does not say what its exit codes are")
    lines = [".SH EXIT STATUS"]
    for code, meaning in _CODE.findall(found[1]):
        lines += [".TP", rf"\fB{code}\fR", _sentence(" ".join(meaning.split()))]
    return [*lines, ".SH FILES AND STREAMS", _sentence(" ".join(found[2].split()))]


def _see_also(names: list[str]) -> list[str]:
    return [".SH SEE ALSO", ",\n".join(rf"\fB{_escaped(name)}\fR(1)" for name in names)]


def _sentence(text: str | None) -> str:
    escaped = _escaped(text or "")
    # A line that begins with a dot or an apostrophe would be a request of roff.
    return rf"\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _escaped(text: str) -> str:
    """Return text as roff prints it."""
    for plain, spelled in (("\\", r"\e"), ("-", r"\-"), ("'", r"\(aq"), ("`", r"\(ga"),
                           ("^", r"\(ha"), ("~", r"\(ti"), ('"', r"\(dq")):  # fmt: skip
        text = text.replace(plain, spelled)
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
