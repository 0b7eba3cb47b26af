"""Potentials change bounds, never the scores of sentences, and no bound is ever below the optimum."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from tests.oracles.translation import derivations
from tests.translate.forests import random_forest, random_model

from dualign._core.jit import kernel
from dualign._core.progress import Clock, never
from dualign.translate import Hypergraph
from dualign.translate.lm.trie import follow
from dualign.translate.search.bigram_pass import boundary_words, compiled_inside_pass, new_chart
from dualign.translate.search.derivations import Incumbents
from dualign.translate.search.multipliers import (
    PairSearch,
    compiled_outside_bounds,
    compiled_word_bounds,
    inside_scores,
)
from dualign.translate.search.passes import cube, guide, item_trees, level, one_pass
from dualign.translate.search.problem import ForestProblem
from dualign.translate.search.state_potentials import compiled_pair_bounds, contexts_of, shaped

compiled_follow = kernel(follow)
compiled_inside_scores = kernel(inside_scores)

pytestmark = pytest.mark.kernel


def cases(count, begin=0):
    """Problem and all derivations with their scores."""
    for seed in range(begin, begin + count):
        rng = random.Random(seed)
        order = 2 + seed % 4
        vertices, edges = random_forest(rng)
        model, twin = random_model(rng, order)
        found = derivations(vertices, edges, 0)
        if found:
            problem = ForestProblem(Hypergraph(vertices, edges, 0), model, order)
            scores = {e: weight + twin.sentence(words) for e, words, weight in found}
            yield rng, problem, scores, found


def some_potentials(rng, problem):
    lm = problem.automaton
    result = np.array(
        [rng.uniform(-3, 3) for _ in range(1 + len(problem.adjacent) + int((lm.depth == 2).sum()))]
    )
    result[[0, 1 + lm.begin, 1 + lm.end]] = 0.0
    return result


def test_potentials_leave_the_scores_of_sentences_alone():
    for rng, problem, scores, found in cases(80):
        lm = shaped(problem.automaton, problem.adjacent, some_potentials(rng, problem))
        place = {w: n for n, w in enumerate(problem.vocabulary.tolist())}
        for edges, words, weight in found[:20]:
            state, total = 1 + lm.begin, weight
            for word in [*problem.model.encode(words), problem.model.end]:
                node, total = compiled_follow(lm, state, _child(lm, state, place[word]), place[word], total)
                state = np.int64(lm.state[node])
            assert total == pytest.approx(scores[edges], abs=1e-8)


def _child(lm, state, word):
    begin, end = lm.first[state], lm.first[state + 1]
    found = [k for k in range(begin, end) if lm.word[k] == word]
    return np.int64(found[0] if found else -1)


def test_any_potentials_give_a_bound_with_and_without_context():
    for rng, problem, scores, _ in cases(150):
        best, W, potential = max(scores.values()), len(problem.adjacent), some_potentials(rng, problem)
        pairs, score = np.empty((W, W)), np.empty(W)
        compiled_pair_bounds(contexts_of(problem.automaton, problem.adjacent), potential, pairs)
        compiled_word_bounds(pairs, problem.automaton.begin, score)
        forest = problem.forest
        inside = np.empty(len(forest.word))
        compiled_inside_scores(forest, score, inside, np.empty(len(inside), np.int64))
        chart = new_chart(forest, boundary_words(forest, W), pairs, never())
        value = compiled_inside_pass(chart, score, compiled_outside_bounds(forest, score), -np.inf)
        assert inside[-1] >= value - 1e-9
        assert value >= best - 1e-9
        # What the threshold drops is below it: the best derivation stays.
        assert compiled_inside_pass(
            chart, score, compiled_outside_bounds(forest, score), best - 1e-9
        ) == pytest.approx(value)


def test_rounds_lower_the_bound_and_never_lose_the_best():
    for _, problem, scores, found in cases(150, begin=3000):
        ranked = sorted(scores.values(), reverse=True)
        words = {edges: derived for edges, derived, _ in found}
        incumbents = Incumbents(problem, 1)
        incumbents.offer(cube(problem, 1, 1))
        pairs = PairSearch(problem, incumbents, Clock())
        before = pairs.bound
        assert pairs.start(incumbents.threshold, never())
        for _ in range(4):
            more = pairs.round(incumbents)
            assert (
                ranked[0] - 1e-8 <= max(pairs.bound, incumbents.score) <= max(before, incumbents.score) + 1e-9
            )
            before = pairs.bound
            if not more:
                break
            pairs.move()
        place = {w: n for n, w in enumerate(problem.vocabulary.tolist())}
        best = max(scores, key=scores.__getitem__)
        line = [
            place[w] for w in (problem.model.begin, *problem.model.encode(words[best]), problem.model.end)
        ]
        assert all(pairs.adjacent[x, w] for x, w in pairwise(line))


def test_the_model_of_a_guide_gives_the_same_optimum():
    for _, problem, scores, _ in cases(60, begin=6000):
        incumbents = Incumbents(problem, 1)
        incumbents.offer(cube(problem, 1, 1))
        pairs = PairSearch(problem, incumbents, Clock())
        pairs.start(incumbents.threshold, never())
        pairs.round(incumbents)
        pairs.spent = 1.0  # long enough for a smaller model
        lm, table, joint = pairs.guide(incumbents.threshold)
        known = guide(lm, 1, table, joint)
        items = one_pass(problem, level(lm, problem.order - 1), known, incumbents.threshold, 1 << 40)
        trees = item_trees(problem, items)
        assert problem.score(trees.best(1)[0]) == pytest.approx(max(scores.values()), abs=1e-8)
