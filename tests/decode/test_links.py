"""Decoders: each does what it says, and a pair's answer depends on the pair alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.decode.emissions import directions
from tests.oracles.chain import dense_chain, path_score
from tests.oracles.growing import grown
from tests.oracles.symmetrize import symmetrize

from dualign import aligner as aligners
from dualign._core.jit import kernel
from dualign.aligner import Aligner
from dualign.decode import choosing
from dualign.decode import decoders as aligning
from dualign.engines import threads as engine
from dualign.hmm import encoding
from dualign.hmm.batched_chains import jumps_of
from dualign.hmm.blocks import block_bounds
from dualign.hmm.posteriors import make_block
from dualign.options import DECODERS, SYMMETRIZATIONS
from dualign.text.corpus import numbered
from dualign.text.samples import generate

compiled_fitting_threshold = kernel(choosing.fitting_threshold)
compiled_jumps_of = kernel(jumps_of)

pytestmark = pytest.mark.kernel

BITEXT = [(source, target) for source, target, _ in generate(150, seed=1, vocabulary=60, mean_length=7)]
STRANGE = [
    (["s1", "nowhere", "s2", "Berlin"], ["t1", "Berlin", "never", "t2"]),
    ([], ["t1", "t2"]),
    (["s1"], []),
    ([], []),
    (["unseen"], ["unheard"]),
    (["s3"], ["t3"]),
]


@pytest.fixture(scope="module")
def trained() -> Aligner:
    return Aligner(threads=2, rounds=3).fit(BITEXT)


@pytest.fixture
def aligner(trained: Aligner) -> Aligner:
    """The same model, whose options a test may change."""
    return Aligner.of_model(trained.model, threads=2)


def answers(aligner: Aligner, pairs) -> list[tuple]:
    return [(alignment.links, alignment.probabilities) for alignment in aligner.align(pairs)]


def test_without_projection_posteriors_are_those_of_the_two_chains(aligner):
    aligner.set_options(projection="none")
    for (source, target), found in zip(
        BITEXT[:20], aligner.posteriors(BITEXT[:20], directions=True), strict=True
    ):
        there, back = directions(aligner.model, source, target)
        np.testing.assert_allclose(found[0], dense_chain(*there)[1].T, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(found[1], dense_chain(*back)[1], rtol=1e-3, atol=1e-5)


def test_known_words_have_jumps_of_their_own_and_unknown_ones_the_usual(aligner):
    model = aligner.model
    pair = ["s1", "nowhere", "s2"], ["t3", "never", "t2"]
    block = make_block(model, encoding.encode_for(model, [pair]))
    for d, words in ((0, (model.target.numbers, pair[1])), (1, (model.source.numbers, pair[0]))):
        by = model.jumps[1 + d]
        classes = [by[words[0][word]] if word in words[0] else 0 for word in words[1]]
        assert len(set(classes)) == 3
        after = model.jumps.factor[d, [*classes[1:], 0]]
        assert (after[1] != 1).any()
        np.testing.assert_array_equal(compiled_jumps_of(0, d, block), model.jumps.weight[d, classes] * after)


@pytest.fixture(scope="module")
def disagreements() -> np.ndarray:
    """Norm of the differences between the directions' posteriors, before and after projection."""
    # Not pruned: the constraint is about cells that have an entry in the lexicon.
    aligner = Aligner(threads=2, rounds=3, prune=0, projection="none").fit(BITEXT)
    free = aligner.posteriors(BITEXT, directions=True)
    aligner.set_options(projection="symmetric", slack=0.1, tolerance=0.03, evaluations=200)
    projected = aligner.posteriors(BITEXT, directions=True)
    return np.array([[np.linalg.norm(p[0] - p[1]) for p in side] for side in (free, projected)])


def test_projection_brings_the_directions_together(disagreements):
    free, projected = disagreements
    assert np.median(free) > 0.3
    assert np.mean(projected <= 0.13 + 1e-4) > 0.97


def test_after_projection_no_pair_disagrees_by_more_than_slack_and_tolerance(disagreements):
    assert disagreements[1].max() <= 0.13 + 1e-4


@pytest.mark.parametrize("threshold", [0.1, 0.4, 0.9])
@pytest.mark.parametrize("projection", ["none", "symmetric"])
def test_soft_union_is_the_links_over_the_threshold(aligner, threshold, projection):
    aligner.set_options(threshold=threshold, projection=projection)
    for found, probability in zip(aligner.align(BITEXT), aligner.posteriors(BITEXT), strict=True):
        over = np.argwhere(probability.astype(float) > threshold)
        assert found.links == tuple(map(tuple, over.tolist()))
        assert found.probabilities == tuple(probability[i, j] for i, j in found.links)


def test_the_score_of_soft_union_is_what_its_links_are_worth(aligner):
    aligner.set_options(threshold=0.4)
    for links in aligner.align_stream(BITEXT):
        for n in range(len(links)):
            chosen = slice(links.offsets[n], links.offsets[n + 1])
            worth = (links.probability[chosen].astype(float) - 0.4).sum()
            assert links.score[n] == pytest.approx(worth, rel=1e-6, abs=1e-9)


@given(probability=st.lists(st.floats(0.0078125, 1, width=32), max_size=12))
def test_a_pair_s_own_threshold_has_the_greatest_expected_f1(probability):
    total = sum(probability)
    k, f = choosing.PRIOR_LINKS, choosing.PRIOR_QUALITY

    def expected(links):
        return (2 * sum(links) + k * f) / (len(links) + total + k)

    sets = chain.from_iterable(combinations(probability, n) for n in range(len(probability) + 1))
    best = max(map(expected, sets))
    likely = np.array([p for p in probability if p > choosing.LEAST], np.float32)
    t = compiled_fitting_threshold(likely, total)
    assert t >= choosing.LEAST
    if best / 2 > choosing.LEAST:
        assert t == pytest.approx(best / 2, rel=1e-6)
        assert expected([p for p in probability if p > t]) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_a_threshold_is_found_where_there_is_none_to_find(value):
    found = compiled_fitting_threshold(np.full(4, value, np.float32), 4.0 * value)
    assert not found < choosing.LEAST  # it may be no number, but there is an answer


def test_without_a_threshold_each_pair_has_its_own(aligner):
    aligner.set_options(threshold=0)
    for probability, found in zip(aligner.posteriors(BITEXT), aligner.align(BITEXT), strict=True):
        likely = probability[probability > choosing.LEAST]
        t = compiled_fitting_threshold(likely, float(probability.sum(dtype=float)))
        assert found.links == tuple(map(tuple, np.argwhere(probability > t).tolist()))


@pytest.mark.parametrize("threshold", [0, 1e-6, 0.5, 0.9])
@pytest.mark.parametrize("projection", ["none", "symmetric"])
def test_in_full_style_words_without_links_join_their_neighbours(aligner, threshold, projection):
    aligner.set_options(threshold=threshold, projection=projection)
    pairs = [*BITEXT, *STRANGE]
    lean = [set(found.links) for found in aligner.align(pairs)]
    both, mean = aligner.posteriors(pairs, directions=True), aligner.posteriors(pairs)
    aligner.set_options(style="full")
    found = aligner.align(pairs)
    for links, own, matrices, probability in zip(found, lean, both, mean, strict=True):
        assert links.links == tuple(grown(own, matrices.tolist(), choosing.GROWN) if own else ())
        assert links.probabilities == tuple(probability[i, j] for i, j in links.links)
    assert (sum(map(len, lean)) < sum(len(links.links) for links in found)) == (threshold != 1e-6)


@given(
    posterior=st.integers(1, 6).flatmap(
        lambda J: st.lists(
            st.lists(st.tuples(*[st.sampled_from([0, 0.2, 0.25, 0.5, 0.9])] * 2), min_size=J, max_size=J),
            min_size=1,
            max_size=6,
        )
    )
)
def test_growing_is_its_definition_for_any_posteriors(posterior):
    I, J = len(posterior), len(posterior[0])
    model = Aligner(threads=1, rounds=0).fit([(["a"], ["b"])]).model
    block = make_block(model, encoding.encode_for(model, [(["a"] * I, ["b"] * J)]))
    cells = np.array(posterior, np.float32).reshape(-1, 2)
    options = replace(model.options, threshold=0.3)
    lean, full = (
        aligning.decode_block(replace(options, style=style), block, cells) for style in ("lean", "full")
    )
    own = set(lean[0].links)
    both = cells.T.reshape(2, I, J).tolist()
    links = list(full[0].links)
    assert links == (grown(own, both, np.float64(choosing.GROWN)) if own else [])
    worth = sum(float(p) - 0.3 for p in full.probability)
    assert full.score[0] == pytest.approx(worth, rel=1e-6, abs=1e-6)
    assert full.bound[0] == lean.bound[0] >= full.score[0]
    assert full.certified[0] == (len(full[0]) == len(lean[0]))


def test_full_style_does_not_depend_on_threads_or_company(trained):
    pairs = [*BITEXT, *STRANGE]
    one, two = (
        Aligner.of_model(trained.model, threads=threads).set_options(style="full") for threads in (1, 2)
    )
    assert answers(one, pairs) == answers(two, pairs) == [answers(one, [pair])[0] for pair in pairs]


@pytest.mark.parametrize("threshold", [0.2, 0.5])
@pytest.mark.parametrize("method", SYMMETRIZATIONS)
def test_posterior_decoding_joins_what_each_direction_has_over_the_threshold(aligner, threshold, method):
    aligner.set_options(decoder="posterior", symmetrize=method, threshold=threshold)
    for found, sides in zip(aligner.align(BITEXT), aligner.posteriors(BITEXT, directions=True), strict=True):
        forward, backward = (
            {tuple(link) for link in np.argwhere(side.astype(float) > threshold).tolist()} for side in sides
        )
        assert set(found.links) == symmetrize(forward, backward, method)
        assert list(found.links) == sorted(found.links)
        np.testing.assert_allclose(
            found.probabilities, [sides[:, i, j].mean() for i, j in found.links], rtol=1e-6
        )


def test_viterbi_paths_are_the_most_probable_of_both_directions(aligner):
    pairs = BITEXT[:40]
    aligner.set_options(decoder="viterbi", symmetrize="forward")
    forward = aligner.align(pairs)
    backward = aligner.set_options(symmetrize="backward").align(pairs)
    for (source, target), a, b in zip(pairs, forward, backward, strict=True):
        there, back = directions(aligner.model, source, target)
        best = dense_chain(*there)[2], dense_chain(*back)[2]
        chosen = {j: i for i, j in a.links}
        assert len(chosen) == len(a.links)
        path = tuple(chosen.get(j, -1) for j in range(len(target)))
        assert path_score(path, *there) == pytest.approx(best[0], rel=1e-5)
        chosen = dict(b.links)
        assert len(chosen) == len(b.links)
        path = tuple(chosen.get(i, -1) for i in range(len(source)))
        assert path_score(path, *back) == pytest.approx(best[1], rel=1e-5)


@pytest.mark.parametrize("method", SYMMETRIZATIONS)
def test_viterbi_links_are_symmetrised(aligner, method):
    forward = aligner.set_options(decoder="viterbi", symmetrize="forward").align(BITEXT)
    backward = aligner.set_options(symmetrize="backward").align(BITEXT)
    found = aligner.set_options(symmetrize=method).align(BITEXT)
    for a, b, c in zip(forward, backward, found, strict=True):
        assert set(c.links) == symmetrize(set(a.links), set(b.links), method)


@pytest.mark.parametrize("decoder", DECODERS)
def test_the_answer_for_a_pair_depends_on_nothing_but_the_pair(aligner, decoder, monkeypatch):
    aligner.set_options(decoder=decoder)
    pairs = BITEXT[:25] + STRANGE + BITEXT[25:60]
    whole = answers(aligner, pairs)
    assert len(whole) == len(pairs)
    assert [answers(aligner, [pair])[0] for pair in pairs] == whole
    assert answers(aligner, pairs[::-1]) == whole[::-1]
    with monkeypatch.context() as patched:
        patched.setattr(engine, "block_bounds", lambda bitext: block_bounds(bitext, 100))
        for module in (encoding, aligners):
            patched.setattr(module, "CHUNK", 7)
        assert answers(aligner, pairs) == whole
        assert answers(aligner, numbered(pairs, lowercase=True)) == whole
        in_parts = aligner.posteriors(pairs)
    for a, b in zip(aligner.posteriors(pairs), in_parts, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    for threads in (1, 7):
        assert answers(Aligner.of_model(aligner.model, threads), pairs) == whole


@pytest.mark.parametrize("decoder", DECODERS)
def test_an_empty_side_has_no_links(aligner, decoder):
    aligner.set_options(decoder=decoder)
    assert [len(alignment) for alignment in aligner.align(STRANGE[1:4])] == [0, 0, 0]
    assert [matrix.shape for matrix in aligner.posteriors(STRANGE[1:4])] == [(0, 2), (1, 0), (0, 0)]


def test_no_pairs_have_no_answers(aligner):
    assert aligner.align([]) == []
    assert aligner.posteriors([]) == []


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_bitext_of_one_pair_is_learnt_and_aligned(decoder):
    (found,) = Aligner(threads=2, decoder=decoder).fit([("a b", "x y")]).align([("a b", "x y")])
    assert all(0 <= i < 2 and 0 <= j < 2 for i, j in found.links)


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_vocabulary_of_one_word_is_learnt_and_aligned(decoder):
    pairs = [("a", "x"), ("a a a", "x x"), ("a a", "x x x x")]
    first, *_ = Aligner(threads=2, decoder=decoder).fit(pairs).align(pairs)
    assert first.links == ((0, 0),)


@pytest.mark.parametrize("decoder", DECODERS)
def test_pairs_that_are_all_the_same_get_the_same_answer(decoder):
    pairs = [("the house is small", "das Haus ist klein")] * 300
    found = Aligner(threads=2, decoder=decoder).fit(pairs).align(pairs)
    assert len({(alignment.links, alignment.probabilities) for alignment in found}) == 1


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_very_long_line_against_a_short_one(aligner, decoder):
    aligner.set_options(decoder=decoder)
    source, target = BITEXT[0]
    long = (source * 3000)[:3000]
    for pair in [(long, target[:3]), (source[:3], (target * 3000)[:3000])]:
        (found,) = aligner.align([pair])
        (probability,) = aligner.posteriors([pair])
        assert all(i < len(pair[0]) and j < len(pair[1]) for i, j in found.links)
        assert np.isfinite(probability).all()
        assert probability.min() >= 0
        assert probability.max() <= 1 + 1e-4


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_pair_over_the_limit_is_left_empty_and_flagged(aligner, decoder, monkeypatch):
    aligner.set_options(decoder=decoder)
    pairs = BITEXT[:12]
    whole = answers(aligner, pairs)
    sizes = [len(source) * len(target) for source, target in pairs]
    limit = sorted(sizes)[6]
    monkeypatch.setattr(aligning, "MOST_CELLS", limit)
    (links,) = aligner.align_stream(pairs)
    assert links.too_long.tolist() == [size > limit for size in sizes]
    assert 0 < links.too_long.sum() < len(pairs)
    for size, before, now in zip(sizes, whole, answers(aligner, pairs), strict=True):
        assert now == (((), ()) if size > limit else before)


def test_words_never_seen_find_their_likes(aligner):
    pair = (["s1", "zweihundertvierzig", "s2"], ["t1", "t2", "zweihundertvierzig"])
    (probability,) = aligner.posteriors([pair])
    assert probability[1].argmax() == 2
    assert probability[1, 2] > 0.5


@pytest.mark.parametrize("model", ["ibm1", "ibm2"])
def test_models_without_chains_align_too(model):
    aligner = Aligner(threads=2, model=model, rounds=2).fit(BITEXT)
    for threshold in (0.1, 0.5):
        aligner.set_options(threshold=threshold)
        for found, probability in zip(aligner.align(BITEXT), aligner.posteriors(BITEXT), strict=True):
            over = np.argwhere(probability.astype(float) > threshold)
            assert found.links == tuple(map(tuple, over.tolist()))
