"""What is said when there is no cluster, or not the right one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from support.dask_clusters import classes, processes

from partwise.cli import main
from partwise.dask import Address, DaskLinearClassifier
from partwise.dask.connection import versions
from partwise.errors import ClusterError, DataError

distributed = pytest.importorskip("distributed")


def refused(client: Any, match: str, kind: type[Exception] = ClusterError) -> None:
    with pytest.raises(kind, match=match):
        DaskLinearClassifier(client=client).fit(*classes(20))


@pytest.mark.parametrize(
    "address", ["", "host", "http://host:1", "tcp://", "tcp://host:port", "a b:1"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(DataError, match="is no address of a scheduler; give local, or one such as"):
        Address(address)


def test_options_of_an_address_belong_together() -> None:
    with pytest.raises(DataError, match=r"local has no TLS: it listens on 127\.0\.0\.1"):
        Address("local", ca_file="a")
    with pytest.raises(DataError, match="files of TLS belong to an address that begins with tls"):
        Address("tcp://host:1", "a", "b", "c")
    with pytest.raises(DataError, match="needs the certificate of the authority, a certificate"):
        Address("tls://host:1", "a", "b")
    with pytest.raises(DataError, match="the number of workers is for local"):
        Address("tcp://host:1", workers=2)


def test_an_address_where_nobody_is() -> None:
    with patch("partwise.dask.clients._TIMEOUT", 0.5):
        refused("tcp://127.0.0.1:9", r"tcp://127\.0\.0\.1:9: no scheduler answers there within 0 s")


def test_files_of_tls_that_are_none(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    refused(Address("tls://127.0.0.1:9", missing, missing, missing), "cannot be read", DataError)
    (tmp_path / "text").write_text("no certificate")
    text = str(tmp_path / "text")
    refused(Address("tls://127.0.0.1:9", text, text, text), "the files of TLS cannot be used")


def test_there_must_be_a_client() -> None:
    refused(None, "there is no client; make one by")


def test_a_client_must_run(client: Any) -> None:
    other = distributed.Client(client.scheduler.address, set_as_default=False)
    other.close()
    refused(other, "the client is closed; give a running, synchronous one")


def test_a_cluster_without_workers(tmp_path: Path) -> None:
    with (
        processes(tmp_path, 0) as cluster,
        patch("partwise.dask.connection.PATIENCE", 0.5),
    ):
        refused(cluster.address, "has had no worker for 0 s")


def test_other_versions_are_refused(client: Any) -> None:
    theirs = {"tcp://10.0.0.1:1": {**versions(), "numpy": "0.1"}}
    with patch("distributed.Client._run", _answer(theirs)):
        refused(client, r"the worker tcp://10\.0\.0\.1:1 has numpy 0\.1 where this process has")


def _answer(found: dict[str, Any]) -> Any:
    async def run(self: Any, *given: Any, **named: Any) -> dict[str, Any]:
        return found

    return run


def test_a_worker_without_partwise(tmp_path: Path) -> None:
    stub = tmp_path / "partwise"
    stub.mkdir()
    (stub / "__init__.py").write_text("raise ImportError('not here')\n")
    with processes(tmp_path, 1, paths=[str(tmp_path)]) as cluster:
        refused(cluster.address, r"cannot import partwise .*; install partwise")


def test_without_dask_a_sentence_says_what_to_install() -> None:
    with patch.dict(sys.modules, {"distributed": None}):
        refused("local", r"needs Dask; install it by: pip install 'partwise\[dask\]'")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["train", "--task", "classify", *arguments])
    return code, capsys.readouterr().err


USAGE = [
    (["--dask-workers", "2"], "--dask-workers needs --dask ADDRESS"),
    (["--blocks", "2"], "--blocks needs --dask ADDRESS"),
    (["--dask", "nowhere"], "'nowhere' is no address of a scheduler"),
    (["--dask", "tls://host:1"], "(--tls-ca-file, --tls-cert, --tls-key)"),
    (["--dask", "local", "--blocks", "0"], "0 is below 1"),
    (["--dask", "local", "--out-of-core", "x"], "--out-of-core is for one machine"),
    (["--dask", "local", "--solver", "lbfgs"], "--dask has a solver of its own"),
    (["--dask", "local", "--dev", "-"], "the file is read twice"),
]


@pytest.mark.parametrize(("given", "words"), USAGE)
def test_options_that_do_not_go_together(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, given: list[str], words: str
) -> None:
    model = str(tmp_path / "model")
    code, text = said(capsys, str(tmp_path / "train"), "--model", model, *given)
    assert code == 2
    assert words in text
    assert not Path(model).exists()


def test_stdin_cannot_be_read_by_workers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, text = said(capsys, "-", "--model", str(tmp_path / "m"), "--dask", "local")
    assert code == 2
    assert "TRAIN cannot be stdin with --dask" in text


def certificate(folder: Path) -> tuple[str, str]:
    """Make a certificate that is its own authority."""
    key, made = str(folder / "key"), str(folder / "cert")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    more = ["-keyout", key, "-out", made, "-subj", "/CN=127.0.0.1"]
    subprocess.run([*command, *more], check=True, capture_output=True)
    return made, key


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_tls_is_passed_on(tmp_path: Path) -> None:
    made, key = certificate(tmp_path)
    tls = [
        f"--tls-{name}={path}" for name, path in (("ca-file", made), ("cert", made), ("key", key))
    ]
    with processes(tmp_path, 1, more=tls) as cluster:
        assert cluster.address.startswith("tls://")
        fitted = DaskLinearClassifier(
            client=Address(cluster.address, made, made, key), tol=1e-2
        ).fit(*classes(40))
    assert fitted.certificate_.converged
