"""Graphs as text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.formats.graph_text import read_graph_text, write_graph_text

MAP = r"""# a map
node a sea  blue depth:3.5
node b ?	green a\:b\\:-2e-1
edge a b  border:0.25

# only a comment

node a land
node b sea
edge b a
"""


def _read(folder: Path, text: str, **more: object) -> object:
    file = folder / "graphs"
    file.write_text(text, "utf-8")
    return read_graph_text(file, **more)  # type: ignore[arg-type]


def test_nodes_and_edges(tmp_path: Path) -> None:
    (tmp_path / "graphs").write_text(MAP, "utf-8")
    file = read_graph_text(tmp_path / "graphs", labelled=False)
    assert len(file) == 2
    assert file.labels() == [["sea", None], ["land", "sea"]]
    first, second = file.examples()
    assert first == {
        "domains": ["label", "label"],
        "factors": {
            "node": ([(0,), (1,)], [{"blue": 1.0, "depth": 3.5}, {"green": 1.0, "a:b\\": -0.2}]),
            "edge": ([(0, 1)], [{"border": 0.25}]),
        },
    }
    # The second edge has no features, but edges of the file do.
    assert second["factors"] == {"node": ([(0,), (1,)], [{}, {}]), "edge": ([(1, 0)], [{}])}
    assert file.examples({"node"})[1]["factors"]["edge"] == ([(1, 0)], None)  # type: ignore[index]
    assert [graph.lines for graph in file.graphs] == [[2, 3], [8, 9]]


def test_other_domains_and_factors(tmp_path: Path) -> None:
    text = "factor plays x,y,z far\nvertex x team home\nvertex y day mon\nvertex z team away\n"
    (tmp_path / "graphs").write_text(text, "utf-8")
    file = read_graph_text(tmp_path / "graphs")
    assert file.examples() == [
        {
            "domains": ["team", "day", "team"],
            "factors": {"plays": ([(0, 1, 2)], [{"far": 1.0}])},
        }
    ]


def test_labels_are_written_where_they_were(tmp_path: Path) -> None:
    (tmp_path / "graphs").write_text(MAP, "utf-8")
    graph = read_graph_text(tmp_path / "graphs", labelled=False).graphs[0]
    assert graph.written(["x", "y"]) == [
        "# a map",
        "node a x  blue depth:3.5",
        "node b y\tgreen a\\:b\\\\:-2e-1",
        "edge a b  border:0.25",
    ]
    rows = graph.written(["x", "y"], ["p a 1", "p b 1"])
    assert rows[1:3] == ["node a x  blue depth:3.5", "# p a 1"]
    with pytest.raises(DataError, match="holds blanks"):
        graph.written(["x y", "z"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "graphs: no graphs; expected lines `node NAME LABEL FEATURE ...`"),
        ("# nothing\n", "graphs: no graphs"),
        ("node a\n", ":1:7: 2 fields; expected `node NAME LABEL FEATURE ...`"),
        ("vertex a d l more\n", ":1:14: 5 fields; expected `vertex NAME DOMAIN LABEL`"),
        ("node a x\n  nod b x\n", ":2:3: the line begins with 'nod'"),
        ("node a x\nnode a y\n", ":2:6: the graph has a vertex 'a' already, in line 1"),
        ("node a,b x\n", ":1:6: the name 'a,b' holds a comma"),
        ("node a ?\n", ":1:8: the label is not known"),
        ("node a x f f\n", ":1:12: the feature 'f' occurs twice"),
        ("node a x f:1:2\n", ":1:12: the value '1:2' is no finite number"),
        ("node a x f:\n", ":1:12: the value '' is no finite number"),
        ("node a x f:nan\n", ":1:12: the value 'nan' is no finite number"),
        ("node a x f:1_0\n", ":1:12: the value '1_0' is no finite number"),
        ("node a x f\\a\n", ":1:10: the feature 'f\\\\a'; expected NAME or NAME:VALUE"),
        ("node a x :1\n", ":1:10: the feature ':1'; expected NAME"),
        ("node a x\nedge a b\n", ":2:8: the graph has no vertex 'b'"),
        ("node a x\n\nedge a a\n", ":3:6: the graph has no vertex 'a'"),
        ("node a x\nedge a a\n", ":2:8: the vertex 'a' twice"),
        ("node a x\nfactor k a,,a\n", ":2:12: the vertices 'a,,a' hold an empty name"),
        (
            "node a x\nvertex b day mon\nfactor k a\nfactor k b\n",
            ":4:10: a factor of kind 'k' over vertices of day, where the one in line 3 is over",
        ),
        ("vertex a d x\nvertex b d x\nfactor k a,b\n", ":1: the vertex 'a' is in no factor that"),
    ],
)
def test_faults_are_named_with_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        _read(tmp_path, text)
    assert message in str(caught.value)


_names = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters=" \t\n\r"), min_size=1, max_size=4
)
_features = st.dictionaries(_names, st.floats(allow_nan=False, allow_infinity=False), max_size=3)


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[list[dict[str, object]], list[list[str | None]]]:
    examples: list[dict[str, object]] = []
    labels: list[list[str | None]] = []
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 4))
        pairs = [(a, b) for a in range(n) for b in range(n) if a < b]
        some = draw(st.lists(st.sampled_from(pairs), max_size=3)) if pairs else []
        factors: dict[str, object] = {
            "node": ([(v,) for v in range(n)], [{"1": 1.0, **draw(_features)} for _ in range(n)])
        }
        if some:
            factors["edge"] = (some, [{"1": 1.0, **draw(_features)} for _ in some])
        examples.append({"domains": ["label"] * n, "factors": factors})
        known = _names.filter(lambda name: name != "?")
        labels.append([draw(st.none() | known) for _ in range(n)])
    return examples, labels


@given(_graphs())
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory,
    graphs: tuple[list[dict[str, object]], list[list[str | None]]],
) -> None:
    path = tmp_path_factory.mktemp("graphs") / "graphs"
    write_graph_text(path, *graphs)
    file = read_graph_text(path, labelled=False)
    assert (file.examples(), file.labels()) == graphs


def test_damaged_files_are_refused_or_survive_a_round_trip(tmp_path: Path) -> None:
    rng = random.Random(0)
    whole = (MAP + "\nvertex t d l\nvertex u d m\nfactor k t,u w:2\nfactor one t\n").encode()
    file, again = tmp_path / "graphs", tmp_path / "again"
    accepted = 0
    refused: list[str] = []
    for number in range(400):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data))
            if number % 2:
                data[at] = rng.choice(b"\0\r\n\t :\\,?#ab1\xff")
            else:
                lines = bytes(data).split(b"\n")
                lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))
                data = bytearray(b"\n".join(lines))
        file.write_bytes(data)
        try:
            found = read_graph_text(file, labelled=False)
        except DataError as error:
            refused.append(str(error))
            continue
        accepted += 1
        write_graph_text(again, found.examples(), found.labels())
        other = read_graph_text(again, labelled=False, featured=found.featured)
        assert other.examples(found.featured) == found.examples()
        assert other.labels() == found.labels()
    assert all(message.startswith(str(file)) for message in refused)
    assert 20 < accepted < 380
