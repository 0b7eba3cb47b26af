"""A model that was saved answers as it did before, and other files are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dualign._core.errors import ModelError
from dualign._core.files.container import read_container, write_container
from dualign.aligner import Aligner
from dualign.hmm import model as models
from dualign.hmm.lexicon import normalized
from dualign.hmm.model import Model, translations
from dualign.options import Options
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel

BITEXT = [(source, target) for source, target, _ in generate(80, seed=2, vocabulary=40, mean_length=6)]
OTHERS = [
    *((source, target) for source, target, _ in generate(20, seed=9, vocabulary=60, mean_length=6)),
    (["Élan", "s1"], ["élan", "t1"]),
]
OPTIONS = {"threshold": 0.3, "decoder": "posterior", "symmetrize": "union", "lowercase": False, "rounds": 2}


@pytest.fixture(scope="module", params=["hmm", "ibm1", "ibm2"])
def aligner(request: pytest.FixtureRequest) -> Aligner:
    return Aligner(threads=2, model=request.param, **OPTIONS).fit(BITEXT)


def test_a_model_answers_the_same_after_saving_and_loading(aligner, tmp_path):
    aligner.save(tmp_path / "model")
    again = Aligner.load(tmp_path / "model", threads=1)
    assert again.options == again.model.options == aligner.options
    assert (again.options.threshold, again.options.lowercase) == (0.3, False)
    for pairs in (BITEXT, OTHERS):
        for a, b in zip(aligner.posteriors(pairs), again.posteriors(pairs), strict=True):
            np.testing.assert_array_equal(a, b, strict=True)
        assert aligner.align(pairs) == again.align(pairs)
    assert again.model.source == aligner.model.source
    assert again.model.target == aligner.model.target


def test_saving_what_was_loaded_gives_the_same_bytes(aligner, tmp_path):
    aligner.save(tmp_path / "model")
    Aligner.load(tmp_path / "model").save(tmp_path / "copy")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "copy").read_bytes()


def test_options_changed_after_training_are_saved_too(aligner, tmp_path):
    Aligner.of_model(aligner.model).set_options(threshold=0.77).save(tmp_path / "model")
    assert Aligner.load(tmp_path / "model").options.threshold == 0.77
    assert aligner.options.threshold == 0.3


def test_a_container_of_another_kind_is_refused(tmp_path):
    write_container(tmp_path / "phrases", {"kind": "phrase-table"}, {"a": np.zeros(3)})
    with pytest.raises(ModelError, match=r"phrases: not a word-alignment model but `phrase-table`"):
        Model.load(tmp_path / "phrases")
    write_container(tmp_path / "nothing", {}, {})
    with pytest.raises(ModelError, match="not a word-alignment model"):
        Model.load(tmp_path / "nothing")


@pytest.mark.parametrize("missing", ["weights", "source_words", "lexicon_table", "jumps_weight"])
def test_a_model_that_lacks_an_array_is_of_another_version(aligner, tmp_path, missing):
    path = tmp_path / "model"
    aligner.save(path)
    header, arrays = read_container(path)
    write_container(
        tmp_path / "less", header, {name: array for name, array in arrays.items() if name != missing}
    )
    with pytest.raises(ModelError, match=r"less: written by another version of dualign .*train it again"):
        Model.load(tmp_path / "less")


@pytest.mark.parametrize("missing", ["jumps_factor", "jumps_chosen"])
def test_a_model_from_before_jumps_had_factors_has_none(aligner, tmp_path, missing):
    aligner.save(tmp_path / "model")
    header, arrays = read_container(tmp_path / "model")
    assert (arrays[missing] != 1).any() == (aligner.options.model == "hmm")
    write_container(
        tmp_path / "old", header, {name: array for name, array in arrays.items() if name != missing}
    )
    model = Model.load(tmp_path / "old")
    model.check()
    jumps = model.jumps
    assert (getattr(jumps, missing.removeprefix("jumps_")) == 1).all()
    np.testing.assert_array_equal(jumps.weight, aligner.model.jumps.weight)


@pytest.mark.parametrize(
    "options", [{"colour": "red"}, {"threshold": 7}, {"evaluations": 10**30}, {"slack": 10**400}]
)
def test_options_of_another_version_are_refused(aligner, tmp_path, options):
    path = tmp_path / "model"
    aligner.save(path)
    header, arrays = read_container(path)
    write_container(path, {**header, "options": Options().as_dict() | options}, arrays)
    with pytest.raises(ModelError, match="another version of dualign"):
        Model.load(path)


def test_an_interrupted_save_leaves_the_old_model(aligner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "model"
    aligner.save(path)
    before = path.read_bytes()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        aligner.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


FORGERIES = {
    "another type": lambda array: array.astype(np.float64 if array.dtype != np.float64 else np.float32),
    "one more": lambda array: np.concatenate((array, array[-1:])),
    "one less": lambda array: array[:-1],
    "no axes": lambda array: array.reshape(-1)[0],
    "flat": lambda array: array.reshape(-1) if array.ndim > 1 else array.reshape(-1, 1),
    "empty": lambda array: array[:0],
    "infinite": lambda array: np.full_like(
        array, np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).max
    ),
    "not a number": lambda array: np.full_like(
        array, np.nan if array.dtype.kind == "f" else np.iinfo(array.dtype).min
    ),
    "negative": lambda array: -1 - array,
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_arrays_are_refused(aligner, tmp_path, forgery):
    path = tmp_path / "model"
    aligner.save(path)
    header, arrays = read_container(path)
    for name, array in arrays.items():
        if array.size == 0 or (forgery == "negative" and array.dtype == np.uint8):
            continue
        write_container(path, header, arrays | {name: FORGERIES[forgery](array)})
        with pytest.raises(ModelError, match="another version of dualign"):
            Model.load(path)


def test_a_lexicon_is_normalized_once_for_all_words_that_are_asked(aligner, monkeypatch):
    model = aligner.model.with_options(aligner.options)
    asked = []
    monkeypatch.setattr(models, "normalized", lambda lexicon: asked.append(1) or normalized(lexicon))
    for of, vocabulary in (("source", model.source), ("target", model.target)):
        for word in vocabulary.words[:3]:
            found = translations(model, word, len(model.lexicon.columns), of)
            assert sum(each.probability for each in found) == pytest.approx(1)
    assert asked == [1]


def test_a_normalized_lexicon_has_distributions_for_words_of_both_sides(aligner):
    lexicon = aligner.model.lexicon
    table = normalized(lexicon)
    rows = np.repeat(np.arange(len(lexicon.rows) - 1), np.diff(lexicon.rows))
    for d, word in enumerate((rows, lexicon.columns)):
        sums = np.bincount(word, table[:, d])
        np.testing.assert_allclose(sums[sums > 0], 1, rtol=1e-9)
        # Of one word, probabilities keep their proportions.
        here = word == word[0]
        np.testing.assert_allclose(
            table[here, d] * lexicon.table[here, d].sum(), lexicon.table[here, d], rtol=1e-5
        )
