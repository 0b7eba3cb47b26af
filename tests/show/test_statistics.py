from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import statistics as oracle
from tests.show.strategies import aligned_pairs

from dualign.show.statistics import BINS, MOST_FERTILE, UnalignedRun
from dualign.text.links import Alignment


def mean(values):
    return sum(values) / len(values)


@given(st.lists(aligned_pairs(), max_size=6))
def test_counts_agree_with_counting_by_hand(items):
    pairs, alignments = [item[0] for item in items], [item[1] for item in items]
    links = [alignment.links for alignment in alignments]
    run = UnalignedRun(pairs, alignments)
    assert (len(run), run.links) == (len(pairs), sum(map(len, links)))
    for side in (0, 1):
        words = [word.lower() for pair in pairs for word in pair[side]]
        found = run.side(side)
        assert found.fertility == oracle.fertilities(pairs, links, side, MOST_FERTILE)
        assert (found.words, found.distinct) == (len(words), len(set(words)))
        assert found.empty == sum(not pair[side] for pair in pairs)
        assert found.longest == max((len(pair[side]) for pair in pairs), default=0)
        alone, total = oracle.unaligned(pairs, links, side)
        listed = run.unaligned(side, 1000)
        assert {(item.word, item.unaligned, item.count) for item in listed} == {
            (word, count, total[word]) for word, count in alone.items()
        }
        assert [item.unaligned for item in listed] == sorted(alone.values(), reverse=True)
    counts = oracle.dictionary(pairs, links)
    entries = run.dictionary(1000)
    assert {(entry.source, entry.target): entry.count for entry in entries} == counts
    assert [entry.count for entry in entries] == sorted(counts.values(), reverse=True)
    for entry in entries:
        np.testing.assert_allclose(
            (entry.there, entry.back),
            (
                entry.count / sum(count for (v, _), count in counts.items() if v == entry.source),
                entry.count / sum(count for (_, w), count in counts.items() if w == entry.target),
            ),
            rtol=1e-12,
        )


@given(st.lists(aligned_pairs(), max_size=6))
def test_confidence_is_the_mean_probability_of_a_pair(items):
    run = UnalignedRun([item[0] for item in items], [item[1] for item in items])
    expected = [mean(item[1].probabilities) if item[1].probabilities else np.nan for item in items]
    np.testing.assert_allclose(run.confidence(), expected, rtol=1e-12, atol=1e-300)
    known = [p for item in items for p in item[1].probabilities or ()]
    histogram = [0] * BINS
    for p in known:
        histogram[min(BINS - 1, int(np.searchsorted(np.linspace(0, 1, BINS + 1), p, side="right")) - 1)] += 1
    assert run.histogram() == histogram


def test_extremes_are_sorted_and_share_no_pair():
    links = ((0, 0), (1, 1), (2, 2))
    alignments = [Alignment(links, (), (p, p, p)) for p in (0.5, 0.9, 0.1, 0.7, 0.3)]
    alignments += [Alignment(links[:2], (), (1.0, 1.0)), Alignment(links)]
    run = UnalignedRun([(["a"] * 3, ["b"] * 3)] * len(alignments), alignments)
    assert run.extremes(2) == ([1, 3], [2, 4])
    most, least = run.extremes(10)
    assert (most, least) == ([1, 3], [2, 4, 0])
