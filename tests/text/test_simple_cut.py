"""`simple` cuts as its rules say, changes no letter, and never looks beyond a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.tokens import tokens_of

from dualign.text.simple_tokenizer import simple_cut

pytestmark = pytest.mark.kernel

PIECES = [
    *"aAéÉbs tT12_ .,:;-&@·'’!?()%$ ", " ", "'s", "'ll ", "don't", "U.S", "\u00a0", "\u3000", "\u0301",
    "\u200b", "語", "の", "カ", "ー", "ก", "เ", "า", "🙂", "…", "»",
]  # fmt: skip
LINES = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)


def cut(line: str) -> str:
    return simple_cut(f"{line}\n".encode()).decode()


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("Hello, world!", "Hello , world !"),
        ("(He said: “Yes.”)", "( He said : “ Yes . ” )"),
        ("It's what we'll do, don't you?", "It 's what we 'll do , don 't you ?"),
        ("L’homme d'affaires", "L’ homme d' affaires"),
        ("1,234.56 or 3.5. At 12:30, 38% of $5.", "1,234.56 or 3.5 . At 12:30 , 38 % of $ 5 ."),
        ("J. Smith of the U.S., e.g. z.B. here.", "J. Smith of the U.S. , e.g. z.B. here ."),
        ("Dne 12. března přišel. Odešel...", "Dne 12. března přišel . Odešel ..."),
        ("no capital here. so cut", "no capital here . so cut"),
        ("well-known AT&T -- me@x.org.", "well-known AT&T -- me@x.org ."),
        ("See http://a.org/x?y=1,2#z. Or a/b.", "See http://a.org/x?y=1,2#z . Or a / b ."),
        ("(www.b.org/c-d/, www.b.org)", "( www.b.org/c-d/ , www.b.org )"),
        ("私はトヨタです。", "私 は トヨタ で す 。"),
        ("ภาษาไทยเก่า", "ภา ษา ไท ย เก่า"),
        ("한국어는 띄어쓴다.", "한국어는 띄어쓴다 ."),
        ("👩\u200d👩 ❤\ufe0f!", "👩\u200d👩 ❤\ufe0f !"),
    ],
)  # fmt: skip
def test_examples(line, tokens):
    assert cut(line) == f"{tokens}\n"


@given(LINES)
def test_tokens_are_those_of_the_rules(line):
    assert cut(line).split() == tokens_of(line)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n")), max_size=4))
def test_letters_stay_and_lines_are_cut_one_by_one(lines):
    found = simple_cut("".join(f"{line}\n" for line in lines).encode()).decode()
    assert found == "".join(map(cut, lines))
    for line, tokens in zip(lines, found.split("\n"), strict=False):
        assert "".join(tokens.split()) == "".join(line.split())
