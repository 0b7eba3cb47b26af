"""The smoothed M-step equals its formula, written with dictionaries."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from tests.hmm.corpora import assert_same_bits, encoded, entries, random_pairs, train_ibm1

from dualign._core.jit import kernel
from dualign.hmm import smoothing
from dualign.hmm.lexicon import Lexicon
from dualign.hmm.smoothing import UNSEEN, Pseudo, kept_shares, make_priors, reestimate_lexicon
from dualign.hmm.statistics import ExpectedCounts
from dualign.hmm.word_forms import ALIKE, POWER, forms_of, similarity

compiled_similarity = kernel(similarity)

pytestmark = pytest.mark.kernel

SOURCE = ["house", "houses", "mouse", "1984", "berlin", "paris", "parisian", "x"]
TARGET = ["haus", "hause", "maus", "1984", "berlin", "berliner", "paris", "y", "hausen"]


def twin(
    counts: dict[tuple[int, int], float],
    words: tuple[list[str], list[str]],
    stem_letters: int,
    weights: tuple[float, float],
    left_out: dict[tuple[int, int], float],
) -> dict[tuple[int, int], float]:
    """p(second | first) for a table whose keys are (first, second); `weights`: of stems, and of forms."""
    stem_weight, form_weight = weights
    stems = [[word[:stem_letters] for word in side] for side in words]
    by_stems: dict = defaultdict(float)
    by_first_stem: dict = defaultdict(float)
    by_second_stem: dict = defaultdict(float)
    by_second: dict = defaultdict(float)
    for (a, b), count in counts.items():
        by_stems[stems[0][a], stems[1][b]] += count
        by_first_stem[stems[0][a]] += count
        by_second_stem[stems[1][b]] += count
        by_second[b] += count
    raised, sums = {}, defaultdict(float)
    for (a, b), count in counts.items():
        g, h = stems[0][a], stems[1][b]
        pooled = 0.0
        if by_first_stem[g] > 0 and by_second_stem[h] > 0:
            pooled = by_stems[g, h] / by_first_stem[g] * by_second[b] / by_second_stem[h]
        left, right = (forms_of([side[n]]).letters for side, n in zip(words, (a, b), strict=True))
        alike = compiled_similarity(left, right, np.zeros(1 << 10, np.int64))
        alike = alike**POWER if alike >= ALIKE else 0.0
        raised[a, b] = count + stem_weight * pooled + form_weight * alike
        sums[a] += raised[a, b]
    return {
        (a, b): (value - left_out.get((a, b), 0) * counts[a, b]) / sums[a] if sums[a] else 0.0
        for (a, b), value in raised.items()
    }


def small_lexicon(seed: int) -> tuple[Lexicon, np.ndarray]:
    pairs = random_pairs(seed, 14, len(SOURCE), len(TARGET), 4)
    lexicon = train_ibm1(encoded(pairs), len(SOURCE), len(TARGET), 2, 1)
    random = np.random.default_rng(seed)
    counts = random.exponential(size=lexicon.table.shape) * (random.random(lexicon.table.shape) < 0.8)
    return lexicon, counts


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("stem_letters", [1, 4])
@pytest.mark.parametrize("left_out", [0.0, 0.7])
@pytest.mark.parametrize("weights", [(10.0, 3.0), (10.0, 0.0), (0.0, 3.0), (0.0, 0.0)])
@pytest.mark.parametrize("ranges", [3, 1])
def test_equals_the_formula(seed, stem_letters, weights, left_out, ranges, monkeypatch):
    monkeypatch.setattr(smoothing, "pieces", lambda *_: ranges)
    lexicon, counts = small_lexicon(seed)
    together = np.random.default_rng(seed).integers(0, 4, len(counts)).astype(np.int32)
    kept = kept_shares(together, left_out)
    priors = make_priors(lexicon, SOURCE, TARGET, stem_letters, *weights, 2)._replace(kept=kept)
    nulls = np.arange(1.0, len(TARGET) + 1), np.arange(2.0, len(SOURCE) + 2)
    new = reestimate_lexicon(lexicon, ExpectedCounts(counts, *nulls), priors, 2)
    cells = list(entries(lexicon))
    left = {cell: left_out / n if n else 0.0 for cell, n in zip(cells, together.tolist(), strict=True)}
    there = twin(dict(zip(cells, counts[:, 0], strict=True)), (SOURCE, TARGET), stem_letters, weights, left)
    turned = {(w, v): count for (v, w), count in zip(cells, counts[:, 1], strict=True)}
    left = {(w, v): share for (v, w), share in left.items()}
    back = twin(turned, (TARGET, SOURCE), stem_letters, weights, left)
    for (v, w), (p, q) in entries(new).items():
        assert p == pytest.approx(there[v, w], rel=1e-5, abs=1e-8)
        assert q == pytest.approx(back[w, v], rel=1e-5, abs=1e-8)
    np.testing.assert_allclose(new.null_target, nulls[0] / (nulls[0].sum() + UNSEEN), rtol=1e-6)
    np.testing.assert_allclose(new.null_source, nulls[1] / (nulls[1].sum() + UNSEEN), rtol=1e-6)


@pytest.mark.parametrize(("stem_weight", "form_weight"), [(0.0, 0.0), (10.0, 3.0)])
def test_rows_and_columns_add_up_to_one_and_threads_change_no_bit(stem_weight, form_weight):
    random = np.random.default_rng(3)
    words = [
        [
            "".join(random.choice(list("abcdeä"), size=random.integers(1, 8))) + str(n) * (n % 5 == 0)
            for n in range(120)
        ]
        for _ in range(2)
    ]
    lexicon = train_ibm1(encoded(random_pairs(4, 400, 120, 120, 8)), 120, 120, 2, 2)
    counts = random.exponential(size=lexicon.table.shape)
    results = []
    for threads in (1, 2, 7):
        priors = make_priors(lexicon, *words, 3, stem_weight, form_weight, threads)
        expected = ExpectedCounts(counts, np.ones(120), np.ones(120))
        results.append(reestimate_lexicon(lexicon, expected, priors, threads))
    for other in results[1:]:
        assert_same_bits(results[0], other)
    table = results[0].table
    occurring = np.diff(lexicon.rows) > 0
    np.testing.assert_allclose(
        np.bincount(np.repeat(np.arange(120), np.diff(lexicon.rows)), table[:, 0], 120)[occurring],
        1,
        rtol=1e-5,
    )
    sums = np.bincount(lexicon.columns, table[:, 1], 120)
    np.testing.assert_allclose(sums[sums > 0], 1, rtol=1e-5)


def test_a_form_never_counted_borrows_from_its_siblings():
    # house-haus was counted, houses-haus was not: with shared stems it is no longer impossible.
    lexicon = Lexicon(
        np.array([0, 2, 4]),
        np.array([0, 1, 0, 1], np.int32),
        np.full((4, 2), 0.5, np.float32),
        np.ones(2, np.float32),
        np.ones(2, np.float32),
    )
    counts = np.array([[9.0, 9.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    plain = make_priors(lexicon, ["house", "houses"], ["haus", "die"], 4, 0.0, 0.0, 1)
    pooled = make_priors(lexicon, ["house", "houses"], ["haus", "die"], 4, 10.0, 0.0, 1)
    without = reestimate_lexicon(lexicon, ExpectedCounts(counts, np.ones(2), np.ones(2)), plain, 1)
    helped = reestimate_lexicon(lexicon, ExpectedCounts(counts, np.ones(2), np.ones(2)), pooled, 1)
    assert without.table[2, 0] == 0
    np.testing.assert_allclose(helped.table[2:, 0], [0.9, 0.1], rtol=1e-6)


def test_all_is_kept_of_the_counts_of_words_that_never_occur_together():
    together = np.array([0, 1, 2, 7], np.int32)
    np.testing.assert_allclose(kept_shares(together, 0.5), [1, 0.5, 0.75, 1 - 0.5 / 7], rtol=1e-6)


def test_nothing_is_left_out_of_what_a_prior_knows():
    lexicon, counts = small_lexicon(0)
    nulls = np.ones(len(TARGET)), np.ones(len(SOURCE))
    kept = np.full(len(counts), 0.25, np.float32)
    plain = make_priors(lexicon, SOURCE, TARGET, 4, 0.0, 0.0, 1)
    none = np.zeros(len(SOURCE)), np.zeros(len(TARGET))
    pseudo = Pseudo(ExpectedCounts(3 * counts, *nulls), none)

    def table(text: np.ndarray, **priors) -> np.ndarray:
        return reestimate_lexicon(
            lexicon, ExpectedCounts(text.copy(), *nulls), plain._replace(**priors), 1
        ).table

    everything = table(4 * counts)
    with_prior = table(counts, pseudo=pseudo, kept=kept)
    np.testing.assert_allclose(with_prior, everything * (3 + 0.25) / 4, rtol=1e-5)


def test_what_a_prior_leaves_out_is_in_the_denominator_alone():
    lexicon, counts = small_lexicon(0)
    nulls = np.ones(len(TARGET)), np.ones(len(SOURCE))
    priors = make_priors(lexicon, SOURCE, TARGET, 4, 0.0, 0.0, 1)
    left_out = np.arange(1.0, len(SOURCE) + 1), np.arange(2.0, len(TARGET) + 2)
    pseudo = Pseudo(ExpectedCounts(np.zeros(counts.shape), *nulls), left_out)
    cells = list(entries(lexicon))
    sums = [left_out[d].copy() for d in range(2)]
    for cell, count in zip(cells, counts, strict=True):
        for d in range(2):
            sums[d][cell[d]] += count[d]
    new = reestimate_lexicon(
        lexicon, ExpectedCounts(counts.copy(), *nulls), priors._replace(pseudo=pseudo), 1
    )
    for cell, count, found in zip(cells, counts, new.table, strict=True):
        assert found == pytest.approx([count[d] / sums[d][cell[d]] for d in range(2)], rel=1e-5)
