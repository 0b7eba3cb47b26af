"""The rules of `simple` as a parser of one token after the other; web addresses are not among them."""

from __future__ import annotations

import re

MARKS = "\u0301\u200bะา"
LEADING = "เไ"
KATAKANA = re.compile("[ァ-ヺー]")
ALONE = re.compile("[ก-ฮぁ-ゖ一-鿿]")
ENDING = re.compile(r"(s|m|d|t|re|ve|ll)(?![\w])", re.IGNORECASE)


def is_word(c: str) -> bool:
    special = c in LEADING or c in MARKS or KATAKANA.match(c) or ALONE.match(c)
    return len(c) == 1 and not special and (c.isalnum() or c == "_")


def tokens_of(line: str) -> list[str]:
    """The tokens of a line."""
    tokens, at = [], 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        begin = at
        if at > 0 and line[at] in "'’" and is_ending(line, at):
            at = word_end(line, at + 1, at)
        else:
            at = token_end(line, skip_marks(line, at))
        tokens.append(line[begin:at])
    return tokens


def token_end(line: str, at: int) -> int:
    if at == len(line) or line[at].isspace():
        return at
    c = line[at]
    if is_word(c):
        return word_end(line, at, at)
    after = skip_marks(line, at + 1)
    if c in LEADING:
        return after if line[after : after + 1].isspace() else token_end(line, after)
    if ALONE.match(c):
        return after
    same = KATAKANA.match if KATAKANA.match(c) else c.__eq__
    while after < len(line) and same(line[after]) not in (None, False):
        after = skip_marks(line, after + 1)
    return after


def skip_marks(line: str, at: int) -> int:
    while at < len(line) and line[at] in MARKS:
        at += 1
    return at


def base(line: str, at: int) -> str:
    """The last character before a place that is not a mark."""
    return line[:at].rstrip(MARKS)[-1:]


def is_ending(line: str, at: int) -> bool:
    """Whether an apostrophe after a word begins an ending such as 's."""
    ending = ENDING.match(line, at + 1)
    if not ending or not is_word(base(line, at)):
        return False
    after = line[ending.end() : ending.end() + 1]
    return not (after and is_word(after))


def word_end(line: str, at: int, begin: int) -> int:
    """Where the word ends whose first letter is at this place."""
    while at < len(line):
        c, following, last = line[at], line[at + 1 : at + 2], base(line, at)
        inside = bool(following) and is_word(following)
        if is_word(c):
            at += 1
        elif inside and (c in "-&@·." or (c in ",:'’" and last.isnumeric() and following.isnumeric())):
            at += 2
        else:
            elided = c in "'’" and inside and not is_ending(line, at)
            kept = c == "." and keeps_stop(line, begin, at, last, following)
            return skip_marks(line, at + 1) if elided or kept else at
        at = skip_marks(line, at)
    return at


def keeps_stop(line: str, begin: int, at: int, last: str, following: str) -> bool:
    rest = line[at + 1 :].lstrip() if following.isspace() else ""
    if (
        rest
        and rest[0].islower()
        and re.search(
            r"[^\W\d_a-zé]|_", re.sub(f"{ALONE.pattern}|{KATAKANA.pattern}|[{MARKS}{LEADING}]", "", line[:at])
        )
    ):
        return True
    part = line[begin:at].rsplit(".", 1)
    letters = sum(1 for c in part[-1] if is_word(c))
    single = letters == 1 and not last.isnumeric()
    return single and (len(part) == 2 or (not last.islower() and rest != ""))
