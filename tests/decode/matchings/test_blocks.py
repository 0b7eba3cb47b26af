"""`submodular` and `matching` as decoders of the aligner: the links of the functions for one matrix."""

from __future__ import annotations

import numpy as np
import pytest
from tests.decode.emissions import directions

from dualign import Aligner, UsageError
from dualign.decode import matching, submodular
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel

BITEXT = [(source, target) for source, target, _ in generate(80, seed=2, vocabulary=50, mean_length=7)]
ORIENTATION = {"source": "rows", "target": "columns", "both": "both"}


@pytest.fixture(scope="module")
def aligner() -> Aligner:
    return Aligner(threads=2, rounds=2, decoder="submodular").fit(BITEXT)


@pytest.fixture(scope="module")
def ibm2() -> Aligner:
    settings = {"model": "ibm2", "constraint": "none", "rounds": 2, "decoder": "submodular"}
    return Aligner(threads=2, **settings).fit(BITEXT)


@pytest.mark.parametrize("concave", ["source", "target", "both"])
@pytest.mark.parametrize("limits", [(0, 1), (2, 0), (1, 1), (0, 0)])
@pytest.mark.parametrize("threshold", [1e-6, 0.2])
def test_links_are_those_of_the_function_on_the_posteriors(aligner, concave, limits, threshold):
    aligner.set_options(
        decoder="submodular", concave=concave, source_limit=limits[0], target_limit=limits[1],
        threshold=threshold, alpha=0.7, quantile=0.0,
    )  # fmt: skip
    rows, columns = (limit or None for limit in limits)
    (links,) = aligner.align_stream(BITEXT)
    for n, (found, matrix) in enumerate(
        zip(aligner.align(BITEXT), aligner.posteriors(BITEXT, directions=True), strict=True)
    ):
        mean = np.float32(0.5) * (matrix[0] + matrix[1])
        scores = np.where(mean.astype(float) > threshold, mean.astype(float), 0)
        expected = submodular(
            scores, alpha=0.7, concave=ORIENTATION[concave], row_limits=rows, column_limits=columns
        )
        assert set(found.links) == expected.solution
        assert list(found.links) == sorted(found.links)
        assert found.probabilities == tuple(np.minimum(mean, 1)[i, j] for i, j in found.links)
        assert links.score[n] == pytest.approx(expected.score, rel=1e-12)
        assert links.bound[n] == pytest.approx(expected.bound, rel=1e-9)


def test_matchings_are_those_of_the_function(aligner):
    aligner.set_options(decoder="matching", threshold=0.1)
    (links,) = aligner.align_stream(BITEXT)
    for n, (found, matrix) in enumerate(zip(aligner.align(BITEXT), aligner.posteriors(BITEXT), strict=True)):
        expected = matching(np.where(matrix.astype(float) > 0.1, matrix, 0))
        assert sum(found.probabilities) == pytest.approx(expected.score, rel=1e-6)
        assert links.bound[n] == pytest.approx(links.score[n], rel=1e-9)
        assert links.score[n] == pytest.approx(expected.score, rel=1e-6)


def test_limits_by_quantile_are_the_models(aligner):
    aligner.set_options(
        decoder="submodular", threshold=1e-6, source_limit=3, target_limit=0, concave="target", quantile=0.7
    )
    table = aligner.model.fertilities
    numbers = aligner.model.source.numbers
    strange = [([*source, "Neverheard"], target) for source, target in BITEXT if target]
    for (source, _), found in zip(strange, aligner.align(strange), strict=True):
        tokens = np.array([numbers.get(word.lower(), len(numbers)) for word in source])
        most = np.minimum(table.limits(0, tokens, 0.7), 3)
        counts = np.bincount([i for i, _ in found.links], minlength=len(source))
        assert (counts <= most).all()


def test_a_quantile_needs_a_model_with_fertilities():
    aligner = Aligner(threads=2, rounds=1).fit(BITEXT[:20])
    aligner.set_options(decoder="submodular", quantile=0.5)
    with pytest.raises(UsageError, match=r"quantile=0\.5 needs a model .* train it with decoder=submodular"):
        aligner.align(BITEXT[:2])
    assert len(aligner.set_options(quantile=0.0).align(BITEXT[:2])) == 2


def test_scores_of_ibm_2_are_those_of_the_papers_equation(ibm2):
    model = ibm2.model
    for scores, concave in (("forward", "source"), ("backward", "target")):
        ibm2.set_options(
            scores=scores, concave=concave, threshold=1e-6, source_limit=1, target_limit=1, alpha=1.0
        )
        for (source, target), found in zip(BITEXT[:30], ibm2.align(BITEXT[:30]), strict=True):
            if not source or not target:
                continue
            (_, there, _), (_, back, _) = directions(model, source, target)
            flat, begin = model.positions.tables(encoded(ibm2, source, target))
            I, J = len(source), len(target)
            by_target = flat[begin[0] : begin[0] + J * (I + 1)].reshape(J, I + 1)[:, 1:].T
            by_source = flat[begin[0] + J * (I + 1) :].reshape(I, J + 1)[:, 1:]
            product = there.T * by_target if scores == "forward" else back * by_source
            matrix = product / product.sum(axis=1 if scores == "forward" else 0, keepdims=True)
            expected = submodular(
                np.where(matrix > 1e-6, matrix, 0), alpha=1.0, row_limits=1, column_limits=1
            )
            # Links of scores that are equal but for rounding may differ.
            assert sum(matrix[link] for link in found.links) == pytest.approx(expected.score, rel=1e-3)


def test_scores_of_one_direction_are_its_posteriors(ibm2):
    for direction, scores in enumerate(("forward-posterior", "backward-posterior")):
        ibm2.set_options(
            scores=scores,
            concave="both",
            threshold=1e-6,
            source_limit=1,
            target_limit=2,
            alpha=0.5,
            quantile=0.0,
        )
        pairs = [pair for pair in BITEXT[:30] if all(pair)]
        matrices = ibm2.posteriors(pairs, directions=True)
        for found, matrix in zip(ibm2.align(pairs), matrices, strict=True):
            clipped = np.where(matrix[direction] > 1e-6, matrix[direction], 0).astype(np.float64)
            expected = submodular(clipped, alpha=0.5, row_limits=1, column_limits=2, concave="both")
            assert set(found.links) == expected.solution


def encoded(aligner, source, target):
    from dualign.hmm.encoding import encode_for

    return encode_for(aligner.model, [(source, target)]).bitext


def test_scores_of_ibm_models_are_not_for_the_hmm():
    with pytest.raises(UsageError, match='scores="forward" are those of ibm1 and ibm2'):
        Aligner(scores="forward")
