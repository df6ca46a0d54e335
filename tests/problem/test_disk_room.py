"""Blocks on disk: their order, and duals that survive a process that is killed at any moment."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwise.arrays import Floats, Ints
from partwise.errors import DataError
from partwise.files.work_folder import WorkFolder
from partwise.problem import disk_room
from partwise.problem.disk_room import DiskRoom, cut_blocks

#: Seven blocks of examples, and of parts.
BOUNDS = np.array([0, 3, 4, 9, 12, 15, 19, 20])
PARTS = np.array([0, 700, 900, 2000, 2600, 3300, 4100, 4444])

# What is about to be done to files is seen by one hook, as hooks cannot be removed.
_seen: list[Callable[[], None]] = []
_STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")


def _hook(event: str, _: Any) -> None:
    if _seen and event in _STEPS:
        _seen[0]()


sys.addaudithook(_hook)


class Inline:
    """Does at once what the thread would do, so that there is one order of steps."""

    def submit(self, task: Callable[..., None], *arguments: Any) -> Future[None]:
        future: Future[None] = Future()
        try:
            future.set_result(task(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self) -> None:
        pass


def room_in(path: Path, resume: bool = False, threads: bool = False) -> DiskRoom:
    room = DiskRoom(WorkFolder(path, resume), BOUNDS, PARTS, {})
    if not threads:
        room._thread.shutdown()
        room._thread = Inline()  # type: ignore[assignment]
    return room


def arrays(room: DiskRoom) -> tuple[Floats, Floats]:
    return room.parts("theta", 4444), room.parts("mu", 4444)


def held(room: DiskRoom) -> tuple[Floats, Floats]:
    """Return all that the room keeps: two arrays, and a number that is put away for each block."""
    theta, mu = arrays(room)
    away = [room.take("kept", block) for block in range(7)]
    numbers = [0.0 if some is None else some["a"][0] for some in away]
    return theta.copy(), np.concatenate([mu, numbers])


def change(room: DiskRoom, block: int, number: float) -> None:
    """Visit a block as a solver does: in stretches, each of which is announced."""
    theta, mu = arrays(room)
    examples = np.arange(BOUNDS[block], BOUNDS[block + 1])
    cut = len(examples) // 2
    for begin, end in [(0, cut), (cut, len(examples))] if cut else [(0, len(examples))]:
        room.enter(examples, begin, end)
        lo, hi = PARTS[block], PARTS[block + 1]
        theta[lo:hi] += number
        mu[lo + 1 : hi] = theta[lo : hi - 1] * 0.5
    room.put("kept", block, {"a": np.full(3, number)})


class Copies:
    """Copies of the folder before every step, with the mark that is then in force."""

    def __init__(self, source: Path, into: Path) -> None:
        self.source, self.into = source, into
        self.mark: dict[str, Any] = {}
        self.content: tuple[Floats, Floats] = (np.zeros(0), np.zeros(0))
        self.busy = False
        self.taken: list[tuple[Path, dict[str, Any], tuple[Floats, Floats]]] = []

    def take(self) -> None:
        if self.mark and not self.busy:
            self.busy = True
            path = self.into / str(len(self.taken))
            shutil.copytree(self.source, path)
            self.taken.append((path, self.mark, self.content))
            self.busy = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        _seen.append(self.take)
        try:
            yield
        finally:
            _seen.clear()


def checkpoint(room: DiskRoom, copies: Copies) -> None:
    """Mark, put the checkpoint in place, and release what came before."""
    mark, content = room.mark(), held(room)
    copies.take()
    copies.mark, copies.content = mark, content
    copies.take()
    room.release(mark)


def brought_back(path: Path, mark: dict[str, Any]) -> tuple[Floats, Floats]:
    room = room_in(path, resume=True)
    arrays(room)
    room.back_to(mark)
    found = held(room)
    room.close()
    return found


def run(path: Path, copies: Copies, rng: np.random.Generator) -> DiskRoom:
    room = room_in(path)
    arrays(room)
    for number in range(40):
        if number in (5, 9, 10, 24, 33):
            checkpoint(room, copies)
        change(room, int(rng.integers(7)), 1.0 + number)
        copies.take()
    return room


def test_killed_at_any_step(tmp_path: Path) -> None:
    copies = Copies(tmp_path / "live", tmp_path / "copies")
    rng = np.random.default_rng(0)
    with copies.watching():
        room = run(tmp_path / "live", copies, rng)
    assert len(copies.taken) > 100
    for path, mark, (theta, mu) in copies.taken:
        found = brought_back(path, mark)
        np.testing.assert_array_equal(found[0], theta)
        np.testing.assert_array_equal(found[1], mu)
    room.close()


def test_killed_while_going_back(tmp_path: Path) -> None:
    copies = Copies(tmp_path / "live", tmp_path / "copies")
    rng = np.random.default_rng(1)
    room = run(tmp_path / "live", copies, rng)
    # The last mark was made, but its checkpoint never got in place.
    room.mark()
    for block in (0, 3, 5, 0):
        change(room, block, 100.0)
    room.close()
    copies.into, copies.taken = tmp_path / "again", []
    with copies.watching():
        room = room_in(tmp_path / "live", resume=True)
        arrays(room)
        # What a solver does before its state is restored is a change like any other.
        for block in range(7):
            change(room, block, -7.0)
        room.back_to(copies.mark)
        for block in (2, 3, 4):
            change(room, block, 7.0)
    assert len(copies.taken) > 30
    for path, mark, (theta, mu) in copies.taken:
        found = brought_back(path, mark)
        np.testing.assert_array_equal(found[0], theta)
        np.testing.assert_array_equal(found[1], mu)
    room.close()


def test_goes_on_and_back_again(tmp_path: Path) -> None:
    room = room_in(tmp_path / "x", threads=True)
    theta, mu = arrays(room)
    for turn in range(3):
        change(room, turn, 1.0)
        mark, before = room.mark(), (theta.copy(), mu.copy())
        room.release(mark)
        for block in (turn, 5, turn + 1):
            change(room, block, 3.0)
        room.back_to(mark)
        np.testing.assert_array_equal(theta, before[0])
        np.testing.assert_array_equal(mu, before[1])
    assert room.keeps(theta)
    assert room.keeps(mu)
    assert not room.keeps(theta.copy())
    room.close(remove=True)
    assert not (tmp_path / "x").exists()


def blocks_of(examples: Ints) -> list[int]:
    return np.unique(np.searchsorted(BOUNDS, examples, "right") - 1).tolist()


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of two blocks."""
    monkeypatch.setattr(disk_room, "WINDOW", 2)


@pytest.mark.usefixtures("pairs")
def test_an_order_goes_window_by_window(tmp_path: Path) -> None:
    room = room_in(tmp_path / "x")
    order = room.order(np.random.default_rng(0), 20)
    assert sorted(order) == list(range(20))
    ends = room.ends(order).tolist()
    assert len(ends) == 4
    assert ends[-1] == 20
    windows = [blocks_of(order[begin:end]) for begin, end in pairwise([0, *ends])]
    assert [len(window) for window in windows] == [2, 2, 2, 1]
    assert sorted(block for window in windows for block in window) == list(range(7))
    np.testing.assert_array_equal(order, room.order(np.random.default_rng(0), 20))
    others = {tuple(room.order(np.random.default_rng(seed), 20)) for seed in range(20)}
    assert len(others) == 20
    # Examples of the blocks of a window are mixed, and blocks have other companions every time.
    mixed, companions = 0, set()
    for seed in range(20):
        order = room.order(np.random.default_rng(seed), 20)
        for begin, end in pairwise([0, *room.ends(order).tolist()]):
            blocks = np.searchsorted(BOUNDS, order[begin:end], "right")
            mixed += int(np.count_nonzero(np.diff(blocks)) > 1)
            companions.add(tuple(blocks_of(order[begin:end])))
    assert mixed > 20
    assert len(companions) > 15
    # An order may leave examples out, as the focused one does.
    some = np.array([0, 19, 1, 5, 6, 16])
    assert room.ends(some).tolist() == [3, 6]
    assert room.ends(some[:0]).tolist() == []
    room.close()


@pytest.mark.usefixtures("pairs")
def test_draws_go_window_by_window(tmp_path: Path) -> None:
    room, rng = room_in(tmp_path / "x"), np.random.default_rng(0)
    drawn = rng.integers(20, size=1000)
    order = room.grouped(rng, drawn)
    assert sorted(order) == sorted(drawn)
    assert len(room.ends(order)) == 4
    chances = rng.random(20)
    chances[4:9] = 0.0  # a block that is never drawn
    chances /= chances.sum()
    found = np.zeros(20)
    for _ in range(2000):
        order = room.drawn(rng, chances, 40)
        assert len(order) == 40
        assert len(room.ends(order)) <= 4
        found += np.bincount(order, minlength=20)
    np.testing.assert_allclose(found / found.sum(), chances, atol=0.01)
    room.close()


@pytest.mark.usefixtures("pairs")
def test_the_next_window_is_read_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = room_in(tmp_path / "x")
    arrays(room)
    read: list[tuple[int, ...]] = []
    monkeypatch.setattr(room, "_read", lambda window: read.append(tuple(sorted(window))))
    order = room.order(np.random.default_rng(0), 20)
    ends = [0, *room.ends(order).tolist()]
    windows = [tuple(blocks_of(order[begin:end])) for begin, end in pairwise(ends)]
    for position, (begin, end) in enumerate(pairwise(ends)):
        for at in range(begin, end):
            room.enter(order, at, at + 1)
            assert read == windows[: position + 2]
            assert tuple(sorted(block.number for block in room.window(20))) == windows[position]
    read.clear()
    assert list(room.sweep(20)) == [(0, 4), (4, 12), (12, 19), (19, 20)]
    assert read == [(0, 1), (2, 3), (4, 5), (6,)]
    room.close()


def test_files_are_forgotten_where_memory_is_scarce(tmp_path: Path) -> None:
    for memory, expected in ((1e9, False), (1e4, True)):
        folder = WorkFolder(tmp_path / str(memory))
        room = DiskRoom(folder, BOUNDS, PARTS, {}, memory)
        theta, _ = arrays(room)
        theta[:] = np.arange(4444)
        forgotten: list[list[int]] = []
        forget = room._forget
        room._forget = lambda blocks, f=forget, n=forgotten: (n.append(blocks), f(blocks))[1]  # type: ignore[method-assign]
        for block in (0, 2, 4, 5):
            room.enter(np.arange(20), int(BOUNDS[block]), int(BOUNDS[block + 1]))
        room.close()
        assert bool(forgotten) == expected
        np.testing.assert_array_equal(theta, np.arange(4444))


def test_arrays_that_are_put_away(tmp_path: Path) -> None:
    room = room_in(tmp_path / "x")
    arrays(room)
    assert room.take("atoms", 3) is None
    room.put("atoms", 3, {"a": np.arange(5), "b": np.zeros(0)})
    mark = room.mark()
    room.put("atoms", 3, {"a": np.arange(7)})
    room.put("atoms", 3, {"a": np.arange(8)})
    room.put("atoms", 4, {"a": np.arange(9)})
    found = room.take("atoms", 3)
    assert found is not None
    np.testing.assert_array_equal(found["a"], np.arange(8))
    room.back_to(mark)
    found = room.take("atoms", 3)
    assert found is not None
    np.testing.assert_array_equal(found["a"], np.arange(5))
    assert room.take("atoms", 4) is None
    room.close()


def test_blocks_by_bytes() -> None:
    sizes = np.cumsum([0, 10, 10, 10, 100, 10, 10, 1])
    cuts: Ints = cut_blocks(sizes, 25)
    assert cuts.tolist() == [0, 3, 4, 7]
    assert cut_blocks(sizes, 10**9).tolist() == [0, 7]
    assert cut_blocks(sizes, 1).tolist() == list(range(8))
    assert cut_blocks(np.zeros(1, dtype=np.int64), 1).tolist() == [0]


def test_other_folders_and_marks_are_refused(tmp_path: Path) -> None:
    room = room_in(tmp_path / "x")
    arrays(room)
    first = room.mark()
    change(room, 0, 1.0)
    second = room.mark()
    room.release(second)
    with pytest.raises(DataError, match="has gone on since"):
        room.back_to(first)
    with pytest.raises(DataError, match="is not the folder"):
        room.back_to({**second, "folder": "another"})
    with pytest.raises(DataError, match="is not the folder"):
        room.back_to({})
    with pytest.raises(DataError, match="other examples"):
        room.back_to({**second, "blocks": "0"})
    room.parts("third", 4444)
    with pytest.raises(DataError, match="another solver"):
        room.back_to(second)
    room.close()


def test_a_damaged_record(tmp_path: Path) -> None:
    room = room_in(tmp_path / "x")
    arrays(room)
    mark = room.mark()
    change(room, 2, 1.0)
    (record,) = (tmp_path / "x" / "journal").rglob("*.undo")
    held = bytearray(record.read_bytes())
    held[-3] ^= 1
    record.write_bytes(held)
    with pytest.raises(DataError, match="journal of the duals is damaged"):
        room.back_to(mark)
    room.close()


def test_duals_of_another_size(tmp_path: Path) -> None:
    room = room_in(tmp_path / "x")
    arrays(room)
    room.mark()
    room.close()
    again = DiskRoom(WorkFolder(tmp_path / "x", True), BOUNDS, PARTS * 2, {})
    with pytest.raises(DataError, match="belongs to other data"):
        again.parts("theta", 8888)
    again.close()


def test_without_a_mark_an_old_array_is_made_anew(tmp_path: Path) -> None:
    room = room_in(tmp_path / "x")
    theta, _ = arrays(room)
    theta[:] = 1.0
    room.close()
    again = room_in(tmp_path / "x", resume=True)
    assert not arrays(again)[0].any()
    again.close()


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_full_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = room_in(tmp_path / "x", threads=True)
    theta, _ = arrays(room)
    change(room, 1, 1.0)
    mark, before = room.mark(), theta.copy()
    room.ends(np.arange(20))
    with monkeypatch.context() as patched:
        patched.setattr("partwise.files.container._write_body", full)
        with pytest.raises(DataError, match="No space left on device; make room on that disk"):
            room.enter(np.arange(20), 3, 4)
        # The thread's error is seen when its block is entered.
        with pytest.raises(DataError, match="No space left"):
            list(room.sweep(20, changes=True))
    np.testing.assert_array_equal(theta, before)
    room.back_to(mark)
    change(room, 2, 1.0)
    if hasattr(os, "posix_fallocate"):
        monkeypatch.setattr(os, "posix_fallocate", full)
        with pytest.raises(DataError, match=r"cannot be kept in .*x: No space left"):
            room.parts("another", 4444)
    room.close()
