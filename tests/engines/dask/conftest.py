"""A cluster of real worker processes, for all tests of this folder."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip(
        "distributed", reason="Dask is not installed: pip install dualign[cluster]"
    )
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as made:
        yield made


@pytest.fixture(scope="session")
def client(cluster) -> Iterator[Any]:
    from distributed import Client

    with Client(cluster, set_as_default=False) as made:
        yield made
