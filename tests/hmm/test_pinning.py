"""Pinned pairs: the chains of both directions, given that they keep to the known links."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hmm.blocks import OnePair, expectations, random_pair
from tests.hmm.chains import both_parameters
from tests.oracles.chain import dense_chain

from dualign.hmm.blocks import Block
from dualign.hmm.jumps import FLOOR, NULL_FLOOR
from dualign.hmm.posteriors import constraint_of
from dualign.options import Options
from dualign.text.corpus import UNPINNED, Pins
from dualign.text.links import Alignment

pytestmark = pytest.mark.kernel


@st.composite
def pinned_pairs(draw) -> tuple[int, int, int, Alignment]:
    I, J = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    links = st.sets(st.tuples(st.integers(0, I - 1), st.integers(0, J - 1)), max_size=6)
    return draw(st.integers(0, 99)), I, J, Alignment.of(draw(links), draw(links))


def expected(pair: OnePair, links: Alignment) -> tuple[float, np.ndarray, np.ndarray]:
    """Likelihood of both directions and their posteriors, (J, I) and (I, J), by dense sums over all paths."""
    I, J, _ = pair.emission.shape
    allowed, sure = np.zeros((I, J)), np.zeros((I, J), bool)
    for i, j, is_sure, _ in links.marked():
        allowed[i, j], sure[i, j] = 1, is_sure
    emission = (pair.emission + pair.weights[:, FLOOR]) * allowed[:, :, None]
    null_target = (pair.null_target + pair.weights[0, NULL_FLOOR]) * ~sure.any(axis=0)
    null_source = (pair.null_source + pair.weights[1, NULL_FLOOR]) * ~sure.any(axis=1)
    there, back = both_parameters(pair.weights, pair.jumps, pair.jumps.by_target, pair.jumps.by_source)
    first = dense_chain(there, emission[:, :, 0].T, null_target)
    second = dense_chain(back, emission[:, :, 1], null_source)
    return first[0] + second[0], first[1], second[1]


def run(block: Block, slots: int, kind: str = "none") -> tuple[float, np.ndarray]:
    posterior = np.full((slots, 2), np.nan, np.float32)
    sums = expectations(block, constraint_of(Options(), kind), posterior)
    return float(sums.totals[0]), posterior


@given(pinned_pairs())
def test_pinned_chains_are_those_without_the_other_links(drawn):
    seed, I, J, links = drawn
    pair = random_pair(seed, I, J)
    block = pair.block()._replace(pins=Pins.of(1, {0: links}))
    likelihood, posterior = run(block, I * J)
    whole, there, back = expected(pair, links)
    assert likelihood == pytest.approx(whole, rel=1e-4, abs=1e-4)
    np.testing.assert_allclose(posterior[:, 0].reshape(I, J), there.T, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(posterior[:, 1].reshape(I, J), back, rtol=1e-3, atol=1e-5)


@given(pinned_pairs(), st.sampled_from(["none", "symmetric", "bijective"]))
def test_links_that_are_not_known_are_never_made(drawn, kind):
    seed, I, J, links = drawn
    block = random_pair(seed, I, J).block()._replace(pins=Pins.of(1, {0: links}))
    _, posterior = run(block, I * J, kind)
    assert np.isfinite(posterior).all()
    allowed = np.zeros((I, J), bool)
    for i, j, *_ in links.marked():
        allowed[i, j] = True
    assert (posterior.reshape(I, J, 2)[~allowed] == 0).all()


def test_a_pair_that_is_not_pinned_keeps_its_bits():
    block = random_pair(3, 4, 5).block()
    free = run(block, 20)
    other = run(block._replace(pins=Pins.of(1, {})), 20)
    assert free[0] == other[0]
    np.testing.assert_array_equal(free[1], other[1])


@given(
    st.dictionaries(st.integers(0, 7), st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=3)),
    st.lists(st.booleans(), min_size=8, max_size=8),
    st.integers(0, 8),
    st.integers(0, 8),
)
def test_pins_are_cut_and_chosen_like_their_pairs(links, chosen, a, b):
    known = {pair: Alignment.of(each) for pair, each in links.items()}
    begin, end = sorted((a, b))
    cut = {pair - begin: each for pair, each in known.items() if begin <= pair < end}
    for x, y in zip(Pins.of(8, known).slice(begin, end), Pins.of(end - begin, cut), strict=True):
        np.testing.assert_array_equal(x, y)
    kept = [n for n in range(8) if chosen[n]]
    left = {new: known[old] for new, old in enumerate(kept) if old in known}
    for x, y in zip(Pins.of(8, known).chosen(np.array(chosen)), Pins.of(len(kept), left), strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_text_of_which_nothing_is_known_can_be_cut():
    assert UNPINNED.slice(2, 5) is UNPINNED
    assert UNPINNED.chosen(np.ones(3, bool)) is UNPINNED
