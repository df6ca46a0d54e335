"""Folders that one fit uses, and mapped files in them."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.mapped_arrays import is_mapped

from partwise.errors import DataError
from partwise.files.mapped import ArrayWriter, MappedFile
from partwise.files.work_folder import WorkFolder


def test_a_folder_is_made_and_removed(tmp_path: Path) -> None:
    folder = WorkFolder(tmp_path / "a" / "b")
    assert folder.part("duals").is_dir()
    assert folder.free() > 0
    (folder.part("duals") / "x").write_bytes(b"1")
    folder.remove()
    folder.close()
    assert not (tmp_path / "a" / "b").exists()
    (tmp_path / "own").mkdir()
    folder = WorkFolder(tmp_path / "own")
    folder.remove()
    folder.close()
    assert list((tmp_path / "own").iterdir()) == []


def test_two_fits_do_not_share_a_folder(tmp_path: Path) -> None:
    folder = WorkFolder(tmp_path / "x")
    program = "import sys; from partwise.files.work_folder import WorkFolder\n"
    program += "WorkFolder(sys.argv[1], resume=True)"
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder.path)], capture_output=True, check=False
    )
    assert b"is in use by another fit" in done.stderr
    folder.close()
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder.path)], capture_output=True, check=False
    )
    assert done.returncode == 0


def test_folders_that_are_refused(tmp_path: Path) -> None:
    used = WorkFolder(tmp_path / "used")
    used.close()
    with pytest.raises(DataError, match="holds the files of an earlier fit that did not end"):
        WorkFolder(tmp_path / "used")
    with pytest.raises(DataError, match="holds no files of an earlier fit"):
        WorkFolder(tmp_path / "none", resume=True)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").touch()
    with pytest.raises(DataError, match=r"other files, such as 'thesis.tex'"):
        WorkFolder(tmp_path / "foreign")
    assert os.listdir(tmp_path / "foreign") == ["thesis.tex"]
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="is no folder"):
        WorkFolder(tmp_path / "file")
    about = tmp_path / "used" / "partwise.json"
    for damage in ("", "[]", json.dumps({"format": 2, "id": "x"}), json.dumps({"format": 1})):
        about.write_text(damage)
        with pytest.raises(DataError, match="damaged or was written by another version"):
            WorkFolder(tmp_path / "used", resume=True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(DataError, match="give a folder that you may write to"):
        WorkFolder(tmp_path / "locked" / "x")


def test_resuming_keeps_the_duals_alone(tmp_path: Path) -> None:
    folder = WorkFolder(tmp_path / "x")
    for name in ("spool", "problem", "duals", "journal"):
        (folder.part(name) / "held").touch()
    name = folder.id
    folder.close()
    again = WorkFolder(tmp_path / "x", resume=True)
    assert again.id == name
    left = {part.name for part in again.path.iterdir() if part.is_dir() and any(part.iterdir())}
    assert left == {"duals", "journal"}
    again.close()


def test_arrays_are_appended_and_mapped(tmp_path: Path) -> None:
    writer = ArrayWriter(tmp_path / "x", np.int64)
    writer.append(np.arange(5))
    writer.append(np.arange(5, 5000, dtype=np.int32)[::1])
    file = writer.mapped()
    np.testing.assert_array_equal(file.array, np.arange(5000))
    assert is_mapped(file.array)
    assert is_mapped(file.array[1:])
    assert not is_mapped(np.arange(3))
    assert file.array.flags.writeable
    file.array[17] = -1
    # Advice changes nothing, whatever pages it touches.
    for begin, end in ((0, 5000), (3, 4), (511, 1025), (0, 0)):
        file.will_need(begin, end)
        file.populate(begin, end, begin == 0)
        file.forget(begin, end)
    file.flush()
    kept = file.array
    file.close()
    assert kept[17] == -1
    again = MappedFile(tmp_path / "x", np.int64, 5000)
    assert again.array[17] == -1
    again.close()
    with pytest.raises(DataError, match="40,000 bytes where 39,992 are expected"):
        MappedFile(tmp_path / "x", np.int64, 4999)


def test_new_files_have_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 3 * mmap.PAGESIZE
    file = MappedFile(tmp_path / "x", np.float64, size, new=True)
    assert not file.array.any()
    found = os.stat(tmp_path / "x")
    assert found.st_size == 8 * size
    if hasattr(found, "st_blocks"):
        assert found.st_blocks * 512 >= 8 * size
    file.close()
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    monkeypatch.delattr(os, "posix_fadvise", raising=False)
    other = MappedFile(tmp_path / "y", np.float64, size, new=True)
    assert not other.array.any()
    other.will_need(0, size)
    other.forget(0, size)
    assert os.stat(tmp_path / "y").st_size == 8 * size
    other.close()
    empty = MappedFile(tmp_path / "z", np.float64, 0, new=True)
    empty.forget(0, 0)
    assert empty.array.shape == (0,)
    empty.close()
