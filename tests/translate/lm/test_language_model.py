"""Language models: queries against a dictionary and KenLM, estimates against the formula."""

from __future__ import annotations

import math
import random
import sys

import numpy as np
import pytest
from tests.oracles.translation import kneser_ney
from tests.translate.forests import WORDS, random_forest, random_model

import dualign
from dualign.text.arpa import Arpa, Grams, write_arpa
from dualign.translate import Hypergraph, LanguageModel, decode
from dualign.translate.lm.kneser_ney import discounts, estimate

pytestmark = pytest.mark.kernel


def sentences(seed, count, words=WORDS, longest=9):
    rng = random.Random(seed)
    return [[rng.choice(words) for _ in range(rng.randint(0, longest))] for _ in range(count)]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_scores_are_those_of_the_dictionary(order):
    model, twin = random_model(random.Random(order), order)
    for words in sentences(order, 150, (*WORDS, "strange", "other")):
        assert model.score(words) == pytest.approx(twin.sentence(words), abs=1e-9)


def test_scores_of_each_word_add_up():
    model, twin = random_model(random.Random(1), 3)
    for words, scores in zip(sentences(2, 20), model.scores(sentences(2, 20)), strict=True):
        assert len(scores) == len(words) + 1
        assert scores.sum() == pytest.approx(twin.sentence(words))


def test_a_model_that_lacks_shorter_ngrams_scores_the_same():
    """Pruned models may have an n-gram without the (n−1)-gram at its end."""
    words = ["<s>", "</s>", "<unk>", "a", "b", "c"]
    one = Grams(np.arange(6, dtype=np.int32)[:, None], -np.ones(6), np.full(6, -0.5))
    three = Grams(np.array([[3, 4, 5], [0, 3, 4]], np.int32), np.array([-0.1, -0.2]), np.zeros(2))
    two = Grams(np.array([[3, 4]], np.int32), np.array([-0.3]), np.array([-0.4]))
    model = LanguageModel.of_arpa(Arpa(words, [one, two, three]))
    # p(a|<s>) backs off; p(b|<s> a) is there; p(c|a b) is there; p(</s>|b c): (b, c) is not in the file.
    expected = (-0.5 - 1) + -0.2 + -0.1 + (-0.5 - 1)
    assert model.score(["a", "b", "c"]) == pytest.approx(expected * math.log(10))


def test_models_without_unknown_word_or_end():
    words = ["<s>", "</s>", "a"]
    grams = Grams(np.arange(3, dtype=np.int32)[:, None], np.array([-9.0, -1.0, -0.5]), np.zeros(3))
    model = LanguageModel.of_arpa(Arpa(words, [grams]))
    assert model.score(["zzz"]) == pytest.approx(-101 * math.log(10))
    with pytest.raises(dualign.DataError, match="no </s>"):
        LanguageModel.of_arpa(
            Arpa(["<s>", "a"], [Grams(grams.words[:2], grams.logprob[:2], grams.backoff[:2])])
        )


def test_saved_models_are_the_same_and_damage_is_noticed(tmp_path):
    model, _ = random_model(random.Random(1), 3)
    path = str(tmp_path / "model.npz")
    model.save(path)
    again = LanguageModel.load(path)
    assert again.words == model.words
    for words in sentences(3, 20):
        assert again.score(words) == model.score(words)
    (tmp_path / "model.npz").write_bytes((tmp_path / "model.npz").read_bytes()[:-200])
    with pytest.raises(dualign.ModelError, match=r"model\.npz"):
        LanguageModel.load(path)
    with pytest.raises(dualign.DataError, match="cannot read"):
        LanguageModel.load(str(tmp_path / "none.npz"))


FORGERIES = {
    "first": lambda a: a[::-1].copy(),
    "word": lambda a: np.where(np.arange(len(a)) == len(a) - 1, 10**6, a).astype(np.int32),
    "logprob": lambda a: np.where(np.arange(len(a)) == 3, np.nan, a),
    "backoff": lambda a: a[:-1],
    "suffix": lambda a: np.where(a > 0, 2, a).astype(np.int32),
    "level": lambda a: a[:-1],
    "words": lambda a: np.concatenate((a, a)),
}


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("change", ["values", "type", "shape", "empty"])
def test_forged_arrays_are_refused(tmp_path, name, change):
    model, _ = random_model(random.Random(1), 3)
    path = str(tmp_path / "model.npz")
    model.save(path)
    with np.load(path) as content:
        arrays = dict(content)
    array = arrays[name]
    arrays[name] = {
        "values": FORGERIES[name],
        "type": lambda a: a.astype(np.complex128),
        "shape": lambda a: a.reshape(1, -1, 1),
        "empty": lambda a: a[:0],
    }[change](array)
    np.savez(path, **arrays)
    if name == "words" and change == "shape":
        return  # bytes are bytes
    with pytest.raises(dualign.ModelError, match=r"model\.npz"):
        LanguageModel.load(path)


def test_scores_equal_kenlms(tmp_path):
    kenlm = pytest.importorskip("kenlm", reason="kenlm is not installed (extra `lm`)")
    text = sentences(5, 300, [f"w{n}" for n in range(30)], 15)
    path = str(tmp_path / "lm.arpa")
    write_arpa(estimate(text, 4), path)
    ours, theirs = LanguageModel.read(path), kenlm.Model(path)
    for words in sentences(6, 200, [f"w{n}" for n in range(33)], 12):
        assert ours.score(words) == pytest.approx(theirs.score(" ".join(words)) * math.log(10), abs=1e-4)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_kneser_ney_is_the_formula(order):
    text = sentences(7, 60)
    model = LanguageModel.train(text, order)
    p, _ = kneser_ney([s for s in text if s], order, lambda counts: discounts(np.array(counts)))
    for words in sentences(8, 30, (*WORDS, "<unk>")):
        history = ["<s>"]
        for word, score in zip([*words, "</s>"], model.scores([words])[0], strict=True):
            if "<unk>" in history[1:]:
                break
            assert score == pytest.approx(
                math.log(p(history[-order + 1 :] if order > 1 else [], word)), abs=1e-9
            )
            history.append(word)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_kneser_ney_sums_to_one_in_every_context(order):
    text = sentences(9, 200, [f"w{n}" for n in range(12)])
    model = LanguageModel.train(text, order)
    contexts = [s[:k] for s in sentences(10, 40, [f"w{n}" for n in range(13)]) for k in (0, 1, 3)]
    words = [w for w in model.words if w not in ("<s>", "</s>")]
    for context in contexts:
        scores = [s[len(context)] for s in model.scores([[*context, w] for w in words])]
        scores.append(model.scores([context])[0][len(context)])  # </s>
        assert math.fsum(map(math.exp, scores)) == pytest.approx(1.0, abs=1e-9)


def test_discounts_of_few_counts_are_the_customary_ones():
    assert discounts(np.array([1, 1, 1])).tolist() == [0.5, 1.0, 1.5]
    d = discounts(np.array([1] * 100 + [2] * 40 + [3] * 20 + [4] * 10))
    y = 100 / 180
    assert d == pytest.approx([1 - 2 * y * 0.4, 2 - 3 * y * 0.5, 3 - 4 * y * 0.5])


@pytest.mark.parametrize(
    ("text", "order", "message"),
    [
        ([], 3, "no sentence"),
        ([[]], 3, "no sentence"),
        ([["a", "<s>"]], 2, "sentence 1 has the word"),
        ([["a"]], 7, "long enough for 4-grams"),
        ([["a"]], 0, "order=0"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(text, order, message):
    with pytest.raises((dualign.DataError, dualign.UsageError), match=message):
        estimate(text, order)


@pytest.fixture
def through_kenlm(tmp_path):
    """A model of ours, and the same in KenLM's hands."""
    pytest.importorskip("kenlm", reason="kenlm is not installed (extra `lm`)")
    from dualign.translate.lm.language_model import KenlmModel

    def both(model):
        path = str(tmp_path / "lm.arpa")
        write_arpa(model, path)
        return LanguageModel.read(path), KenlmModel.read(path)

    return both


def test_kenlms_ngrams_among_some_words_are_found_by_queries(through_kenlm):
    vocabulary = [f"w{n}" for n in range(30)]
    ours, theirs = through_kenlm(estimate(sentences(5, 300, vocabulary, 15), 4))
    some = [*vocabulary[:9], "strange"]
    part = theirs.among(some)
    assert 0 < len(part) < len(ours)
    for words in sentences(6, 200, some, 12):
        for order in (2, 3, 4):
            expected = ours.score(words, order=order)
            assert part.score(words, order=order) == pytest.approx(expected, abs=1e-4)
            assert theirs.score(words, order=order) == pytest.approx(expected, abs=1e-4)
    assert theirs.scaled(0.5).score(["w1"]) == pytest.approx(0.5 * ours.score(["w1"]), abs=1e-4)


def test_forests_are_decoded_with_kenlms_models(through_kenlm):
    ours, theirs = through_kenlm(estimate(sentences(5, 300, WORDS, 9), 3))
    rng = random.Random(3)
    for _ in range(20):
        graph = Hypergraph(*random_forest(rng), root=0)
        mine, other = decode(graph, ours), decode(graph, theirs)
        assert other.certified
        assert other.score == pytest.approx(mine.score, abs=1e-4)
    with pytest.raises(dualign.UsageError, match="cannot be saved"):
        theirs.save("x")


def test_binary_models_are_recognised(tmp_path, monkeypatch):
    path = tmp_path / "lm.binary"
    path.write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0\xff\xfe")
    with pytest.raises(dualign.DataError, match=r"lm\.binary: .*binary model"):
        LanguageModel.read(str(path))
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(dualign.DataError, match=r"lm\.binary: a binary model of KenLM; install its package"):
        LanguageModel.read(str(path))


def test_sentences_may_be_strings_but_not_all_of_them_one():
    split = LanguageModel.train([["a", "b"], ["b"]], 2)
    assert LanguageModel.train(["a b", "b"], 2).words == split.words
    with pytest.raises(dualign.DataError, match="one string"):
        LanguageModel.train("a b", 2)
