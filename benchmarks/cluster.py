"""Training and aligning on a Dask cluster of this machine, against threads: bytes, time, memory, files.

    python -m benchmarks.cluster SOURCE TARGET --workers 2 --threads 2
    python -m benchmarks.cluster SOURCE TARGET --workers 1 2 3 5 --set constraint=none
    python -m benchmarks.cluster SOURCE TARGET --workers 1 16      # how it scales

For every number of workers, each a process with one thread: whether links and model have the same bytes as
those of `dualign align --threads N`, the seconds by the clock and of all processors, the ratio of the clock's
to that of the threads, the largest peak memory of a worker, and the bytes that tasks wrote in each round;
also how long each kind of tasks ran, and how long the command worked `alone`, `before` each of them.
Connecting is part of the time, starting the workers is not; loading their kernels is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def digest(*paths: str) -> str:
    """A sum of the contents of files."""
    return hashlib.sha256(b"".join(Path(path).read_bytes() for path in paths)).hexdigest()[:16]


def by_threads(text: list[str], folder: str, threads: int, options: dict[str, Any]) -> dict[str, Any]:
    """The same work by `dualign align` in a process of its own."""
    links, model = f"{folder}/threads.links", f"{folder}/threads.model"
    command = [sys.executable, "-m", "dualign", "align", *text, "-o", links, "--save", model, "--quiet"]
    command += ["--threads", str(threads)]
    for name, value in options.items():
        command += ["--set", f"{name}={value}"]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "threads": threads,
        "seconds": time.perf_counter() - begin,
        "processor_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_mb": after.ru_maxrss / 1024,
        "bytes": digest(links, model),
    }


def used() -> tuple[float, float]:
    """Seconds of processors that this process has used, and its peak memory in MB."""
    found = resource.getrusage(resource.RUSAGE_SELF)
    return found.ru_utime + found.ru_stime, found.ru_maxrss / 1024


def by_workers(text: list[str], folder: str, workers: int, options: dict[str, Any]) -> dict[str, Any]:
    """The work on a cluster with that many workers."""
    import dask
    from distributed import Client, LocalCluster

    from dualign import jobs

    links, model = f"{folder}/workers.links", f"{folder}/workers.model"
    written: dict[str, int] = {}
    times: dict[str, list[float]] = {}
    before: dict[str, float] = {}
    begin = 0.0

    def tell(what: str, done: int, tasks: int, size: int) -> None:
        written[what] = size
        now = time.perf_counter()
        if what not in times:
            before[what] = round(now - max((last for _, last in times.values()), default=begin), 3)
        times.setdefault(what, [now, now])[1] = now

    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
        tempfile.TemporaryDirectory(dir=folder) as work,
    ):
        client.wait_for_workers(workers)
        start = sum(seconds for seconds, _ in client.run(used).values()) + used()[0]
        begin = time.perf_counter()
        # Reading and the M-step are this process's part; then its threads have the cores for themselves.
        run = jobs.Run(workers, cluster=cluster.scheduler_address, work=work, tasks=tell)
        jobs.align(*text, jobs.Outputs(links, model), run=run, **options)
        seconds = time.perf_counter() - begin
        ends = list(client.run(used).values())
        disk = sum(path.stat().st_size for path in Path(work).iterdir())
    return {
        "workers": workers,
        "seconds": seconds,
        "alone": seconds - sum(last - first for first, last in times.values()),
        "before": before,
        "stages": {what: round(last - first, 3) for what, (first, last) in times.items()},
        "processor_seconds": sum(each for each, _ in ends) + used()[0] - start,
        "worker_peak_mb": max(peak for _, peak in ends),
        "driver_peak_mb": used()[1],
        "written": written,
        "work_folder_mb": disk / 1e6,
        "bytes": digest(links, model),
    }


def main() -> None:
    """Print a JSON object for the threads, then one for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--folder", default=None, help="for outputs and work folders")
    given = parser.parse_args()
    options = dict(each.split("=", 1) for each in given.set)
    text = [given.source, given.target]
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        threads = by_threads(text, folder, given.threads, options)
        print(json.dumps(threads), flush=True)
        for workers in given.workers:
            found = by_workers(text, folder, workers, options)
            found["same_bytes"] = found["bytes"] == threads["bytes"]
            found["ratio"] = found["seconds"] / threads["seconds"]
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
