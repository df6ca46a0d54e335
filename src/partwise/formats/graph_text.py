r"""Graphs as text: one vertex or edge per line, and a blank line after each graph.

    node v1 sea  blue depth:3.5
    node v2 land green
    edge v1 v2   border:0.25

A ``node`` line has the name of a vertex, its label and its features; an ``edge`` line the names of
two vertices and the features of the edge. The label ``?`` is not known. A feature is a name, whose
value is 1, or ``name:value``; ``\:`` and ``\\`` stand for a colon and a backslash in a name. Lines
that begin with ``#`` are comments.

Graphs of vertices with different sets of labels, and of factors over any number of vertices, have
two further kinds of lines:

    vertex t1 team home
    factor plays t1,t2,t3 league:2

A ``vertex`` line has the name of a vertex, the name of its set of labels (its domain) and its
label; a ``factor`` line a kind, the vertices and the features. ``node`` is short for a vertex of
the domain ``label`` and a factor of the kind ``node`` that has its features; ``edge`` for a factor
of the kind ``edge``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from partwise.errors import DataError, Place
from partwise.formats.graph_file import (
    FIELD,
    LABEL_PLACE,
    Factor,
    GraphFile,
    TextGraph,
    checked_field,
)
from partwise.formats.options import OPTIONS
from partwise.formats.registry import Format
from partwise.formats.source import read_text, writing

__all__ = ["FORMAT", "Factor", "GraphFile", "TextGraph", "read_graph_text", "write_graph_text"]

#: The label of a vertex whose label is not known.
UNKNOWN: Final = "?"
#: The domain of the vertices of ``node`` lines, and the kinds of factors of these and of edges.
_LABEL, _NODE, _EDGE = "label", "node", "edge"
_SHAPES: Final = {
    "node": "node NAME LABEL FEATURE ...",
    "edge": "edge NAME NAME FEATURE ...",
    "vertex": "vertex NAME DOMAIN LABEL",
    "factor": "factor KIND NAME,NAME,... FEATURE ...",
}
_NAME: Final = re.compile(r"(?:[^\\:]|\\[\\:])+")


def read_graph_text(
    source: str | os.PathLike[str],
    *,
    labelled: bool = True,
    empty: bool = False,
    featured: set[str] | None = None,
    part: bool = False,
    encoding: str | None = None,
) -> GraphFile:
    r"""Read a file of graphs.

    Parameters
    ----------
    source
        A path (plain or gzipped), or ``"-"`` for standard input.
    labelled
        Whether every vertex must have a label.
    empty
        Whether the file may have no graphs.
    featured
        The kinds of factors that have features. If None, those of which one factor in the file has
        features.
    part
        Whether this is a part of a file, so that the factors that have features are not known yet.
    encoding
        The encoding of the file; None is UTF-8.

    Raises
    ------
    DataError
        If a line cannot be understood, or the graphs are none that a model can be trained on; the
        message names the line and, where there is one, the column.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_graph_text
    >>> _ = Path("t.graph").write_text("node a sea w=1\nnode b land w=2\nedge a b\n")
    >>> read_graph_text("t.graph").labels()
    [['sea', 'land']]
    """
    text = read_text(source, encoding)
    name, reader = text.name, _Reader(text.name, labelled)
    for number, line in text.lines():
        reader.line(number, line)
    reader.end()
    if not reader.graphs and not empty:
        raise DataError(
            f"no graphs; expected lines `{_SHAPES['node']}` and `{_SHAPES['edge']}`, and a "
            "blank line after each graph",
            place=Place(name),
        )
    found = GraphFile(name, reader.graphs)
    if not part:
        found.check_vertices(found.featured if featured is None else featured)
    return found


class _Reader:
    """Reads a file line by line."""

    def __init__(self, name: str, labelled: bool) -> None:
        self.name = name
        self.labelled = labelled
        self.graphs: list[TextGraph] = []
        self.graph = TextGraph()
        self.numbers: dict[str, int] = {}
        # Factors whose vertices may be named by later lines: kind, names with their columns,
        # features and line.
        self.waiting: list[tuple[str, list[tuple[int, str]], dict[str, float], int]] = []
        self.domains: dict[str, tuple[tuple[str, ...], int]] = {}  # by kind, with the first line

    def line(self, number: int, text: str) -> None:
        """Read a line; a blank one ends a graph."""
        fields = [(match.start() + 1, match.group()) for match in FIELD.finditer(text)]
        if not fields:
            self.end()
            return
        if not self.graph.rows:
            self.graph = TextGraph(begin=number)
        self.graph.rows.append(text)
        column, what = fields[0]
        if what.startswith("#"):
            return
        if what not in _SHAPES:
            self.fail(
                number, column, f"the line begins with {what!r}; begin it with "
                f"{', '.join(_SHAPES)} or #",
            )  # fmt: skip
        needed = 4 if what == "vertex" else 3
        if len(fields) < needed or (what == "vertex" and len(fields) > needed):
            self.fail(
                number, len(text) + 1 if len(fields) < needed else fields[needed][0],
                f"{len(fields)} fields; expected `{_SHAPES[what]}`",
            )  # fmt: skip
        if what in LABEL_PLACE:
            domain = _LABEL if what == "node" else fields[2][1]
            self.vertex(number, fields[1], domain, fields[LABEL_PLACE[what]])
        if what == "node":
            self.factor(number, _NODE, [fields[1]], fields[3:])
        elif what == "edge":
            self.factor(number, _EDGE, fields[1:3], fields[3:])
        elif what == "factor":
            self.factor(number, fields[1][1], self.listed(number, *fields[2]), fields[3:])

    def vertex(
        self, number: int, name: tuple[int, str], domain: str, label: tuple[int, str]
    ) -> None:
        """Add a vertex."""
        graph = self.graph
        if name[1] in self.numbers:
            first = graph.lines[self.numbers[name[1]]]
            self.fail(
                number, name[0], f"the graph has a vertex {name[1]!r} already, in line {first}; "
                "give every vertex of a graph a name of its own, and a blank line after each graph",
            )  # fmt: skip
        if "," in name[1]:
            self.fail(number, name[0], f"the name {name[1]!r} holds a comma; replace it")
        known = label[1] != UNKNOWN
        if self.labelled and not known:
            self.fail(
                number, label[0], "the label is not known; give the label of every vertex",
            )  # fmt: skip
        self.numbers[name[1]] = len(graph.names)
        graph.names.append(name[1])
        graph.domains.append(domain)
        graph.labels.append(label[1] if known else None)
        graph.lines.append(number)

    def listed(self, number: int, column: int, text: str) -> list[tuple[int, str]]:
        """Split the vertices of a factor."""
        found = []
        for name in text.split(","):
            if not name:
                self.fail(number, column, f"the vertices {text!r} hold an empty name; write a,b,c")
            found.append((column, name))
            column += len(name) + 1
        return found

    def factor(
        self,
        number: int,
        kind: str,
        vertices: list[tuple[int, str]],
        features: list[tuple[int, str]],
    ) -> None:
        """Read the features of a factor; its vertices are looked up at the end of the graph."""
        found: dict[str, float] = {}
        for column, text in features:
            match = _NAME.match(text)
            rest = text[match.end() :] if match else text
            if not match or (rest and not rest.startswith(":")):
                self.fail(
                    number, column, f"the feature {text!r}; expected NAME or NAME:VALUE, with "
                    r"\: and \\ for a colon and a backslash in the name",
                )  # fmt: skip
            name = re.sub(r"\\(.)", r"\1", match.group())
            if name in found:
                self.fail(number, column, f"the feature {name!r} occurs twice; give it once")
            found[name] = self.value(number, column + match.end() + 1, rest[1:]) if rest else 1.0
        self.waiting.append((kind, vertices, found, number))

    def value(self, number: int, column: int, text: str) -> float:
        """Read the value of a feature."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or "_" in text:
            self.fail(
                number, column, f"the value {text!r} is no finite number; write \\: for a colon "
                "in a name",
            )  # fmt: skip
        return value

    def end(self) -> None:
        """End the graph."""
        for kind, vertices, features, number in self.waiting:
            scope = []
            for column, name in vertices:
                vertex = self.numbers.get(name, -1)
                if vertex < 0:
                    self.fail(
                        number, column, f"the graph has no vertex {name!r}; name its vertices in "
                        "lines of their own, and put blank lines only between graphs",
                    )  # fmt: skip
                if vertex in scope:
                    self.fail(
                        number, column, f"the vertex {name!r} twice; the vertices of an edge or a "
                        "factor must be different",
                    )  # fmt: skip
                scope.append(vertex)
            self.check_domains(kind, tuple(scope), number, vertices[0][0])
            factor = Factor(tuple(scope), features, number)
            self.graph.factors.setdefault(kind, []).append(factor)
        if self.graph.names:
            self.graphs.append(self.graph)
        self.graph = TextGraph()
        self.numbers, self.waiting = {}, []

    def check_domains(self, kind: str, scope: tuple[int, ...], number: int, column: int) -> None:
        """Check that all factors of a kind are over the same domains."""
        mine = tuple(self.graph.domains[vertex] for vertex in scope)
        wanted, line = self.domains.setdefault(kind, (mine, number))
        if mine != wanted:
            self.fail(
                number, column, f"a factor of kind {kind!r} over vertices of {', '.join(mine)}, "
                f"where the one in line {line} is over {', '.join(wanted)}; give factors over "
                "other domains a kind of their own",
            )  # fmt: skip

    def fail(self, number: int, column: int, why: str) -> NoReturn:
        """Raise a DataError about a place in the file."""
        raise DataError(why, place=Place(self.name, number, column))


def write_graph_text(
    path: str | os.PathLike[str],
    examples: Sequence[Mapping[str, object]],
    labels: Sequence[Sequence[str | None]] | None = None,
) -> None:
    r"""Write graphs.

    Parameters
    ----------
    path
        Where to write; ``"-"`` is standard output and ``.gz`` is gzipped.
    examples
        Graphs as `GraphFile.examples` returns them: dicts of ``domains`` and ``factors``, where the
        features of factors are dicts of numbers, or None. Vertices are named 0, 1, 2, ...
    labels
        The labels of the vertices of every graph; None where they are not known.

    Raises
    ------
    DataError
        If a name or label is empty or holds blanks.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_graph_text, write_graph_text
    >>> _ = Path("t.graph").write_text("node a sea w=1\nnode b land w=2\nedge a b\n")
    >>> write_graph_text("out.graph", read_graph_text("t.graph").examples(), [["land", "sea"]])
    >>> Path("out.graph").read_text().splitlines()[:2]
    ['vertex 0 label land', 'vertex 1 label sea']
    """
    known = [None] * len(examples) if labels is None else labels
    with writing(path) as stream:
        for example, mine in zip(examples, known, strict=True):
            stream.writelines(f"{line}\n" for line in _graph_lines(example, mine))
            stream.write("\n")


def _graph_lines(example: Mapping[str, object], labels: Sequence[str | None] | None) -> list[str]:
    domains: Sequence[str] = example["domains"]  # type: ignore[assignment]
    factors: Mapping[str, tuple[Sequence[Sequence[int]], Sequence[Mapping[str, float]] | None]]
    factors = example["factors"]  # type: ignore[assignment]
    lines = []
    for vertex, domain in enumerate(domains):
        label = None if labels is None else labels[vertex]
        told = UNKNOWN if label is None else checked_field(label, "the label")
        lines.append(f"vertex {vertex} {checked_field(domain, 'the domain')} {told}")
    for kind, (scopes, tables) in factors.items():
        checked_field(kind, "the kind of factor")
        for number, scope in enumerate(scopes):
            named = ",".join(map(str, scope))
            features = {} if tables is None else tables[number]
            told = "".join(f" {_spelled(name, value)}" for name, value in features.items())
            lines.append(f"factor {kind} {named}{told}")
    return lines


def _spelled(name: str, value: float) -> str:
    text = re.sub(r"([\\:])", r"\\\1", checked_field(name, "the name of a feature"))
    return text if value == 1.0 else f"{text}:{float(value)!r}"


FORMAT: Final = Format(
    "graphs",
    read_graph_text,
    "one vertex or edge per line, a blank line after each graph",
    options=OPTIONS["graphs"],
    separate="blank line",
)
