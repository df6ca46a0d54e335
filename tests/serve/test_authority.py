from __future__ import annotations

import pytest

from partwise.errors import DataError
from partwise.serve.application import Authority
from partwise.serve.faults import Fault


@pytest.mark.parametrize("bound", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "[::1]:80", "LOCALHOST:1"])
def test_loopback_has_three_names(bound: str, host: str) -> None:
    Authority(bound).check_host(host)


@pytest.mark.parametrize(
    "host",
    [
        "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil@localhost",
        "localhost:", "localhost:80:80", "localhost/", "localhost:999999", "192.168.1.1", "[::2]",
        "localhost\t", "0.0.0.0",
    ],
)  # fmt: skip
def test_other_names_are_refused(host: str) -> None:
    with pytest.raises(Fault) as caught:
        Authority("127.0.0.1").check_host(host)
    assert caught.value.status == 421


def test_names_can_be_added() -> None:
    authority = Authority("0.0.0.0", ["Models.example.org", "other.example:8080"])
    authority.check_host("models.example.org")
    authority.check_host("models.example.org:123")
    authority.check_host("other.example:8080")
    for host in ("other.example", "other.example:81", "localhost"):
        with pytest.raises(Fault, match="--allowed-host"):
            authority.check_host(host)


def test_a_name_must_be_one() -> None:
    with pytest.raises(DataError, match="is no name of a host"):
        Authority("127.0.0.1", ["http://a"])


@pytest.mark.parametrize("origin", ["null", "", "https://evil.example", "http://localhost.evil"])
def test_origins_of_other_sites_are_refused(origin: str) -> None:
    with pytest.raises(Fault) as caught:
        Authority("127.0.0.1").check_origin(origin)
    assert caught.value.status == 403


def test_the_own_origin_is_not() -> None:
    Authority("127.0.0.1").check_origin("http://127.0.0.1:8765")
