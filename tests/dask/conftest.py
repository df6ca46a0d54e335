from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.dask_clusters import write_data

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """The client of two workers, which no test may kill."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as made,
    ):
        yield made


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One file per task."""
    return write_data(tmp_path_factory.mktemp("files"))
