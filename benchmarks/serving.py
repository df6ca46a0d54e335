"""Load, attack and stop a server: ``python -m benchmarks.serving --seconds 60 --hostile 10000``.

A tagger is trained on CoNLL-2000 (or ``--model`` names one) and served by ``partwise serve`` on one
core, with the clients on another.

- load: clients in a closed loop send one test sentence per request; every answer is compared with
  the prediction of the model, made beforehand.
- hostile: broken, oversized, compressed, slow and foreign requests, each followed by a valid one.
  A table has the expected and the given answers by class, and the memory of the server.
- stop: SIGTERM under load. All requests that were sent before it must be answered.

Prints tables, and writes serving.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from .data import data_file, read_columns
from .hostile_requests import CLASSES, header, valid_request
from .limits import table

_SLOW = 2.0


class Server:
    """``partwise serve`` in a process of its own, on a core of its own."""

    def __init__(self, model: Path, core: int, *options: str) -> None:
        command = [sys.executable, "-m", "partwise", "serve", f"chunks={model}", "--port", "0",
                   "--json", "--header-seconds", str(_SLOW), "--body-seconds", str(_SLOW),
                   "--threads", "1", *options]  # fmt: skip
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, {core})
        )
        assert self.process.stdout is not None
        self.record = json.loads(self.process.stdout.readline())
        self.port: int = self.record["port"]

    def megabytes(self) -> float:
        """Return the resident memory."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def stop(self) -> int:
        """Stop it in order, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()


async def ask(stream: tuple[Any, Any], request: bytes) -> tuple[int, bytes]:
    """Send a request and read the answer: its status and its body."""
    reader, writer = stream
    writer.write(request)
    head: bytes = await reader.readuntil(b"\r\n\r\n")
    size = int(header(head, b"content-length"))
    return int(head[9:12]), await reader.readexactly(size)


async def known_answers(port: int, requests: list[bytes], labels: list[Any]) -> list[bytes]:
    """Ask everything once, compare with the predictions of the model, and return the answers."""
    stream = await asyncio.open_connection("127.0.0.1", port)
    answers = []
    for request, expected in zip(requests, labels, strict=True):
        status, body = await ask(stream, request)
        if status != 200 or json.loads(body)["results"][0]["labels"] != expected:
            raise SystemExit(f"the server answers {status} {body[:200]!r}, expected {expected}")
        answers.append(body)
    stream[1].close()
    return answers


async def load(
    port: int, requests: list[bytes], answers: list[bytes], clients: int, seconds: float
) -> dict[str, Any]:
    """Let clients ask in a closed loop."""
    times: list[float] = []
    wrong = 0
    until = time.perf_counter() + seconds

    async def client(number: int) -> None:
        nonlocal wrong
        rng = random.Random(number)
        stream = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < until:
            i = rng.randrange(len(requests))
            began = time.perf_counter()
            status, body = await ask(stream, requests[i])
            times.append(time.perf_counter() - began)
            wrong += status != 200 or body != answers[i]
        stream[1].close()

    began = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(clients)))
    taken = time.perf_counter() - began
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1000
    return {
        "clients": clients, "seconds": round(taken, 2), "requests": len(times),
        "requests_per_second": round(len(times) / taken, 1), "p50_ms": round(p50, 2),
        "p99_ms": round(p99, 2), "max_ms": round(max(times) * 1000, 2), "wrong": wrong,
    }  # fmt: skip


async def attack(
    server: Server, requests: list[bytes], answers: list[bytes], count: int
) -> dict[str, Any]:
    """Send hostile requests of every class, each followed by a valid one."""
    names = list(CLASSES)
    rng = random.Random(0)
    queue = [names[i % len(names)] for i in range(count)]
    rng.shuffle(queue)
    given: dict[str, Counter[str]] = {name: Counter() for name in names}
    valid = Counter[str]()
    memory: list[float] = []

    async def client(number: int) -> None:
        stream = await asyncio.open_connection("127.0.0.1", server.port)
        own = random.Random(number)
        while queue:
            name = queue.pop()
            given[name][await CLASSES[name].send(server.port, own)] += 1
            i = own.randrange(len(requests))
            try:
                status, body = await ask(stream, requests[i])
            except (OSError, EOFError):  # an idle connection, closed while the last one was slow
                stream = await asyncio.open_connection("127.0.0.1", server.port)
                status, body = await ask(stream, requests[i])
            valid["right" if status == 200 and body == answers[i] else "wrong"] += 1
            if sum(valid.values()) % max(1, count // 20) == 0:
                memory.append(server.megabytes())
        stream[1].close()

    before = server.megabytes()
    began = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(20)))
    rows = [
        {"class": name, "requests": sum(found.values()), "expected": CLASSES[name].expected,
         "answers": ", ".join(f"{key} x{n}" for key, n in sorted(found.items())),
         "unexpected": sum(n for key, n in found.items() if not CLASSES[name].fits(key))}
        for name, found in given.items()
    ]  # fmt: skip
    return {
        "classes": rows, "seconds": round(time.perf_counter() - began, 1), "valid": dict(valid),
        "failures_of_the_server": sum(found["500"] for found in given.values()),
        "megabytes_before": round(before, 1), "megabytes_after_a_tenth": round(memory[1], 1),
        "megabytes_after": round(server.megabytes(), 1), "megabytes_most": round(max(memory), 1),
    }  # fmt: skip


async def terminate(server: Server, requests: list[bytes], clients: int) -> dict[str, Any]:
    """Send SIGTERM while clients ask, and count what becomes of the requests under way."""
    found = Counter[str]()
    signalled = float("inf")

    async def client(number: int) -> None:
        rng = random.Random(number)
        stream = await asyncio.open_connection("127.0.0.1", server.port)
        while True:
            sent = time.perf_counter()
            try:
                status, _ = await ask(stream, requests[rng.randrange(len(requests))])
                found["answered after" if time.perf_counter() > signalled else "answered"] += 1
                assert status == 200
            except (OSError, EOFError):
                found["lost" if sent < signalled else "refused"] += 1
                return

    async def stop() -> None:
        nonlocal signalled
        await asyncio.sleep(2.0)
        server.process.send_signal(signal.SIGTERM)
        signalled = time.perf_counter()

    began = time.perf_counter()
    await asyncio.gather(stop(), *(client(number) for number in range(clients)))
    code = await asyncio.to_thread(server.process.wait)
    return {
        "answered_before": found["answered"], "answered_after_the_signal": found["answered after"],
        "lost": found["lost"], "refused_after_it": found["refused"], "exit_code": code,
        "seconds_to_stop": round(time.perf_counter() - began - 2.0, 2),
    }  # fmt: skip


def trained(path: Path) -> Path:
    """Train a tagger on CoNLL-2000."""
    command = ["train", "--task", "tag", str(data_file("conll2000/train.txt.gz")), "--tol", "1e-2"]
    subprocess.run(
        [sys.executable, "-m", "partwise", *command, "--model", str(path), "-q"], check=True
    )
    return path


def main() -> None:
    """Run all three parts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path, help="a tagger (default: trained on the spot)")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--hostile", type=int, default=10_000)
    parser.add_argument("--output", type=Path, default=Path("bench-results"))
    arguments = parser.parse_args()

    from partwise.models.file import load_model

    with tempfile.TemporaryDirectory() as folder:
        path = arguments.model or trained(Path(folder) / "chunks.model")
        model = load_model(path)
        sentences = [
            [list(row[:-1]) for row in rows]
            for rows in read_columns(data_file("conll2000/test.txt.gz"))
        ]
        labels = model.predict(sentences)
        del model
        requests = [valid_request({"input": {"tokens": tokens}}) for tokens in sentences]
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[-1]})
        server = Server(path, cores[0])
        answers = asyncio.run(known_answers(server.port, requests, labels))
        found: dict[str, Any] = {"warm_up_seconds": server.record["warm_up_seconds"]}
        clients = arguments.clients
        found["load"] = asyncio.run(
            load(server.port, requests, answers, clients, arguments.seconds)
        )
        print(table(["measure", "value"], [[k, str(v)] for k, v in found["load"].items()]))
        found["hostile"] = asyncio.run(attack(server, requests, answers, arguments.hostile))
        rows = found["hostile"].pop("classes")
        print(table(list(rows[0]), [[str(value) for value in row.values()] for row in rows]))
        print(table(["measure", "value"], [[k, str(v)] for k, v in found["hostile"].items()]))
        found["hostile"]["classes"] = rows
        found["stop"] = asyncio.run(terminate(server, requests, clients))
        print(table(["measure", "value"], [[k, str(v)] for k, v in found["stop"].items()]))
    arguments.output.mkdir(exist_ok=True)
    (arguments.output / "serving.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
