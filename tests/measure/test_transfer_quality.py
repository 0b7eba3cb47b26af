"""Rates of carried annotation: by hand, and in the cases where nothing can be rated."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import pytest

from dualign._core.errors import UsageError
from dualign.measure.transfer import Point, accuracy_at, phrases, tree_report
from dualign.text.conllu import DEPREL, HEAD, UPOS, Sentence, read_conllu
from dualign.text.link_formats import read_links
from dualign.text.links import Alignment

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "pud" / "fr-en"


def sentence(heads: str, relations: str, tags: str) -> Sentence:
    result = Sentence.of_tokens(heads.split())
    for row, head, relation, tag in zip(
        result.words, heads.split(), relations.split(), tags.split(), strict=True
    ):
        row[HEAD], row[DEPREL], row[UPOS] = head, relation, tag
    return result


def point(transferred: float, accuracy: float) -> Point:
    return Point(0.0, 0.0, transferred, accuracy, *[0.0] * 8)


def curve_of(*arguments, **options) -> list[Point]:
    return tree_report(*arguments, **options).points


def test_rates_are_those_counted_by_hand() -> None:
    source = sentence("2 0 2", "nsubj root obj:x", "NOUN VERB NOUN")
    target = sentence("2 0 2 3", "nsubj root obj amod", "PRON VERB NOUN ADJ")
    links = Alignment(((0, 0), (1, 1), (2, 3)), probabilities=(0.9, 0.8, 0.3))
    loose, strict, none = tree_report([(source, target, links)], [0.0, 0.5, 0.95]).points
    assert (loose.edges_per_sentence, loose.transferred, loose.accuracy) == (2.0, 1.0, 0.5)
    assert (loose.uas, loose.las, loose.uas_attached) == (0.5, 0.5, 2 / 3)
    assert (loose.tagged, loose.tag_accuracy) == (0.75, 1 / 3)
    # Carried: nsubj at 0, obj at 3; its own: nsubj at 0, obj at 2 to 4.
    assert (loose.span_precision, loose.span_recall, loose.span_f1) == (0.5, 0.5, 0.5)
    assert (strict.transferred, strict.accuracy) == (0.5, 1.0)
    assert set(none.as_dict().values()) == {0.95, 0.0}


def test_phrases_are_carried_as_told() -> None:
    source = sentence("0 1 2", "root obj amod", "VERB NOUN ADJ")
    target = sentence("0 4 4 1", "root amod amod obj", "VERB ADJ ADJ NOUN")
    pairs = [(source, target, Alignment.of([(0, 0), (2, 1), (1, 3)]))]
    assert curve_of(pairs, [0.0])[0].span_f1 == 1.0
    assert curve_of(pairs, [0.0], gap=0)[0].span_f1 == 0.0
    assert curve_of(pairs, [0.0], gap=0, discontinuous="hull")[0].span_f1 == 1.0
    assert curve_of(pairs, [0.0], gap=0, discontinuous="drop")[0].span_precision == 0.0


def test_the_target_as_its_own_source_is_carried_without_fault() -> None:
    own = sentence("2 0 2 3", "nsubj root obj amod", "PRON VERB NOUN ADJ")
    rates = curve_of([(own, own, Alignment.of([(k, k) for k in range(4)]))], [0.0])[0].as_dict()
    assert {rates.pop("threshold"), rates.pop("edges_per_sentence")} == {0.0, 3.0}
    assert set(rates.values()) == {1.0}


def test_phrases_are_nominal_subtrees_without_gaps() -> None:
    heads = [1, -1, 3, 1, 5, 1, 2]
    relations = ["nsubj", "root", "amod", "obj", "det", "obl", "nmod"]
    # The subtree of word 3 holds words 2, 3 and 6: it has a gap.
    assert phrases(heads, relations) == [(0, 1, "nsubj"), (4, 6, "obl"), (6, 7, "nmod")]


def test_accuracy_between_points_is_that_of_drawing_lots() -> None:
    points = [point(0.8, 0.5), point(0.4, 1.0)]
    assert accuracy_at(points, 0.4) == pytest.approx(1.0, rel=1e-12)
    assert accuracy_at(points, 0.2) == pytest.approx(1.0, rel=1e-12)
    assert accuracy_at(points, 0.8) == pytest.approx(0.5, rel=1e-12)
    assert accuracy_at(points, 0.6) == pytest.approx(0.4 / 0.6, rel=1e-12)
    assert isnan(accuracy_at(points, 0.9))
    with pytest.raises(UsageError, match="transferred=0"):
        accuracy_at(points, 0)


def test_gold_links_carry_most_edges_rightly_on_a_treebank() -> None:
    if not DATA.is_dir():
        pytest.skip(f"{DATA} is not here")
    source = read_conllu(str(DATA / "dev.source.conllu.gz"))
    target = read_conllu(str(DATA / "dev.target.conllu.gz"))
    triples = zip(source, target, read_links(str(DATA / "dev.wa"), "pharaoh"), strict=True)
    # Content words only: few edges, most of them right.
    assert curve_of(triples, [0.0])[0].accuracy > 0.7
