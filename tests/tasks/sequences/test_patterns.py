from __future__ import annotations

import json
import logging
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise import DataError, ModelFileError, Templates
from partwise.tasks.sequences.column_file import given_columns
from partwise.tasks.sequences.extraction import number_features
from partwise.tasks.sequences.template_file import as_templates, templates_from_json
from partwise.tasks.sequences.templates import template_for
from partwise.tasks.sequences.wapiti_regexp import RegexpError, compile_regexp, whole_name

SENTENCE = [["He", "PRP"], ["reckons", "VBZ"], ["the", "DT"], ["current", "JJ"], ["account", "NN"]]


@pytest.mark.parametrize(
    ("template", "name"),
    [
        # The table in the documentation of CRF++, where "the" is the current token.
        ("U%x[0,0]", "Uthe"),
        ("U%x[0,1]", "UDT"),
        ("U%x[-1,0]", "Ureckons"),
        ("U%x[-2,1]", "UPRP"),
        ("U%x[0,0]/%x[0,1]", "Uthe/DT"),
        ("UABC%x[0,1]123", "UABCDT123"),
        ("U01:%x[-3,0]|%x[-4,1]", "U01:_B-1|_B-2"),
        ("U01:%x[3,0]|%x[4,1] ", "U01:_B+1|_B+2 "),
        ("U", "U"),
    ],
)
def test_crfpp_documented(template: str, name: str) -> None:
    assert Templates([template]).apply([SENTENCE])[0][2] == [name]


def naive(lines: list[str], sentence: list[list[str]], steps: bool) -> list[list[str]]:
    """Expand every macro of CRF++ at every token, one by one."""
    found = []
    for t in range(int(steps), len(sentence)):

        def expand(macro: re.Match[str], t: int = t) -> str:
            place, column = t + int(macro[1]), int(macro[2])
            if place < 0:
                return f"_B{place}"
            if place >= len(sentence):
                return f"_B+{place - len(sentence) + 1}"
            return sentence[place][column]

        wanted = [line for line in lines if line[0] == ("B" if steps else "U")]
        found.append([re.sub(r"%x\[(-?\d+),(\d)\]", expand, line) for line in wanted])
    return found


_word = st.text("ab/_B-1", max_size=3)
_sentences = st.lists(st.lists(st.lists(_word, min_size=2, max_size=2), max_size=5), max_size=4)
_macro = st.builds("%x[{},{}]".format, st.integers(-4, 4), st.integers(0, 1))
_line = st.builds(
    lambda kind, name, parts: kind + name + "/".join(parts),
    st.sampled_from("UB"), st.sampled_from(["", "0:", "1:"]), st.lists(_macro, max_size=3),
)  # fmt: skip


@given(st.lists(_line, min_size=1, max_size=5), _sentences)
def test_crfpp_equals_strings(lines: list[str], sentences: list[list[list[str]]]) -> None:
    templates = Templates(lines, "crfpp")
    # The order of features that a token has twice is not that of the templates.
    for steps, found in enumerate((templates.apply, templates.apply_transitions)):
        expected = [naive(lines, sentence, bool(steps)) for sentence in sentences]
        names = found(sentences)
        assert [[sorted(t) for t in s] for s in names] == [[sorted(t) for t in s] for s in expected]


# The observations that Wapiti 1.5.0 makes of these patterns and tokens, from its model file. Bytes
# that are no characters are written as \xc3 here.
PATTERNS = r"""
*
u00:%x[-2,0]|%X[ 1,0]
u01:%x[@1,0] %x[@-1,1] %x[@0,0] %x[@4,0] %x[@-9,0]
u02:%x[-7,0]%x[+9,0]
u03:%t[0,0,"^\u\l*$"] %T[1,0,"\p"] %t[-1,0,"^_x"]
u04:%m[0,0,"^.?.?"] %m[0,0,".?.?$"] %M[0,0,"^\a*-"] %m[0,0,"\d\d*"]
u05:%m[0,0,"\u?\u\l"]:rest
u06:%m[0,0,"$."]%m[0,0,"a^"]%m[0,0,"\"\\"]
b01:%x[0,1]
B02:%m[-1,0,".?$"]   # the last byte
*03:%t[0,0,"\D\W*\S$"]
*04:%m[0,0,"\.*-?é"]%m[0,0,"\L\A?\P"]
"""
WAPITI = PATTERNS.split("\n")
TOKENS = [
    [["Été", "N"], ["McX-12", "V"], ["Ab", "N"]],
    [['a"\\b', "N"], ["$.9", "V"], ["AAb", "N"], ["-é", "N"], ["a^B", "V"]],
]
OBSERVATIONS = r"""
*
*03:false
*03:true
*04:"\b
*04:$.9
*04:-é-é
*04:AA
*04:Ab
*04:Mc
*04:^B
*04:éÉt
b01:N
b01:V
b02:1
b02:2
b02:9
b02:\xa9
b02:b
u00:$.9|a^b
u00:AAb|_x+1
u00:_x-1|aab
u00:_x-1|ab
u00:_x-2|$.9
u00:_x-2|mcx-12
u00:a"\b|-é
u00:Été|_x+1
u01:a"\b V _x-1 -é _x-4
u01:Été N _x-1 _x+1 _x-#
u02:_x-#_x+#
u02:_x-3_x+#
u02:_x-4_x+#
u03:false false false
u03:false true false
u03:false true true
u03:true true false
u04:$. .9  9
u04:-\xc3 é - .
u04:AA Ab  .
u04:Ab Ab  .
u04:Mc 12 mcx- 1
u04:a" \b  .
u04:a^ ^B  .
u04:É é  .
u05::rest
u05:AAb:rest
u05:Ab
u05:McX:rest
u06:
u06:"\
u06:$.
u06:a^
"""


def test_wapiti_equals_wapiti() -> None:
    # A dot marks blanks at the end of a line.
    wanted = {re.sub(r" \.$", " ", name) for name in OBSERVATIONS.strip().split("\n")}
    templates = Templates(WAPITI)
    assert templates.dialect == "wapiti"
    names = {name for s in templates.apply(TOKENS) for t in s for name in t}
    steps = {name for s in templates.apply_transitions(TOKENS) for t in s for name in t}
    # Wapiti also names what is before the first token, and never uses it.
    assert names | steps == wanted - {"b02:1"}
    assert {name[0] for name in names} == {"u", "*"}
    assert {name[0] for name in steps} == {"b", "*"}


def reference(regexp: str, text: str) -> tuple[int, int]:
    """Match as Wapiti's recursive matcher does; return the start (-1: none) and the length."""
    classes = {
        "a": str.isalpha, "d": str.isdigit, "l": str.islower, "u": str.isupper, "w": str.isalnum,
        "s": str.isspace, "p": lambda c: c.isprintable() and not c.isalnum() and c != " ",
    }  # fmt: skip
    length = 0

    def one(ch: str, string: str) -> bool:
        if not string or ch == ".":
            return bool(string)
        if ch[0] == "\\":
            if ch[1].lower() in classes:
                return classes[ch[1].lower()](string[0]) == ch[1].islower()
            return ch[1] == string[0]
        return ch == string[0]

    def here(rest: str, string: str) -> bool:
        nonlocal length
        if not rest:
            return True
        if rest == "$":
            return not string
        ch = rest[: 1 + (rest[0] == "\\")]
        rest = rest[len(ch) :]
        if rest[:1] == "*":
            while True:
                save = length
                if here(rest[1:], string):
                    return True
                length = save + 1
                if not one(ch, string):
                    return False
                string = string[1:]
        if rest[:1] == "?":
            if one(ch, string):
                length += 1
                if here(rest[1:], string[1:]):
                    return True
                length -= 1
            return here(rest[1:], string)
        length += 1
        return one(ch, string) and here(rest, string[1:])

    for start in range(1 if regexp[:1] == "^" else len(text) + 1):
        length = 0
        if here(regexp.removeprefix("^") if start == 0 else regexp, text[start:]):
            return start, length
    return -1, 0


_piece = st.builds(
    lambda ch, times: ch + times,
    st.sampled_from([*"aB1-.$^", "\\\\", *(f"\\{c}" for c in "aAdDlLpPsSuUwW.*")]),
    st.sampled_from(["", "", "*", "?"]),
)  # fmt: skip
_regexp = st.builds(
    lambda begin, pieces, end: begin + "".join(pieces) + end,
    st.sampled_from(["", "^"]), st.lists(_piece, max_size=5), st.sampled_from(["", "$"]),
)  # fmt: skip


@given(_regexp, st.text("aabB1-.*\\ $^", max_size=6))
def test_expressions_match_as_in_wapiti(regexp: str, text: str) -> None:
    start, length = reference(regexp, text)
    found = compile_regexp(regexp)(text)
    assert found == (None if start < 0 else (text[start:] + "\0")[:length])


@pytest.mark.parametrize(
    ("regexp", "at"), [("*a", 0), ("a**", 2), ("^?", 1), ("a?*", 2), ("\\", 0)]
)
def test_bad_expressions(regexp: str, at: int) -> None:
    with pytest.raises(RegexpError) as error:
        compile_regexp(regexp)
    assert error.value.at == at


def test_cut_characters() -> None:
    first = compile_regexp("^.")("éa")
    rest = compile_regexp("..$")("éa")
    assert first is not None
    assert rest is not None
    assert whole_name(f"u:{first}") == "u:\\xc3"
    assert whole_name(f"u:{first}{rest}") == "u:éa"
    assert whole_name("u:a\0b") == "u:a"
    assert whole_name("u:\ud800") == "u:\ud800"


@pytest.mark.parametrize(
    ("lines", "dialect", "message"),
    [
        (["", "X%x[0,0]"], "crfpp", r"t:2:1: 'X' begins no pattern; begin it with U"),
        (["*:%x[0,0]"], "crfpp", r"t:1:1: '\*' begins no pattern; .* of the dialect wapiti"),
        (["x%x[0,0]"], "wapiti", r"t:1:1: 'x' begins no pattern; begin it with u"),
        (["U0:%y[0,0]"], "crfpp", r"t:1:4: unknown macro '%y'; use %x"),
        (["U0:%X[0,0]"], "crfpp", r"t:1:4: unknown macro '%X'; .* dialect wapiti"),
        (["U0:50%"], "wapiti", r"t:1:6: unknown macro '%'; use %x, %X, %t"),
        (["U0:%x"], "crfpp", r"t:1:4: no offset and column after %x; write %x\[-1,0\]"),
        (["U0:%x[a,0]"], "crfpp", r"t:1:4: no offset"),
        (["U0:%x[ 0,0]"], "crfpp", r"t:1:4: no offset"),
        (["U0:%x[010,0]"], "wapiti", r"t:1:4: no offset"),
        (["U0:%x[0,0"], "crfpp", r"t:1:10: no \] where %x\[ should end"),
        (["U0:%x[0,0 ]"], "wapiti", r"t:1:10: no \]"),
        (["U0:%x[0,0]/%x[5,0]"], "crfpp", r"t:1:12: %x looks 5 tokens away; CRF\+\+ looks"),
        (["U0:%x[9999999999,0]"], "wapiti", r"t:1:4: the offset 9999999999 is too large"),
        (["U0:%x[0,-1]"], "wapiti", r"t:1:4: there is no column -1"),
        (["U0:%x[0,99999]"], "crfpp", r"t:1:4: there is no column 99999"),
        (["u0:%t[0,0]"], "wapiti", r"t:1:10: no expression in quotes for %t"),
        (['u0:%t[0,0,"a#"]'], "wapiti", r"t:1:10: no expression.*a # begins a comment"),
        (['u0:%m[0,0,"ab**"]'], "wapiti", r"t:1:15: in the expression 'ab\*\*': nothing before \*"),
        ([f'u0:%m[0,0,"{"a" * 101}"]'], "wapiti", r"t:1:112: .*more than 100 characters"),
        (["# only a comment", "  "], None, r"t: no templates; write one per line"),
        (["U0:%x[0,0]\nB"], None, r"t:1: .* is not one line"),
        (["U0:%x[0,0]"], "crf++", r"dialect is 'crf\+\+'"),
    ],
)
def test_faults_have_a_place(lines: list[str], dialect: str | None, message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        Templates(lines, dialect, path="t")


def test_missing_columns() -> None:
    templates = Templates(["U0:%x[0,0]", "", "U1:%x[0,0]/%x[0,2]", "B"], path="t")
    assert templates.n_columns == 3
    with pytest.raises(DataError, match=r"^t:3:12: %x looks at column 2, and X has 2 besides"):
        templates.apply([SENTENCE])
    with pytest.raises(DataError, match="every token of X must be a list of strings"):
        templates.apply([[["a", "b", "c"], ["d"]]])


@pytest.mark.parametrize(
    ("line", "sign"),
    [
        ("u0:%x[0,0]", "begins with u"),
        ("*", r"begins with \*"),
        ("U0:%x[0,0]%T[0,0,\"a\"]", "has %T"),
        ("U0:%x[@1,0]", r"has %x\[@"),
        ("U0:%x[ 0,0]", r"has %x\[ 0,0\]"),
        ("U0:%x[-12,0]", r"has %x\[-12,0\]"),
    ],
)  # fmt: skip
def test_dialects_by_signs(line: str, sign: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert Templates(["U0:%x[-4,0]", "# %X[0,0]", "B"], path="t").dialect == "crfpp"
        assert caplog.messages == ["t: templates of CRF++, because nothing is of Wapiti only"]
        caplog.clear()
        assert Templates(["B", line], path="t").dialect == "wapiti"
    assert re.fullmatch(f"t: templates of Wapiti, because line 2 {sign}", caplog.messages[0])


def test_dialects_differ() -> None:
    lines = ["U0:%x[-1,0] # x", "B"]
    assert Templates(lines).apply([["a"]]) == [[["U0:_B-1 # x"]]]
    assert Templates(lines, "wapiti").apply([["a"]]) == [[["u0:_x-1"]]]


def test_shared_identifiers_are_noted(caplog: pytest.LogCaptureFixture) -> None:
    Templates(["U:%x[0,0]", "U:%x[1,0]", "U1:%x[0,0]", "B"], path="t")
    assert not caplog.messages
    Templates(["U1:%x[0,0]", "U2:%x[0,0]", "U1:%x[1,0]"], path="t")
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("t:3: U1:%x[1,0] has the identifier of line 1")


def test_a_feature_is_in_a_row_once() -> None:
    templates = Templates(["U:%x[0,0]", "U:%x[1,0]", "U1"])
    rows, vocabulary = number_features(
        given_columns([["a", "a", "b"]], templates), templates.positions
    )
    pairs = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    assert rows.values is not None
    found = [
        {vocabulary.names[k]: v for k, v in zip(rows.indices[a:b], rows.values[a:b], strict=True)}
        for a, b in pairs
    ]
    assert found == [
        {"U:a": 2, "U1": 1},
        {"U:a": 1, "U:b": 1, "U1": 1},
        {"U:b": 1, "U:_B+1": 1, "U1": 1},
    ]
    assert rows.indptr.tolist() == [0, 2, 5, 8]


def test_what_a_file_says() -> None:
    templates = Templates(["B", "B1", "U"])
    assert templates.plain_transition
    assert templates.transitions is not None
    assert templates.apply_transitions([["a", "b"]]) == [[["B", "B1"]]]
    assert Templates(["B", "U"]).transitions is None
    bare = Templates(["U0:%x[0,0]"])
    assert not bare.plain_transition
    assert bare.apply_transitions([["a", "b"]]) == [[[]]]
    assert Templates(["*"]).plain_transition


def test_json_round_trip(caplog: pytest.LogCaptureFixture) -> None:
    for templates in (Templates(WAPITI), Templates(["U1:%x[0,0] ", "U1:%x[1,0]", "B"])):
        caplog.clear()
        again = templates_from_json(json.loads(json.dumps(templates.to_json())))
        # What was said about a file is not said again about a model.
        assert not caplog.messages
        assert again == templates
        assert hash(again) == hash(templates)
        assert templates != Templates(["B"])
    builtin = template_for(2, True)
    assert templates_from_json(builtin.to_json()) == builtin


@pytest.mark.parametrize(
    "data",
    [
        {"patterns": ["U"]},
        {"patterns": ["U"], "dialect": "mallet"},
        {"patterns": ["U"], "dialect": ["crfpp"]},
        {"patterns": "U", "dialect": "crfpp"},
        {"patterns": [1], "dialect": "crfpp"},
        {"patterns": [], "dialect": "crfpp"},
        {"patterns": ["U", "#"], "dialect": "crfpp"},
        {"patterns": ["U "], "dialect": "wapiti"},
        {"patterns": ["U%x[5,0]"], "dialect": "crfpp"},
        {"patterns": ['u%m[0,0,"**"]'], "dialect": "wapiti"},
        {"patterns": ["U"], "dialect": "crfpp", "edges": True},
    ],
)
def test_damaged_json(data: object) -> None:
    with pytest.raises(ModelFileError, match="damaged"):
        templates_from_json(data)


def test_forms_of_templates(tmp_path: object) -> None:
    path = f"{tmp_path}/t"
    with open(path, "w", encoding="utf-8") as file:
        file.write("# comment\r\nU0:%x[0,0]\r\n\r\nB\r\n")
    held = Templates(["U0:%x[0,0]", "B"])
    assert as_templates(path) == as_templates(["U0:%x[0,0]", "B"]) == as_templates(held) == held
    with pytest.raises(DataError, match="templates is 3; give"):
        as_templates(3)
    with pytest.raises(DataError, match="no such file"):
        Templates.read(f"{tmp_path}/none")
