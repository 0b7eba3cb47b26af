"""How lines become tokens: at white space alone, or by a tokeniser that cuts raw text first.

| `tokenize` | what it is |
|---|---|
| `none` | the text is tokenised: tokens stand between white space |
| `simple` | our own, for any language: `dualign.text.simple_tokenizer` |
| `moses[:LANGUAGE]` | sacremoses, such as `moses:de`; English if no language is given |
| `icu[:LOCALE]` | the word boundaries of ICU, with dictionaries for Chinese, Japanese, Thai and others |
| `sentencepiece:MODEL` | the pieces of a SentencePiece model |

Two with a comma between them are for the source and for the target. A tokeniser takes whole lines as bytes
and returns them with blanks between the tokens, so that everything behind it reads tokenised text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from unicodedata import normalize

from dualign._core.errors import UsageError, refusing
from dualign.options import tokenizers_of
from dualign.text.utf8 import tokenize

Cut = Callable[[bytes], bytes]
"""Whole lines, in the form of `dualign.text.utf8`, with blanks between their tokens."""


@dataclass(frozen=True, slots=True)
class Cutting:
    """The tokenisers of both sides, None for tokenised text; what counts as white space."""

    source: Cut | None = None
    target: Cut | None = None
    ascii: bool = False
    """Only blank, tab and the like separate words; a no-break space is part of one."""
    marked: tuple[bool, bool] = (False, False)
    """Whether the tokens of a side have SentencePiece's mark."""

    def cut(self, side: int, lines: bytes) -> bytes:
        """The lines of a side (0 or 1) with blanks between their tokens."""
        cut = self.target if side else self.source
        return lines if cut is None else cut(lines)

    def tokens(self, side: int, line: str) -> list[str]:
        """The tokens of one line."""
        if (self.target if side else self.source) is not None:
            line = self.cut(side, " ".join(tokenize(line)).encode() + b"\n").decode()
        return words_of(line, self.ascii)

    def both(self, sides: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        """The same for both sides."""
        return self.cut(0, sides[0]), self.cut(1, sides[1])


PLAIN = Cutting()
"""The text is tokenised, with any white space between tokens."""


def words_of(line: str, ascii: bool) -> list[str]:
    """The words of a line between white space, Unicode's or that of ASCII alone."""
    if not ascii:
        return tokenize(line)
    # White space of bytes is that of ASCII.
    words = (word.decode().strip("\ufeff") for word in normalize("NFC", line).encode().split())
    return [word for word in words if word]


def cutting_of(tokenize: str, whitespace: str) -> Cutting:
    """What the two settings say; a tokeniser whose package is missing is an error."""
    names = tokenizers_of(tokenize)
    cuts = [None if name == "none" else _tokenizer(name) for name in names]
    marked = names[0].startswith("sentencepiece"), names[1].startswith("sentencepiece")
    return Cutting(cuts[0], cuts[1], whitespace == "ascii", marked)


@cache
def _tokenizer(name: str) -> Cut:
    kind, _, value = name.partition(":")
    if kind == "simple":
        from dualign.text.simple_tokenizer import simple_cut

        return simple_cut
    makers = {"moses": _moses, "icu": _icu, "sentencepiece": _sentencepiece}
    packages = {"moses": "sacremoses", "icu": "PyICU", "sentencepiece": "sentencepiece"}
    missing = (
        "{tokenize=} needs the package {value}; install it with: pip install {value} (or "
        "'dualign[tokenizers]', for all tokenisers)"
    )
    with refusing(ImportError, by=UsageError, what=missing, tokenize=name, value=packages[kind]):
        split = makers[kind](value)

    def cut(lines: bytes) -> bytes:
        # Python's own split at line ends would also break at U+2028 and others.
        text = [line.removesuffix("\r") for line in lines.decode().split("\n")[:-1]]
        return "".join([" ".join(" ".join(tokens).split()) + "\n" for tokens in split(text)]).encode()

    return cut


def _moses(language: str) -> Callable[[list[str]], Sequence[list[str]]]:
    from sacremoses import MosesTokenizer

    tokenizer = MosesTokenizer(language or "en")
    return lambda lines: [tokenizer.tokenize(line, escape=False) for line in lines]


def _icu(locale: str) -> Callable[[list[str]], Sequence[list[str]]]:
    from icu import BreakIterator, Locale, UnicodeString

    def split(lines: list[str]) -> list[list[str]]:
        # Made here, because threads cannot share one.
        breaks = BreakIterator.createWordInstance(Locale(locale) if locale else Locale.getRoot())
        return [_between_breaks(breaks, UnicodeString(line)) for line in lines]

    return split


def _between_breaks(breaks: Any, text: Any) -> list[str]:
    """The pieces of a text that is UTF-16, in which ICU counts."""
    breaks.setText(text)
    tokens, begin = [], 0
    for end in breaks:
        tokens.append(str(text[begin:end]))
        begin = end
    return tokens


def _sentencepiece(path: str) -> Callable[[list[str]], Sequence[list[str]]]:
    from sentencepiece import SentencePieceProcessor

    damaged = "cannot be read as a SentencePiece model ({cause})"
    with refusing(OSError, RuntimeError, what=damaged, place=path):
        processor = SentencePieceProcessor(model_file=path)
    return lambda lines: processor.encode(lines, out_type=str)


SAMPLE = 20_000
"""Words that are looked at."""

LEAST = 50
"""With fewer words, nothing is said."""

SHARE, LENGTH = 0.05, 6.0
"""Tokenised text has fewer words that end in punctuation, and shorter words in scripts without blanks."""

ENDING = " words end in punctuation"
"""How one of the signs ends."""

_ENDS_IN_PUNCTUATION = re.compile(r"\w.*[.,;:!?…]\Z", re.DOTALL)
_WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def sign_of_raw_text(words: Sequence[str], side: str) -> str | None:
    """What speaks for raw text, with a figure; None for tokenised text. `words` are the first of a side."""
    if len(words) < LEAST:
        return None
    counts = Counter(words)
    spaceless = {word: count for word, count in counts.items() if _WITHOUT_BLANKS.search(word)}
    if 2 * (number := sum(spaceless.values())) > len(words):
        length = sum(len(word) * count for word, count in spaceless.items()) / number
        return f"the {side} words have {length:.0f} characters on average" if length > LENGTH else None
    ending = sum(count for word, count in counts.items() if _ENDS_IN_PUNCTUATION.match(word))
    share = ending / len(words)
    return f"{100 * share:.0f} % of the {side}{ENDING}" if share > SHARE else None
