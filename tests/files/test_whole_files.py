"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from partwise.errors import DataError, ModelFileError
from partwise.files.container import read_container, write_container
from partwise.files.whole_files import replacing
from partwise.formats.source import writing
from partwise.plots.training import _replace as write_picture

KILLED = """
import os, signal, sys
from partwise.files.container import write_container
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
write_container(sys.argv[1], {}, {})
"""


def killed_while_saving(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_what_a_killed_process_left_is_swept_at_the_next_save(tmp_path: Path) -> None:
    target = tmp_path / "a.model"
    for _ in range(2):
        killed_while_saving(target)
    assert len(os.listdir(tmp_path)) == 1  # the second process swept what the first one left
    assert not target.exists()
    write_container(target, {}, {})
    assert os.listdir(tmp_path) == ["a.model"]
    killed_while_saving(target)
    with writing(tmp_path / "text") as stream:
        stream.write("x\n")
    assert sorted(os.listdir(tmp_path)) == ["a.model", "text"]


def test_what_is_still_being_written_is_not_swept(tmp_path: Path) -> None:
    waits = (
        "import sys\nfrom partwise.files.whole_files import replacing\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(b'slow')\n    sys.stdout.write('.')\n    sys.stdout.flush()\n"
        "    sys.stdin.read()\n"
    )
    slow = subprocess.Popen(
        [sys.executable, "-c", waits, str(tmp_path / "slow")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert slow.stdout is not None
    assert slow.stdout.read(1) == b"."
    with replacing(tmp_path / "outer") as outer:
        outer.write(b"outer")
        with replacing(tmp_path / "quick") as file:
            file.write(b"quick")
    slow.communicate(b"")
    assert slow.returncode == 0
    for name in ("slow", "outer", "quick"):
        assert (tmp_path / name).read_text("ascii") == name
    assert len(os.listdir(tmp_path)) == 3


def test_nothing_else_is_swept(tmp_path: Path) -> None:
    name = ".partwise-1-0123456789abcde{}.tmp"
    (tmp_path / name.format(0)).mkdir()
    (tmp_path / "kept").write_text("kept", "ascii")
    (tmp_path / name.format(1)).symlink_to("kept")
    for other in ("partwise-1-0123456789abcdef.tmp", ".partwise-x.tmp", ".partwise-1-0.tmp"):
        (tmp_path / other).write_text("", "ascii")
    before = sorted(os.listdir(tmp_path))
    write_container(tmp_path / "a.model", {}, {})
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "a.model"])


@pytest.mark.parametrize("there", [True, False])
def test_the_file_behind_a_link_is_replaced_and_the_link_stays(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    links = {name: tmp_path / name for name in ("model", "text", "picture")}
    for name, link in links.items():
        if there:
            (folder / name).write_text("before", "ascii")
        link.symlink_to(Path("store") / name)
    write_container(links["model"], {"a": 1}, {})
    with writing(links["text"]) as stream:
        stream.write("after")
    write_picture(str(links["picture"]), b"after")
    assert read_container(folder / "model")[0] == {"a": 1}
    for name, link in links.items():
        assert link.is_symlink()
        assert not (folder / name).is_symlink()
    assert (folder / "text").read_text("ascii") == "after"
    assert (folder / "picture").read_text("ascii") == "after"
    assert sorted(os.listdir(folder)) == sorted(links)
    assert sorted(os.listdir(tmp_path)) == sorted([*links, "store"])


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, "No space left on device.*make room"),
        (errno.EDQUOT, "quota.*delete files"),
        (errno.EROFS, "Read-only.*can be written to"),
        (errno.EACCES, "Permission denied.*may write to"),
        (errno.ENOENT, "No such file.*folder that exists"),
        (errno.EISDIR, "Is a directory.*not of a folder"),
        (errno.ENAMETOOLONG, "too long.*shorter name"),
        (errno.EMFILE, "Too many open files.*check space and permissions"),
    ],
)
def test_the_cause_and_what_to_do_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, says: str
) -> None:
    def fails(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(ModelFileError, match=says):
        write_container(tmp_path / "a.model", {}, {})
    with pytest.raises(DataError, match=says), writing(tmp_path / "text") as stream:
        stream.write("x")
    with pytest.raises(DataError, match=says):
        write_picture(str(tmp_path / "picture"), b"x")
    assert os.listdir(tmp_path) == []


def test_places_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"No such file or directory; .*a folder that exists"):
        write_container(tmp_path / "none" / "a.model", {}, {})
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ModelFileError, match="symbolic link, which leads back"):
        write_container(tmp_path / "loop" / "a.model", {}, {})
    with pytest.raises(ModelFileError, match="too long; choose a shorter name"):
        write_container(tmp_path / ("a" * 300), {}, {})
