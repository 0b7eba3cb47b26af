"""Counted fertilities are those of the most probable choices, and go with the model."""

from __future__ import annotations

import numpy as np
import pytest

from dualign import Aligner, ModelError
from dualign._core.files.container import read_container, write_container
from dualign.hmm.positions import MOST_LINKS
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel

BITEXT = [(source, target) for source, target, _ in generate(120, seed=4, vocabulary=40, mean_length=6)]
USED = [(source, target) for source, target in BITEXT if source and target]


@pytest.fixture(scope="module", params=["hmm", "ibm2"])
def aligner(request) -> Aligner:
    return Aligner(
        threads=2, model=request.param, rounds=2, decoder="submodular", projection="none"
    ).fit(BITEXT)  # fmt: skip


def test_counts_are_those_of_every_words_best_choice(aligner):
    model = aligner.model
    words = model.source.numbers, model.target.numbers
    expected = [np.zeros((len(side), MOST_LINKS + 1)) for side in words]
    for pair, both in zip(USED, aligner.posteriors(USED, directions=True), strict=True):
        for side, posterior in ((0, both[0]), (1, both[1].T)):
            # Rows are the words that are chosen, columns those that choose.
            links = np.zeros(len(posterior), int)
            for column in posterior.T:
                if column.max() > 1 - column.sum():
                    links[column.argmax()] += 1
            for word, count in zip(pair[side], links, strict=True):
                expected[side][words[side][word.lower()], min(count, MOST_LINKS)] += 1
    found = model.fertilities.source, model.fertilities.target
    for one, other in zip(found, expected, strict=True):
        # A tie may fall either way.
        assert np.abs(one - other).sum() <= 0.01 * other.sum()
        np.testing.assert_array_equal(one.sum(axis=1), other.sum(axis=1))


def test_threads_change_no_count(aligner):
    again = Aligner(threads=1, **aligner.options.as_dict()).fit(BITEXT).model.fertilities
    np.testing.assert_array_equal(again.source, aligner.model.fertilities.source)
    np.testing.assert_array_equal(again.target, aligner.model.fertilities.target)


def test_other_decoders_count_nothing():
    assert Aligner(threads=2, rounds=1).fit(BITEXT[:20]).model.fertilities is None


def test_a_saved_model_keeps_its_fertilities(aligner, tmp_path):
    aligner.save(tmp_path / "model")
    loaded = Aligner.load(tmp_path / "model", threads=2)
    aligner_links = aligner.set_options(quantile=0.6).align(BITEXT)
    assert loaded.set_options(quantile=0.6).align(BITEXT) == aligner_links
    aligner.set_options(quantile=0.0)


def test_a_model_with_fertilities_of_other_words_is_refused(aligner, tmp_path):
    aligner.save(tmp_path / "model")
    header, arrays = read_container(tmp_path / "model")
    arrays["fertility_source"] = arrays["fertility_source"][1:]
    write_container(tmp_path / "model", header, arrays)
    with pytest.raises(ModelError, match="do not fit together"):
        Aligner.load(tmp_path / "model")
    del arrays["fertility_target"]
    write_container(tmp_path / "model", header, arrays)
    with pytest.raises(ModelError):
        Aligner.load(tmp_path / "model")
