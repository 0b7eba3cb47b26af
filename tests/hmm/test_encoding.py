"""A text in a model's numbers still says the same words, whichever way it was numbered."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from dualign.hmm.encoding import encode_for, encode_lines, parts_of, words_of
from dualign.hmm.model import Vocabulary
from dualign.options import Options
from dualign.text.corpus import numbered

sentences = st.lists(st.sampled_from(["a", "A", "b", "B", "c", "é", "É", "new", "New", "newer"]), max_size=5)


def model_of(lowercase: bool) -> SimpleNamespace:
    """What encoding needs of a model: small vocabularies, and whether it knows lower case only."""
    return SimpleNamespace(
        source=Vocabulary(["b", "a", "A", "é"]),
        target=Vocabulary(["c"]),
        options=Options(lowercase=lowercase),
    )


def spelled(pairs, lowercase: bool):
    return [tuple([w.lower() if lowercase else w for w in side] for side in pair) for pair in pairs]


@given(st.lists(st.tuples(sentences, sentences), max_size=6), st.booleans(), st.booleans())
def test_numbers_stand_for_the_words_of_the_text(pairs, lowercase, before):
    model, expected = model_of(lowercase), spelled(pairs, lowercase)
    text = numbered(pairs, lowercase and before)
    for encoded in (encode_for(model, pairs), *(part.encode(model) for part in parts_of(model, text, 99))):
        assert words_of(model, encoded) == expected
        for vocabulary, new in zip((model.source, model.target), encoded.unknown, strict=True):
            assert len({*vocabulary.words, *new}) == len(vocabulary) + len(new)
    assert sum(len(part.encode(model).bitext) for part in parts_of(model, text, 4)) == len(pairs)


@given(st.lists(st.tuples(sentences, sentences), max_size=6), st.booleans(), st.integers(1, 3))
def test_parts_have_the_words_of_their_pairs_and_no_others(pairs, lowercase, size):
    model, expected = model_of(lowercase), spelled(pairs, lowercase)
    for text in (numbered(pairs, False), pairs):
        found = []
        for unread in parts_of(model, text, size):
            encoded = unread.encode(model)
            part, unknown, _ = encoded
            assert len(part) <= size
            for side, new, vocabulary in zip(
                (part.source, part.target), unknown, (model.source, model.target), strict=True
            ):
                assert set(side.tokens[side.tokens >= len(vocabulary)]) == set(
                    range(len(vocabulary), len(vocabulary) + len(new))
                )
            found += words_of(model, encoded)
        assert found == expected


@given(st.lists(st.tuples(sentences, sentences), max_size=6), st.booleans())
def test_lines_are_numbered_as_their_words_are(pairs, lowercase):
    model = SimpleNamespace(
        source=Vocabulary(["b", "a", "A", "é"]),
        target=Vocabulary(["c"]),
        options=Options(lowercase=lowercase),
    )
    sides = ["".join(f"{' '.join(pair[n])}\n" for pair in pairs).encode() for n in (0, 1)]
    found, expected = encode_lines(model, *sides), encode_for(model, pairs)
    assert found.unknown == expected.unknown
    for name in ("source", "target"):
        for array in ("tokens", "offsets"):
            left, right = (getattr(getattr(each.bitext, name), array) for each in (found, expected))
            assert left.dtype == right.dtype
            assert left.tolist() == right.tolist()
