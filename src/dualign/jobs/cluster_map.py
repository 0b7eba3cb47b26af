"""A function of many items, one after the other, on the workers of a cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dualign.cluster.crew import Crew, Made, Task
from dualign.cluster.made_files import made, mark_of
from dualign.core.threads import spans

SHARD = 32
"""Items of a task: for work that takes a second for each, not a millisecond."""


def mapped(
    crew: Crew, name: str, function: Callable[..., list[Any]], items: Sequence[Any], settings: tuple[Any, ...]
) -> Iterator[Any]:
    """What `function(part, *settings)` returns for parts of the items: something that JSON can hold for each.

    The settings must tell all that the result depends on, or it will be found where another was made.
    """
    tasks = []
    for number, (begin, end) in enumerate(spans(len(items), SHARD)):
        part = items[begin:end]
        mark = mark_of(name, crew.pickled((part, settings)))
        path = crew.place(f"{name}-{mark[:12]}-{number:06}")
        tasks.append(Task(path, mark, _apply, (function, part, settings)))
    crew.run(name, tasks)
    for task in tasks:
        yield from json.loads(made(task.path)[1]["results"].tobytes())


def _apply(function: Callable[..., list[Any]], part: Sequence[Any], settings: tuple[Any, ...]) -> Made:
    return {}, {"results": np.frombuffer(json.dumps(function(part, *settings)).encode(), np.uint8)}
