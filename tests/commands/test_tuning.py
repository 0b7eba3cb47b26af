"""Tuning: what is chosen is no worse on the gold it was chosen by, and is in force afterwards."""

from __future__ import annotations

import pytest

from dualign import Aligner
from dualign.commands.tuning import tune
from dualign.measure.links import evaluate
from dualign.options import DECODERS
from dualign.text.samples import sample

pytestmark = pytest.mark.kernel

PARAMETERS = {
    "soft-union": {"threshold", "style"},
    "posterior": {"threshold", "symmetrize"},
    "viterbi": {"symmetrize"},
    "bidirectional": {"penalty", "unsupported", "symmetrize"},
    "matching": {"threshold"},
    "submodular": {"threshold", "alpha", "concave", "source_limit", "target_limit", "quantile"},
}


@pytest.fixture(scope="module")
def trained() -> tuple[Aligner, list, list]:
    source, target, gold = sample()
    pairs = list(zip(source, target, strict=True))
    aligner = Aligner(threads=2, rounds=2, decoder="submodular").fit(pairs[:200])
    return aligner, pairs[: len(gold)], gold


@pytest.mark.parametrize("decoder", DECODERS)
def test_tuning_helps_and_stays(trained, decoder):
    aligner = Aligner.of_model(trained[0].model, threads=2).set_options(decoder=decoder)
    _, pairs, gold = trained
    before = evaluate(aligner.align(pairs), gold).aer
    chosen = tune(aligner, pairs, gold)
    assert set(chosen) == PARAMETERS[decoder]
    assert {name: getattr(aligner.options, name) for name in chosen} == chosen
    assert aligner.model.options == aligner.options
    assert evaluate(aligner.align(pairs), gold).aer <= before


def test_a_model_without_fertilities_is_tuned_without_quantiles(trained):
    _, pairs, gold = trained
    aligner = Aligner(threads=2, rounds=1).fit(pairs).set_options(decoder="submodular")
    assert tune(aligner, pairs, gold)["quantile"] == 0
    assert len(aligner.align(pairs)) == len(pairs)


@pytest.mark.parametrize("decoder", DECODERS)
def test_decoding_prepared_posteriors_is_aligning(trained, decoder):
    aligner = Aligner.of_model(trained[0].model, threads=2).set_options(decoder=decoder)
    pairs = [*trained[1], ([], ["the"]), (["Neverheard"], ["neverheard"])]
    assert aligner.decoder_of(pairs)(aligner.options) == aligner.align(pairs)
