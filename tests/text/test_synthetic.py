"""Synthetic bitext: reproducible, and what its parameters say."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualign._core.errors import UsageError
from dualign.text.links import Alignment
from dualign.text.samples import generate


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**64),
    vocabulary=st.integers(1, 50),
    mean_length=st.floats(1, 12),
    fertility=st.sampled_from([(0.0, 1.0, 0.0, 0.0), (0.9, 0.1, 0.0, 0.0), (0.1, 0.2, 0.3, 0.4)]),
    distortion=st.floats(0, 1),
    null_rate=st.floats(0, 1),
)
def test_pairs_are_well_formed_and_reproducible(**parameters: Any) -> None:
    pairs = list(generate(10, **parameters))
    assert len(pairs) == 10
    for source, target, alignment in pairs:
        assert source
        assert target
        assert alignment.links
        assert alignment == Alignment.of(alignment.links)
        assert all(0 <= i < len(source) and 0 <= j < len(target) for i, j in alignment)
        linked = Counter(j for _, j in alignment)
        assert max(linked.values()) == 1  # every target word has one origin at most
        assert max(Counter(i for i, _ in alignment).values()) <= 3
    assert list(generate(10, **parameters)) == pairs


def test_pair_k_does_not_depend_on_the_number_of_pairs() -> None:
    assert list(generate(3, seed=5)) == list(islice(generate(1000, seed=5), 3))


def test_seeds_differ() -> None:
    assert list(generate(3, seed=1)) != list(generate(3, seed=2))


def test_no_pairs() -> None:
    assert list(generate(0)) == []


def test_statistics_follow_the_parameters() -> None:
    fertility = (0.1, 0.6, 0.2, 0.1)
    pairs = list(generate(3000, seed=3, mean_length=12, fertility=fertility, null_rate=0.2))
    words = sum(len(source) for source, _, _ in pairs)
    linked = sum(len(alignment) for _, _, alignment in pairs)
    target = sum(len(target) for _, target, _ in pairs)
    assert words / len(pairs) == pytest.approx(12, rel=0.05)
    assert linked / words == pytest.approx(1.3, rel=0.03)
    assert (target - linked) / linked == pytest.approx(0.2, rel=0.05)


def test_source_words_are_zipfian_and_translations_skewed() -> None:
    frequency: Counter[str] = Counter()
    translations: Counter[str] = Counter()
    for source, target, alignment in generate(3000, seed=4, fertility=(0, 1, 0, 0), null_rate=0):
        frequency.update(source)
        translations.update(target[j] for i, j in alignment if source[i] == "s0")
    assert frequency["s0"] > 1.2 * frequency["s1"] > 1.2 * frequency["s30"] > 0
    first, second = (count for _, count in translations.most_common(2))
    assert len(translations) == 4
    assert first / translations.total() == pytest.approx(0.6, abs=0.05)
    assert second / translations.total() == pytest.approx(0.25, abs=0.05)


def test_without_distortion_links_never_cross() -> None:
    for _, _, alignment in generate(200, distortion=0):
        assert list(alignment) == sorted(alignment, key=lambda link: link[1])


def test_with_distortion_words_move_and_blocks_jump() -> None:
    jumps = Counter(
        j - i
        for _, _, alignment in generate(2000, distortion=0.3, fertility=(0, 1, 0, 0), null_rate=0)
        for i, j in alignment
    )
    assert jumps[0] > jumps[1] > 0
    assert sum(count for jump, count in jumps.items() if abs(jump) >= 4) > 100


def test_unlinked_words_also_occur_linked() -> None:
    linked: set[str] = set()
    unlinked: set[str] = set()
    for _, target, alignment in generate(2000, null_rate=0.1):
        at = {j for _, j in alignment}
        for j, word in enumerate(target):
            (linked if j in at else unlinked).add(word)
    assert len(unlinked) == 10
    assert unlinked < linked


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("vocabulary", 0),
        ("mean_length", 0.5),
        ("mean_length", float("nan")),
        ("mean_length", float("inf")),
        ("fertility", (0.5, 0.5)),
        ("fertility", (0.5, 0.4, 0.0, 0.0)),
        ("fertility", (1.1, -0.1, 0.0, 0.0)),
        ("fertility", (1.0, 0.0, 0.0, 0.0)),
        ("fertility", (float("nan"), 0.0, 0.0, 0.0)),
        ("distortion", 1.5),
        ("distortion", -0.1),
        ("distortion", float("nan")),
        ("null_rate", -0.1),
        ("null_rate", 1.1),
    ],
)
def test_wrong_parameters_are_refused_at_once(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{name}="):
        generate(1, **{name: value})


def test_negative_number_of_pairs() -> None:
    with pytest.raises(UsageError, match="pairs=-1"):
        generate(-1)
