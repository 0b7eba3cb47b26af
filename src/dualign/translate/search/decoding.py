"""`decode`: all decoders of forests under one interface."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from dualign.core.certified import Certified
from dualign.core.errors import UsageError
from dualign.translate.forest.hypergraph import Hypergraph
from dualign.translate.lm.language_model import LanguageModel
from dualign.translate.search.incumbents import Incumbents, rounding
from dualign.translate.search.translation_problem import Problem

METHODS = ("exact", "relax", "tighten", "cube", "exhaustive", "ilp", "lp")

TOLERANCE = 1e-6
"""A bound this close to the score, relative to it, has met it."""

Stage = Callable[[Problem, Incumbents, Any, list[Any], int], tuple[float, bool]]


def decode(
    hypergraph: Hypergraph,
    lm: LanguageModel,
    *,
    method: str = "exact",
    order: int = 3,
    k: int = 1,
    beam: int = 50,
    time_limit: float | None = None,
) -> Any:
    """The best derivation of a forest under its weights and a language model, and a bound on all of them.

    | method | what it does |
    |---|---|
    | `exact` | coarse-to-fine passes until the best derivation is proved (`exact_translation`) |
    | `relax` | Lagrangian relaxation with paths between leaves (`baselines.path_relaxation`) |
    | `tighten` | the same, and partitions of the leaves until it is proved (`baselines.partitions`) |
    | `cube` | cube pruning with `beam` items a vertex |
    | `exhaustive` | the complete construction of Bar-Hillel et al. |
    | `ilp`, `lp` | the integer program, and its linear relaxation, on HiGHS (`baselines.forest_program`) |

    `order` is the longest n-gram that counts (the model's own order where that is less). `k > 1` gives a
    list of the k best derivations, best first, shorter where there are not as many. With `time_limit`, in
    seconds, the best so far is returned with the bound so far. Scores are recomputed from scratch;
    `certified` is only set where no derivation (that is not before it in the list) can be better.
    """
    if not isinstance(hypergraph, Hypergraph):
        raise UsageError(f"hypergraph is a {type(hypergraph).__name__}; give a dualign.translate.Hypergraph")
    if not isinstance(lm, LanguageModel):
        raise UsageError(f"lm is a {type(lm).__name__}; give a dualign.translate.LanguageModel")
    if method not in METHODS:
        raise UsageError(f'method="{method}" is not one of {", ".join(METHODS)}')
    for name, value in (("k", k), ("beam", beam)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise UsageError(f"{name}={value!r} must be a whole number of at least 1")
    if time_limit is not None and not time_limit > 0:
        raise UsageError(f"time_limit={time_limit!r} must be more than 0 seconds, or None")
    order = lm.checked_order(order)
    if time_limit is not None:
        _compile(method)
    return _decode(hypergraph, lm, method, order, k, beam, time_limit)


def _decode(
    hypergraph: Hypergraph,
    lm: LanguageModel,
    method: str,
    order: int,
    k: int,
    beam: int,
    time_limit: float | None,
) -> Any:
    from dualign.translate.search.passes import Clock

    clock = Clock(time_limit)
    lm = lm.among(label for label in hypergraph.labels if label is not None)
    problem = Problem(hypergraph, lm, order)
    incumbents = Incumbents(problem, k)
    trace: list[Any] = []
    bound, proved = _stage(method)(problem, incumbents, clock, trace, beam)
    results = []
    for rank, (edges, score) in enumerate(incumbents.best()):
        # A proof of a list of k proves each; a bound on all proves the first.
        limit = score if proved and rank else max(bound, score)
        certified = proved or (rank == 0 and limit - score <= max(TOLERANCE * abs(score), rounding(score)))
        if proved and rank == 0 and limit - score > TOLERANCE * max(1.0, abs(score)):
            certified = False
        results.append(
            Certified(
                problem.derivation(edges),
                score,
                limit,
                certified,
                method,
                len(trace),
                clock.seconds,
                tuple(trace),
            )
        )
    return results if k > 1 else results[0]


@cache
def _compile(method: str) -> None:
    """Compile the kernels of a method, or load them, on a forest of two words: no time limit should pay for
    it."""
    graph = Hypergraph([(None, 0.0), ("a", 0.0), ("b", 0.0)], [(0, [1, 2], 0.0), (0, [2, 1], 0.0)], 0)
    lm = LanguageModel.train([["a", "b"], ["b", "a"]], 3)
    _decode(graph, lm, method, 3, 1, 1, None)
    if method == "tighten":
        from dualign.translate.search.baselines.partitions import compile_search

        compile_search(Problem(graph, lm, 3))


def _stage(method: str) -> Stage:
    if method == "exact":
        from dualign.translate.search.exact_translation import exact

        return lambda problem, incumbents, clock, trace, beam: exact(problem, incumbents, clock, trace)
    if method == "relax":
        from dualign.translate.search.baselines.path_relaxation import relax

        return lambda problem, incumbents, clock, trace, beam: relax(problem, incumbents, clock, trace)
    if method == "tighten":
        from dualign.translate.search.baselines.partitions import tighten

        return lambda problem, incumbents, clock, trace, beam: tighten(problem, incumbents, clock, trace)
    if method in ("ilp", "lp"):
        from dualign.translate.search.baselines.forest_program import program

        whole = method == "ilp"
        return lambda problem, incumbents, clock, trace, beam: program(
            problem, incumbents, clock, trace, whole
        )
    return _cube if method == "cube" else _exhaustive


def _cube(
    problem: Problem, incumbents: Incumbents, clock: Any, trace: list[Any], beam: int
) -> tuple[float, bool]:
    from dualign.translate.search.passes import cube, word_bound

    incumbents.offer(cube(problem, beam, incumbents.k))
    bound, _ = word_bound(problem, incumbents.score)
    trace.append(("cube", bound, incumbents.score, clock.seconds))
    return bound, False


def _exhaustive(
    problem: Problem, incumbents: Incumbents, clock: Any, trace: list[Any], beam: int
) -> tuple[float, bool]:
    from dualign.translate.search.levels import unguided
    from dualign.translate.search.passes import item_trees, one_pass

    items = one_pass(problem, problem.order - 1, unguided(), float("-inf"), clock.effort)
    trees = None if items is None else item_trees(problem, items)
    if items is None or trees is None:
        return _cube(problem, incumbents, clock, trace, beam)
    incumbents.offer(trees.best(incumbents.k))
    value = float(items.score[trees.goal])
    trace.append(("complete", value, incumbents.score, clock.seconds))
    return value, True
