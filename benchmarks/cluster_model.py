"""What a cluster would take: ``python -m benchmarks.cluster_model``.

A model of the cost of training in blocks (``docs/scaling.md``), from a few numbers that were
measured: the seconds that a core takes per token and pass, the seconds of a round trip, the bytes
that a block sends, and the passes that blocks need. It prints, for texts of several sizes and
clusters of several widths, the number of exchanges per pass that takes least time, and that time
beside the time of one core. A second table has fits that ``benchmarks.cluster seconds`` measured
beside what the model says of them.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

SIZES = (10**8, 10**9, 10**10)
WORKERS = (2, 8, 32, 128, 512, 1000)
EXCHANGES = tuple(4**k for k in range(9))
#: Chunking, all of CoNLL-2000, in 8 blocks with 256 exchanges: workers, and seconds measured.
CHUNKING = 211_727
MEASURED = ((1, 165.5), (2, 187.8))


@dataclass(frozen=True)
class Costs:
    """What was measured.

    Attributes
    ----------
    second_per_token : float
        The seconds of a core per token and pass.
    tokens_per_example : float
        The tokens of a sentence.
    round_trip : float
        The seconds of a round trip between the driver and a worker.
    bandwidth : float
        The bytes per second that the driver packs, adds up and unpacks. A network is faster.
    dense : float
        The bytes of all weights.
    sent, grows : float
        A block that visited m examples sends ``sent * m**grows`` bytes, and at most `dense`.
    passes : float
        The passes of one core.
    penalty, falls : float
        K blocks with S exchanges need ``1 + penalty (K - 1) / S**falls`` times as many passes, and
        at most K times.
    """

    second_per_token: float = 1.8e-6
    tokens_per_example: float = 23.7
    round_trip: float = 0.010
    bandwidth: float = 2.3e8
    dense: float = 8.0 * 4e6
    sent: float = 5.5e4
    grows: float = 0.69
    passes: float = 15.0
    penalty: float = 0.75
    falls: float = 0.4

    def factor(self, blocks: int, exchanges: int) -> float:
        """Return how many times as many passes blocks need."""
        return float(min(1.0 + self.penalty * (blocks - 1) / exchanges**self.falls, blocks))

    def sent_bytes(self, examples: float) -> float:
        """Return the bytes that a block sends after visiting some examples."""
        return float(min(self.sent * max(examples, 1.0) ** self.grows, self.dense))

    def seconds(
        self, tokens: float, workers: int, exchanges: int, blocks: int | None = None
    ) -> float:
        """Return the seconds of a fit on a cluster, with one block per worker if not told."""
        blocks = blocks or workers
        examples = tokens / self.tokens_per_example / (blocks * exchanges)
        up = blocks * self.sent_bytes(examples)
        through = (up + workers * min(up, self.dense)) / self.bandwidth
        a_pass = tokens * self.second_per_token / workers + exchanges * (self.round_trip + through)
        return self.passes * self.factor(blocks, exchanges) * a_pass

    def alone(self, tokens: float) -> float:
        """Return the seconds of a fit on one core, which visits examples in turn."""
        return self.passes * tokens * self.second_per_token

    def best(self, tokens: float, workers: int) -> tuple[int, float]:
        """Return the exchanges that take least time, and that time."""
        # A chunk has at least one example.
        most = tokens / self.tokens_per_example / workers
        timed = [(self.seconds(tokens, workers, s), s) for s in EXCHANGES if s <= most]
        seconds, exchanges = min(timed)
        return exchanges, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in vars(Costs()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=value)
    costs = Costs(**vars(parser.parse_args()))
    print("| tokens | one core |" + "".join(f" {w} workers |" for w in WORKERS))
    print("|---|---|" + "---|" * len(WORKERS))
    for tokens in SIZES:
        alone = costs.alone(tokens)
        cells = []
        for workers in WORKERS:
            exchanges, seconds = costs.best(tokens, workers)
            cells.append(f" {_time(seconds)}, {alone / seconds:.1f}x (S = {exchanges}) |")
        print(f"| 10^{round(math.log10(tokens))} | {_time(alone)} |" + "".join(cells))
    print("\n| chunking, 8 blocks, 256 exchanges | model | measured |\n|---|---|---|")
    for workers, measured in MEASURED:
        said = costs.seconds(CHUNKING, workers, 256, 8)
        name = "1 worker" if workers == 1 else f"{workers} workers"
        print(f"| {name} | {said:.0f} s | {measured:.0f} s |")


def _time(seconds: float) -> str:
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


if __name__ == "__main__":
    main()
