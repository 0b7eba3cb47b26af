"""Where tokens lie in their text, and which tokens of two tokenisations share text.

Tokens are compared by *letters*: the characters of a line without white space and subword marks. Two
tokenisations of the same text have the same letters, and a token is an interval of them.

| scheme | mark | text of `un · believ · able thing` |
|---|---|---|
| `words` | none | `unbelievable thing` |
| `sentencepiece` | `▁` for the blank before a word | `▁un believ able ▁thing` |
| `wordpiece` | `##` before what continues a word | `un ##believ ##able thing` |
| `bpe` | `@@` after what is continued | `un@@ believ@@ able thing` |

If the letters differ, they are compared again without what tokenisers change: case, compatibility forms (`ﬁ`
and `fi`, `…` and `...`), accents, invisible characters. A tokenisation into subwords often lower-cases or
strips accents; its tokens still cover the same text. If the letters still differ, the texts do.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

from dualign._core.errors import DataError
from dualign._core.fields import check_value

SCHEMES = ("words", "sentencepiece", "wordpiece", "bpe")
"""How tokens are marked; `words` fits any tokens that are unchanged pieces of the text."""

MARKS = {"sentencepiece": "\u2581", "wordpiece": "##", "bpe": "@@"}

Interval = tuple[int, int]
"""From and to, the latter not included."""

_BLANK = MARKS["sentencepiece"]


def letters(tokens: Sequence[str], scheme: str = "words") -> list[str]:
    """Return the text of each token, without marks. A mark alone is text, except SentencePiece's."""
    check_value("scheme", scheme, choices=SCHEMES)
    if scheme == "sentencepiece":
        return [token.replace(_BLANK, "") for token in tokens]
    part = slice(2, None) if scheme == "wordpiece" else slice(-2)
    return [token[part] if _is_marked(token, scheme) else token for token in tokens]


def _is_marked(token: str, scheme: str) -> bool:
    """Return whether a token continues a word (`wordpiece`), or is continued (`bpe`)."""
    found = (scheme == "wordpiece" and token[:2] == "##") or (scheme == "bpe" and token[-2:] == "@@")
    return found and len(token) > 2


def word_groups(tokens: Sequence[str], scheme: str) -> list[range]:
    """Return the positions of the subwords of each word, as their marks tell."""
    if scheme == "sentencepiece":
        begins = [token.startswith(_BLANK) for token in tokens]
    else:
        begins = [not _is_marked(token, scheme) for token in tokens]
        if scheme == "bpe":
            begins = [True, *begins[:-1]]
    starts = [at for at, begin in enumerate(begins) if begin or at == 0]
    return [range(a, b) for a, b in zip(starts, [*starts[1:], len(tokens)], strict=False) if a < b]


def covering(
    first: Sequence[str], second: Sequence[str], names: tuple[str, str]
) -> tuple[list[Interval], list[Interval]]:
    """Return the intervals of the tokens of two tokenisations, on the letters they share.

    `names` say where either comes from, file and line; they begin the message where the texts differ.
    """
    whole, other = "".join(first), "".join(second)
    if whole != other:
        tokens, first, second = first, [_fold(token) for token in first], [_fold(token) for token in second]
        whole, other = "".join(first), "".join(second)
        if whole != other:
            raise _difference(tokens, first, other, names)
    return _intervals(first), _intervals(second)


def locate(tokens: Sequence[str], text: str, names: tuple[str, str]) -> list[Interval]:
    """Return the characters of `text` that each token covers; `names` as in `covering`, of tokens and text.

    A token without any letter lies, empty, where the next letter is.
    """
    found = []
    at = 0
    for token in tokens:
        while at < len(text) and text[at].isspace():
            at += 1
        if not text.startswith(token, at):
            return _locate_folded(tokens, text, names)
        found.append((at, at + len(token)))
        at += len(token)
    if text[at:].strip():
        return _locate_folded(tokens, text, names)
    return found


def overlaps(first: Sequence[Interval], second: Sequence[Interval]) -> list[list[int]]:
    """Return for each interval of `first`, those of `second` that share a letter, by position; both lie in
    order.

    An empty interval of `first` counts as the letter after it, an empty one of `second` shares nothing.
    """
    result = []
    begin = 0
    for start, end in first:
        end = max(end, start + 1)
        while begin < len(second) and second[begin][1] <= start:
            begin += 1
        found = []
        for at in range(begin, len(second)):
            if second[at][0] >= end:
                break
            if second[at][0] < second[at][1]:
                found.append(at)
        result.append(found)
    return result


def _intervals(tokens: Sequence[str]) -> list[Interval]:
    ends = list(accumulate(map(len, tokens)))
    return list(zip([0, *ends], ends, strict=False))


def _locate_folded(tokens: Sequence[str], text: str, names: tuple[str, str]) -> list[Interval]:
    pieces = [_fold_character(character) for character in text]
    folded = [_fold(token) for token in tokens]
    if "".join(pieces) != "".join(folded):
        raise _difference(tokens, folded, "".join(pieces), names)
    origin = [at for at, piece in enumerate(pieces) for _ in piece]
    found = []
    for begin, end in _intervals(folded):
        if begin == end:
            at = origin[begin] if begin < len(origin) else len(text)
            found.append((at, at))
            continue
        last = origin[end - 1] + 1
        # Accents that are characters of their own belong to the letter before them.
        while last < len(text) and not pieces[last] and not text[last].isspace():
            last += 1
        found.append((origin[begin], last))
    return found


def _fold(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text.casefold().replace(" ", "")
    return "".join(map(_fold_character, text))


@cache
def _fold_character(character: str) -> str:
    """Return what is left of a character for comparison: nothing of white space, accents, invisible
    characters."""
    return "".join(
        part
        for part in unicodedata.normalize("NFKD", character).casefold()
        if not part.isspace() and unicodedata.category(part) not in ("Mn", "Cf", "Cc")
    )


def _difference(
    tokens: Sequence[str], folded: Sequence[str], other: str, names: tuple[str, str]
) -> DataError:
    """Name the first of `tokens` that, `folded` for comparison, differs from the other text."""
    whole = "".join(folded)
    at = next(
        (k for k, (a, b) in enumerate(zip(whole, other, strict=False)) if a != b), min(len(whole), len(other))
    )
    if at < len(whole):
        number, begin = next((k, begin) for k, (begin, end) in enumerate(_intervals(folded)) if end > at)
        token = f"token {number}, `{tokens[number][:40]}`,"
    else:
        token, begin = f"after its {len(tokens)} tokens,", at
    here = other[begin : begin + 20]
    there = f"where {names[1]} has `{here}`" if here else f"where {names[1]} has ended"
    marked = any(mark in whole or mark in other for mark in ("@@", "##", _BLANK))
    remedy = (
        "are these subwords? then say which (bpe, …)" if marked else "both must be tokens of the same text"
    )
    return DataError(f"{names[0]}: {token} {there}; {remedy}")
