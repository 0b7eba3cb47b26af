"""The workers of a Dask cluster, and tasks for them that each make one file.

Only file names and small settings go through Dask; all data are in a work folder that every machine sees.
A task can be run twice, at the same time or after an accident, and leaves the same file (see
`dualign.engines.dask.work_folder`): so a worker may be killed or join late, and whoever lost the connection
repeats the command. `distributed` is imported when a cluster is asked for, and nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import secrets
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from queue import Empty, Queue
from typing import Any, NamedTuple

from dualign._core import release
from dualign._core.errors import DataError, DualignError, UsageError, refusing
from dualign._core.files.atomic import explaining, temporary_folder
from dualign._core.files.streams import FilePath
from dualign._core.memory import hold_memory
from dualign._core.progress import Clock
from dualign.engines.dask.work_folder import Arrays, is_whole, keep

PATIENCE = 5.0
"""Seconds to wait for a scheduler, or for the answers of its workers."""

ALONE = 60.0
"""Seconds to wait for a first worker, or for another when all are gone."""

RETRIES = 3
"""How often a task is tried again after Dask has given it up because its workers died."""

TASKS_PER_WORKER = 2
"""So many tasks of a round keep workers of different speed busy; each adds a file of counts."""

LATE = 3.0
"""A task that takes this many times longer than all others, and as many seconds more, is begun once more."""

MOST_LOCAL = 1024

_EVERY = 1.0
_REMEDY = "what is finished stays in the work folder: repeat the same command to go on"

Made = tuple[Mapping[str, Any], Arrays]


class Task(NamedTuple):
    """Makes the file `path` of what `function(*arguments)` returns: header and arrays."""

    path: str
    mark: str
    function: Callable[..., Made]
    arguments: tuple[Any, ...]


def perform(task: Task, wanted: str) -> None:
    """Make the file, on a worker, unless it is there; Dask is given nothing that a dead worker could lose.

    A worker that joined late may have another release than the one that is `wanted`.
    """
    if wanted != release():
        raise DataError(
            f"a worker has dualign {release()}, the command {wanted}; install the same everywhere; {_REMEDY}"
        )
    if is_whole(task.path, task.mark):
        return
    hold_memory()  # Dask starts workers so that they return every large array to the system
    try:
        lack = "too little memory on a worker to make it; give more"
        with refusing(MemoryError, what=lack, place=task.path):
            header, arrays = task.function(*task.arguments)
            keep(task.path, task.mark, arrays, header)
    except DualignError as error:
        # As plain errors, which every process can unpickle.
        kind = UsageError if isinstance(error, UsageError) else DataError
        raise kind(str(error)) from None


def _file(path: str) -> tuple[int, int]:
    """Which file has this name, and its size; nothing if there is none."""
    with suppress(OSError):
        status = os.stat(path)
        return status.st_ino, status.st_size
    return 0, 0


class Workers:
    """The workers of a Dask client, and the work folder `work` that they share with this process.

    `tell(what, done, tasks, written)` is called while tasks are running, `written` in bytes.
    """

    def __init__(
        self, client: Any, work: str, tell: Callable[[str, int, int, int], None] = lambda *_: None
    ) -> None:
        self.client, self.work, self.tell = client, os.path.abspath(work), tell
        self._alone = Clock()
        _check_folder(self.work)
        with _explained(client):
            _await_workers(client)
            _check_versions(client)
            _check_sight(client, self.work)

    @property
    def workers(self) -> int:
        """How many threads of workers there are now."""
        with _explained(self.client):
            return max(1, sum(self.client.nthreads().values()))

    @staticmethod
    def pickled(value: object) -> bytes:
        """A value as Dask sends it to workers, classes of the user's own included."""
        from distributed.protocol.pickle import dumps

        return bytes(dumps(value))

    def prepare(self, function: Callable[[], None]) -> None:
        """Have every worker call a function, on a thread of its own; nobody waits for it."""

        async def call() -> None:
            await asyncio.to_thread(function)

        with suppress(Exception):  # whatever is wrong, tasks will say so
            self.client.run(call, wait=False, on_error="ignore")

    def place(self, name: str) -> str:
        """A file in the work folder."""
        return os.path.join(self.work, name)

    def run(self, name: str, tasks: Sequence[Task]) -> None:
        """Run tasks, called `name` on Dask's dashboard, until all their files are there."""
        with _explained(self.client):
            self._run(name, tasks)

    def _run(self, name: str, tasks: Sequence[Task]) -> None:
        from distributed import KilledWorker

        self._alone.restart()
        # A new token each time: Dask takes a task of the same name for the same, even if its file is gone.
        token, numbers, ended = f"0{secrets.token_hex(8)}", count(), Queue[Any]()
        flights: dict[Any, int] = {}
        clock, times = Clock(), list[float]()
        tries, before = [0] * len(tasks), [_file(task.path) for task in tasks]

        def submit(number: int) -> None:
            key = f"{name}-{token}-{next(numbers)}"
            future = self.client.submit(perform, tasks[number], release(), key=key, pure=False)
            flights[future] = number
            tries[number] += 1
            future.add_done_callback(ended.put)

        for number in range(len(tasks)):
            submit(number)
        left, written = set(range(len(tasks))), 0
        self.tell(name, 0, len(tasks), 0)
        try:
            while left:
                future = self._next(ended)
                if future is None:
                    for number in _late(left, tries, times, clock.seconds):
                        submit(number)
                    continue
                number = flights.pop(future)
                # Neither: the worker died after it had made the file, and Dask has it made once more.
                if future.status in ("error", "cancelled"):
                    error = future.exception(timeout=PATIENCE)
                    if not isinstance(error, KilledWorker):
                        raise error
                    if tries[number] > RETRIES:
                        raise DataError(
                            f"{tasks[number].path}: every worker that began to make it died, perhaps for "
                            f"lack of memory; give workers more; {_REMEDY}"
                        ) from None
                    submit(number)
                elif number in left:
                    left.remove(number)
                    times.append(clock.seconds)
                    now = _file(tasks[number].path)
                    written += now[1] if now != before[number] else 0
                    self.tell(name, len(tasks) - len(left), len(tasks), written)
        finally:
            if flights:
                with suppress(Exception):
                    self.client.cancel(list(flights))

    def _next(self, ended: Queue[Any]) -> Any | None:
        """The next future that is done, or None if that takes a while; an error if there are no workers."""
        try:
            future = ended.get(timeout=_EVERY)
            self._alone.restart()
            return future
        except Empty:
            if self.client.status not in ("running", "connecting"):
                raise _lost(self.client) from None
            if self.client.nthreads():
                self._alone.restart()
            elif self._alone.seconds > ALONE:
                raise DataError(
                    f"the cluster has had no worker for {ALONE:.0f} seconds; start some; {_REMEDY}"
                ) from None
            return None


def _late(left: set[int], tries: list[int], times: list[float], now: float) -> list[int]:
    """Tasks to begin once more, on another worker, because theirs takes far longer than others did.

    Only at the end, when most are done: whichever of the two is first makes the file.
    """
    if len(times) < len(left) or now < LATE * times[-1] + LATE:
        return []
    return [number for number in left if tries[number] == 1]


@contextmanager
def connected(
    address: FilePath, work: FilePath | None, tell: Callable[[str, int, int, int], None] = lambda *_: None
) -> Iterator[Workers]:
    """The crew of a cluster: the address of a scheduler, its file, or `local:4` for workers of our own.

    Without a folder for `work`, a temporary one is used, which only workers on this machine see.
    """
    address = os.fspath(address)
    client_of = _imported().Client
    with ExitStack() as stack:
        if match := re.fullmatch(r"local:(\d+)", address):
            if not 1 <= int(match[1]) <= MOST_LOCAL:
                raise UsageError(
                    "{cluster=}: name 1 to {most_local} workers, such as local:4",
                    cluster=address,
                    most_local=MOST_LOCAL,
                )
            client = stack.enter_context(_local(int(match[1])))
        else:
            by_file = os.path.isfile(address)
            if not by_file and "://" not in address:
                raise UsageError(
                    "{cluster=}: neither the address of a scheduler, such as tcp://host:8786, nor its "
                    "file, nor local:N for N workers on this machine",
                    cluster=address,
                )
            given = {"scheduler_file": address} if by_file else {"address": address}
            try:
                client = stack.enter_context(client_of(**given, timeout=PATIENCE, set_as_default=False))
            except (OSError, ValueError, KeyError, TypeError, AssertionError) as error:
                raise DataError(
                    f"{address}: no scheduler answers there ({error}); start one with `dask "
                    "scheduler`, check the address, and that no firewall is in between"
                ) from None
        yield stack.enter_context(crew_of(client, work, tell))


@contextmanager
def crew_of(
    client: Any, work: FilePath | None, tell: Callable[[str, int, int, int], None] = lambda *_: None
) -> Iterator[Workers]:
    """The crew of a Dask client; see `connected`."""
    with ExitStack() as stack:
        if work is None:
            work = stack.enter_context(temporary_folder())
        yield Workers(client, os.fspath(work), tell)


def _imported() -> Any:
    missing = "a cluster needs Dask, which is not installed; pip install 'dualign[cluster]'"
    with refusing(ImportError, by=UsageError, what=missing):
        import distributed
    return distributed


@contextmanager
def _local(workers: int) -> Iterator[Any]:
    """Workers of our own, each a process with one thread."""
    distributed = _imported()
    import dask

    with (
        # Its workers look at themselves a hundred times a second, which takes a part of what they have.
        dask.config.set({"distributed.worker.profile.enabled": False}),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,  # what a worker may take is for the system to say, not for Dask's guess
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.run(_ignore_interrupts)
        yield client


def _ignore_interrupts() -> None:
    """A terminal sends Ctrl-C to workers as well, but it is for the command, which ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _explained(client: Any) -> Iterator[None]:
    """Turn what Dask raises into an error that says what to do."""
    from concurrent.futures import CancelledError

    from distributed.comm import CommClosedError

    try:
        yield
    except DualignError:
        raise
    except (CancelledError, CommClosedError, TimeoutError, ConnectionError) as error:
        raise _lost(client) from error
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise DataError(f"a task failed on the cluster: {what}; {_REMEDY}") from error


def _lost(client: Any) -> DataError:
    address = getattr(client.scheduler, "address", "the scheduler")
    return DataError(f"the connection to {address} was lost; {_REMEDY}")


def _check_folder(work: str) -> None:
    with explaining(work, "write"):
        os.makedirs(work, exist_ok=True)


def _await_workers(client: Any) -> None:
    try:
        client.wait_for_workers(1, timeout=ALONE)
    except TimeoutError:
        address = client.scheduler.address
        raise DataError(
            f"{address}: the scheduler has no workers; start some: dask worker {address}"
        ) from None


def _check_versions(client: Any) -> None:
    """Refuse a cluster whose programs are not ours: they could not talk to each other, or not agree."""
    found = client.get_versions()
    ours = _important(found["client"])
    for name, theirs in (("the scheduler", found["scheduler"]), *sorted(found["workers"].items())):
        for package, version in _important(theirs).items() if theirs else ():
            if version != ours[package]:
                raise DataError(
                    f"{name} has {package} {version}, this machine {ours[package]}; install the same "
                    "everywhere, best from one image or environment"
                )

    def installed() -> str:
        try:
            from dualign._core import release
        except ImportError:
            return ""
        return release()

    for name, theirs in _answers(client, installed):
        if theirs != release():
            has = f"has dualign {theirs}" if theirs and isinstance(theirs, str) else "has no dualign"
            raise DataError(f"worker {name} {has}, this machine {release()}; install the same everywhere")


def _answers(client: Any, question: Callable[[], Any]) -> list[tuple[str, Any]]:
    """What each worker answers, or the error; those that die meanwhile, which cannot be reached, do not."""
    found = client.run(question, on_error="return").items()
    return sorted((name, answer) for name, answer in found if not isinstance(answer, OSError))


def _important(versions: Mapping[str, Any]) -> dict[str, str]:
    packages = versions["packages"]
    python = ".".join(str(packages["python"]).split(".")[:2])
    return {"Python": python, "distributed": str(packages["distributed"]), "NumPy": str(packages["numpy"])}


def _check_sight(client: Any, work: str) -> None:
    """Refuse a work folder that is another one, or none, on some machine."""
    secret = secrets.token_hex(8)
    path = os.path.join(work, f".seen-{secret}")
    with explaining(path, "write"), open(path, "w") as file:
        file.write(secret)

    def sees() -> bool:
        try:
            with open(path) as file:
                seen = file.read() == secret
            mine = f"{path}-{secrets.token_hex(8)}"
            with open(mine, "x"):
                pass
            os.remove(mine)
        except OSError:
            return False
        return seen

    try:
        blind = [name for name, seen in _answers(client, sees) if seen is not True]
    finally:
        os.remove(path)
    if blind:
        raise DataError(
            f"{work}: worker {blind[0]} cannot read and write this folder; name one on a disk that all "
            "machines share"
        )
