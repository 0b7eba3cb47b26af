from __future__ import annotations

import numpy as np
import pytest

from dualign._core.errors import UsageError
from dualign.aligner import Aligner
from dualign.show.model_view import LEAST, ModelView
from dualign.text.samples import sample

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    source, target, _ = sample()
    pairs = list(zip(source, target, strict=True))
    aligner = Aligner(threads=1).fit(pairs[:80])
    path = tmp_path_factory.mktemp("model") / "m"
    aligner.save(path)
    return path, aligner, [*pairs[:5], ([], ["x"]), (["neu"], ["new"])]


def test_both_stages_are_the_aligners_own_posteriors(trained):
    path, aligner, pairs = trained
    arrays = list(ModelView(path, threads=1).of_pairs(pairs))
    for stage, projection in enumerate(("none", "symmetric")):
        aligner.set_options(projection=projection)
        for array, expected in zip(arrays, aligner.posteriors(pairs, directions=True), strict=True):
            np.testing.assert_array_equal(array[stage], expected)


def test_lines_have_every_cell_that_can_be_seen(trained):
    path, _, pairs = trained
    view = ModelView(path, threads=1)
    for pair, array, line in zip(pairs, view.of_pairs(pairs), view.lines(pairs), strict=True):
        assert line == view.line(pair)
        found = np.zeros(array.shape)
        for item in line.split():
            i, j, *values = map(int, item.split(","))
            found[:, :, i, j] = np.reshape(values, (2, 2)) / 1000
        visible = array.max(axis=(0, 1)) >= LEAST
        np.testing.assert_allclose(found[:, :, visible], array[:, :, visible], atol=0.00051, rtol=0)
        assert not found[:, :, ~visible].any()


def test_candidates_are_the_best_translations(trained):
    path, aligner, pairs = trained
    there, back = ModelView(path).candidates(pairs)
    model = aligner.model
    for lines, side, of in ((there, 0, "source"), (back, 1, "target")):
        words = {word.lower() for pair in pairs for word in pair[side]}
        assert {line.split("\t")[0] for line in lines} == words & {*(model.source, model.target)[side].words}
        for line in lines:
            word, *rest = line.split("\t")
            best = aligner.translations(word, 6, of=of)
            found = [(each.word, str(round(1000 * each.probability))) for each in best]
            assert [*zip(rest[::2], rest[1::2], strict=True)] == found


def test_a_text_of_words_that_the_model_does_not_know_has_no_candidates(trained):
    path, *_ = trained
    assert ModelView(path).candidates([(["xyzzy"], ["plugh"])]) == ([], [])


def test_models_without_a_chain_have_no_projection(trained, tmp_path):
    _, _, pairs = trained
    Aligner(threads=1, model="ibm1", ibm1_rounds=2).fit(pairs[:5]).save(tmp_path / "m")
    view = ModelView(tmp_path / "m")
    assert view.projection == "none"
    [array] = view.of_pairs(pairs[:1])
    np.testing.assert_array_equal(array[0], array[1])
    with pytest.raises(UsageError, match="is for the HMM"):
        ModelView(tmp_path / "m", "symmetric")


def test_aligner_remembers_its_rounds_and_words(trained):
    _, aligner, pairs = trained
    assert [progress.stage for progress in aligner.history][-3:] == ["HMM"] * 3
    assert aligner.align(pairs[:2])[1].words == pairs[1]
    assert Aligner.load(trained[0]).history == []
