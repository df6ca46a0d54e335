"""The arguments of ``partwise serve``. Nothing here imports numpy, so that help is fast."""

from __future__ import annotations

import argparse

from partwise.serve.limits import LENGTHS, Limits

from .readers import natural, port, positive, threads

__all__ = ["add_serve_options"]


def add_serve_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``partwise serve``."""
    add = parser.add_argument
    add(
        "models", metavar="MODEL", nargs="+",
        help="model files, each under the name of its file, or NAME=FILE",
    )  # fmt: skip
    add("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (127.0.0.1)")
    add(
        "--port", type=port, default=8765, metavar="N",
        help="the port; 0 is any that is free (default: 8765)",
    )  # fmt: skip
    add(
        "--allowed-host", action="append", default=[], metavar="NAME",
        help="a further name that requests may be addressed to; can be repeated",
    )  # fmt: skip
    add("--threads", type=threads, metavar="N", help="threads that predict (default: one per core)")
    group = parser.add_argument_group("limits")
    for name, (default, about) in Limits.described().items():
        kind = natural if isinstance(default, int) else positive
        group.add_argument(
            "--" + name.replace("_", "-"), type=kind, default=default, metavar="N",
            help=f"{about} (default: {default:,g})" if kind is positive else
            f"{about} (default: {default:,})",
        )  # fmt: skip
    group.add_argument(
        "--max-length", action="append", default=[], metavar="TASK=N",
        help="the greatest length of an example; can be repeated (default: "
        + ", ".join(f"{task}={n}" for task, n in LENGTHS.items()) + ")",
    )  # fmt: skip
