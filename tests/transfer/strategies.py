"""Random trees, links and tokenisations."""

from __future__ import annotations

from hypothesis import strategies as st

from dualign.text.conllu import DEPREL, HEAD, UPOS, Sentence

EIGHTHS = [k / 8 for k in range(1, 9)]
"""Probabilities whose sums are exact, and that tie often."""

RELATIONS = ["nsubj", "obj", "det", "flat:name", "_"]


@st.composite
def trees(draw: st.DrawFn, max_size: int = 7, partial: bool = False) -> list[int]:
    """Heads of a tree, or with `partial` perhaps of some pieces of one."""
    size = draw(st.integers(1, max_size))
    order = draw(st.permutations(range(size)))
    heads = [-1] * size
    for at in range(1, size):
        heads[order[at]] = order[draw(st.integers(0, at - 1))]
    if partial:
        for word in draw(st.sets(st.integers(0, size - 1), max_size=2)):
            heads[word] = -2
    return heads


@st.composite
def links(draw: st.DrawFn, source: int, target: int, max_size: int = 12) -> list[tuple[int, int, float]]:
    pairs = draw(
        st.sets(st.tuples(st.integers(0, source - 1), st.integers(0, target - 1)), max_size=max_size)
        if source and target
        else st.just(set())
    )
    return [(i, j, draw(st.sampled_from(EIGHTHS))) for i, j in sorted(pairs)]


@st.composite
def sentences(draw: st.DrawFn, heads: list[int]) -> Sentence:
    """A sentence with a tree, tags and perhaps a multiword token."""
    sentence = Sentence.of_tokens([f"w{k}" for k in range(len(heads))])
    for row, head in zip(sentence.words, heads, strict=True):
        row[UPOS] = draw(st.sampled_from(["NOUN", "VERB", "X", "_"]))
        row[HEAD] = "_" if head == -2 else str(head + 1)
        relation = draw(st.sampled_from(RELATIONS))
        row[DEPREL] = "_" if head == -2 else "root" if head == -1 else relation
    add_range(draw, sentence)
    return sentence


def add_range(draw: st.DrawFn, sentence: Sentence) -> None:
    if len(sentence) > 1 and draw(st.booleans()):
        first = draw(st.integers(0, len(sentence) - 2))
        sentence.ranges[first] = [f"{first + 1}-{first + 2}", "ww", *["_"] * 8]


@st.composite
def tokenisations(draw: st.DrawFn, alphabet: str = "ab") -> tuple[str, list[str], list[str]]:
    """A text of letters and two ways to cut it."""
    text = draw(st.text(alphabet, max_size=10))
    cuts = [sorted(draw(st.sets(st.integers(1, len(text) - 1)))) if len(text) > 1 else [] for _ in range(2)]
    first, second = (
        [text[a:b] for a, b in zip([0, *cut], [*cut, len(text)], strict=True) if a < b] for cut in cuts
    )
    return text, first, second
