"""Names in little memory: the numbers of a dict, and vocabularies that hold no strings."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.models.grown_names import GrownNames
from partwise.models.hashed_names import HashedNames, first_in_row, hashed_indices, is_size
from partwise.models.name_table import NameTable, hashes
from partwise.models.tally import Tally
from partwise.models.vocabulary import Vocabulary, fit_rows, packed, transform_rows
from partwise.problem.rows import Renumbering, Rows

# A lone surrogate is a legal Python string, and so is one without characters.
NAMES = st.lists(st.text(alphabet="ab\u00e9\U0001f600\ud800\0", max_size=4), max_size=40)


@given(st.lists(NAMES, max_size=6))
def test_numbers_are_those_of_a_dict(batches: list[list[str]]) -> None:
    table, index = NameTable(), dict[str, int]()
    for batch in batches:
        wanted = [index.setdefault(name, len(index)) for name in batch]
        assert table.add(batch).tolist() == wanted
        assert table.find([*batch, "none such"]).tolist() == [*wanted, -1]
    assert len(table) == len(index)
    names = table.finish()
    assert names.names == tuple(index)
    assert len(table) == 0
    assert table.add(["new"]).tolist() == [0]


def test_a_name_takes_little_memory() -> None:
    table = NameTable()
    names = [f"w[-1]|w[0]={k * 7919 % 99991}" for k in range(60_000)]
    for first in range(0, len(names), 5000):
        table.add(names[first : first + 5000])
    length = np.mean(list(map(len, names)))
    assert table.nbytes / len(table) < length + 32
    assert table.finish().names == tuple(names)


def plain_hash(name: str) -> int:
    """Compute FNV-1a and the finaliser of splitmix64 in whole numbers of Python."""
    z = 0xCBF29CE484222325
    for byte in name.encode("utf-8", "surrogatepass"):
        z = (z ^ byte) * 0x100000001B3 % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def test_hashes_do_not_depend_on_the_machine() -> None:
    # Models hold such numbers, so they must never change.
    names = ["", "a", "w[0]=the", "\u00e9\ud800"]
    assert hashes(*packed(names)).tolist() == list(map(plain_hash, names))
    assert hashes(*packed(["a"])).tolist() == [198367012849983736]
    assert HashedNames(1024).find(names).tolist() == [plain_hash(name) % 1024 for name in names]


@given(NAMES, st.data())
def test_a_packed_vocabulary_is_one_of_strings(names: list[str], data: st.DataObject) -> None:
    listed = Vocabulary(dict.fromkeys(names))
    compact = Vocabulary.of_packed(*listed.pack())
    assert compact.is_packed
    assert len(compact) == len(listed)
    assert list(compact) == list(listed)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(listed), max_size=len(listed))))
    mask = mask.astype(np.bool_)
    kept = compact.keep(mask)
    assert kept.is_packed
    assert list(kept) == list(listed.keep(mask))
    for ours, theirs in zip(compact.pack(), listed.pack(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    wanted = [*names, "none such"]
    assert compact.find(wanted, -2).tolist() == listed.find(wanted, -2).tolist()
    assert compact.is_packed
    again = pickle.loads(pickle.dumps(compact))
    assert again.is_packed
    assert again == listed
    assert hash(again) == hash(listed)
    assert again.index == listed.index


def test_a_packed_vocabulary_reads_tokens() -> None:
    sequences = [[{"a": "x", "n": 2.0}, ["b", "b"]], [{"a": "y"}]]
    _, names, _ = fit_rows(sequences[:1])
    compact = Vocabulary.of_packed(*names.pack())
    tallies = Tally(), Tally()
    rows, lengths = transform_rows(sequences, names, tallies[0])
    ours, same = transform_rows(sequences, compact, tallies[1])
    for name in ("indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(rows, name))
    assert ours.n_features == rows.n_features
    assert lengths.tolist() == same.tolist() == [2, 1]
    assert tallies[1].known > 0
    assert compact.is_packed


def rows_of(*entries: list[int], values: list[float] | None = None) -> Rows:
    flat = [k for row in entries for k in row]
    ends = np.cumsum([0, *map(len, entries)])
    held = None if values is None else np.array(values)
    return Rows(ends, np.array(flat, np.int32), held, 1 + max(flat, default=-1))


def test_of_names_that_share_a_slot_the_first_counts() -> None:
    names = Vocabulary([f"n{k}" for k in range(12)])
    hashed = HashedNames(4)
    slots = hashed.find(names.names).tolist()
    rows = rows_of(list(range(12)), [3, 1], values=[*map(float, range(12)), 7.0, 8.0])
    found = hashed.rows(rows, names)
    first = [slots.index(slot) for slot in dict.fromkeys(slots)]
    assert found.values is not None
    begin = int(found.indptr[1])
    assert found.values[:begin].tolist() == [float(k) for k in first]
    assert found.indices[:begin].tolist() == [slots[k] for k in first]
    assert found.n_features == 4
    assert found.indices[begin:].tolist() == list(dict.fromkeys([slots[3], slots[1]]))


def test_numbers_are_hashed_alike_in_all_batches() -> None:
    rows = rows_of([0, 5, 900], [900])
    found = hashed_indices(rows, 2**16)
    assert found.indices[2] == found.indices[3] == hashed_indices(rows_of([900]), 2**16).indices[0]
    assert found.n_features == 2**16
    table = np.array([[3, 1, 3, 1], [2, 2, 2, 0]])
    assert first_in_row(table).tolist() == [[True, True, False, False], [True, False, False, True]]


def test_hashed_names_are_not_listed() -> None:
    names = HashedNames(2)
    assert names == HashedNames(2)
    assert names != Vocabulary(["hash 0 of 2", "hash 1 of 2"])
    assert list(names) == ["hash 0 of 2", "hash 1 of 2"]
    assert is_size(2)
    assert not any(map(is_size, (0, 1, 3, 2**29, True, 2.0, "4")))
    for use in (lambda: names.index, names.pack, lambda: names.keep(np.ones(2, np.bool_))):
        with pytest.raises(DataError, match="not"):
            use()


def test_rare_features_are_dropped_in_the_end() -> None:
    grown = GrownNames(min_count=2, constant=0.5)
    used = np.ones(2, np.bool_)
    one = grown.add(rows_of([0, 1], [1]), Vocabulary(["a", "b"]), used)
    two = grown.add(rows_of([0, 1], [2]), Vocabulary(["c", "a", "d"]), np.array([True, False]))
    # The constant is the first feature until the end, and the last entry of a row.
    assert one.indices.tolist() == [1, 2, 0, 2, 0]
    assert two.indices.tolist() == [3, 1, 0]
    assert two.values is not None
    assert two.values.tolist() == [1.0, 1.0, 0.5]
    assert grown.n_in_batches == 5
    names, kept = grown.finish()
    assert names is not None
    assert list(names) == ["a", "b"]
    assert isinstance(kept, Renumbering)
    assert kept.numbers.tolist() == [2, 0, 1, -1, -1]
    assert kept.n_features == 3


def test_rare_features_without_names_keep_their_numbers() -> None:
    grown = GrownNames(min_count=2)
    grown.add(rows_of([0, 3], [0]), None, np.ones(2, np.bool_))
    names, kept = grown.finish()
    assert names is None
    assert isinstance(kept, Renumbering)
    assert kept.numbers.tolist() == [0, -1, -1, -1]
    assert kept.n_features == 4
