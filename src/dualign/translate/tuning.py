"""Rounds of tuning: translate the development text, add to the lists of translations, find better weights.

The forests are made once; each round puts the current weights on their edges and takes from each the
best derivations that cube pruning finds. Lists are kept from round to round, so that weights that look good
only because bad translations are missing are found out. The result is the weights that did best when the text
was translated with them.

Weights are found by `mert`, or by pairwise ranking of translations (PRO, Hopkins & May 2011), which looks for
weights that order lists as BLEU does. Of each sentence, pairs of candidates are drawn; those that differ most
in smoothed sentence BLEU are kept. With x = features of the better minus those of the worse, divided by their
root mean squares σ, the weights minimise the strictly convex

    f(w) = mean log(1 + exp(−w·x)) + ½ λ ‖w − w₀‖²        (w, w₀ times σ)

by Newton's method, where w₀ are the weights of the round before. Unlike the corners of BLEU's own surface,
its one minimum moves little when the lists change a little: tuning is steadier than by `mert`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dualign._core.arrays import Array
from dualign._core.threads import ordered_map
from dualign.measure.translation import bleu_counts, bleu_of_counts
from dualign.translate.forest.builder import Parsed
from dualign.translate.lm.language_model import LanguageModel
from dualign.translate.mert import NBestFeatures, tune_weights
from dualign.translate.search.passes import cube_trees
from dualign.translate.search.problem import ForestProblem

METHODS = ("mert", "pro")
"""BLEU itself by line searches (`mert`), or the order of translations by regression (`pro`)."""

MODEL = "LanguageModel"
"""The name of the language model among the weights."""

DRAWN = 50
"""Derivations of a sentence that a round draws with each sharpness."""

SHARPNESS = (0.5, 1.0, 2.0, 4.0)
"""Of the distributions they are drawn from: from all kinds of translations to those next to the best."""

BEAM = 30
"""Of cube pruning."""

PATIENCE = 3
"""Rounds without a better BLEU before tuning ends."""

PAIRS_DRAWN, PAIRS_KEPT = 5000, 50
"""Pairs that are drawn of each sentence, and those with the largest differences that are kept."""

LEAST_DIFFERENCE = 5.0
"""In BLEU; a smaller one is no reason to prefer a translation."""

STRENGTH = 1e-3
"""λ, the pull towards the weights of the round before."""


@dataclass(frozen=True)
class Example:
    """A forest, the features of its edges (E, F) in the order of the weights, and the reference."""

    problem: ForestProblem
    features: Array
    reference: Sequence[str]

    @classmethod
    def of(
        cls, parsed: Parsed, model: LanguageModel, order: int, names: Sequence[str], reference: Sequence[str]
    ) -> Example:
        place = {name: number for number, name in enumerate(names)}
        features = np.zeros((len(parsed.features), len(names)))
        for row, values in zip(features, parsed.features, strict=True):
            for name, value in values.items():
                if name in place:
                    row[place[name]] = value
        return cls(ForestProblem(parsed.hypergraph, model, order), features, reference)

    def candidates(
        self, weights: Array, scaled: LanguageModel, at: int, seed: int
    ) -> list[tuple[tuple[str, ...], Array, Array]]:
        """Return the best translation, then others: words, features, counts for BLEU; `at`: which is the
        model."""
        problem = self.problem.reweighted(self.features @ weights, scaled)
        trees = cube_trees(problem, BEAM)
        drawn = trees.best(1)
        for number, sharpness in enumerate(SHARPNESS):
            drawn += trees.samples(DRAWN, sharpness, seed * len(SHARPNESS) + number)
        several = {tuple(edges): problem.hypergraph.derivation(edges).words for edges in drawn}
        sentences = list(dict.fromkeys(several.values()))
        scores = self.problem.model.scores(sentences, order=self.problem.order)
        known = {
            words: (float(score.sum()), bleu_counts(words, [self.reference]))
            for words, score in zip(sentences, scores, strict=True)
        }
        found: dict[tuple[tuple[str, ...], tuple[float, ...]], Array] = {}
        for edges, words in several.items():
            features = self.features[list(edges)].sum(axis=0)
            features[at] = known[words][0]
            found.setdefault((words, tuple(np.round(features, 6).tolist())), features)
        return [(words, features, known[words][1]) for (words, _), features in found.items()]


@dataclass(frozen=True, slots=True)
class WeightTuning:
    """How to tune: the maximum of rounds, threads, what hears of progress, and what stores the best weights
    so far. `method` is one of METHODS; `seed` is for all that is drawn at random."""

    rounds: int
    threads: int
    report: Callable[[str], None] = lambda message: None
    keep: Callable[[dict[str, float]], None] = lambda weights: None
    method: str = "mert"
    seed: int = 0


def tuned(
    dev: Sequence[tuple[Parsed, Sequence[str]]],
    model: LanguageModel,
    order: int,
    weights: Mapping[str, float],
    settings: WeightTuning,
) -> dict[str, float]:
    """Return weights of the best BLEU on pairs of a forest and a reference, after at most that many
    rounds."""
    examples = [Example.of(parsed, model, order, list(weights), reference) for parsed, reference in dev]
    return tuned_on(examples, model, weights, settings)


def tuned_on(
    examples: Sequence[Example], model: LanguageModel, weights: Mapping[str, float], settings: WeightTuning
) -> dict[str, float]:
    """Return the same for examples whose features are in the order of the weights."""
    rounds, threads, report = settings.rounds, settings.threads, settings.report
    names = list(weights)
    at = names.index(MODEL)
    lists = [NBestFeatures() for _ in examples]
    now = best = np.array([weights[name] for name in names])
    top, since = -1.0, 0
    for number in range(rounds + 1):
        scaled = model.scaled(float(now[at]))
        found = ordered_map(
            partial(
                Example.candidates, weights=now, scaled=scaled, at=at, seed=1000 * settings.seed + number
            ),
            examples,
            threads,
        )
        first = []
        for entry, several in zip(lists, found, strict=True):
            for words, features, counts in several:
                entry.add(words, features, counts)
            first.append(several[0][2])
        reached = float(bleu_of_counts(np.sum(first, axis=0), smooth=1.0))
        report(f"round {number}: BLEU {reached:.2f} on the tuning text")
        since += 1
        if reached > top:
            best, top, since = now, reached, 0
            settings.keep(dict(zip(names, best.tolist(), strict=True)))
        if number == rounds or since >= PATIENCE:
            break
        if settings.method == "pro":
            now = rank_weights(lists, now, seed=1000 * settings.seed + number)
        else:
            now, _ = tune_weights(lists, now, starts=[best], seed=1000 * settings.seed + number)
    report(f"best: BLEU {top:.2f}")
    return dict(zip(names, best.tolist(), strict=True))


def rank_weights(lists: Sequence[NBestFeatures], weights: Array, *, seed: int = 1) -> Array:
    """Return weights (F) that rank candidates best; with the same sum of sizes as `weights`.

    Weights of features that are the same in all pairs stay, and so do all if no two candidates differ enough.
    """
    rng = np.random.default_rng(seed)
    drawn = [_pairs(entry, rng) for entry in lists if len(entry.features) > 1]
    differences = np.concatenate([*drawn, np.empty((0, len(weights)))])
    scale = np.sqrt((differences**2).mean(axis=0)) if len(differences) else np.zeros(len(weights))
    free = scale > 1e-9
    if not free.any():
        return weights
    x = differences[:, free] / scale[free]
    found = weights.copy()
    found[free] = minimise(x, weights[free] * scale[free]) / scale[free]
    size = float(np.abs(found[free]).sum())
    if size > 0:
        found[free] *= float(np.abs(weights[free]).sum() or 1.0) / size
    return found


def _pairs(entry: NBestFeatures, rng: np.random.Generator) -> Array:
    """Return differences (at most KEPT, F) of pairs of candidates, the better minus the worse."""
    features = np.array(entry.features)
    value = bleu_of_counts(np.array(entry.counts), smooth=1.0)
    one, other = np.unique(np.sort(rng.integers(0, len(features), (2, PAIRS_DRAWN)), axis=0), axis=1)
    gain = value[one] - value[other]
    most = np.argsort(-np.abs(gain), kind="stable")[:PAIRS_KEPT]
    most = most[np.abs(gain[most]) >= LEAST_DIFFERENCE]
    return (features[one] - features[other])[most] * np.sign(gain[most])[:, None]


def objective(x: Array, w: Array, start: Array) -> tuple[float, Array, Array]:
    """f(w) for differences x (n, F), its gradient (F) and its Hessian (F, F)."""
    margin = x @ w
    wrong = np.exp(-np.logaddexp(0.0, margin))
    value = np.logaddexp(0.0, -margin).mean() + 0.5 * STRENGTH * ((w - start) ** 2).sum()
    gradient = -(wrong @ x) / len(x) + STRENGTH * (w - start)
    hessian = (x.T * (wrong * (1.0 - wrong))) @ x / len(x) + STRENGTH * np.eye(len(w))
    return float(value), gradient, hessian


def minimise(x: Array, start: Array, rounds: int = 100) -> Array:
    """Return the minimum of f, from w₀ = `start`; steps are halved until they go down."""
    w = start
    value, gradient, hessian = objective(x, w, start)
    for _ in range(rounds):
        step = np.linalg.solve(hessian, gradient)
        decrease = float(gradient @ step)
        if decrease < 1e-14:
            break
        size = 1.0
        while size > 1e-10:
            tried = objective(x, w - size * step, start)
            if tried[0] <= value - 1e-4 * size * decrease:
                w = w - size * step
                value, gradient, hessian = tried
                break
            size *= 0.5
        else:
            break
    return w
