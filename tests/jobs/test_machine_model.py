"""The adapter for SIL's machine, by machine's own interface."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from dualign import Aligner
from dualign.text.samples import sample

if find_spec("machine") is None:
    pytest.skip("sil-machine is not installed", allow_module_level=True)

from machine.corpora import AlignedWordPair, DictionaryTextCorpus, MemoryText, TextRow
from machine.tokenization import WHITESPACE_TOKENIZER
from machine.translation import SymmetrizationHeuristic, SymmetrizedWordAlignmentModel, WordAlignmentModel

from dualign.jobs.machine_model import DualignModel

SOURCE, TARGET, _ = sample()


@pytest.fixture(scope="module")
def corpus():
    sides = [
        DictionaryTextCorpus(
            MemoryText("text", [TextRow("text", n, [" ".join(words)]) for n, words in enumerate(side)])
        )
        for side in (SOURCE, TARGET)
    ]
    return sides[0].align_rows(sides[1]).tokenize(WHITESPACE_TOKENIZER)


@pytest.fixture(scope="module")
def model(corpus, tmp_path_factory):
    model = DualignModel(tmp_path_factory.mktemp("machine") / "model", threads=1)
    steps = []
    with model.create_trainer(corpus) as trainer:
        trainer.train(steps.append)
        trainer.save()
    assert steps[-1].percent_completed == 1
    assert trainer.stats.train_corpus_size == len(SOURCE)
    assert 0 < trainer.stats.metrics["bits_per_word"] < 20
    return model


def test_it_is_one_of_machines_models_and_aligns_as_the_aligner_does(model):
    assert isinstance(model, WordAlignmentModel)
    aligner = Aligner(threads=1).fit((SOURCE, TARGET))
    pairs = list(zip(SOURCE, TARGET, strict=True))[:30]
    for matrix, found in zip(model.align_batch(pairs), aligner.align(pairs), strict=True):
        assert {(p.source_index, p.target_index) for p in matrix.to_aligned_word_pairs()} == {*found.links}
    again = DualignModel(model.path, threads=1)
    assert str(again.align(*pairs[0])) == str(model.align(*pairs[0]))


def test_words_are_numbered_after_null(model):
    words = model.source_words
    assert (words.index(None), words[0], next(iter(words))) == (0, "NULL", "NULL")
    assert words[words.index("Markt")] == "markt"
    assert words.index("nowhere") == 0
    assert len(list(words)) == len(words)
    assert "Markt" in words
    assert words[-1] == list(words)[-1]
    with pytest.raises(IndexError):
        words[len(words)]


def test_translations_are_those_of_the_lexicon(model):
    best = max(model.get_translations("Markt"), key=lambda each: each[1])
    assert model.target_words[best[0]] == "market"
    assert model.get_translation_score("Markt", "market") == best[1]
    number = model.source_words.index("Markt"), model.target_words.index("market")
    assert model.get_translation_score(*number) == best[1]
    assert all(p > 0.5 for _, p in model.get_translations("Markt", 0.5))
    assert model.get_translation_score("Markt", "nowhere") == 0
    assert model.get_translation_score("nowhere", "market") == 0
    assert model.get_translation_score("Markt", None) == 0
    assert model.get_translation_score(None, "the") > 0
    assert sum(p for _, p in model.get_translations("Markt")) == pytest.approx(1, abs=1e-3)


def test_machines_own_methods_work_on_it(model):
    pair = SOURCE[0], TARGET[0]
    pairs = model.get_best_aligned_word_pairs(*pair)
    found = model.aligner.align([pair])[0]
    assert [p.alignment_score for p in pairs] == pytest.approx(found.probabilities, abs=1e-6)
    assert all(0 < p.translation_score <= 1 for p in pairs)
    assert len(model.get_best_aligned_word_pairs_batch([pair, pair])) == 2
    matrix = model.align(*pair)
    assert 0 < model.get_avg_translation_score(*pair, matrix) <= 1
    assert matrix.to_giza_format(*pair).startswith(" ".join(TARGET[0]))
    nothing = [AlignedWordPair(-1, 0), AlignedWordPair(0, -1)]
    model.compute_aligned_word_pair_scores(*pair, nothing)
    assert all(0 <= p.alignment_score <= 1 for p in nothing)
    table = model.get_translation_table(0.3)
    assert "market" in table["markt"]


def test_machine_symmetrizes_two_of_them(model, corpus):
    back = DualignModel(threads=1)
    with back.create_trainer(corpus.invert()) as trainer:
        trainer.train()
    both = SymmetrizedWordAlignmentModel(model, back)
    both.heuristic = SymmetrizationHeuristic.INTERSECTION
    assert both.align(SOURCE[0], TARGET[0]).to_aligned_word_pairs()


def test_training_can_be_cancelled_and_needs_a_place_to_save(corpus):
    model = DualignModel(threads=1)

    def stop() -> None:
        raise InterruptedError

    trainer = model.create_trainer(corpus)
    with pytest.raises(InterruptedError):
        trainer.train(check_canceled=stop)
    with pytest.raises(Exception, match="give DualignModel a path"):
        trainer.save()


def test_without_machine_its_name_is_told():
    code = "import sys; sys.modules['machine'] = None; import dualign.jobs.machine_model"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install sil-machine" in done.stderr
