"""Signs that a text was not tokenised, though its words were taken from between white space."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

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
