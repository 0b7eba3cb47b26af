"""Pseudo-counts: in the M-step by their formula, and in a whole training by what they change."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hmm.corpora import encoded, random_pairs, train_ibm1

from dualign import Aligner
from dualign.hmm.jumps import classes_of, initial_jumps, initial_weights
from dualign.hmm.lexicon import Lexicon, with_entries
from dualign.hmm.model import Model, Seen, Vocabulary
from dualign.hmm.priors import Prior, inherited, joined, pseudo_counts, with_counts
from dualign.hmm.smoothing import Pseudo, make_priors, reestimate_lexicon
from dualign.hmm.statistics import ExpectedCounts
from dualign.options import Options
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel

WORDS = 6
ENTRIES = st.lists(
    st.tuples(st.integers(0, WORDS - 1), st.integers(0, WORDS - 1), st.sampled_from([0.0, 0.5, 3.0])),
    max_size=8,
)


def lexicon_of(seed: int) -> Lexicon:
    return train_ibm1(encoded(random_pairs(seed, 4, WORDS, WORDS, 3)), WORDS, WORDS, 2, 1)


def as_dict(lexicon: Lexicon, values: np.ndarray) -> dict[tuple[int, int], tuple[float, ...]]:
    found = {}
    for v in range(len(lexicon.rows) - 1):
        for m in range(lexicon.rows[v], lexicon.rows[v + 1]):
            found[v, int(lexicon.columns[m])] = tuple(values[m].tolist())
    assert len(found) == len(lexicon.columns)
    return found


@given(st.integers(0, 50), ENTRIES)
def test_entries_are_added_and_nothing_else_changes(seed, entries):
    lexicon = lexicon_of(seed)
    before = as_dict(lexicon, lexicon.table)
    v, w = (np.array([entry[k] for entry in entries], np.int64) for k in (0, 1))
    after = with_entries(lexicon, v, w)
    found = as_dict(after, after.table)
    assert found.keys() == before.keys() | {(a, b) for a, b, _ in entries}
    assert {key: found[key] for key in before} == before


@given(st.integers(0, 50), ENTRIES)
def test_pseudo_counts_lie_with_their_entries_and_add_up(seed, entries):
    words = [f"w{n}" for n in range(WORDS)]
    prior = Prior.of_pairs(
        *([words[e[0]] for e in entries], [words[e[1]] for e in entries]), [e[2] for e in entries]
    )
    places = [
        np.array([words.index(word) for word in side], np.int32)
        for side in (prior.source_words, prior.target_words)
    ]
    lexicon, pseudo = pseudo_counts(lexicon_of(seed), prior, *places)
    expected: dict[tuple[int, int], float] = defaultdict(float)
    for v, w, count in entries:
        expected[v, w] += count
    for key, found in as_dict(lexicon, pseudo.counts.links).items():
        assert found == (expected[key], expected[key])
    assert not np.any(pseudo.left_out)


@given(st.integers(0, 50), ENTRIES)
def test_the_m_step_adds_them_to_what_was_counted(seed, entries):
    names = [f"{letter * 4}" for letter in "abcdef"]
    prior = Prior.of_pairs(*([names[e[k]] for e in entries] for k in (0, 1)), [e[2] for e in entries])
    places = [
        np.array([names.index(word) for word in side], np.int32)
        for side in (prior.source_words, prior.target_words)
    ]
    lexicon, pseudo = pseudo_counts(lexicon_of(seed), prior, *places)
    random = np.random.default_rng(seed)
    counts = [random.exponential(size=array.shape) for array in pseudo.counts]
    priors = make_priors(lexicon, names, names, 4, 10.0, 3.0, 1)
    expected = reestimate_lexicon(
        lexicon, ExpectedCounts(*(a + b for a, b in zip(counts, pseudo.counts, strict=True))), priors, 1
    )
    found = reestimate_lexicon(lexicon, ExpectedCounts(*counts), priors._replace(pseudo=pseudo), 1)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)


@given(st.integers(0, 50), ENTRIES)
def test_the_first_lexicon_counts_them_too(seed, entries):
    lexicon = lexicon_of(seed)
    lexicon = with_entries(lexicon, *(np.array([e[k] for e in entries], np.int64) for k in (0, 1)))
    random = np.random.default_rng(seed)
    counts = ExpectedCounts(random.exponential(size=lexicon.table.shape), np.zeros(WORDS), np.zeros(WORDS))
    pseudo = Pseudo(counts, (random.exponential(size=WORDS), random.exponential(size=WORDS)))
    often = random.integers(0, 9, WORDS), random.integers(0, 9, WORDS)
    old, more = as_dict(lexicon, lexicon.table), as_dict(lexicon, counts.links)
    sums = [dict(enumerate(side)) for side in pseudo.left_out]
    counted = {}
    for (v, w), p in old.items():
        counted[v, w] = [p[d] * often[d][(v, w)[d]] + more[v, w][d] for d in (0, 1)]
        for d in (0, 1):
            sums[d][(v, w)[d]] += counted[v, w][d]
    after = with_counts(lexicon, pseudo, often)
    for (v, w), found in as_dict(after, after.table).items():
        expected = [counted[v, w][d] / sums[d][(v, w)[d]] for d in (0, 1)]
        assert found == pytest.approx(expected, rel=1e-5)


@given(st.integers(0, 50), st.sampled_from([0.25, 1.0, 3.0]))
def test_a_model_that_sees_nothing_new_stays_what_it_is(seed, weight):
    # Counts of rare pairs are partly left out of it: its probabilities add up to less than 1.
    lexicon, random = lexicon_of(seed), np.random.default_rng(seed)
    lexicon.table[:] *= random.uniform(0.1, 1, lexicon.table.shape).astype(np.float32)
    names = [f"w{n}" for n in range(WORDS)]
    often = Seen(*(random.integers(1, 9, WORDS) for _ in range(2)))
    model = Model(
        Vocabulary(names), Vocabulary(names), lexicon, initial_weights(0.2, 1e-6),
        initial_jumps(np.zeros(WORDS), np.zeros(WORDS)), Options(), seen=often,
    )  # fmt: skip
    # The new text has the words in another order.
    other = np.array([3, 0, 5, 1, 4, 2], np.int32)
    nothing = np.zeros(WORDS)
    empty = Lexicon(
        np.zeros(WORDS + 1, np.int64), np.zeros(0, np.int32), np.zeros((0, 2), np.float32), nothing, nothing
    )
    known, pseudo = pseudo_counts(empty, Prior.of_model(model).scaled(weight), other, other)
    expected = {(other[v], other[w]): p for (v, w), p in as_dict(lexicon, lexicon.table).items()}
    first = with_counts(known, pseudo, (nothing, nothing))
    priors = make_priors(known, names, names, 4, 0.0, 0.0, 1)._replace(pseudo=pseudo)
    later = reestimate_lexicon(
        known, ExpectedCounts(np.zeros(known.table.shape), nothing, nothing), priors, 1
    )
    for found in (first, later):
        assert as_dict(found, found.table) == {key: pytest.approx(p, rel=1e-5) for key, p in expected.items()}


def test_what_is_left_out_of_words_that_become_one_adds_up():
    prior = Prior.of_pairs(["Haus", "haus"], ["house", "House"], [3.0, 4.0])
    prior = prior._replace(left_out=(np.array([1.0, 0.5]), np.array([0.25, 2.0]))).scaled(2.0)
    (source, left), (target, right) = (
        joined([], prior.source_words, True),
        joined([], prior.target_words, True),
    )
    assert (source, target) == (["haus"], ["house"])
    none, one = np.zeros(0, np.float32), np.ones(1, np.float32)
    lexicon = Lexicon(np.zeros(2, np.int64), np.zeros(0, np.int32), none.reshape(0, 2), one, one)
    lexicon, known = pseudo_counts(lexicon, prior, left, right)
    assert known.counts.links.tolist() == [[14.0, 14.0]]
    assert [side.tolist() for side in known.left_out] == [[3.0], [4.5]]


def test_what_was_left_out_stays_left_out_when_a_model_goes_on():
    pairs = [(source, target) for source, target, _ in generate(200, seed=5, vocabulary=300, mean_length=6)]
    options = {"stem_weight": 0.0, "form_weight": 0.0}  # they are no guesses: nothing is left out of them
    old = Aligner(threads=1, **options).fit(pairs).model
    new = Aligner(threads=1, **options).fit(pairs[:5], prior=Prior.of_model(old, begin=True)).model
    again = {word for source, _ in pairs[:5] for word in source}
    rare = [v for v, word in enumerate(old.source.words) if old.seen.source[v] == 1 and word not in again]
    assert len(rare) > 20
    before, after = (
        [model.lexicon.table[slice(*model.lexicon.rows[v : v + 2]), 0].sum() for v in words]
        for model, words in ((old, rare), (new, [new.source.numbers[old.source.words[v]] for v in rare]))
    )
    assert np.mean(before) < 0.5
    np.testing.assert_allclose(after, before, rtol=1e-5)


def test_a_dictionary_decides_what_the_text_leaves_open():
    pairs = [(["A", "b"], ["x", "y"])] * 10
    crossed = Prior.of_pairs(["a", "B", "", "far"], ["Y", "x", "y", "away"], [5.0, 5.0, 0.1, 2.0])
    aligner = Aligner(threads=1).fit(pairs, prior=crossed)
    assert str(aligner.align(pairs)[0]) == "0-1 1-0"
    assert aligner.translations("Far")[0].word == "away"
    assert str(aligner.align([["a", "far"]], [["away", "y"]])[0]) == "0-1 1-0"
    assert not aligner.model.seen.added(([0.0], [0.0]), ([0], [0])).source[2:].any()


def test_case_counts_where_the_aligner_distinguishes_it():
    prior = Prior.of_pairs(["Haus", "haus"], ["house", "House"], [3.0, 4.0])
    pairs = [(["Haus"], ["house"])] * 3
    assert len(Aligner(lowercase=False).fit(pairs, prior=prior).model.source) == 2


def test_a_model_goes_on_with_more_text(tmp_path):
    pairs = [(source, target) for source, target, _ in generate(400, seed=5, vocabulary=80, mean_length=6)]
    first, second = pairs[:200], pairs[200:]
    old = Aligner(threads=1).fit(first)
    old.save(tmp_path / "old")
    loaded = Model.load(tmp_path / "old")
    assert loaded.seen is not None
    new = Aligner(threads=1).fit(second, prior=Prior.of_model(loaded, begin=True))
    assert {*old.model.source.words} <= {*new.model.source.words}
    words = [word for source, _ in pairs for word in source]
    assert new.model.seen.source.sum() == len(words)
    known = new.model.source.numbers[words[0].lower()]
    assert new.model.seen.source[known] == sum(word.lower() == words[0].lower() for word in words)
    whole = Aligner(threads=1).fit(pairs)
    fit = [
        np.mean([score[:2] for score in each.score(pairs)])
        for each in (Aligner(threads=1).fit(second), new, whole)
    ]
    assert fit[0] < fit[1]
    assert fit[1] > fit[2] - 0.25


def test_words_inherit_the_jumps_from_them_and_to_them():
    pairs = [(source, target) for source, target, _ in generate(200, seed=5, vocabulary=40, mean_length=6)]
    old = Aligner(threads=1, jump_words=8).fit(pairs).model
    # The same words in another order, half of them with jumps of their own, and one that is new.
    words = [["new", *reversed(vocabulary.words)] for vocabulary in (old.source, old.target)]
    by_target, by_source = (classes_of(np.arange(len(side)), len(side) // 2) for side in reversed(words))
    jumps = inherited(initial_jumps(by_target, by_source), old, *words)
    for d, (side, before, new) in enumerate(
        ((words[1], old.target, by_target), (words[0], old.source, by_source))
    ):
        for number in np.flatnonzero(new):
            known = old.jumps[1 + d][before.numbers[side[number]]]
            np.testing.assert_array_equal(jumps.weight[d, new[number]], old.jumps.weight[d, known])
            np.testing.assert_array_equal(jumps.factor[d, new[number]], old.jumps.factor[d, known])
            # In the other direction these words are chosen.
            np.testing.assert_array_equal(
                jumps.chosen[1 - d, :, new[number]], old.jumps.chosen[1 - d, :, known]
            )
        np.testing.assert_array_equal(jumps.factor[d, 0], 1)


def test_priors_give_the_same_bits_on_any_number_of_threads(tmp_path):
    pairs = [(source, target) for source, target, _ in generate(300, seed=6, vocabulary=80, mean_length=6)]
    prior = Prior.of_model(Aligner(threads=1).fit(pairs[:100]).model)
    for threads in (1, 2):
        Aligner(threads=threads).fit(pairs[100:], prior=prior).save(tmp_path / str(threads))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
