"""Ctrl-C once stops with a certified model; twice quits."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.instances import make_instance

from partwise.training.certificate import ConvergenceWarning
from partwise.training.interrupt import Interrupt
from partwise.training.loop import train
from partwise.training.result import Fit, Progress

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def _handlers_are_given_back() -> Iterator[None]:
    before = [signal.getsignal(number) for number in SIGNALS]
    yield
    assert [signal.getsignal(number) for number in SIGNALS] == before


def long_fit(callback: Any) -> Fit:
    return train(make_instance("chain", n=8).problem, 0.01, tol=1e-300, callbacks=[callback])


@pytest.mark.parametrize("number", SIGNALS)
def test_one_signal_stops_at_the_end_of_the_epoch(number: signal.Signals) -> None:
    def callback(progress: Progress) -> None:
        if progress.row.epoch == 3:
            signal.raise_signal(number)

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit = long_fit(callback)
    assert len(fit.trace) == 3
    assert fit.certificate.verdict.startswith("interrupted")
    assert not fit.certificate.converged
    assert fit.certificate.dual <= fit.certificate.primal < float("inf")
    assert fit.weights.any()


def test_the_second_signal_quits() -> None:
    def callback(progress: Progress) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        long_fit(callback)


def test_the_second_sigterm_is_left_to_whoever_handled_it_before() -> None:
    seen: list[int] = []

    def callback(progress: Progress) -> None:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with pytest.raises(KeyboardInterrupt):
            long_fit(callback)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]


def test_an_error_in_a_callback_passes_through() -> None:
    def callback(progress: Progress) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        long_fit(callback)


def test_a_converged_fit_stays_converged() -> None:
    def callback(progress: Progress) -> None:
        if progress.row.certified and progress.row.relative_gap <= progress.tol:
            signal.raise_signal(signal.SIGINT)

    fit = train(make_instance("chain").problem, 1.0, tol=1e-3, callbacks=[callback])
    assert fit.certificate.verdict.startswith("converged")


def test_other_threads_catch_nothing() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    seen: list[Any] = []

    def work() -> None:
        with Interrupt() as interrupt:
            seen.append([signal.getsignal(number) for number in SIGNALS])
            seen.append(interrupt.requested)
        seen.append(train(make_instance().problem, 1.0, tol=1e-6).certificate.converged)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before, False, True]


def test_handlers_nest() -> None:
    with Interrupt() as outer:
        with Interrupt() as inner:
            signal.raise_signal(signal.SIGINT)
        assert (inner.requested, outer.requested) == (True, False)
        signal.raise_signal(signal.SIGINT)
        assert outer.requested


#: A call that no handler can interrupt, without the interpreter's lock, as compiled code is.
DEAF = """
import hashlib, sys
from partwise.training.interrupt import Interrupt
{before}
with Interrupt():
    print("in", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
"""


def deaf_process(before: str = "") -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", DEAF.format(before=before)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "in\n"
    return child


@pytest.mark.skipif(os.name == "nt", reason="no signals to a child there")
@pytest.mark.parametrize("number", SIGNALS)
def test_the_second_signal_ends_the_process_in_compiled_code_too(number: signal.Signals) -> None:
    with deaf_process() as child:
        while child.poll() is None:  # two that come too soon after each other are one
            child.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.2)
        assert child.returncode == 128 + number


@pytest.mark.skipif(os.name == "nt", reason="no signals to a child there")
def test_an_interactive_session_is_not_ended() -> None:
    with deaf_process(
        "from partwise.training import interrupt; interrupt._GRACE = 0; sys.ps1 = '>'"
    ) as child:
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.5)
        child.kill()


def test_the_wakeup_of_others_is_kept() -> None:
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno())
        try:
            with Interrupt(), Interrupt() as interrupt:
                signal.raise_signal(signal.SIGTERM)
                assert interrupt.requested
                reader.settimeout(60)
                assert reader.recv(8) == bytes([signal.SIGTERM])
            assert signal.set_wakeup_fd(writer.fileno()) == writer.fileno()
        finally:
            signal.set_wakeup_fd(before)
