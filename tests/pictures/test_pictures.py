from __future__ import annotations

import itertools
import random
import re
import xml.etree.ElementTree as ElementTree

import pytest

from partwise.errors import DataError
from partwise.formats.brackets import parse_tree
from partwise.formats.tree import Bracket, Tree
from partwise.pictures import (
    STYLE,
    Markup,
    dependency_svg,
    element,
    hues,
    joined,
    plain_text,
    scrolled,
    spans_html,
    standalone,
    tags_html,
    tree_svg,
)

HOSTILE = "<script>alert('1')</script>&\"\x00\ud800"
SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ElementTree.Element:
    """Return a drawing after an XML parser has accepted it."""
    return ElementTree.fromstring(svg)


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in parsed(svg).iter(f"{SVG}text")]


def test_everything_but_markup_is_escaped() -> None:
    made = element("p", "<b>", Markup("<i>"), element("q", 3), class_='a"b', hidden=True, id=None)
    assert made == '<p class="a&quot;b" hidden>&lt;b&gt;<i><q>3</q></p>'
    assert joined(["<", Markup("<")]) == "&lt;<"
    assert element("path", d="M0 0", stroke_width=1.25) == '<path d="M0 0" stroke-width="1.2"/>'
    assert plain_text("a\x00\ud800\x85b\tc\n") == "a\ufffd\ufffd\ufffdb\tc\n"


@pytest.mark.parametrize(
    "drawing",
    [
        dependency_svg([HOSTILE, "b"], [2, 0], [HOSTILE, "r"], tags=[HOSTILE, "t"], title=HOSTILE),
        dependency_svg(["a", "b"], [2, 0], ["x", "r"], right=([0, 1], [HOSTILE, HOSTILE])),
        tree_svg(Tree(HOSTILE, (Tree(HOSTILE, (), HOSTILE),)), title=HOSTILE),
        scrolled(spans_html([HOSTILE, "b"], [(0, 1, HOSTILE)]), HOSTILE),
        tags_html([HOSTILE, "b"], [HOSTILE, "B"], right=["A", HOSTILE]),
    ],
    ids=["arcs", "right arcs", "tree", "spans", "tags"],
)
def test_hostile_text_stays_text(drawing: Markup) -> None:
    parsed(drawing)
    assert "<script" not in drawing
    assert "&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;&amp;&quot;\ufffd\ufffd" in drawing
    drawing.encode("utf-8")


def arcs_of(svg: str) -> list[tuple[int, int, list[float]]]:
    """Return for each arc its words, and left end, right end and height of its line."""
    found = []
    for group in parsed(svg).iter(f"{SVG}g"):
        if "pw-arc" not in group.get("class", "").split():
            continue
        line = next(p for p in group.iter(f"{SVG}path") if p.get("class") == "pw-line").get("d", "")
        numbers = [float(x) for x in re.findall(r"-?[\d.]+", line)]
        head, modifier = int(group.get("data-head", "")), int(group.get("data-modifier", ""))
        if head:
            found.append(
                (min(head, modifier), max(head, modifier), [numbers[0], numbers[-3], numbers[4]])
            )
    return found


def projective(draw: random.Random, first: int, last: int, head: int, heads: list[int]) -> None:
    """Fill heads[first:last] with a random projective tree below a head (counted from 1)."""
    if first >= last:
        return
    root = draw.randrange(first, last)
    heads[root] = head
    for a, b in ((first, root), (root + 1, last)):
        cut = draw.randrange(a, b + 1)
        projective(draw, a, cut, root + 1, heads)
        projective(draw, cut, b, root + 1, heads)


@pytest.mark.parametrize("seed", range(20))
def test_arcs_of_projective_trees_neither_cross_nor_touch(seed: int) -> None:
    draw = random.Random(seed)
    n = draw.randrange(2, 25)
    heads = [0] * n
    projective(draw, 0, n, 0, heads)
    relations = ["x" * draw.randrange(1, 15) for _ in heads]
    arcs = arcs_of(dependency_svg(["w"] * n, heads, relations))
    assert len(arcs) == n - 1
    for (_, _, (a, b, y)), (_, _, (c, d, z)) in itertools.combinations(arcs, 2):
        apart = b <= c or d <= a
        inside, around = c < a < b < d, a < c < d < b
        assert apart or inside or around
        if inside:
            assert z < y
        if around:
            assert y < z
        # Labels stand over their lines, and lines of one height lie side by side.
        assert y != z or apart


def test_labels_of_arcs_fit_between_their_ends() -> None:
    relation = "a-relation-with-a-long-name"
    (_, _, (a, b, _)), *_ = arcs_of(dependency_svg(["a", "b"], [2, 0], [relation, "root"]))
    assert b - a > 8 * len(relation) * 0.6


def test_wrong_arcs_are_dashed_and_the_right_ones_are_below() -> None:
    heads, right = [2, 0, 2], [3, 0, 2]
    svg = dependency_svg(["a", "b", "c"], heads, ["x", "r", "y"], right=(right, ["x", "r", "z"]))
    kinds = [group.get("class") for group in parsed(svg).iter(f"{SVG}g") if group.get("class")]
    assert sorted(kinds) == [
        "pw-arc", "pw-arc pw-right", "pw-arc pw-right", "pw-arc pw-wrong", "pw-arc pw-wrong",
    ]  # fmt: skip
    label = parsed(svg).get("aria-label") or ""
    assert label.endswith("Right would be: a is x of c; c is z of b")
    assert "a is x of b (wrong)" in label
    # Words whose right head is not known are not wrong.
    unknown = dependency_svg(["a", "b", "c"], heads, right=([None] * 3, None))
    assert "pw-wrong" not in unknown
    assert "stroke-dasharray" in STYLE


def test_drawings_have_a_title_and_a_text_alternative() -> None:
    svg = dependency_svg(["dogs", "bark"], [2, 0], ["nsubj", "root"], title="A tree")
    root = parsed(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "A tree. dogs is nsubj of bark; bark is the root"
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text == "A tree"
    assert texts(svg) == ["nsubj", "root", "dogs", "bark"]
    assert next(iter(parsed(standalone(svg)))).tag == f"{SVG}style"


@pytest.mark.parametrize(
    ("words", "heads", "more", "message"),
    [
        (["a"], [1], {}, "word 1 has the head 1"),
        (["a"], [2], {}, "word 1 has the head 2"),
        (["a"], [-1], {}, "word 1 has the head -1"),
        (["a", "b"], [0], {}, "2 words with 1 heads"),
        (["a"], [0], {"relations": ["r", "r"]}, "1 words with 1 heads and 2 relations"),
        (["a"], [0], {"tags": []}, "1 words with 0 tags"),
    ],
)
def test_trees_that_cannot_be_drawn_are_refused(
    words: list[str], heads: list[int | None], more: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        dependency_svg(words, heads, **more)  # type: ignore[arg-type]


def test_a_tree_has_its_words_on_one_line_and_no_label_over_another() -> None:
    tree = parse_tree("(S (NP (DT the) (NN dog)) (VP (VBZ barks) (ADVP (RB very) (RB loudly))))")
    svg = tree_svg(tree, wrong=[Bracket("NP", 0, 2), Bracket("X", 0, 5)])
    placed: dict[float, list[tuple[float, str]]] = {}
    for text in parsed(svg).iter(f"{SVG}text"):
        place = float(text.get("y", "")), float(text.get("x", ""))
        placed.setdefault(place[0], []).append((place[1], text.text or ""))
    rows = [[word for _, word in sorted(placed[y])] for y in sorted(placed)]
    assert rows == [
        ["S"], ["NP", "VP"], ["DT", "NN", "VBZ", "ADVP"], ["RB", "RB"],
        ["the", "dog", "barks", "very", "loudly"],
    ]  # fmt: skip
    for row in placed.values():
        row.sort()
        assert all(
            b[0] - a[0] > 5 * (len(a[1]) + len(b[1])) / 2 for a, b in itertools.pairwise(row)
        )
    assert svg.count("pw-wrong") == 1
    assert 'data-start="0" data-end="2"' in svg
    assert "Wrong phrases: NP, words 1 to 2; X, words 1 to 5." in svg


def test_a_deep_tree_is_drawn() -> None:
    tree = Tree("A", (), "a")
    for _ in range(3000):
        tree = Tree("B", (tree,))
    assert len(texts(tree_svg(tree))) == 3002


def test_spans_are_marked_with_their_labels() -> None:
    made = spans_html(list("abcde"), [(3, 5, "X"), (0, 2, "Y")], wrong=[(3, 5, "X")])
    assert "".join(parsed(made).itertext()) == "a bY c d eX wrong "
    marks = [(m.get("class"), m.get("data-start")) for m in parsed(made).iter("mark")]
    assert marks == [("pw-span pw-hue-1", "0"), ("pw-span pw-hue-0 pw-span-wrong", "3")]
    colours = hues(str(n) for n in range(20))
    assert set(colours.values()) == set(range(8))
    assert "pw-hue-5" in spans_html(["a"], [(0, 1, "13")], colours=colours)
    for spans in ([(0, 2, "X"), (1, 3, "Y")], [(0, 6, "X")], [(2, 2, "X")], [(-1, 1, "X")]):
        with pytest.raises(DataError, match="lie side by side"):
            spans_html(list("abcde"), spans)


def test_wrong_labels_are_struck_out_and_the_right_ones_added() -> None:
    made = tags_html(list("abcd"), ["O", "X", "O", "Y"], right=["O", "X", "Y", None])
    assert "".join(parsed(made).itertext()).split() == [
        "a", "b", "X", "c", "wrong:", "O", "right:", "Y", "d", "Y",
    ]  # fmt: skip
    assert made.count("pw-missed") == made.count("pw-meant") == 1
    with pytest.raises(DataError, match="one label per word"):
        tags_html(["a"], ["X", "Y"])
