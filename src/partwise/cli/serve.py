"""``partwise serve``: a page to try models on, and a JSON API."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from partwise.compiled.compilation import noted_compilation
from partwise.errors import DataError
from partwise.serve.limits import Limits, default_lengths

from .outcome import Outcome, UsageError
from .readers import natural, port, positive, threads

__all__ = ["add_serve_options", "run"]

_log = logging.getLogger(__name__)


def run(arguments: argparse.Namespace) -> Outcome:
    """Serve some models until Ctrl-C or SIGTERM."""
    try:
        import h11  # noqa: F401
    except ImportError:
        raise DataError(
            "serve needs the package h11; install it with: pip install 'partwise[serve]'"
        ) from None
    from partwise.models.file import load_model
    from partwise.serve import Limits, ServedModel, Server

    named = _named(arguments.models)
    try:
        numbers = {name: getattr(arguments, name) for name in Limits.described()}
        limits = Limits(**numbers, lengths=_lengths(arguments.max_length))
        server_options: dict[str, Any] = {
            "host": arguments.host, "port": arguments.port, "limits": limits,
            "allowed_hosts": arguments.allowed_host, "n_threads": arguments.threads,
        }  # fmt: skip
        Server([], **server_options)
    except DataError as error:
        raise UsageError(str(error)) from error
    with noted_compilation():
        models = [ServedModel(name, load_model(path), limits) for name, path in named.items()]
        seconds = sum(model.warm_up() for model in models)
    server = Server(models, **server_options)

    def ready() -> None:
        record = {
            "command": "serve", "url": server.url, "host": server.host, "port": server.port,
            "models": list(named), "warm_up_seconds": seconds,
        }  # fmt: skip
        if arguments.json:
            sys.stdout.write(json.dumps(record) + "\n")
            sys.stdout.flush()
        if not arguments.quiet:
            sys.stderr.write(f"partwise: {', '.join(named)} at {server.url} (Ctrl-C stops it)\n")

    if not server.run(ready):
        _log.warning("some requests were not finished in time")
    # The record was written when the server was ready.
    return Outcome({}, written=True)


def _named(given: Sequence[str]) -> dict[str, str]:
    """Return the files by their names: NAME=FILE, or the name of the file without its end."""
    found: dict[str, str] = {}
    for text in given:
        name, mark, path = text.partition("=")
        if not mark or Path(text).exists():
            name, path = Path(text).stem, text
        if not name or not path:
            raise UsageError(f"{text!r} is neither a file nor NAME=FILE")
        if name in found:
            raise UsageError(
                f"two models are called {name!r}; give one of them another name: NAME={path}"
            )
        found[name] = path
    return found


def _lengths(given: Sequence[str]) -> dict[str, int]:
    """Return the greatest lengths by task, from TASK=N."""
    known = default_lengths()
    found = dict(known)
    for text in given:
        task, mark, number = text.partition("=")
        if not mark or not number.isdecimal() or task not in known:
            raise UsageError(f"--max-length {text!r} is not TASK=N; tasks are {', '.join(known)}")
        found[task] = int(number)
    return found


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
        + ", ".join(f"{task}={n}" for task, n in default_lengths().items()) + ")",
    )  # fmt: skip
