"""Files of links: Pharaoh, TALP, NAACL and GIZA.

| format | one sentence pair | counts from | possible links |
|---|---|---|---|
| `pharaoh` | a line `0-0 1-2`; a link may carry its probability, `0-0:0.87` | 0 | `1?2` or `1p2` |
| `talp` | a line `1-1 2-3`, otherwise like Pharaoh | 1 | `2p3` or `2?3` |
| `naacl` | lines `sentence source target [S or P] [confidence]` | 1 | `P` |
| `giza` | three lines of an `A3.final` file | 1 | none |

A line of the first two may begin with the pair's id and a tab. Where gold links are read, a number there may
be that of a line: see `dualign.text.gold`.

The first three name the source position first. In a GIZA file of direction source → target, the *second*
line of a block is the target sentence; the *third* has the source words, each followed by the positions of
its target words, as in `NULL ({ 2 }) house ({ 1 3 })`. GIZA splits at blanks only. The alignments that are
read have these words.

**Guessing.** Without a format, `read_links` goes by the file name, ignoring a compression suffix: `.talp` is
TALP, `.naacl` NAACL, `.A3.final…` GIZA. For any other name, `.wa` included, the first line that is not empty
decides: `# Sentence pair (…` is GIZA, three to five fields that start with three numbers are NAACL, a line
that contains a link is Pharaoh; anything else is an error. TALP looks like Pharaoh and is therefore never
guessed from content. A file of empty lines only is NAACL if it is called `.wa`, otherwise Pharaoh.

**Probabilities** of sure links are kept. In Pharaoh and TALP, all sure links of a line have one, or none has;
in NAACL a missing one is 1 (as in the shared task of 2003), and confidences of possible links are dropped.
Only NAACL files are written with probabilities: readers of the other formats elsewhere expect bare links.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, count, groupby, repeat
from operator import itemgetter, lt
from typing import Any, TypeVar

from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import FilePath, open_output, plain_name
from dualign.text.checks import plausible_number, same_length
from dualign.text.links import Alignment, Link
from dualign.text.utf8 import parsed, read_lines

L = TypeVar("L", bound=tuple[Any, ...])

# At most nine digits, so that a line full of digits is not converted.
NUMBER = r"[0-9]{1,9}"
_LARGEST = 10**9 - 1
REAL = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"
_BARE_LINKS = re.compile(rf"(?:{NUMBER}+-{NUMBER}+(?: |\Z))*+")
_SCORED_LINKS = re.compile(rf"(?:{NUMBER}+-{NUMBER}+:[01]\.?[0-9]*(?: |\Z))++")
_LINK = re.compile(rf"({NUMBER})([-?p])({NUMBER})(?::({REAL}))?")
_EXPECTED = "`i-j`, `i?j`, `ipj` or `i-j:probability` with numbers i and j of up to nine digits"
_LIKE_A_LINK = re.compile(r"[0-9]+[-?p][0-9]+")
_NAACL = re.compile(rf"\s*0*({NUMBER})\s+({NUMBER})\s+({NUMBER})(?:\s+([SP]))?(?:\s+({REAL}))?\s*")
_NAACL_SENTENCE = re.compile(rf"\s*0*({NUMBER})\s")
_CHOSEN_LINE = re.compile(rf"{NUMBER}\t\s*(?:[0-9]+[-?p][0-9]+(?:\s.*)?)?")
_GIZA = re.compile(
    rf"# Sentence pair \(({NUMBER})\) source length ({NUMBER}) target length ({NUMBER})(?:\s.*)?"
)


def read_links(
    path: FilePath, format: str | None = None, errors: str = "strict", *, count: int | None = None
) -> Iterator[Alignment]:
    """Yield the alignment of each sentence pair of `path`.

    Without `format` it is guessed (see the module's text). `count` is the number of sentence pairs, if the
    caller knows it; a file with another number is an error. NAACL files do not mention sentences without
    links, so without `count` those at the end are missed. `errors` as in `read_lines`. Memory is bounded,
    except for a NAACL file that is not sorted by sentence or comes through a pipe: it is held and sorted.
    """
    path = os.fspath(path)
    if format is not None and format not in _READERS:
        raise UsageError(f"unknown link format {quoted(format)}; known are {', '.join(FORMATS)}")
    if count is not None and count < 0:
        raise UsageError("{count=} is negative", count=count)
    return links_from(path, format, read_lines(path, errors), count)


def pharaoh(alignment: Alignment) -> str:
    """One line of Pharaoh links, with probabilities if they are known."""
    return " ".join(
        f"{i}{'-' if sure else '?'}{j}{'' if p is None else f':{p:.6f}'}"
        for i, j, sure, p in alignment.marked()
    )


def write_links(alignments: Iterable[Alignment], path: FilePath, format: str = "pharaoh") -> None:
    """Write alignments to `path`, whole or not at all; GIZA files cannot be written."""
    if format == "giza":
        raise UsageError(
            "GIZA files cannot be written: they repeat the sentences, which a file of links does not have"
        )
    if format not in _WRITERS:
        raise UsageError(f"unknown link format {quoted(format)}; can be written: {', '.join(_WRITERS)}")
    with open_output(path) as stream:
        stream.writelines(map(_WRITERS[format], _small_enough(alignments, format), count(1)))


def _small_enough(alignments: Iterable[Alignment], format: str) -> Iterator[Alignment]:
    """The same alignments; a position that the reader would refuse is an error."""
    largest = _LARGEST - (format != "pharaoh")  # the other formats count from 1
    for number, alignment in enumerate(alignments, 1):
        for link in alignment.links + alignment.possible:
            if link[0] > largest or link[1] > largest:
                raise DataError(
                    f"pair {number}: link {link[0]}-{link[1]} cannot be written as {format}, whose numbers "
                    f"have up to nine digits; correct the link"
                )
        yield alignment


def like_links(text: str) -> bool:
    """Whether a text could be links and nothing else."""
    return all(map(_LIKE_A_LINK.match, text.split()))


def parse_pharaoh(line: str) -> Alignment:
    """Read one line of Pharaoh links."""
    return _parse_line(0, line)


def chosen_line(line: str) -> bool:
    """Whether it has the number of a line, a tab, and links: see `dualign.text.gold`."""
    return _CHOSEN_LINE.fullmatch(line) is not None


def links_from(path: str, format: str | None, lines: Iterator[str], pairs: int | None) -> Iterator[Alignment]:
    """`read_links`, of lines that are read already."""
    if format is None:
        format, lines = _guess(path, lines)
    found, remedy = 0, "each pair needs one alignment"
    for found, alignment in enumerate(_READERS[format](path, lines, pairs), 1):
        if found == 1 and alignment.id is not None and alignment.id.isdecimal():
            remedy += "; if these are corrected links of chosen lines, they serve as gold"
        if pairs is None or found <= pairs:
            yield alignment
    if pairs is not None:
        same_length((path, found), ("the text", pairs), unit="sentence pairs", remedy=remedy)


def _guess(path: str, lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """The format by name or content, and all the lines again."""
    name = plain_name(path)
    if name.endswith((".talp", ".naacl")):
        return name.rpartition(".")[2], lines
    if ".A3.final" in name:
        return "giza", lines
    seen = []
    for number, line in enumerate(lines, 1):
        seen.append(line)
        if not line.strip() or line.endswith("\t"):  # nothing, or an id
            continue
        if line.startswith("# Sentence pair ("):
            format = "giza"
        elif _NAACL.fullmatch(line):
            format = "naacl"
        elif any(map(_LIKE_A_LINK.match, line.split())):
            format = "pharaoh"  # if a part of the line is not a link, the reader will say so
        else:
            raise DataError(
                f"{path}:{number}: cannot tell the link format from {quoted(line)}; "
                f"name it, one of {', '.join(FORMATS)}"
            )
        return format, chain(seen, lines)
    return "naacl" if name.endswith(".wa") else "pharaoh", iter(seen)


def _read_line_by_line(first: int, path: str, lines: Iterator[str], pairs: int | None) -> Iterator[Alignment]:
    return parsed(path, lines, partial(_parse_line, first))


def _parse_line(first: int, line: str) -> Alignment:
    """Read links whose positions count from `first`; before a tab, there may be the pair's id."""
    id, tab, rest = line.partition("\t")
    if tab and not like_links(id):
        return replace(_parse_links(first, rest), id=id)
    return _parse_links(first, line)


def _parse_links(first: int, line: str) -> Alignment:
    if first == 0 and _BARE_LINKS.fullmatch(line):
        numbers = list(map(int, line.replace("-", " ").split()))
        return Alignment.of(zip(numbers[::2], numbers[1::2], strict=True))
    if first == 0 and _SCORED_LINKS.fullmatch(line):
        parts = line.replace("-", " ").replace(":", " ").split()
        links = tuple(zip(map(int, parts[::3]), map(int, parts[1::3]), strict=True))
        scores = tuple(map(float, parts[2::3]))
        # Our own files are like this; the way below sorts anything else, or refuses it.
        if max(scores) <= 1 and all(map(lt, links, links[1:])):
            return Alignment(links, (), scores)

    def link_of(source: str, target: str) -> Link:
        link = int(source) - first, int(target) - first
        if min(link) < 0:
            raise DataError("position 0, but TALP counts from 1; is the file Pharaoh?")
        return link

    return Alignment(*parse_marked(line, _LINK, link_of, _EXPECTED))


def parse_marked(
    line: str, pattern: re.Pattern[str], link_of: Callable[[str, str], L], expected: str
) -> tuple[tuple[L, ...], tuple[L, ...], tuple[float, ...] | None]:
    """Sure links, possible links and probabilities of a line of links separated by white space.

    `pattern` has the groups source, mark, target and probability; `link_of` makes a link of the two sides.
    """
    sure: dict[L, float | None] = {}
    possible: list[L] = []
    written: dict[L, str] = {}
    for token in line.split():
        match = pattern.fullmatch(token)
        if match is None:
            raise DataError(f"{quoted(token)} is not a link; expected {expected}")
        source, mark, target, probability = match.groups()
        try:
            link = link_of(source, target)
            if mark == "-":
                sure[link] = None if probability is None else _probability(probability)
                written[link] = token
            elif probability is None:
                possible.append(link)
            else:
                raise DataError("only a sure link can carry a probability")
        except DataError as error:
            raise DataError(f"{quoted(token)}: {error}") from None
    bare = [link for link, probability in sure.items() if probability is None]
    if 0 < len(bare) < len(sure):
        raise DataError(
            f"some links have a probability but {len(bare)} of {len(sure)} sure links have none, "
            f"the first {quoted(written[bare[0]])}; give one to all or to none"
        )
    return _sorted(sure, possible)


def _sorted(
    sure: dict[L, float | None], possible: Iterable[L]
) -> tuple[tuple[L, ...], tuple[L, ...], tuple[float, ...] | None]:
    links = tuple(sorted(sure))
    given = tuple(p for link in links if (p := sure[link]) is not None)
    return links, tuple(sorted(set(possible) - sure.keys())), given or None


def _probability(text: str) -> float:
    if (value := float(text)) > 1:
        raise DataError(f"{value:g} is not a probability, which is at most 1")
    return value


_Entry = tuple[int, Link | None, str, float | None]
"""One NAACL line: sentence, link (None for a link to null), `S` or `P`, confidence."""


def _read_naacl(path: str, lines: Iterator[str], pairs: int | None) -> Iterator[Alignment]:
    entries: Iterable[_Entry] = filter(None, parsed(path, lines, partial(_naacl_entry, pairs)))
    if not _in_order(path):
        entries = sorted(entries, key=itemgetter(0))
    done = 0
    for known, (sentence, group) in enumerate(groupby(entries, key=itemgetter(0)), 1):
        if pairs is None:
            try:
                plausible_number(sentence, known)
            except DataError as error:
                raise DataError(f"{path}: {error}") from None
        yield from repeat(Alignment(), sentence - done - 1)
        yield _naacl_alignment(group)
        done = sentence
    if pairs is not None:
        yield from repeat(Alignment(), pairs - done)


def _naacl_entry(pairs: int | None, line: str) -> _Entry | None:
    match = _NAACL.fullmatch(line)
    if match is None:
        if not line.strip():
            return None
        raise DataError(
            f"{quoted(line)} is not a NAACL link; expected `sentence source target [S or P] [confidence]`"
        )
    sentence, source, target = int(match[1]), int(match[2]), int(match[3])
    if sentence < 1:
        raise DataError("sentence number 0; NAACL files count sentences from 1")
    if pairs is not None and sentence > pairs:
        raise DataError(f"sentence number {sentence}, but there are {pairs} sentence pairs")
    confidence = None if match[5] is None else _probability(match[5])
    link = (source - 1, target - 1) if source and target else None
    return sentence, link, match[4] or "S", confidence


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
    return Alignment(*_sorted(sure, possible))


def _in_order(path: str) -> bool:
    """Whether a NAACL file's sentence numbers never fall; False for a pipe, which can be read only once."""
    if path == "-" or not os.path.isfile(path):
        return False
    last = 0
    # The pass that reads the links will say what is wrong with the file, if anything.
    for line in read_lines(path, errors="replace"):
        if match := _NAACL_SENTENCE.match(line):
            sentence = int(match[1])
            if sentence < last:
                return False
            last = sentence
    return True


def _read_giza(path: str, lines: Iterator[str], pairs: int | None) -> Iterator[Alignment]:
    numbered = enumerate(lines, 1)
    last = None
    for number, comment in numbered:
        if not comment.strip():
            continue
        match = _GIZA.fullmatch(comment)
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
            yield _parse_giza(words, source_length, _blank_separated(target))
        except DataError as error:
            raise DataError(f"{path}:{at}: {error}") from None


def _parse_giza(line: str, source_length: int, target: list[str]) -> Alignment:
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


def _talp(alignment: Alignment, number: int) -> str:
    return " ".join(f"{i + 1}{'-' if sure else 'p'}{j + 1}" for i, j, sure, _ in alignment.marked()) + "\n"


def _naacl(alignment: Alignment, number: int) -> str:
    return "".join(
        f"{number} {i + 1} {j + 1} {'S' if sure else 'P'}{'' if p is None else f' {float(p)!r}'}\n"
        for i, j, sure, p in alignment.marked()
    )


def quoted(text: str) -> str:
    """A piece of input for a message, cut if it is long."""
    return f"`{text if len(text) <= 40 else text[:40] + '…'}`"


_READERS: dict[str, Callable[[str, Iterator[str], int | None], Iterator[Alignment]]] = {
    "giza": _read_giza,
    "naacl": _read_naacl,
    "pharaoh": partial(_read_line_by_line, 0),
    "talp": partial(_read_line_by_line, 1),
}
_WRITERS: dict[str, Callable[[Alignment, int], str]] = {
    "naacl": _naacl,
    "pharaoh": lambda alignment, number: f"{alignment}\n",
    "talp": _talp,
}
FORMATS = tuple(_READERS)
"""The names of the link formats that can be read."""
