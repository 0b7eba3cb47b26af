"""The links of GIZA's `A3.final` files, three lines for each pair; they are only read.

In a file of direction source → target, the *second* line of a block is the target sentence; the *third* has
the source words, each followed by the positions of its target words, as in `NULL ({ 2 }) house ({ 1 3 })`.
GIZA splits at blanks only. The alignments that are read have these words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from dualign._core.errors import DataError
from dualign.text.formats import NUMBER, LinkFormat, quoted
from dualign.text.links import Alignment, Link, Links, in_blocks

_COMMENT = re.compile(
    rf"# Sentence pair \(({NUMBER})\) source length ({NUMBER}) target length ({NUMBER})(?:\s.*)?"
)


def _read(path: str, lines: Iterator[str], pairs: int | None, size: int) -> Iterator[Links]:
    return in_blocks(_alignments(path, lines), size)


def _alignments(path: str, lines: Iterator[str]) -> Iterator[Alignment]:
    numbered = enumerate(lines, 1)
    last = None
    for number, comment in numbered:
        if not comment.strip():
            continue
        match = _COMMENT.fullmatch(comment)
        if match is None:
            raise DataError(
                f"{path}:{number}: {quoted(comment)} is not a GIZA comment line; "
                "expected `# Sentence pair (1) source length 3 target length 4 alignment score : 0.1`"
            )
        pair, source_length, target_length = map(int, match.groups())
        if last is not None and pair != last + 1:
            raise DataError(
                f"{path}:{number}: sentence pair {pair} follows {last}; "
                "merge the parts that MGIZA's threads wrote, in order, first"
            )
        last = pair
        # The defaults are for a block that is cut off by the end of the file.
        _, target = next(numbered, (0, None))
        at, words = next(numbered, (0, None))
        if target is None or words is None:
            raise DataError(
                f"{path}:{number}: the file ends inside this block of three lines; write it again"
            )
        if (length := len(_blank_separated(target))) != target_length:
            raise DataError(
                f"{path}:{at - 1}: {length} target words, but the comment above says {target_length}"
            )
        try:
            yield _parse(words, source_length, _blank_separated(target))
        except DataError as error:
            raise DataError(f"{path}:{at}: {error}") from None


def _parse(line: str, source_length: int, target: list[str]) -> Alignment:
    """Read `NULL ({ 2 }) word ({ 1 3 }) …`. A word may itself be `({` or `})`; only its place tells."""
    tokens = iter(_blank_separated(line))
    target_length, words = len(target), []
    links: list[Link] = []
    source = -1  # the null word's
    for word in tokens:
        words.append(word)
        if source == -1 and word != "NULL":
            raise DataError(f"{quoted(word)} where a GIZA alignment begins with `NULL ({{`")
        if next(tokens, None) != "({":
            raise DataError(f"no `({{` after the word {quoted(word)}; expected `word ({{ 1 3 }})`")
        for token in tokens:
            if token == "})":
                break
            if not (
                token.isascii() and token.isdigit() and len(token) < 10 and 1 <= int(token) <= target_length
            ):
                raise DataError(
                    f"{quoted(token)} after {quoted(word)} is not a target position, 1 to {target_length}"
                )
            if source >= 0:
                links.append((source, int(token) - 1))
        else:
            raise DataError(f"no `}})` ends the positions of {quoted(word)}")
        source += 1
    if source != source_length:
        raise DataError(f"{max(source, 0)} source words, but the comment above says {source_length}")
    return replace(Alignment.of(links), words=(words[1:], target))


def _blank_separated(line: str) -> list[str]:
    # Not `tokenize`: a no-break space inside a word is part of that word to GIZA.
    return [token for token in line.split(" ") if token]


GIZA = LinkFormat(
    "giza",
    "three lines of an `A3.final` file",
    1,
    "none",
    _read,
    named=re.compile(r"\.A3\.final"),
    sniff=re.compile(r"\A# Sentence pair \("),
)
