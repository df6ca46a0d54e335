"""SAG and SAGA with every label and every weight written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.arrays import Floats
from partwise.solvers.average.memory import SEARCHES, SEEN, WORDS
from support.instances import Explicit, Instance
from support.solvers import solver_of

CASES = [
    ("multiclass", "log", {"weighted": True}),
    ("multiclass", "between", {"constrained": True, "weights": "observed", "real": False}),
    ("chain", "softmax-margin", {"weighted": True, "constrained": True}),
    ("untied", "log", {"weights": "observed"}),
]


def build(kind: type[Any], instance: Instance, l2: float, seed: int = 0, **options: Any) -> Any:
    return solver_of(kind, instance.problem, l2, seed, **options)


class Dense:
    """Algorithms 1 and 2 and section 5, with every label and every weight written out."""

    def __init__(self, machine: Any, explicit: Explicit) -> None:
        self.rule, self.explicit = machine.rule, explicit
        self.sampling = WORDS[machine.rule.sampling]
        self.live = np.flatnonzero(explicit.weight)
        self.n = len(self.live)
        self.lam = machine.l2 / self.n
        self.w = machine.current_weights()
        self.g: dict[int, Floats] = {}
        if machine.memory.totals[SEEN]:
            self.g = {i: self.gradient(i)[1] for i in self.live}
        self.order = list(self.live)
        given = machine.memory.curvature
        self.L = {i: float(given[i]) for i in self.live if given[i] > 0.0}
        # With a first L from the user no search halves it.
        self.searches = int(machine.memory.totals[SEARCHES])
        self.L_g = self.rule.first if self.sampling == "uniform" else 0.0
        self.xi = dict.fromkeys(self.live, 0)
        self.skip = dict.fromkeys(self.live, 0)
        self.step = np.inf
        self.calls = 0

    def value(self, i: int, w: Floats) -> float:
        return float(self.explicit.weight[i] * self.explicit.losses(w)[i])

    def gradient(self, i: int) -> tuple[float, Floats]:
        e = self.explicit
        q = (e.costs[i] - e.g[i] @ self.w) / e.tau
        p = np.exp(q - q.max())
        return self.value(i, self.w), -e.weight[i] * (p / p.sum()) @ e.g[i]

    def find(self, share: float) -> int:
        """Examples in the order of the data, each as long as its L_i."""
        seen = sorted(self.L)
        sums = np.cumsum([self.L[i] for i in seen])
        return seen[int(np.searchsorted(sums, share * sums[-1], "right"))]

    def draw(self, coins: Floats) -> tuple[int, float]:
        n, m = self.n, len(self.g)
        anyone = self.order[int(coins[1] * n)]
        if self.sampling == "uniform" or (self.sampling == "nus" and not self.L):
            return anyone, 1 / n
        total = sum(self.L.values())
        if self.sampling == "nus":
            i = self.find(coins[1]) if coins[0] < 0.5 else anyone
            return i, 0.5 / n + 0.5 * self.L.get(i, 0.0) / total
        if coins[0] >= m / n:
            return self.order[m + int(coins[1] * (n - m))], 1 / n
        even = total / m + 2 * self.lam
        among = coins[2] * (total + m * even) < total
        i = self.find(coins[1]) if among else self.order[int(coins[1] * m)]
        return i, m / n * (self.L[i] + even) / (total + m * even)

    def fits(self, i: int, f: float, g: Floats, L: float) -> bool:
        return self.value(i, self.w - g / L) <= f - g @ g / (2 * L) + 1e-15

    def search(self, i: int, f: float, g: Floats, L: float) -> tuple[float, int]:
        trials = 0
        if g @ g > 1e-8:
            down = not self.searches
            while True:
                trials += 1
                if not self.fits(i, f, g, L):
                    L, down = 2 * L, False
                elif down:
                    L /= 2
                else:
                    break
            self.searches += 1
        self.calls += trials
        return L, trials

    def curvature(self, i: int, f: float, g: Floats) -> None:
        if self.sampling == "uniform":
            self.L_g, _ = self.search(i, f, g, self.L_g)
            return
        mean = np.mean(list(self.L.values())) if self.L else 2.0 * self.rule.first
        if self.skip[i]:
            self.skip[i] -= 1
        else:
            if i not in self.L:
                trial = old = 0.5 * mean if self.sampling == "nus" else self.rule.first
            else:
                old = self.L[i]
                trial = old * (0.9 if self.sampling == "nus" else 0.5)
            found, trials = self.search(i, f, g, trial)
            self.L[i] = found if trials else old
            if trials:
                self.xi[i] = self.xi[i] + 1 if trials == 1 else 0
                if self.rule.skipping and self.xi[i]:
                    self.skip[i] = 2 ** (self.xi[i] - 1)
        self.L_g = max(self.L_g, self.L[i])

    def alpha(self) -> float:
        if self.rule.fixed:
            return float(self.rule.fixed)
        alpha = 1 / (self.L_g + self.lam)
        if self.sampling != "uniform":
            both = 0.5 * (alpha + 1 / (np.mean(list(self.L.values())) + self.lam))
            part = len(self.g) / self.n if self.sampling == "nus-2013" else 1.0
            alpha = (1 - part) * alpha + part * both
        return float(alpha * self.rule.share)

    def all_gradients(self) -> dict[int, Floats]:
        """The gradients of all examples, for which each is visited."""
        self.calls += len(self.explicit.weight)
        return {i: self.gradient(i)[1] for i in self.live}

    def two_gradients(self, coins: Floats, anchor: dict[int, Floats] | None) -> None:
        """Algorithm 3 of appendix B; or a step of SVRG, with the gradients at the anchor."""
        n = self.n
        chances = np.array([self.L[i] for i in self.live]) if self.L else np.ones(n)
        chances /= chances.sum()
        at = int(np.searchsorted(np.cumsum(chances), coins[0], "right"))
        j, p = (self.live[at], chances[at]) if self.L else (self.order[int(coins[0] * n)], 1.0 / n)
        f, g = self.gradient(j)
        self.calls += 2
        if not self.rule.fixed:
            self.L_g, _ = self.search(j, f, g, self.L_g)
        alpha = self.rule.fixed or self.rule.share / (self.L_g + self.lam)
        kept = self.g if anchor is None else anchor
        d = np.sum(list(kept.values()), axis=0) + np.zeros_like(g)
        direction = (g - kept.get(j, 0.0)) / (n * p) + d / n + self.lam * self.w
        if anchor is None:
            r = self.order[int(coins[1] * n)]
            if r not in self.g:
                place, m = self.order.index(r), len(self.g)
                self.order[place], self.order[m] = self.order[m], self.order[place]
            self.g[r] = self.gradient(r)[1]
        self.w = self.w - alpha * direction
        self.L_g *= 2 ** (-1 / n)

    def visit(self, coins: Floats) -> None:
        i, p = self.draw(coins)
        f, g = self.gradient(i)
        self.calls += 1
        first = i not in self.g
        if first:
            at, m = self.order.index(i), len(self.g)
            self.order[at], self.order[m] = self.order[m], self.order[at]
        before = self.g.get(i, np.zeros_like(g))
        self.g[i] = g
        m, d = len(self.g), np.sum(list(self.g.values()), axis=0)
        if not self.rule.fixed:
            self.curvature(i, f, g)
        alpha = self.alpha()
        if self.rule.l1:
            if alpha < 0.8 * self.step:
                self.step = alpha
            alpha = self.step
        direction = d / m
        if self.rule.saga and not first:
            direction = (g - before) / (self.n * p) + (d - g + before) / m
        moved = (1 - alpha * self.lam) * self.w - alpha * direction
        kappa = alpha * self.rule.l1 / self.n
        self.w = np.sign(moved) * np.maximum(np.abs(moved) - kappa, 0.0)
        self.L_g *= 2 ** (-1 / self.n)
