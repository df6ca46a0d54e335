"""Options of ``train`` and ``path`` for a Dask cluster, and what they stand for."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from partwise.errors import DataError

from .outcome import UsageError
from .readers import natural

if TYPE_CHECKING:
    from partwise.tasks.trainer import Trainer

__all__ = ["add_cluster_options", "check_cluster", "cluster_source", "cluster_trainer", "walking"]

#: Options that need --dask, by the names of their values.
_NEED = ("dask_workers", "tls_ca_file", "tls_cert", "tls_key", "blocks", "exchanges")


def add_cluster_options(parser: argparse.ArgumentParser, *, blocks: bool) -> None:
    """Add the options of a cluster to a verb.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the verb.
    blocks : bool
        Whether one fit is trained in blocks.
    """
    group = parser.add_argument_group("options for a Dask cluster (pip install 'partwise[dask]')")
    add = group.add_argument
    what = (
        "train in blocks on the workers of a cluster, which read TRAIN (it may hold *) from shared "
        "storage"
        if blocks
        else "train folds, or stretches of the path, side by side on the workers of a cluster"
    )
    add("--dask", metavar="ADDRESS", help=f"{what}: tcp://HOST:PORT, tls://HOST:PORT, or local")
    add(
        "--dask-workers", type=natural, metavar="N",
        help="with --dask local: the number of workers (default: one per core)",
    )  # fmt: skip
    for name, words in (
        ("ca-file", "the certificate of the authority"),
        ("cert", "the certificate of this client"),
        ("key", "the key of this client"),
    ):
        add(f"--tls-{name}", metavar="FILE", help=f"with --dask tls://...: {words}")
    if blocks:
        add(
            "--blocks", type=natural, metavar="N",
            help="with --dask: blocks of examples, which decide the result; at most so many "
            "workers are busy (default: 8)",
        )  # fmt: skip
        add(
            "--exchanges", type=natural, metavar="N",
            help="with --dask: exchanges between the blocks per pass (default: by the number of "
            "examples)",
        )  # fmt: skip


def check_cluster(arguments: argparse.Namespace) -> None:
    """Raise a UsageError for options that do not go with --dask, or need it."""
    if arguments.dask is None:
        for name in _NEED:
            if getattr(arguments, name, None) is not None:
                raise UsageError(f"--{name.replace('_', '-')} needs --dask ADDRESS")
        return
    address_of(arguments)
    if arguments.file == "-":
        raise UsageError("TRAIN cannot be stdin with --dask: the workers read it; give a file")
    if arguments.command == "path":
        if arguments.extend:
            raise UsageError("--extend needs one fit after the other; leave it or --dask out")
        return
    if arguments.out_of_core is not None:
        raise UsageError("--out-of-core is for one machine; leave it or --dask out")
    if arguments.solver not in ("auto", "blocks") or arguments.solver_option:
        raise UsageError("--dask has a solver of its own: leave --solver and --solver-option out")
    if getattr(arguments, "missing", None) is not None:
        raise UsageError("--missing needs all examples in one process; leave it or --dask out")


def address_of(arguments: argparse.Namespace) -> Any:
    """Return the address that the arguments describe."""
    from partwise.dask import Address

    try:
        return Address(
            arguments.dask,
            arguments.tls_ca_file,
            arguments.tls_cert,
            arguments.tls_key,
            arguments.dask_workers,
        )
    except DataError as error:
        raise UsageError(str(error)) from error


def cluster_source(arguments: argparse.Namespace, given: dict[str, Any]) -> Any:
    """Return the training files in the form that a trainer on a cluster takes."""
    from partwise.dask import Files

    options = {name: value for name, value in given.items() if name != "format"}
    return (Files([os.path.abspath(arguments.file)], given["format"], options),)


def cluster_trainer(arguments: argparse.Namespace, plain: Trainer) -> Trainer:
    """Return a trainer of a cluster with the parameters of one of this machine."""
    from partwise.dask.trainer import on_cluster

    return on_cluster(plain, address_of(arguments), arguments.blocks, arguments.exchanges)


@contextmanager
def walking(arguments: argparse.Namespace) -> Iterator[None]:
    """Train paths on the cluster while entered, if there is one."""
    if arguments.dask is None:
        yield
        return
    from partwise.dask import parallel_paths

    with parallel_paths(address_of(arguments)):
        yield
