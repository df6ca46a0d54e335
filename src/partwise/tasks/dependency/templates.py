"""Templates for the features of dependency arcs, written as lists of atoms.

An *atom* is what is seen at one place: ``h.form`` the form of the head, ``m-1.pos`` the fine tag
one token before the modifier. A *template* is a few atoms, joined by blanks; it gives an arc one
feature for the values that its atoms have there, and none if one of them is missing or unknown.

    place     h, m: head and modifier; h-2 to h+2, m-2 to m+2: around them;
              b: between them, each distinct value once
    column    form, prefix (5 letters of a longer form), lemma, cpos, pos,
              feats (all morphology as one value), feat (each of them singly; of h and m only)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ...arrays import Ints
from ...errors import DataError

__all__ = ["ARC_TEMPLATES", "COLUMNS", "DISTANCES", "PAD", "ArcPlan", "make_plan"]

#: What is seen of a token. All but the last have one value per token.
COLUMNS: Final = ("form", "prefix", "lemma", "cpos", "pos", "feats", "feat")

#: How far beside head and modifier an atom may look.
PAD: Final = 2

#: The bins of distance; a feature may be conjoined with one of them, to the right or to the left.
DISTANCES: Final = ("1", "2", "3", "4", "5-10", ">10")

MAX_TEMPLATES: Final = 127
#: Bits of a key that hold the values of the atoms.
VALUE_BITS: Final = 52
#: Bits of a key that hold direction and distance, and where its template begins.
DISTANCE_BITS: Final = 4
TEMPLATE_SHIFT: Final = VALUE_BITS + DISTANCE_BITS

_ATOM: Final = re.compile(r"(h|m|b)([+-][12])?\.([a-z]+)", re.ASCII)
HEAD, MODIFIER, BETWEEN = 0, 1, 2
_PLACES: Final = {"h": HEAD, "m": MODIFIER, "b": BETWEEN}


class ArcPlan(NamedTuple):
    """Templates in the form that kernels read. A atoms, K templates, V values of a template."""

    atom_place: Ints  # A: HEAD, MODIFIER or BETWEEN
    atom_offset: Ints  # A: tokens from there
    atom_column: Ints  # A: number in COLUMNS
    atom_bits: Ints  # A: how many bits of a key its values take
    atoms_ptr: Ints  # K + 1: the atoms of a template
    atoms: Ints  # V: numbers of atoms
    outer: Ints  # K: the atom that takes several values, between or of the head's feat; or -1
    inner: Ints  # K: likewise of the modifier's feat
    parent: Ints  # K: an earlier template with some of the same atoms; or -1
    single: Ints  # the templates that give an arc one feature at most
    several: Ints  # the others
    between: Ints  # the columns that are looked at in between


def _parse_atom(text: str) -> tuple[int, int, int]:
    """Return place, offset and column of an atom."""
    match = _ATOM.fullmatch(text)
    if match is None or match[3] not in COLUMNS:
        raise DataError(
            f"the atom {text!r} of an arc template cannot be read; expected a place (h, m, h-1, "
            f"m+2, b) and a column ({', '.join(COLUMNS)}) with a dot between, as in h-1.pos"
        )
    place, offset, column = _PLACES[match[1]], int(match[2] or 0), COLUMNS.index(match[3])
    if place == BETWEEN and (offset or match[3] == "feat"):
        raise DataError(f"the atom {text!r}: between takes no offset and no single feat")
    if match[3] == "feat" and offset:
        raise DataError(f"the atom {text!r}: single feats are taken of h and m only")
    return place, offset, column


def make_plan(templates: Sequence[str], n_codes: Sequence[int]) -> ArcPlan:
    """Prepare templates for kernels.

    Parameters
    ----------
    templates
        Such as ``"h.pos m.form"``.
    n_codes
        For each column, one more than the highest code.

    Raises
    ------
    DataError
        If a template cannot be read, occurs twice or has more values than a key can hold.
    """
    if not 0 < len(templates) <= MAX_TEMPLATES:
        raise DataError(f"{len(templates)} arc templates where 1 to {MAX_TEMPLATES} are possible")
    names = list(dict.fromkeys(atom for template in templates for atom in template.split()))
    number = {name: n for n, name in enumerate(names)}
    parsed = np.array([_parse_atom(name) for name in names], np.int64).reshape(-1, 3)
    place, offset, column = np.ascontiguousarray(parsed.T)
    bits = np.array([int(n - 1).bit_length() for n in n_codes], np.int64)[column]
    feat = column == COLUMNS.index("feat")
    first = (place == BETWEEN) | (feat & (place == HEAD))
    second = feat & (place == MODIFIER)
    repeats = set(np.flatnonzero(first | second).tolist())
    sets: list[frozenset[int]] = []
    lists: dict[str, list[int]] = {"atoms": [], "outer": [], "inner": [], "parent": []}
    for template in templates:
        mine = [number[name] for name in template.split()]
        several = [n for n in mine if first[n]], [n for n in mine if second[n]]
        key = frozenset(mine)
        _check(template, mine, key in sets, max(map(len, several)), int(bits[mine].sum()))
        lists["atoms"] += mine
        lists["outer"].append(several[0][0] if several[0] else -1)
        lists["inner"].append(several[1][0] if several[1] else -1)
        lists["parent"].append(_parent(sets, key, repeats))
        sets.append(key)
    arrays = {name: np.array(values, np.int64) for name, values in lists.items()}
    once = (arrays["outer"] < 0) & (arrays["inner"] < 0)
    return ArcPlan(
        atom_place=place,
        atom_offset=offset,
        atom_column=column,
        atom_bits=bits,
        atoms_ptr=np.cumsum([0, *map(len, sets)], dtype=np.int64),
        single=np.flatnonzero(once),
        several=np.flatnonzero(~once),
        between=np.unique(column[place == BETWEEN]),
        **arrays,
    )


def _check(template: str, atoms: list[int], again: bool, repeated: int, bits: int) -> None:
    why = ""
    if not atoms or len(set(atoms)) != len(atoms):
        why = "has no atoms" if not atoms else "names an atom twice"
    elif again:
        why = "occurs twice"
    elif repeated > 1:
        why = "has two atoms of several values (b or h.feat); give them to two templates"
    elif bits > VALUE_BITS:
        why = (
            f"needs {bits} bits for its values where {VALUE_BITS} are possible; a column has too "
            "many distinct values, so leave the template out or clean the column"
        )
    if why:
        raise DataError(f"the arc template {template!r} {why}")


def _parent(earlier: list[frozenset[int]], atoms: frozenset[int], several: set[int]) -> int:
    """Find the largest earlier template of one value whose atoms are among these.

    Where that one has no feature, this one has none either and need not be looked up.
    """
    best, size = -1, 0
    for n, other in enumerate(earlier):
        if len(other) >= size and other < atoms and not other & several:
            best, size = n, len(other)
    return best


def _bigrams(word: str, tag: str) -> list[str]:
    """Pairs of head and modifier with all back-offs but that of the two words."""
    hw, ht, mw, mt = f"h.{word}", f"h.{tag}", f"m.{word}", f"m.{tag}"
    return [
        f"{hw} {mt}",
        f"{ht} {mw}",
        f"{hw} {ht} {mt}",
        f"{ht} {mw} {mt}",
        f"{hw} {ht} {mw}",
        f"{hw} {mw} {mt}",
        f"{hw} {ht} {mw} {mt}",
    ]


def _tags(tag: str) -> list[str]:
    """The two tags, one between them, and their neighbours."""
    h, m = f"h.{tag}", f"m.{tag}"
    around = [f"h-1.{tag}", f"h+1.{tag}", f"m-1.{tag}", f"m+1.{tag}"]
    return [
        f"{h} {m}",
        *(f"{h} {m} {one}" for one in around),
        *(f"{h} {m} {a} {b}" for a in around[:2] for b in around[2:]),
        # One of the two with its neighbour and the neighbour of the other.
        f"h-1.{tag} {h} m+1.{tag}",
        f"{h} h+1.{tag} m-1.{tag}",
        f"h-1.{tag} {m} m+1.{tag}",
        f"h+1.{tag} m-1.{tag} {m}",
        f"{h} {m} b.{tag}",
    ]


def _arc_templates() -> tuple[str, ...]:
    single = ("pos", "cpos", "form", "prefix", "lemma", "feats")
    templates = [f"{end}.{column}" for column in single for end in "hm"]
    for pair in ("form pos", "form cpos", "prefix pos", "lemma pos", "pos feats"):
        one, other = pair.split()
        templates += [f"{end}.{one} {end}.{other}" for end in "hm"]
    templates += _tags("cpos") + _tags("pos")
    for word, tag in (("form", "pos"), ("form", "cpos"), ("prefix", "pos"), ("lemma", "pos")):
        templates += _bigrams(word, tag)
    templates += [f"h.{word} m.{word}" for word in ("form", "prefix", "lemma", "feats")]
    templates += [
        "h.pos h.feats m.pos",
        "h.pos m.pos m.feats",
        "h.pos h.feats m.pos m.feats",
        "h.lemma m.pos m.feats",
        "h.pos h.feats m.lemma",
        "h.pos m.pos h.feat m.feat",
    ]
    return tuple(templates)


#: The features of McDonald, Crammer and Pereira (2005) with coarse and fine tags, and with lemmas
#: and morphology where the data have them.
ARC_TEMPLATES: Final = _arc_templates()
