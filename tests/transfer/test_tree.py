"""Trees over links: against the rules written out, and what must hold of every result."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import conllu as oracle
from tests.oracles import transfer as slow
from tests.transfer.strategies import links, sentences, trees

from dualign._core.errors import DataError, UsageError
from dualign.text.conllu import DEPREL, HEAD, MISC, UPOS, Sentence, find_cycle, format_sentence
from dualign.text.links import Alignment
from dualign.transfer.sentences import Settings, links_between, transfer_tree
from dualign.transfer.tree import complete, project


def written(sentence: Sentence) -> str:
    stream = io.StringIO()
    stream.write(format_sentence(sentence))
    return stream.getvalue()


def annotated(heads: list[int], relations: list[str], tags: list[str]) -> Sentence:
    sentence = Sentence.of_tokens([f"w{k}" for k in range(len(heads))])
    for row, head, relation, tag in zip(sentence.words, heads, relations, tags, strict=True):
        row[HEAD], row[DEPREL], row[UPOS] = str(head + 1), relation, tag
    return sentence


@given(st.data())
def test_projection_follows_the_rules(data: st.DataObject) -> None:
    heads = data.draw(trees(partial=True))
    length = data.draw(st.integers(1, 7))
    given_links = data.draw(links(len(heads), length))
    projection = project(heads, length, given_links)
    expected, stands_for = slow.project(heads, length, given_links)
    assert projection.heads == expected
    assert projection.stands_for == stands_for


@given(st.data())
def test_projection_is_a_tree_or_part_of_one_and_complete_makes_it_whole(data: st.DataObject) -> None:
    heads = data.draw(trees(partial=True))
    length = data.draw(st.integers(1, 7))
    given_links = data.draw(links(len(heads), length))
    projection = project(heads, length, given_links)
    assert not find_cycle(projection.heads)
    assert projection.heads.count(-1) <= 1
    whole = complete(projection, heads, given_links)
    assert not find_cycle(whole)
    assert whole.count(-1) == 1
    assert -2 not in whole
    assert all(new == old for new, old in zip(whole, projection.heads, strict=True) if old != -2)


@given(st.data())
def test_one_to_one_links_keep_exactly_the_edges_with_both_ends_aligned(data: st.DataObject) -> None:
    heads = data.draw(trees())
    places = data.draw(st.permutations(range(len(heads))))
    aligned = data.draw(st.sets(st.integers(0, len(heads) - 1)))
    projection = project(heads, len(heads), [(i, places[i], 0.5) for i in sorted(aligned)])
    kept = {(places[i], places[head]) for i, head in enumerate(heads) if head >= 0 and {i, head} <= aligned}
    assert set(projection.edges()) == kept
    assert all(projection.confidence[j] == 0.25 for j, _ in kept)


@given(st.data())
def test_identity_copies_and_a_shuffle_reorders(data: st.DataObject) -> None:
    heads = data.draw(trees())
    source = data.draw(sentences(heads))
    for row in source.words:
        row[DEPREL] = "root" if row[HEAD] == "0" else "dep" if row[DEPREL] == "_" else row[DEPREL]
    for places in (list(range(len(heads))), data.draw(st.permutations(range(len(heads))))):
        target = Sentence.of_tokens([f"t{k}" for k in range(len(heads))])
        transfer_tree(source, target, [(i, j, 1.0) for i, j in enumerate(places)])
        for i, row in enumerate(source.words):
            copy = target.words[places[i]]
            assert (copy[UPOS], copy[DEPREL]) == (row[UPOS], row[DEPREL])
            assert copy[HEAD] == ("0" if heads[i] < 0 else str(places[heads[i]] + 1))
            assert copy[MISC] == "Projection=1"


@given(st.data(), st.booleans(), st.booleans(), st.sampled_from(["any", "class", "same"]))
def test_every_output_is_valid(data: st.DataObject, whole: bool, surface: bool, pos: str) -> None:
    source = data.draw(sentences(data.draw(trees(partial=True))))
    target = data.draw(sentences(data.draw(trees())))
    target.empty[1] = [["1.1", "gone", *["_"] * 8]]
    sizes = (len(source.surface()), len(target.surface())) if surface else (len(source), len(target))
    found = data.draw(links(*sizes))
    alignment = Alignment(
        tuple((i, j) for i, j, _ in found), probabilities=tuple(p for _, _, p in found) or None
    )
    words = links_between(source, target, alignment, Settings(0.25, pos, surface), "links")
    counts = transfer_tree(source, target, words, whole)
    assert oracle.problems(written(target), whole=whole) == []
    assert not target.empty
    others = ("roots_before", "completed") if whole else ("roots", "unattached")
    assert counts["edges"] + sum(counts[name] for name in others) == counts["words"] == len(target)


def test_the_topmost_word_of_several_is_stood_for() -> None:
    # house -> door (root); both become one word.
    assert project([1, -1], 1, [(0, 0, 1.0), (1, 0, 0.5)]).heads == [-1]
    assert project([1, -1], 1, [(0, 0, 1.0), (1, 0, 0.5)]).stands_for == [1]


def test_a_whole_tree_has_the_nearest_heads_that_make_sense() -> None:
    # 0 <- 1 <- 2 <- 3, and nothing is linked to word 2; target word 3 has a weaker link to word 1.
    heads = [-1, 0, 1, 2]
    found = [(0, 0, 1.0), (1, 1, 1.0), (3, 2, 1.0), (1, 3, 0.5)]
    projection = project(heads, 5, found)
    assert projection.heads == [-1, 0, -2, -2, -2]
    assert complete(projection, heads, found) == [-1, 0, 1, 1, 0]
    # Without a link to the root, the word nearest to it takes its place.
    assert complete(project(heads, 5, found[1:]), heads, found[1:]) == [1, -1, 1, 1, 1]
    assert complete(project(heads, 2, []), heads, []) == [-1, 0]


def test_part_of_speech_decides_between_equal_links() -> None:
    links = [(0, 0, 1.0), (0, 1, 1.0)]
    assert project([-1], 2, links, (["VERB"], ["AUX", "VERB"])).heads == [-2, -1]
    assert project([-1], 2, links, (["VERB"], ["VERB", "AUX"])).heads == [-1, -2]


def test_part_of_speech_and_relation_come_from_the_same_word() -> None:
    source = annotated([2, 2, -1], ["case", "det", "root"], ["ADP", "DET", "NOUN"])
    target = Sentence.of_tokens(["x", "y", "z", "u"])
    # Links of equal probability: the second word is nearer the diagonal, the first would win the vote.
    transfer_tree(source, target, [(0, 1, 0.9), (1, 1, 0.9), (2, 3, 1.0), (2, 2, 0.5)])
    assert target.column(DEPREL) == ["_", "det", "_", "root"]
    assert target.column(UPOS) == ["_", "DET", "NOUN", "NOUN"]


def test_relations_that_would_contradict_the_head_are_mended() -> None:
    source = annotated([-1, 0], ["ROOT", "root"], ["VERB", "NOUN"])
    target = Sentence.of_tokens(["a", "b"])
    transfer_tree(source, target, [(0, 0, 1.0), (1, 1, 1.0)])
    assert target.column(DEPREL) == ["root", "dep"]


def test_the_targets_own_tree_and_old_confidence_are_removed() -> None:
    source = annotated([-1, 0], ["root", "obj"], ["VERB", "NOUN"])
    target = annotated([1, -1], ["det", "root"], ["X", "X"])
    target.words[0][MISC] = target.words[1][MISC] = "SpaceAfter=No|Projection=0.1"
    transfer_tree(source, target, [(0, 1, 0.5)])
    assert target.column(HEAD) == ["_", "0"]
    assert target.column(MISC) == ["SpaceAfter=No", "SpaceAfter=No|Projection=0.5"]
    assert target.column(UPOS) == ["X", "X"]


def test_links_of_incompatible_words_are_not_used() -> None:
    source = annotated([-1, 0], ["root", "obj"], ["VERB", "NOUN"])
    target = annotated([-1, 0], ["root", "obj"], ["AUX", "ADP"])
    alignment = Alignment.of([(0, 0), (1, 1)])
    used = {
        how: [link[:2] for link in links_between(source, target, alignment, Settings(pos=how), "links")]
        for how in ("any", "class", "same")
    }
    assert used == {"any": [(0, 0), (1, 1)], "class": [(0, 0)], "same": []}


def test_links_of_written_tokens_reach_all_their_words() -> None:
    source = annotated([1, -1, 1], ["case", "root", "obj"], ["ADP", "NOUN", "NOUN"])
    source.ranges[0] = ["1-2", "du", *["_"] * 8]
    target = Sentence.of_tokens(["a", "b"])
    found = links_between(source, target, Alignment.of([(0, 0), (1, 1)]), Settings(surface=True), "links")
    assert found == [(0, 0, 1.0), (1, 0, 1.0), (2, 1, 1.0)]


@pytest.mark.parametrize("link", [(2, 0), (0, 3)])
def test_a_link_outside_the_sentence_is_refused(link: tuple[int, int]) -> None:
    source, target = Sentence.of_tokens(["a", "b"]), Sentence.of_tokens(["x", "y", "z"])
    with pytest.raises(DataError, match=f"here: link {link[0]}-{link[1]} is outside the pair"):
        links_between(source, target, Alignment.of([link]), Settings(), "here")


def test_settings_are_checked() -> None:
    with pytest.raises(UsageError, match="threshold"):
        Settings(threshold=1.0)
