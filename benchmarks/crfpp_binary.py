"""Model files of CRF++, written from models of partwise and in the form that its tagger reads."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np


def write_crfpp_text(model: Any, template: list[str], path: str) -> dict[tuple[str, ...], float]:
    """Write a tagger with plain transitions as a text model, and return its weights by name."""
    labels = [str(label) for label in model.labels]
    states, pairs = (model.layout.dense(model.weights, kind) for kind in (0, 1))
    names = ["B", *model.features.vocabulary]
    first = [0, *(len(labels) ** 2 + k * len(labels) for k in range(len(states)))]
    flat = [*pairs.ravel().tolist(), *states.ravel().tolist()]
    lines = ["version: 100", "cost-factor: 1", f"maxid: {len(flat)}", "xsize: 2", "", *labels, ""]
    lines += [*template, ""]
    lines += [f"{number} {name}" for name, number in sorted(zip(names, first, strict=True))]
    lines += ["", *(f"{weight:.16f}" for weight in flat)]
    Path(path).write_text("\n".join(lines) + "\n")
    weights: dict[tuple[str, ...], float] = {}
    for name, row in zip(names[1:], states, strict=True):
        weights |= {(name, y): float(f"{w:.16f}") for y, w in zip(labels, row, strict=True)}
    for a, row in zip(labels, pairs.reshape(len(labels), -1), strict=True):
        weights |= {(a, b): float(f"{w:.16f}") for b, w in zip(labels, row, strict=True)}
    return weights


def write_crfpp_binary(text: str, path: str) -> None:
    """Write a text model in CRF++'s binary form, as ``crf_learn -C`` does."""
    header, labels, templates, names, rest = Path(text).read_text().split("\n\n")
    held = dict(line.split(": ") for line in header.split("\n"))
    y = "".join(label + "\0" for label in labels.split("\n")).encode()
    t = "".join(one + "\0" for one in templates.split("\n")).encode()
    t += b"\0" * (-(len(y) + len(t)) % 4)
    keys = sorted((name.encode(), int(number)) for number, name in
                  (line.split(" ", 1) for line in names.split("\n")))  # fmt: skip
    trie = double_array(keys).tobytes()
    weights = np.array(rest.split(), dtype=np.float64).astype("<f4").tobytes()
    head = struct.pack("<IidIII", 100, 0, float(held["cost-factor"]), int(held["maxid"]),
                       int(held["xsize"]), len(trie))  # fmt: skip
    sizes = [struct.pack("<I", len(part)) for part in (y, t)]
    Path(path).write_bytes(b"".join([head, sizes[0], y, sizes[1], t, trie, weights]))


def double_array(keys: list[tuple[bytes, int]]) -> Any:
    """Return a trie as a double array: pairs of base and check, as Darts has them.

    From a state with base b, the byte c leads to b + c + 1, whose check is b; the end of a key
    leads to b, where the base is -value - 1.
    """
    base, check = np.zeros(1 << 20, np.int32), np.zeros(1 << 20, np.uint32)
    used, begins, end_of_used = {0}, set(), 1
    work = [(0, 0, 0, len(keys))]
    while work:
        state, depth, begin, end = work.pop()
        groups: dict[int, tuple[int, int]] = {}
        for k in range(begin, end):
            key = keys[k][0]
            code = key[depth] + 1 if depth < len(key) else 0
            groups[code] = (groups.get(code, (k, k))[0], k + 1)
        # A few places after the last ones are tried, then there is certainly room.
        b = max(end_of_used - 300, 1)
        while b in begins or any(b + code in used for code in groups):
            b += 1
        begins.add(b)
        used.update(b + code for code in groups)
        end_of_used = max(end_of_used, b + max(groups) + 1)
        if end_of_used + 600 > len(base):
            base, check = (np.concatenate([x, np.zeros_like(x)]) for x in (base, check))
        base[state] = b
        for code, (first, last) in groups.items():
            check[b + code] = b
            if code == 0:
                base[b] = -keys[first][1] - 1
            else:
                work.append((b + code, depth + 1, first, last))
    size = end_of_used + 300
    found = np.zeros(size, dtype=[("base", "<i4"), ("check", "<u4")])
    found["base"], found["check"] = base[:size], check[:size]
    return found
