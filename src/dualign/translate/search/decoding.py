"""`decode`: all decoders of forests under one interface."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal, overload

import numpy as np

from dualign._core.certified import Certified, Stage
from dualign._core.errors import UsageError
from dualign._core.fields import check_value
from dualign._core.progress import Alarm, Clock, check_time_limit
from dualign._search.certificate import PRECISION, certify
from dualign.text.arpa import Arpa, Grams
from dualign.translate.forest.hypergraph import MOST_EDGES, Derivation, Hypergraph, too_long
from dualign.translate.lm.language_model import LanguageModel
from dualign.translate.search.baselines.partitions import compile_search, tighten
from dualign.translate.search.baselines.program import program
from dualign.translate.search.baselines.relax import relax
from dualign.translate.search.derivations import Incumbents, rounding
from dualign.translate.search.exact import compile_exact, exact
from dualign.translate.search.multipliers import first_bound
from dualign.translate.search.passes import affordable, complete
from dualign.translate.search.problem import ForestProblem

METHODS = ("exact", "relax", "tighten", "cube", "exhaustive", "ilp", "lp")

Method = Callable[[ForestProblem, Incumbents, Clock, list[Stage]], tuple[float, bool]]
"""Fills incumbents and trace; returns a bound, and whether the incumbents are proved to be the best."""


@overload
def decode(
    hypergraph: Hypergraph,
    lm: LanguageModel,
    *,
    method: str = "exact",
    order: int = 3,
    k: Literal[1] = 1,
    beam: int = 50,
    time_limit: float | None = None,
    gap: float = 0.0,
) -> Certified[Derivation]: ...


@overload
def decode(
    hypergraph: Hypergraph,
    lm: LanguageModel,
    *,
    method: str = "exact",
    order: int = 3,
    k: int,
    beam: int = 50,
    time_limit: float | None = None,
    gap: float = 0.0,
) -> Certified[Derivation] | list[Certified[Derivation]]: ...


def decode(
    hypergraph: Hypergraph,
    lm: LanguageModel,
    *,
    method: str = "exact",
    order: int = 3,
    k: int = 1,
    beam: int = 50,
    time_limit: float | None = None,
    gap: float = 0.0,
) -> Certified[Derivation] | list[Certified[Derivation]]:
    """Return the best derivation of a forest under its weights and a language model, and a bound on all of
    them.

    | method | what it does |
    |---|---|
    | `exact` | coarse-to-fine passes until the best derivation is proved (`exact`) |
    | `relax` | Lagrangian relaxation with paths between leaves (`baselines.relax`) |
    | `tighten` | the same, and partitions of the leaves until it is proved (`baselines.partitions`) |
    | `cube` | cube pruning with `beam` items per vertex |
    | `exhaustive` | the complete construction of Bar-Hillel et al. |
    | `ilp`, `lp` | the integer program, and its linear relaxation, on HiGHS (`baselines.program`) |

    `order` is the longest n-gram that counts (the model's own order where that is less). `k > 1` gives a
    list of the k best derivations, best first, fewer if there are not as many. With `time_limit`, in
    seconds, the best so far is returned with the bound so far; `exact` also ends when the bound is no more
    than `gap` above the best score. Scores are recomputed from scratch;
    `certified` is only set where no derivation (that is not before it in the list) can be better.
    """
    if not isinstance(hypergraph, Hypergraph):
        raise UsageError(f"hypergraph is a {type(hypergraph).__name__}; give a dualign.translate.Hypergraph")
    if not isinstance(lm, LanguageModel):
        raise UsageError(f"lm is a {type(lm).__name__}; give a dualign.translate.LanguageModel")
    check_value("method", method, choices=METHODS)
    check_value("k", k, "int", least=1)
    check_value("beam", beam, "int", least=1)
    check_value("gap", gap, "float", least=0)
    check_time_limit(time_limit)
    order = lm.checked_order(order)
    if time_limit is not None:
        compile_method(method)
    problem, search = ForestProblem(hypergraph, lm, order), _method_of(method, beam, gap)
    results = _solve(problem, method, search, k, Clock(time_limit))
    return results if k > 1 else results[0]


def decode_different(
    hypergraph: Hypergraph, lm: LanguageModel, count: int, *, time_limit: float | None = None, **options: Any
) -> list[Certified[Derivation]]:
    """Return the best derivations of `count` different sentences, best first; fewer if no more are found.

    Most derivations of a forest differ in how the same words come about, so more and more are looked at,
    up to 64 for each sentence, as long as there is time. Options are those of `decode`.
    """
    clock, k = Clock(time_limit), count
    while True:
        left = None if time_limit is None else max(clock.left, 1e-3)
        found = decode(hypergraph, lm, k=max(k, 2), time_limit=left, **options)
        several = found if isinstance(found, list) else [found]
        first = {result.solution.words: result for result in reversed(several)}
        best = [result for result in several if first[result.solution.words] is result][:count]
        if len(best) == count or len(several) < k or k >= 64 * count or clock.is_over:
            return best
        k *= 4


def _solve(
    problem: ForestProblem, method: str, search: Method, k: int, clock: Clock
) -> list[Certified[Derivation]]:
    graph = problem.hypergraph
    lm = problem.model.among(label for label in graph.labels if label is not None)
    problem = ForestProblem(graph, lm, problem.order)
    if problem.longest > 2 * MOST_EDGES:
        raise too_long("a derivation of this forest", problem.longest)
    incumbents = Incumbents(problem, k)
    trace: list[Stage] = []
    bound, proved = search(problem, incumbents, clock, trace)
    results = []
    for rank, (edges, score) in enumerate(incumbents.best()):
        # A proof of a list of k proves each; a bound on all proves only the first.
        limit = score if rank and proved else bound
        tolerance = _tolerance(rank, proved, score)
        derivation = graph.derivation(edges)
        results.append(certify(derivation, score, limit, tolerance, method, clock, len(trace), tuple(trace)))
    return results


def _tolerance(rank: int, proved: bool, score: float) -> float:
    """Return how far below its bound a derivation of that rank may be and still be certified; −inf: it is
    not."""
    if rank:
        return 0.0 if proved else float("-inf")
    return PRECISION * max(1.0, abs(score)) if proved else max(PRECISION * abs(score), rounding(score))


@cache
def compile_method(method: str) -> None:
    """Compile the kernels of a method, or load them, on a forest of two words: no time limit should pay for
    it."""
    graph = Hypergraph([(None, 0.0), ("a", 0.0), ("b", 0.0)], [(0, [1, 2], 0.0), (0, [2, 1], 0.0)], 0)
    problem = ForestProblem(graph, _two_words(), 3)
    _solve(problem, method, _method_of(method, 1, 0.0), 1, Clock())
    if method == "tighten":
        compile_search(problem)
    if method == "exact":
        compile_exact(problem)


def _two_words() -> LanguageModel:
    """Return a trigram model of the sentences `a b` and `b a`, made without learning it."""
    unigrams, bigrams = [[0], [1], [2], [3], [4]], [[0, 3], [0, 4], [3, 1], [3, 4], [4, 1], [4, 3]]
    rows = unigrams, bigrams, [[0, 3, 4], [0, 4, 3], [3, 4, 1], [4, 3, 1]]
    grams = [Grams(np.array(each, np.int32), *np.full((2, len(each)), -0.5)) for each in rows]
    return LanguageModel.of_arpa(Arpa(["<s>", "</s>", "<unk>", "a", "b"], grams))


def _method_of(method: str, beam: int, gap: float) -> Method:
    methods: dict[str, Method] = {
        "exact": partial(exact, gap=gap), "relax": relax, "tighten": tighten,
        "cube": partial(_cube, beam=beam), "exhaustive": partial(_exhaustive, beam=beam),
        "ilp": partial(program, whole=True), "lp": partial(program, whole=False),
    }  # fmt: skip
    return methods[method]


def _cube(
    problem: ForestProblem, incumbents: Incumbents, clock: Clock, trace: list[Stage], beam: int
) -> tuple[float, bool]:
    bound = first_bound(problem, incumbents, beam, clock)
    trace.append(("cube", bound, incumbents.score, clock.seconds))
    return bound, False


def _exhaustive(
    problem: ForestProblem, incumbents: Incumbents, clock: Clock, trace: list[Stage], beam: int
) -> tuple[float, bool]:
    with Alarm(clock).set() as alarm:
        trees = complete(problem, affordable(clock), alarm.flag)
    if trees is None:
        return _cube(problem, incumbents, clock, trace, beam)
    incumbents.offer(trees.best(incumbents.k))
    trace.append(("complete", trees.score, incumbents.score, clock.seconds))
    return trees.score, True
