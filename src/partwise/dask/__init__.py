"""Training on a Dask cluster.

The examples are dealt into blocks, which stay on the workers. Several times per pass over the data
the blocks exchange what they have found; see :mod:`partwise.solvers.blocks`. A fit ends with the
same certificate as on one machine. The number of blocks and of exchanges comes from the data and
the options, so that the same data and seed give the same model, whatever the number of workers.

A worker that dies costs a repetition of the rounds since the last time that the states of the
blocks were fetched, and neither the fit nor its certificate. A scheduler that dies costs what was
done since the last checkpoint.

This needs Dask: ``pip install 'partwise[dask]'``. A scheduler runs whatever its clients send, so
use TLS where others can reach it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .clients import *
    from .estimators import *
    from .inputs import *
    from .paths import *
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".clients": "Address",
            ".estimators": (
                "DaskConstituencyParser DaskDependencyParser DaskLinearClassifier "
                "DaskSequenceTagger"
            ),
            ".inputs": "Files",
            ".paths": "parallel_paths",
        },
    )
