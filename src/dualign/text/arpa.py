"""N-gram models in ARPA form.

    \\data\\
    ngram 1=3
    ngram 2=2

    \\1-grams:
    -1.2<TAB>dog<TAB>-0.3
    …
    \\end\\

Logarithms have base 10; a missing back-off weight is 0. Blanks or tabs separate fields. Lines before
`\\data\\` are ignored.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, refusing
from dualign._core.files.streams import FilePath, open_output
from dualign.text.checks import number_of
from dualign.text.utf8 import read_lines

_SECTION = re.compile(r"\\(?:[0-9]*-grams:|[0-9]*end\\)")


@dataclass(frozen=True, slots=True)
class Grams:
    """All n-grams of one length: `words` int32 (N, n), word numbers; `logprob` and `backoff` float64,
    log10."""

    words: Array
    logprob: Array
    backoff: Array


@dataclass(frozen=True, slots=True)
class Arpa:
    """`words` are numbered as in the list; `grams[n - 1]` holds the n-grams."""

    words: list[str]
    grams: list[Grams]


def read_arpa(path: FilePath, errors: str = "strict") -> Arpa:
    """Read a model; errors name file and line. `errors`: as in `read_lines`."""
    path = os.fspath(path)
    lines = _Lines(path, errors)
    counts = _header(lines)
    number: dict[str, int] = {}
    grams = []
    for n, count in enumerate(counts, 1):
        if lines.current != f"\\{n}-grams:":
            raise lines.expected(f"\\{n}-grams:")
        grams.append(_section(lines, n, count, number))
    if lines.current != "\\end\\":
        raise lines.expected("\\end\\")
    return Arpa(list(number), grams)


class _Lines:
    """Lines with their numbers; `current` is stripped, `advance` skips empty ones."""

    def __init__(self, path: str, errors: str) -> None:
        self.path, self.number, self.current = path, 0, ""
        self._rest = read_lines(path, errors)

    def advance(self) -> str:
        for line in self._rest:
            self.number += 1
            if line := line.strip(" \t"):
                self.current = line
                return line
        what = f"the model ends early, after line {self.number}; fetch or write it again"
        raise DataError(what, place=self.path)

    def error(self, what: str) -> DataError:
        return DataError(f"malformed ARPA file: {what}", place=f"{self.path}:{self.number}")

    def expected(self, what: str) -> DataError:
        return self.error(f"`{what}` was expected, found {self.current[:40]!r}")


def _header(lines: _Lines) -> list[int]:
    with refusing(DataError, what="no line `\\data\\`; is this an ARPA language model?", place=lines.path):
        while lines.advance() != "\\data\\":
            pass
    counts: list[int] = []
    while (line := lines.advance()).startswith("ngram"):
        order, equals, count = line[5:].partition("=")
        if not equals or order.strip() != str(len(counts) + 1) or not count.strip().isdecimal():
            raise lines.expected(f"ngram {len(counts) + 1}=COUNT")
        counts.append(int(count))
    if not counts:
        raise lines.error("no line `ngram 1=COUNT`")
    return counts


def _section(lines: _Lines, n: int, count: int, number: dict[str, int]) -> Grams:
    words: list[int] = []
    logprob: list[float] = []
    backoff: list[float] = []
    while not _SECTION.fullmatch(line := lines.advance()):
        fields = [field for field in line.replace("\t", " ").split(" ") if field]
        if not n + 1 <= len(fields) <= n + 2:
            raise lines.error(
                f"{number_of(len(fields), 'fields')}; a {n}-gram has `log10 {n} words [backoff]`"
            )
        try:
            value = float(fields[0])
            weight = float(fields[n + 1]) if len(fields) > n + 1 else 0.0
        except ValueError:
            raise lines.error(f"a field is not a number in {line[:60]!r}") from None
        # Not `>`: NaN must be caught as well.
        if not value <= 0 or not abs(weight) < 1e30:
            raise lines.error(f"log-probability {value:g} or back-off weight {weight:g} is out of range")
        if n == 1 and fields[1] in number:
            raise lines.error(f"the word {fields[1]!r} is listed twice")
        if n == 1:
            number[fields[1]] = len(number)
        try:
            words.extend([number[word] for word in fields[1 : n + 1]])
        except KeyError as error:
            raise lines.error(f"the word {error.args[0]!r} is not among the 1-grams") from None
        logprob.append(max(value, -1e30))
        backoff.append(weight)
    if len(logprob) != count:
        raise lines.error(f"{len(logprob)} {n}-grams, but the header says {count}")
    return Grams(np.array(words, np.int32).reshape(-1, n), np.array(logprob), np.array(backoff))


def write_arpa(model: Arpa, path: FilePath) -> None:
    """Write a model to a file, whole or not at all; n-grams in the order given, seven digits."""
    words = np.array(model.words, dtype=object)
    last = len(model.grams)
    with open_output(path) as out:
        out.write("\\data\\\n")
        out.writelines(f"ngram {n}={len(grams.logprob)}\n" for n, grams in enumerate(model.grams, 1))
        for n, grams in enumerate(model.grams, 1):
            out.write(f"\n\\{n}-grams:\n")
            for begin in range(0, len(grams.logprob), 1 << 16):
                part = slice(begin, begin + (1 << 16))
                texts = map(" ".join, words[grams.words[part]].tolist())
                rows = zip(grams.logprob[part].tolist(), texts, grams.backoff[part].tolist(), strict=True)
                if n == last:
                    out.writelines(f"{p:.7g}\t{text}\n" for p, text, _ in rows)
                else:
                    out.writelines(f"{p:.7g}\t{text}\t{b:.7g}\n" for p, text, b in rows)
        out.write("\n\\end\\\n")
