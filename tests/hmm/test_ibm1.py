"""Model 1 equals the dictionary twin in both directions, for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hmm.corpora import assert_same_bits, encoded, entries, random_pairs, train_ibm1
from tests.oracles import ibm1 as oracle

from dualign._core.memory import Workspace, boundless
from dualign._core.threads import ordered_map
from dualign.hmm import ibm1
from dualign.hmm.cooccurrence import LIFT
from dualign.hmm.ibm1 import BYTES_BEFORE_PRUNING, Whole, lift, prune
from dualign.hmm.lexicon import carried_over, with_entries

pytestmark = pytest.mark.kernel


def assert_equals_twin(pairs, source_words: int, target_words: int, rounds: int) -> None:
    reported: list[float] = []
    lexicon = train_ibm1(
        encoded(pairs), source_words, target_words, rounds, 2, lambda number, value: reported.append(value)
    )
    there, forward = oracle.train(pairs, rounds)
    back, backward = oracle.train([(target, source) for source, target in pairs], rounds)
    found = entries(lexicon)
    assert set(found) == {(v, w) for source, target in pairs for v in source for w in target}
    for (v, w), (p, q) in found.items():
        assert p == pytest.approx(there[v, w], rel=1e-4, abs=1e-7)
        assert q == pytest.approx(back[w, v], rel=1e-4, abs=1e-7)
    for w in range(target_words):
        expected = there.get((oracle.NULL, w), 0.0)
        assert lexicon.null_target[w] == pytest.approx(expected, rel=1e-4, abs=1e-7)
    for v in range(source_words):
        expected = back.get((oracle.NULL, v), 0.0)
        assert lexicon.null_source[v] == pytest.approx(expected, rel=1e-4, abs=1e-7)
    both = [a + b for a, b in zip(forward, backward, strict=True)]
    # The twin begins with probabilities of 1.
    both[0] -= sum(
        len(target) * np.log(target_words) + len(source) * np.log(source_words) for source, target in pairs
    )
    assert reported == pytest.approx(both, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equals_the_dictionary_twin(seed, rounds):
    assert_equals_twin(random_pairs(seed, 12, 5, 7, 6), 5, 7, rounds)


@given(
    pairs=st.lists(
        st.tuples(
            st.lists(st.integers(0, 2), min_size=1, max_size=4),
            st.lists(st.integers(0, 3), min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=40)
def test_equals_the_dictionary_twin_on_repeated_and_missing_words(pairs):
    assert_equals_twin(pairs, 3, 4, 3)


def test_probabilities_add_up_to_one():
    lexicon = train_ibm1(encoded(random_pairs(3, 200, 30, 40, 9)), 30, 40, 4, 2)
    by_source = np.add.reduceat(lexicon.table[:, 0], lexicon.rows[:-1])
    np.testing.assert_allclose(by_source, 1, rtol=1e-5)
    by_target = np.bincount(lexicon.columns, lexicon.table[:, 1], 40)
    np.testing.assert_allclose(by_target, 1, rtol=1e-5)
    assert lexicon.null_target.sum() == pytest.approx(1, rel=1e-5)
    assert lexicon.null_source.sum() == pytest.approx(1, rel=1e-5)


def test_likelihood_never_falls():
    reported: list[tuple[int, float]] = []
    train_ibm1(
        encoded(random_pairs(4, 300, 40, 40, 12)),
        40,
        40,
        12,
        2,
        lambda number, value: reported.append((number, value)),
    )
    assert [number for number, _ in reported] == list(range(1, 13))
    values = np.array([value for _, value in reported])
    assert np.diff(values).min() > -1e-6 * abs(values[0])
    assert values[-1] > values[0]


@pytest.mark.parametrize("pairs", [1, 3, 500])
def test_threads_do_not_change_a_bit(pairs):
    bitext = encoded(random_pairs(5, pairs, 60, 50, 10))
    reported: list[list[float]] = []
    lexicons = []
    for threads in (1, 2, 7):
        reported.append([])
        lexicons.append(
            train_ibm1(bitext, 60, 50, 4, threads, lambda number, value: reported[-1].append(value))
        )
    for other, values in zip(lexicons[1:], reported[1:], strict=True):
        assert_same_bits(lexicons[0], other)
        assert values == reported[0]


@pytest.mark.parametrize("least", [0.0, 1e-3, 0.05, 0.3, 1.0])
def test_pruning_keeps_exactly_the_entries_over_the_limit(least):
    whole = train_ibm1(encoded(random_pairs(6, 80, 20, 25, 7)), 20, 25, 5, 1)
    before = entries(whole)
    nulls = whole.null_target.copy(), whole.null_source.copy()
    after = prune(whole, least, 2)
    kept = {cell: p for cell, p in before.items() if np.sqrt(p[0]) * np.sqrt(p[1]) > np.float32(least)}
    assert entries(after) == kept
    assert len(after.columns) == len(after.table) == after.rows[-1] == len(kept)
    np.testing.assert_array_equal(after.null_target, nulls[0])
    np.testing.assert_array_equal(after.null_source, nulls[1])


def test_a_vocabulary_of_one_word_is_learnt_with_certainty():
    lexicon = train_ibm1(encoded([([0, 0], [0]), ([0], [0, 0, 0])]), 1, 1, 3, 2)
    assert entries(lexicon) == {(0, 0): (1.0, 1.0)}
    assert lexicon.null_target.tolist() == lexicon.null_source.tolist() == [1.0]


@pytest.mark.parametrize("threads", [1, 3])
@given(seed=st.integers(0, 10**6), least=st.sampled_from([0.0, 0.2]))
@settings(max_examples=20)
def test_words_are_counted_together_once_for_each_pair_of_their_tokens(threads, seed, least):
    pairs = random_pairs(seed, 9, 5, 6, 5)
    whole = Whole(encoded(pairs), (5, 6), threads, boundless())
    lexicon, together = whole.kept(least)
    expected = oracle.together(pairs)
    assert dict(zip(entries(lexicon), together.tolist(), strict=True)) == {
        cell: expected[cell] for cell in entries(lexicon)
    }


def test_ranges_worked_on_together_leave_room_for_what_remains(monkeypatch):
    monkeypatch.setattr(Workspace, "left", 3 << 20)
    whole = Whole(encoded(random_pairs(1, 9, 5, 6, 5)), (5, 6), 8, boundless())
    # A range takes at most half a MiB: four fit into two thirds of what is left.
    whole.cells = len(whole.ranges) * (1 << 19) // BYTES_BEFORE_PRUNING
    used = []

    def watched(function, jobs, threads, **more):
        used.append(threads)
        return ordered_map(function, jobs, threads, **more)

    monkeypatch.setattr(ibm1, "ordered_map", watched)
    whole.kept(0.05)
    assert 4 in used
    assert {*used} <= {1, 4, 8}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_lift_of_two_words_makes_them_more_probable(seed):
    pairs = random_pairs(seed, 30, 6, 7, 6)
    bitext = encoded(pairs)
    frequencies = (
        np.bincount(bitext.source.tokens, minlength=6),
        np.bincount(bitext.target.tokens, minlength=7),
    )
    results = []
    for threads in (1, 2, 5):
        lexicon, _ = Whole(bitext, (6, 7), threads, boundless()).kept(0.05)
        before = entries(lexicon)
        lift(lexicon, frequencies, threads)
        results.append(lexicon)
    raised = oracle.lifted(before, *(count / count.sum() for count in frequencies), LIFT)
    for cell, found in entries(results[0]).items():
        assert found == pytest.approx(raised[cell], rel=1e-5)
    for other in results[1:]:
        assert_same_bits(results[0], other)


def test_values_of_entries_stay_theirs_when_others_are_added():
    lexicon = train_ibm1(encoded(random_pairs(5, 8, 5, 6, 4)), 5, 6, 1, 1)
    more = with_entries(lexicon, np.array([0, 0, 3, 4]), np.array([4, 5, 1, 2]))
    assert len(more.columns) > len(lexicon.columns)
    values = np.arange(1, len(lexicon.columns) + 1)
    known = dict(zip(entries(lexicon), values.tolist(), strict=True))
    carried = carried_over(values, lexicon.rows, more.rows)
    assert carried.tolist() == [known.get(cell, 0) for cell in entries(more)]
    assert carried_over(values, lexicon.rows, lexicon.rows) is values
