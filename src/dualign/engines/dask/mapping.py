"""A function of many items, one after the other, on the workers of a cluster."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError
from dualign.engines.dask.work_folder import is_whole, keep, made, mark_of, remembered
from dualign.engines.dask.workers import Made, Task, Workers


class Sent(NamedTuple):
    """A value in a file for the workers, and the mark of the file's content."""

    path: str
    mark: str


def spread(
    crew: Workers, name: str, function: Callable[..., Sequence[Array]], items: Iterable[Any], *settings: Any
) -> Iterator[list[Array]]:
    """The arrays that `function(item, *settings)` returns for each item, in order; a task for each.

    Items and settings must tell all that the result depends on, or it is found where another was made.
    """
    shared = _send(crew, f"{name}-settings", (function, settings))
    tasks = []
    for number, item in enumerate(items):
        given = _send(crew, f"{name}-item", item)
        mark = mark_of(name, shared.mark, given.mark)
        tasks.append(Task(crew.place(f"{name}-{mark[:12]}-{number:06}"), mark, _apply, (shared, given)))
    crew.run(name, tasks)
    for task in tasks:
        _, arrays = made(task.path)
        yield [arrays[key] for key in sorted(arrays)]


def mapped(
    crew: Workers, name: str, function: Callable[[Any], Any], items: Iterable[Any], *, size: int
) -> Iterator[Any]:
    """What `function` returns for each item: something that JSON can hold. A task has `size` items."""
    return mapped_parts(crew, name, _each, _parts(items, size), function)


def mapped_parts(
    crew: Workers, name: str, function: Callable[..., list[Any]], parts: Iterable[list[Any]], *settings: Any
) -> Iterator[Any]:
    """The results in the lists that `function(part, *settings)` returns for parts of some items."""
    for (results,) in spread(crew, name, _as_json, parts, function, settings):
        yield from json.loads(results.tobytes())


def _parts(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    stream = iter(items)
    while part := list(islice(stream, size)):
        yield part


def _each(part: list[Any], function: Callable[[Any], Any]) -> list[Any]:
    return list(map(function, part))


def _as_json(part: list[Any], function: Callable[..., list[Any]], settings: tuple[Any, ...]) -> list[Array]:
    return [np.frombuffer(json.dumps(function(part, *settings)).encode(), np.uint8)]


def _send(crew: Workers, name: str, value: Any) -> Sent:
    content = np.frombuffer(crew.pickled(value), np.uint8)
    mark = mark_of(content)
    sent = Sent(crew.place(f"{name}-{mark[:20]}"), mark)
    if not is_whole(sent.path, mark):
        keep(sent.path, mark, {"content": content})
    return sent


def _received(path: str, mark: str) -> Any:
    content = made(path)[1]["content"].copy()  # what is checked is what is read: others may write to the file
    if mark_of(content) != mark:  # by it we know that the process which gives the tasks has pickled this
        raise DataError(f"{path}: another file than the command has written; repeat the same command")
    return pickle.loads(content.data)


_settings = remembered(_received)


def _apply(shared: Sent, given: Sent) -> Made:
    function, settings = _settings(*shared)
    arrays = function(_received(*given), *settings)
    return {}, {f"{number:04}": array for number, array in enumerate(arrays)}
