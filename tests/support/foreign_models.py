"""Small models of other programs as their files, and what the programs made of them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import pairwise, product

#: Wapiti 1.5, trained with rho1 = 0.1 and rho2 = 0.01 on TRAINING, and compacted.
WAPITI = """\
#mdl#2#24
#rdr#3/1/0
10:u0:%x[0,0],
10:*1:%x[0,1],
1:b,
#qrk#3
1:O,
1:B,
1:I,
#qrk#10
5:u0:We,
6:*1:PRP,
1:b,
6:*1:VBD,
6:u0:the,
5:*1:DT,
6:u0:dog,
5:*1:NN,
6:u0:ran,
7:u0:dogs,
0=0x1.3543adcd191dap+0
1=-0x1.86705ba2f3868p-4
3=0x1.3543adcd191dap+0
4=-0x1.86705ba2f3868p-4
19=-0x1.8e101c578ed5dp-2
20=0x1.18e7315c5b6d9p+0
22=-0x1.0509b55a55cfap-4
24=0x1.2a082356abba6p+1
25=-0x1.accfa4351e8a8p-3
26=-0x1.37b724b25a962p-1
27=0x1.4376e7c1fb22ap-2
30=0x1.859b0f9949aecp-2
37=0x1.0ea2ab02fdd2bp-1
40=0x1.0ea2ab02fdd2bp-1
43=0x1.36a7798744a82p-2
52=-0x1.572ec36fdee1p-5
53=0x1.15331fcab3e78p+0
54=-0x1.bf07948f8b9cbp-1
55=0x1.0bd3fcf3950ccp-3
62=0x1.e63468399da7cp+0
66=0x1.2b978c3fd81f4p+0
68=-0x1.0b6f1868d58ap-4
70=0x1.6fd7ba9c25754p+0
71=-0x1.03fa72715ddd2p-2
"""
#: Wapiti without patterns: tokens are given by their features.
WAPITI_WITHOUT_PATTERNS = """\
#mdl#2#12
#rdr#0/0/0
#qrk#3
1:O,
1:B,
1:I,
#qrk#6
6:u:w=We,
1:b,
7:u:w=saw,
3:*:x,
7:u:w=the,
7:u:w=dog,
0=0x1.c9e0cbcea10a3p-1
3=0x1.ac806da4121e6p+0
8=0x1.6470500a7a2fep-1
12=0x1.7bb0ae8b69be8p-1
18=0x1.a070d53888a5ep+0
23=0x1.4c51c5705000ap-1
27=-0x1.115ad47a4e562p-2
28=0x1.1cd4eabb24959p+1
29=-0x1.6e4c9cbfd32eep-3
30=-0x1.88b7ff1675319p-2
31=-0x1.90ded4b71bc22p-3
32=0x1.21a81969787d8p+1
"""
TRAINING = """\
We PRP O
saw VBD O
the DT B
dog NN I

the DT B
dog NN I
ran VBD O

dogs NN B
ran VBD O
"""
#: Sentences, and the labels that Wapiti itself gives them.
SENTENCES = [
    [["We", "PRP"], ["ran", "VBD"]],
    [["the", "DT"], ["old", "JJ"], ["dog", "NN"], ["saw", "VBD"], ["dogs", "NN"]],
    [["a", "DT"]],
    [["dog", "NN"], ["dog", "NN"], ["the", "DT"], ["the", "DT"]],
]
WAPITI_LABELS = [["O", "O"], ["B", "B", "I", "O", "B"], ["B"], ["B", "I", "B", "I"]]

#: A text model of CRF++ with observations of pairs of labels; its weights are made up.
CRFPP = """\
version: 100
cost-factor: 1
maxid: 32
xsize: 2

B
O

U0:%x[0,0]
U1:%x[-1,0]/%x[0,0]
B
B1:%x[-1,1]/%x[0,1]

0 B
12 B1:DT/NN
16 B1:NN/VBD
4 U0:dog
10 U0:the
6 U1:_B-1/the
8 U1:the/dog
20 U0:saw
22 U0:ran
24 B1:VBD/NN
28 U0:dogs
30 U0:We

0.1000000000000000
-0.2000000000000000
0.3000000000000000
-0.0500000000000000
0.5000000000000000
-0.2500000000000000
0.1250000000000000
0.0000000000000000
0.7500000000000000
-0.6000000000000000
0.3333333333333333
-0.3333333333333333
1.0000000000000000
-1.0000000000000000
0.2000000000000000
0.1000000000000000
-0.7000000000000000
0.9000000000000000
-0.4000000000000000
0.0500000000000000
-0.8000000000000000
0.4000000000000000
-1.5000000000000000
1.2500000000000000
0.0100000000000000
0.0200000000000000
0.7000000000000000
-0.0400000000000000
0.4500000000000000
-0.1000000000000000
-0.9000000000000000
0.8000000000000000
"""

#: LIBLINEAR 2.50, all solver types for two and three classes, trained on six rows; those with an
#: odd number have a bias of 2. With the labels and decision values that it gives ROWS.
LIBLINEAR_ROWS = [[1.0, 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, 0.0, 0.0], [-0.5, 0.25, 4.0]]


def liblinear_text(solver: str, labels: str, bias: float, rows: list[list[float]]) -> str:
    """Return a model file of LIBLINEAR."""
    n = len(rows) - (bias >= 0)
    lines = [f"solver_type {solver}", f"nr_class {len(labels.split())}", f"label {labels}"]
    lines += [f"nr_feature {n}", f"bias {bias:g}", "w"]
    return "\n".join([*lines, *("".join(f"{w!r} " for w in row) for row in rows), ""])


def sum_of(weights: dict[tuple[str, ...], float], features: list[list[str]],
           pairs: list[list[str]], labels: tuple[str, ...]) -> float:  # fmt: skip
    """Add up weights under (feature, label), (feature, label, next label) and (label, next)."""
    total = 0.0
    for names, label in zip(features, labels, strict=True):
        total += sum(weights.get((name, label), 0.0) for name in names)
    for names, (a, b) in zip(pairs, pairwise(labels), strict=True):
        total += weights.get((a, b), 0.0)
        total += sum(weights.get((name, a, b), 0.0) for name in names)
    return total


def ranked(weights: dict[tuple[str, ...], float], features: list[list[str]],
           pairs: list[list[str]], labels: list[str]) -> list[tuple[float, list[str]]]:  # fmt: skip
    """Return all label sequences and their scores, best first."""
    every = product(labels, repeat=len(features))
    scored = [(sum_of(weights, features, pairs, one), list(one)) for one in every]
    return sorted(scored, key=lambda item: -item[0])


def mutations(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield damaged versions of a file, half of them byte by byte and half in structure."""
    draw = random.Random(seed)
    for number in range(count):
        yield _bytes(data, draw) if number % 2 else _structure(data, draw)


def _bytes(data: bytes, draw: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(found)) if found else 0
        kind = draw.randrange(5)
        if kind == 0:
            found[at : at + 1] = bytes([draw.randrange(256)])
        elif kind == 1:
            del found[at : at + draw.randint(1, 40)]
        elif kind == 2:
            found[at:at] = bytes(draw.randrange(256) for _ in range(draw.randint(1, 8)))
        elif kind == 3:
            found[at : at + 4] = draw.choice([b"\xff" * 4, b"\0" * 4, b"\xff\xff\xff\x7f"])
        else:
            del found[at:]
    return bytes(found)


def _structure(data: bytes, draw: random.Random) -> bytes:
    """Change a number, a line or the whole file."""
    kind = draw.randrange(8)
    if kind < 3:
        numbers = list(re.finditer(rb"-?\d+", data))
        one = draw.choice(numbers) if numbers else None
        odd = draw.choice([b"0", b"-1", b"99999999999999999999", b"2147483648", b"1e999", b"nan",
                           b"7", b"", b"4294967295", b"1_0"])  # fmt: skip
        return data if one is None else data[: one.start()] + odd + data[one.end() :]
    lines = data.split(b"\n")
    at = draw.randrange(len(lines))
    if kind == 3:
        del lines[at]
    elif kind == 4:
        lines.insert(at, draw.choice(lines))
    elif kind == 5:
        other = draw.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 6:
        return draw.choice([b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\r\n"), data + data, b"",
                            data + b"\0", data.replace(b" ", b"\t")])  # fmt: skip
    else:
        lines[at] = lines[at][: draw.randint(0, len(lines[at]))]
    return b"\n".join(lines)
