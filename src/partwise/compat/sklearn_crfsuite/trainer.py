"""The trainer of the estimator, which prints one line per iteration."""

from __future__ import annotations

from typing import Any

from ..pycrfsuite import Trainer

__all__ = ["LinePerIterationTrainer"]

_COLUMNS = ("Label", "Precision", "Recall", "F1", "Support")


class LinePerIterationTrainer(Trainer):
    """A trainer that prints each iteration on one line, and a table of scores at the end."""

    def on_iteration(self, log: str, info: Any) -> None:
        parts = [
            f"Iter {info['num']:<3} time={info['time']:<5.2f} loss={info['loss']:<8.2f} ",
        ]
        if "active_features" in info:
            parts.append(f"active={info['active_features']:<5} ")
        if "avg_precision" in info:
            parts.append(
                f"precision={info['avg_precision']:0.3f}  recall={info['avg_recall']:0.3f}  "
                f"F1={info['avg_f1']:0.3f}  Acc(item/seq)={info['item_accuracy_float']:0.3f} "
                f"{info['instance_accuracy_float']:0.3f}  "
            )
        if "feature_norm" in info:
            parts.append(f"feature_norm={info['feature_norm']:<8.2f}")
        print("".join(parts).strip())

    def on_optimization_end(self, log: str) -> None:
        assert self.logparser is not None
        last = self.logparser.last_iteration
        if last is not None and last["scores"]:
            table = _table(last["scores"])
            width = len(table[0])
            print("\n".join(["=" * width, *table, "-" * width]))
        super().on_optimization_end(log)


def _table(scores: dict[str, Any]) -> list[str]:
    """Return the lines of a table of the scores of all labels."""
    widest = max(len(_COLUMNS[0]), *map(len, scores))
    lines = [f"{_COLUMNS[0]:<{widest}}" + "".join(f"{name:>11}" for name in _COLUMNS[1:])]
    lines.append("-" * len(lines[0]))
    for label, score in sorted(scores.items()):
        shares = (score.precision or 0.0, score.recall or 0.0, score.f1 or 0.0)
        numbers = "".join(f"{share:>11.3f}" for share in shares)
        lines.append(f"{label:<{widest}}{numbers}{score.ref:>11d}")
    return lines
