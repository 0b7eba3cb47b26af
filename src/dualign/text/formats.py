"""Files of links: Pharaoh, TALP, NAACL and GIZA.

| format | one sentence pair | counts from | possible links |
|---|---|---|---|
| `pharaoh` | a line `0-0 1-2`; a link may carry its probability, `0-0:0.87` | 0 | `1?2` or `1p2` |
| `talp` | a line `1-1 2-3`, otherwise like Pharaoh | 1 | `2p3` or `2?3` |
| `naacl` | lines `sentence source target [S or P] [confidence]` | 1 | `P` |
| `giza` | three lines of an `A3.final` file | 1 | none |

Source comes first in the first three. In GIZA's file of direction source → target, the *second* line of a
block is the target sentence; the *third* has the source words, each followed by the positions of its target
words, as in `NULL ({ 2 }) house ({ 1 3 })`. Read as it is, then, GIZA's source is ours; GIZA splits at
blanks alone.

**Which format?** `read_links` without a format goes by the name, without its compression suffix: `.talp` is
TALP, `.naacl` NAACL, `.A3.final…` GIZA. Any other name, `.wa` included, says nothing sure, and the first
line that is not empty decides: `# Sentence pair (…` is GIZA, three to five fields that start with three
numbers are NAACL, a line with a link in it is Pharaoh; all else is an error. TALP looks just like Pharaoh
and is therefore never guessed from content. A file of nothing but empty lines is NAACL if it is called
`.wa`, otherwise Pharaoh.

**Probabilities** are kept for sure links, where the file has them. In Pharaoh and TALP all sure links of a
line have one, or none; in NAACL one that is missing is 1 (so the shared task of 2003), and confidences of
possible links are dropped. Only NAACL files are written with them: the other formats' readers elsewhere
expect bare links.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby, repeat
from operator import itemgetter, lt
from typing import TextIO

from dualign.core.errors import DataError, UsageError
from dualign.text.alignment import Alignment, Link
from dualign.text.lines import read_lines
from dualign.text.streams import open_output

# Nine digits: no text is longer, and `int` needs no protection from a line full of digits.
NUMBER = r"[0-9]{1,9}"
REAL = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"
_BARE_LINKS = re.compile(rf"(?:{NUMBER}+-{NUMBER}+(?: |\Z))*+")
_SCORED_LINKS = re.compile(rf"(?:{NUMBER}+-{NUMBER}+:[01]\.?[0-9]*(?: |\Z))++")
_LINK = re.compile(rf"({NUMBER})([-?p])({NUMBER})(?::({REAL}))?")
_LIKE_A_LINK = re.compile(r"[0-9]+[-?p][0-9]+")
_NAACL = re.compile(rf"\s*0*({NUMBER})\s+({NUMBER})\s+({NUMBER})(?:\s+([SP]))?(?:\s+({REAL}))?\s*")
_NAACL_SENTENCE = re.compile(rf"\s*0*({NUMBER})\s")
_GIZA = re.compile(
    rf"# Sentence pair \(({NUMBER})\) source length ({NUMBER}) target length ({NUMBER})(?:\s.*)?"
)


def read_links(
    path: str, format: str | None = None, errors: str = "strict", *, count: int | None = None
) -> Iterator[Alignment]:
    """Yield the alignment of each sentence pair of `path`.

    Without `format` it is guessed (see the module's text). `count` is the number of sentence pairs, where
    the caller knows it: NAACL files do not mention sentences without links, so only `count` brings back
    those at the end; in any format, a file that has not as many is an error. `errors` as in `read_lines`.
    Memory is bounded, except for a NAACL file whose sentence numbers are not in order, or that comes
    through a pipe: such a file is held and sorted.
    """
    if format is not None and format not in _READERS:
        raise UsageError(f"unknown link format {_quoted(format)}; known are {', '.join(FORMATS)}")
    if count is not None and count < 0:
        raise UsageError(f"count={count} is negative")
    return _read(path, format, read_lines(path, errors), count)


def pharaoh(alignment: Alignment) -> str:
    """One line of Pharaoh links, with their probabilities where there are some."""
    probabilities = alignment.probabilities
    if probabilities is None:
        return str(alignment)
    marked = [(*link, "-", f":{p:.6f}") for link, p in zip(alignment.links, probabilities, strict=True)]
    marked += [(*link, "?", "") for link in alignment.possible]
    return " ".join(f"{i}{mark}{j}{p}" for i, j, mark, p in sorted(marked))


def write_links(alignments: Iterable[Alignment], path: str, format: str = "pharaoh") -> None:
    """Write alignments to `path`, whole or not at all; GIZA files cannot be written."""
    writer = _writer(format)
    with open_output(path) as stream:
        writer(stream, alignments)


def parse_pharaoh(line: str) -> Alignment:
    """Read one line of Pharaoh links."""
    return _parse_line(line, 0)


def _read(path: str, format: str | None, lines: Iterator[str], count: int | None) -> Iterator[Alignment]:
    if format is None:
        format, lines = _guess(path, lines)
    found = 0
    for found, alignment in enumerate(_READERS[format](path, lines, count), 1):
        if count is None or found <= count:
            yield alignment
    if count is not None and found != count:
        raise DataError(f"{path} has {found} alignments for {count} sentence pairs; each pair needs one")


def _guess(path: str, lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """The format by name or content, and all the lines again."""
    name = re.sub(r"\.(?:gz|xz|zst)\Z", "", os.path.basename(path))
    if name.endswith((".talp", ".naacl")):
        return name.rpartition(".")[2], lines
    if ".A3.final" in name:
        return "giza", lines
    seen = []
    for number, line in enumerate(lines, 1):
        seen.append(line)
        if not line.strip():
            continue
        if line.startswith("# Sentence pair ("):
            format = "giza"
        elif _NAACL.fullmatch(line):
            format = "naacl"
        elif any(map(_LIKE_A_LINK.match, line.split())):
            # Some of it may be none; the reader says what.
            format = "pharaoh"
        else:
            raise DataError(
                f"{path}:{number}: cannot tell the link format from {_quoted(line)}; "
                f"name it, one of {', '.join(FORMATS)}"
            )
        return format, chain(seen, lines)
    return "naacl" if name.endswith(".wa") else "pharaoh", iter(seen)


def _read_pharaoh(path: str, lines: Iterator[str], count: int | None) -> Iterator[Alignment]:
    return _read_line_by_line(path, lines, 0)


def _read_talp(path: str, lines: Iterator[str], count: int | None) -> Iterator[Alignment]:
    return _read_line_by_line(path, lines, 1)


def _read_line_by_line(path: str, lines: Iterator[str], first: int) -> Iterator[Alignment]:
    for number, line in enumerate(lines, 1):
        try:
            yield _parse_line(line, first)
        except DataError as error:
            raise DataError(f"{path}:{number}: {error}") from None


def _parse_line(line: str, first: int) -> Alignment:
    """Read links whose positions count from `first`."""
    if first == 0 and _BARE_LINKS.fullmatch(line):
        numbers = list(map(int, line.replace("-", " ").split()))
        return Alignment.of(zip(numbers[::2], numbers[1::2], strict=True))
    if first == 0 and _SCORED_LINKS.fullmatch(line):
        parts = line.replace("-", " ").replace(":", " ").split()
        links = tuple(zip(map(int, parts[::3]), map(int, parts[1::3]), strict=True))
        scores = tuple(map(float, parts[2::3]))
        # As our own files are; anything else is sorted, and refused if need be, below.
        if max(scores) <= 1 and all(map(lt, links, links[1:])):
            return Alignment(links, (), scores)
    sure: dict[Link, float | None] = {}
    possible: list[Link] = []
    for token in line.split():
        match = _LINK.fullmatch(token)
        if match is None:
            raise DataError(
                f"{_quoted(token)} is not a link; "
                "expected `i-j`, `i?j`, `ipj` or `i-j:probability` with numbers i and j of up to nine digits"
            )
        source, mark, target, probability = match.groups()
        link = int(source) - first, int(target) - first
        if min(link) < 0:
            raise DataError(f"{_quoted(token)} has position 0, but TALP counts from 1; is the file Pharaoh?")
        if mark == "-":
            sure[link] = None if probability is None else parse_probability(probability, token)
        elif probability is None:
            possible.append(link)
        else:
            raise DataError(f"{_quoted(token)}: only a sure link `i-j` can carry a probability")
    return _with_probabilities(sure, possible)


def _with_probabilities(sure: dict[Link, float | None], possible: Iterable[Link]) -> Alignment:
    alignment = Alignment.of(sure, possible)
    probabilities = tuple(p for link in alignment.links if (p := sure[link]) is not None)
    if not probabilities:
        return alignment
    if len(probabilities) < len(sure):
        bare = next(link for link in alignment.links if sure[link] is None)
        raise DataError(
            f"some links have a probability but {len(sure) - len(probabilities)} have not, "
            f"the first {bare[0]}-{bare[1]} (counted from 0); give one to all or to none"
        )
    return Alignment(alignment.links, alignment.possible, probabilities)


def parse_probability(text: str, token: str) -> float:
    """The number that matched `REAL` in a link, `token`."""
    value = float(text)
    if value > 1:
        raise DataError(f"{_quoted(token)}: a probability is at most 1")
    return value


_Entry = tuple[int, Link | None, str, float | None]
"""One NAACL line: sentence, link (None for a link to null), `S` or `P`, confidence."""


def _read_naacl(path: str, lines: Iterator[str], count: int | None) -> Iterator[Alignment]:
    entries: Iterable[_Entry] = _naacl_entries(path, lines, count)
    if not _in_order(path):
        entries = sorted(entries, key=itemgetter(0))
    done = 0
    for sentence, group in groupby(entries, key=itemgetter(0)):
        yield from repeat(Alignment(), sentence - done - 1)
        yield _naacl_alignment(group)
        done = sentence
    if count is not None:
        yield from repeat(Alignment(), count - done)


def _naacl_entries(path: str, lines: Iterator[str], count: int | None) -> Iterator[_Entry]:
    for number, line in enumerate(lines, 1):
        match = _NAACL.fullmatch(line)
        if match is None:
            if not line.strip():
                continue
            raise DataError(
                f"{path}:{number}: {_quoted(line)} is not a NAACL link; "
                "expected `sentence source target [S or P] [confidence]`"
            )
        sentence, source, target = int(match[1]), int(match[2]), int(match[3])
        if sentence < 1:
            raise DataError(f"{path}:{number}: sentence number 0; NAACL files count sentences from 1")
        if count is not None and sentence > count:
            raise DataError(
                f"{path}:{number}: sentence number {sentence}, but there are {count} sentence pairs"
            )
        try:
            confidence = None if match[5] is None else parse_probability(match[5], line)
        except DataError as error:
            raise DataError(f"{path}:{number}: {error}") from None
        link = (source - 1, target - 1) if source and target else None
        yield sentence, link, match[4] or "S", confidence


def _naacl_alignment(entries: Iterable[_Entry]) -> Alignment:
    sure: dict[Link, float | None] = {}
    possible: list[Link] = []
    for _, link, mark, confidence in entries:
        if link is None:
            continue
        if mark == "S":
            sure[link] = confidence
        else:
            possible.append(link)
    if any(confidence is not None for confidence in sure.values()):
        sure = {link: 1.0 if confidence is None else confidence for link, confidence in sure.items()}
    return _with_probabilities(sure, possible)


def _in_order(path: str) -> bool:
    """Whether a NAACL file's sentence numbers never fall; False for a pipe, which can be read only once."""
    if path == "-" or not os.path.isfile(path):
        return False
    last = 0
    # What is wrong with the file, if anything, is said by the pass that reads its links.
    for line in read_lines(path, errors="replace"):
        if match := _NAACL_SENTENCE.match(line):
            sentence = int(match[1])
            if sentence < last:
                return False
            last = sentence
    return True


def _read_giza(path: str, lines: Iterator[str], count: int | None) -> Iterator[Alignment]:
    numbered = enumerate(lines, 1)
    last = None
    for number, comment in numbered:
        if not comment.strip():
            continue
        match = _GIZA.fullmatch(comment)
        if match is None:
            raise DataError(
                f"{path}:{number}: {_quoted(comment)} is no GIZA comment line; "
                "expected `# Sentence pair (1) source length 3 target length 4 alignment score : 0.1`"
            )
        pair, source_length, target_length = map(int, match.groups())
        if last is not None and pair != last + 1:
            raise DataError(
                f"{path}:{number}: sentence pair {pair} follows {last}; "
                "merge the parts that MGIZA's threads wrote, in order, first"
            )
        last = pair
        # The default stands in for a block that the end of the file cuts off.
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
            yield _parse_giza(words, source_length, target_length)
        except DataError as error:
            raise DataError(f"{path}:{at}: {error}") from None


def _parse_giza(line: str, source_length: int, target_length: int) -> Alignment:
    """Read `NULL ({ 2 }) word ({ 1 3 }) …`. A word may itself be `({` or `})`; only its place tells."""
    tokens = iter(_blank_separated(line))
    links: list[Link] = []
    source = -1  # the null word's
    for word in tokens:
        if source == -1 and word != "NULL":
            raise DataError(f"{_quoted(word)} where a GIZA alignment begins with `NULL ({{`")
        if next(tokens, None) != "({":
            raise DataError(f"no `({{` after the word {_quoted(word)}; expected `word ({{ 1 3 }})`")
        for token in tokens:
            if token == "})":
                break
            if not (
                token.isascii() and token.isdigit() and len(token) < 10 and 1 <= int(token) <= target_length
            ):
                raise DataError(
                    f"{_quoted(token)} after {_quoted(word)} is no target position, 1 to {target_length}"
                )
            if source >= 0:
                links.append((source, int(token) - 1))
        else:
            raise DataError(f"no `}})` ends the positions of {_quoted(word)}")
        source += 1
    if source != source_length:
        raise DataError(f"{max(source, 0)} source words, but the comment above says {source_length}")
    return Alignment.of(links)


def _blank_separated(line: str) -> list[str]:
    # Not `tokenize`: a no-break space inside a word is part of that word to GIZA.
    return [token for token in line.split(" ") if token]


def _writer(format: str) -> Callable[[TextIO, Iterable[Alignment]], None]:
    if format == "giza":
        raise UsageError(
            "GIZA files cannot be written: they repeat the sentences, which a file of links does not have"
        )
    if format not in _WRITERS:
        raise UsageError(
            f"unknown link format {_quoted(format)}; can be written: {', '.join(sorted(_WRITERS))}"
        )
    return _WRITERS[format]


def _write_pharaoh(stream: TextIO, alignments: Iterable[Alignment]) -> None:
    for alignment in alignments:
        stream.write(f"{alignment}\n")


def _write_talp(stream: TextIO, alignments: Iterable[Alignment]) -> None:
    for alignment in alignments:
        marked = [(*link, "-") for link in alignment.links] + [(*link, "p") for link in alignment.possible]
        stream.write(" ".join(f"{i + 1}{mark}{j + 1}" for i, j, mark in sorted(marked)) + "\n")


def _write_naacl(stream: TextIO, alignments: Iterable[Alignment]) -> None:
    for sentence, alignment in enumerate(alignments, 1):
        confidences = [""] * len(alignment)
        if alignment.probabilities is not None:
            confidences = [f" {probability!r}" for probability in map(float, alignment.probabilities)]
        marked = [(*link, f"S{text}") for link, text in zip(alignment.links, confidences, strict=True)]
        marked += [(*link, "P") for link in alignment.possible]
        for i, j, rest in sorted(marked):
            stream.write(f"{sentence} {i + 1} {j + 1} {rest}\n")


def _quoted(text: str) -> str:
    """A piece of input as messages show it: a line of binary rubbish should not fill the screen."""
    return f"`{text if len(text) <= 40 else text[:40] + '…'}`"


_READERS: dict[str, Callable[[str, Iterator[str], int | None], Iterator[Alignment]]] = {
    "giza": _read_giza,
    "naacl": _read_naacl,
    "pharaoh": _read_pharaoh,
    "talp": _read_talp,
}
_WRITERS: dict[str, Callable[[TextIO, Iterable[Alignment]], None]] = {
    "naacl": _write_naacl,
    "pharaoh": _write_pharaoh,
    "talp": _write_talp,
}
FORMATS = tuple(_READERS)
"""The names of the link formats that can be read."""
