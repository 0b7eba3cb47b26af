"""Which engine trains: that of this process, or that of a cluster. Dask is loaded for the second alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypedDict

from dualign.core.errors import UsageError
from dualign.core.workspace import Workspace
from dualign.learn.engine import Engine


class ClusterValues(TypedDict, total=False):
    """Where to train, if not in this process."""

    client: Any
    """A `distributed.Client`, or a `Crew`; None for this process."""
    work: str | os.PathLike[str] | None
    """A folder that all machines of the cluster share."""


def check_model(model: str) -> None:
    """Refuse what a cluster does not learn."""
    if model != "hmm":
        raise UsageError(
            "a cluster learns the HMM; train {model=} on one machine, then align on the cluster with the "
            "saved model",
            model=model,
        )


@contextmanager
def engine_of(cluster: ClusterValues, threads: int, workspace: Workspace) -> Iterator[Engine]:
    """The engine of a training."""
    if unknown := [name for name in cluster if name not in ClusterValues.__annotations__]:
        raise TypeError(f"fit() got an unexpected keyword argument {unknown[0]!r}")
    client = cluster.get("client")
    if client is None:
        yield Engine(threads, workspace)
        return
    from dualign.cluster.cluster_engine import ClusterEngine
    from dualign.cluster.crew import Crew, crew_of

    with ExitStack() as stack:
        crew = (
            client if isinstance(client, Crew) else stack.enter_context(crew_of(client, cluster.get("work")))
        )
        yield ClusterEngine(crew, threads, workspace)
