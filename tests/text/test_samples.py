from __future__ import annotations

import os
from collections import Counter

import pytest

from dualign._core.errors import DataError, UsageError
from dualign.text.samples import sample, sample_path, write_sample


def test_sizes():
    german, english, gold = sample()
    assert (len(german), len(english), len(gold)) == (400, 400, 60)


def test_no_pair_comes_twice():
    german, english, _ = sample()
    pairs = {(tuple(source), tuple(target)) for source, target in zip(german, english, strict=True)}
    assert len(pairs) == 400


def test_sentences_are_short_and_end_with_a_mark():
    for sentence in [*sample()[0], *sample()[1]]:
        assert 4 <= len(sentence) <= 14, sentence
        assert sentence[-1] in {".", "?", "!"}, sentence
        assert all(len(word) == 1 or not word.endswith((".", ",", "?", "!")) for word in sentence), sentence


def test_gold_links_lie_inside_their_sentences():
    german, english, gold = sample()
    for source, target, alignment in zip(german, english, gold, strict=False):
        for i, j in alignment.links + alignment.possible:
            assert i < len(source), (source, i)
            assert j < len(target), (target, j)


def test_gold_leaves_only_commas_unlinked_and_pairs_final_marks():
    german, english, gold = sample()
    for source, target, alignment in zip(german, english, gold, strict=False):
        links = alignment.links + alignment.possible
        unlinked = [word for i, word in enumerate(source) if i not in {i for i, _ in links}]
        unlinked += [word for j, word in enumerate(target) if j not in {j for _, j in links}]
        assert set(unlinked) <= {","}, (source, target, unlinked)
        assert (len(source) - 1, len(target) - 1) in alignment.links


def test_gold_links_known_words():
    german, english, gold = sample()
    linked = Counter(
        (source[i], target[j])
        for source, target, alignment in zip(german, english, gold, strict=False)
        for i, j in alignment.links
    )
    for pair in [("Bibliothek", "library"), ("Haustür", "door"), ("an", "begins"), ("nicht", "not")]:
        assert linked[pair] > 0, pair


@pytest.mark.parametrize("side", [0, 1])
def test_words_come_back_often_enough_to_be_learned(side):
    sentences = sample()[side]
    frequencies = Counter(word for sentence in sentences for word in sentence)
    assert 500 <= len(frequencies) <= 750
    repeated = sum(count for count in frequencies.values() if count >= 3)
    assert repeated >= 0.8 * frequencies.total()


def test_unknown_sample_file():
    with pytest.raises(UsageError, match=r"no sample file sample\.fr; there are sample\.de"):
        sample_path("sample.fr")


def test_a_full_disk_leaves_no_part_of_a_file(tmp_path, monkeypatch):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left"):
        write_sample(tmp_path)
    assert list(tmp_path.iterdir()) == []
