"""Workers, schedulers and users that end a fit, or try to."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from support.dask_clusters import kill, processes, weights_hash

from partwise.dask import DaskSequenceTagger
from partwise.dask.connection import Cluster, WorkerLost
from partwise.dask.crew import ClusterCrew
from partwise.errors import ClusterError
from partwise.training import Checkpoint

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore::partwise.ConvergenceWarning"),
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL"),
]

HOW: dict[str, Any] = {"l2": 0.5, "tol": 1e-9, "max_passes": 10, "exchanges": 4}


@pytest.fixture(scope="module")
def undisturbed(client: Any, files: dict[str, str]) -> str:
    return weights_hash(DaskSequenceTagger(**HOW, client=client).fit(files["tag"]))


def disturbed(
    client: Any, path: str, act: Callable[[ClusterCrew, int], None], when: Callable[[int], bool],
    **more: Any,
) -> Any:  # fmt: skip
    """Fit, and do something just after the tasks of some rounds were sent."""
    rounds = 0
    submitted = distributed.Client.submit

    def submit(self: Any, function: Any, *given: Any, key: str, **named: Any) -> Any:
        nonlocal rounds
        future = submitted(self, function, *given, key=key, **named)
        if "-round-" in key:
            rounds += 1
            if when(rounds):
                act(client, rounds)
        return future

    with patch.object(distributed.Client, "submit", submit):
        return DaskSequenceTagger(**{**HOW, **more}, client=client).fit(path)


def victim(client: Any, rounds: int) -> None:
    """Kill a worker, while it has a task to do."""
    pids = client.run(os.getpid)
    kill(pids[sorted(pids)[rounds % len(pids)]])


@pytest.mark.parametrize("nanny", [True, False])
def test_killed_workers_change_nothing(
    files: dict[str, str], undisturbed: str, tmp_path: Path, nanny: bool
) -> None:
    with processes(tmp_path, 2, nanny) as cluster, distributed.Client(cluster.address) as client:
        client.wait_for_workers(2)

        def act(client: Any, rounds: int) -> None:
            victim(client, rounds)
            if not nanny and rounds > 20:
                cluster.workers.append(cluster.add_worker())  # all others are gone by then

        made = disturbed(client, files["tag"], act, lambda n: n in (5, 37))
    assert weights_hash(made) == undisturbed
    assert made.replayed_ > 0


def test_a_worker_that_is_lost_while_data_are_sent_holds_up_nobody(tmp_path: Path) -> None:
    with processes(tmp_path, 3) as running, distributed.Client(running.address) as client:
        client.wait_for_workers(3)
        cluster, pids = Cluster(client), client.run(os.getpid)
        *doomed, last = sorted(pids)
        # Dask begins with another worker every time, so that each of two is once the first.
        for worker in doomed:
            os.kill(pids[worker], signal.SIGSTOP)
            threading.Timer(1.0, kill, [pids[worker]]).start()
            with pytest.raises(WorkerLost):
                cluster.share(bytes(1000), [worker, last])
        sent = cluster.share(b"still there", [last])
        assert sent[last].result() == b"still there"


def test_a_killed_scheduler_costs_what_came_after_the_checkpoint(
    client: Any, files: dict[str, str], undisturbed: str, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    with processes(tmp_path, 1) as cluster:
        lost = distributed.Client(cluster.address)
        try:
            with pytest.raises(ClusterError, match="cannot be reached any more; go on"):
                disturbed(
                    lost, files["tag"], lambda *_: kill(cluster.scheduler.pid), lambda n: n == 18,
                    checkpoint=Checkpoint(saved, every=0.0),
                )  # fmt: skip
        finally:
            lost.close(timeout=1)
    again = Checkpoint(saved, resume=True)
    made = DaskSequenceTagger(**HOW, client=client, checkpoint=again).fit(files["tag"])
    assert weights_hash(made) == undisturbed


def test_ctrl_c_leaves_a_certified_model(client: Any, files: dict[str, str]) -> None:
    def act(client: Any, rounds: int) -> None:
        threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()

    made = disturbed(client, files["tag"], act, lambda n: n == 21)
    certificate = made.certificate_
    assert "interrupted" in certificate.verdict
    assert 0.0 <= certificate.dual < certificate.primal
    assert certificate.passes < 5


def test_workers_that_die_again_and_again_end_the_fit(
    files: dict[str, str], tmp_path: Path
) -> None:
    with (
        processes(tmp_path, 1, True) as cluster,
        distributed.Client(cluster.address) as client,
        patch("partwise.dask.machine.LOSSES", 1),
    ):
        client.wait_for_workers(1)
        with pytest.raises(ClusterError, match="workers were lost 2 times since"):
            disturbed(client, files["tag"], victim, lambda n: True)
