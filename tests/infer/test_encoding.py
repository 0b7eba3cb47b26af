"""A text in a model's numbers still says the same words, whichever way it was numbered."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from dualign.infer.blocks import words_of
from dualign.infer.encoding import encode_for, parts_of
from dualign.model.options import Options
from dualign.model.vocabulary import Vocabulary
from dualign.text.bitext import numbered

sentences = st.lists(st.sampled_from(["a", "A", "b", "B", "c", "é", "É", "new", "New", "newer"]), max_size=5)


@given(st.lists(st.tuples(sentences, sentences), max_size=6), st.booleans(), st.booleans())
def test_numbers_stand_for_the_words_of_the_text(pairs, lowercase, before):
    model = SimpleNamespace(
        source=Vocabulary(["b", "a", "A", "é"]),
        target=Vocabulary(["c"]),
        options=Options(lowercase=lowercase),
    )
    expected = [tuple([w.lower() if lowercase else w for w in side] for side in pair) for pair in pairs]
    text = numbered(pairs, lowercase and before)
    for bitext, unknown in (encode_for(model, pairs), encode_for(model, text)):
        assert words_of(model, bitext, unknown) == expected
        for vocabulary, new in zip((model.source, model.target), unknown, strict=True):
            assert len({*vocabulary.words, *new}) == len(vocabulary) + len(new)
    assert sum(len(part.bitext) for part in parts_of(model, text)) == len(pairs)
