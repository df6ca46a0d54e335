"""Files that promise far more than they hold are refused before memory is taken for it."""

from __future__ import annotations

import io
import json
import resource
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.foreign_models import CRFPP, WAPITI, liblinear_text

from partwise import LinearClassifier, ModelFileError, read_model, write_model


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """Let the process take no more than 1 GiB on top of what it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    old = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**30, old[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, old)


def refuses(path: Path, format: str, data: str | bytes, says: str) -> None:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(ModelFileError, match=says):
        read_model(path, format)


def test_many_labels_and_pairs_of_them(tmp_path: Path) -> None:
    many = "".join(f"{len(str(k))}:{k},\n" for k in range(16000))
    text = WAPITI.replace("#qrk#3\n1:O,\n1:B,\n1:I,\n", f"#qrk#16000\n{many}")
    refuses(tmp_path / "model", "wapiti-model", text, "would need .* GiB of memory")
    more = "".join(f"{len(str(k))}:{k},\n" for k in range(20000))
    text = WAPITI.replace("#qrk#3\n1:O,\n1:B,\n1:I,\n", f"#qrk#20000\n{more}")
    refuses(tmp_path / "model", "wapiti-model", text, "20,000 labels; a tagger has from 1 to")


def test_many_weights_of_crfpp(tmp_path: Path) -> None:
    text = CRFPP.replace("maxid: 32", "maxid: 2000000000")
    refuses(tmp_path / "model", "crfpp-model", text, "and there are 32 weights")


def test_many_classes_and_rows(tmp_path: Path) -> None:
    labels = " ".join(map(str, range(50000)))
    text = liblinear_text("L2R_LR", labels, -1, [[1.0]] * 50000)
    refuses(tmp_path / "model", "liblinear-model", text, "has 1 where 50000 belong")


def test_many_inputs(tmp_path: Path) -> None:
    model = LinearClassifier().fit(np.eye(2), ["a", "b"]).model_
    write_model(model, tmp_path / "model", "json-model")
    held = json.loads((tmp_path / "model").read_text())
    held["model"]["encoder"]["data"]["n_inputs"] = 2**31 - 1
    refuses(tmp_path / "model", "json-model", json.dumps(held), "another number of features")


def test_a_small_file_of_skops_with_large_contents(tmp_path: Path) -> None:
    pytest.importorskip("skops")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as held:
        held.writestr("schema.json", "{}")
    # The directory of the file says how large its contents are.
    data = bytearray(packed.getvalue())
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = b"\xfe\xff\xff\xff"
    entry = bytes(data[data.index(b"PK\x01\x02") : data.index(b"PK\x05\x06")])
    end = data.index(b"PK\x05\x06")
    many = 60
    data[end + 8 : end + 12] = bytes([many, 0, many, 0])
    data[end + 12 : end + 16] = (many * len(entry)).to_bytes(4, "little")
    data[end:end] = entry * (many - 1)
    refuses(tmp_path / "model", "sklearn-model", bytes(data), "when unpacked|skops does not read")
