"""CoNLL-U: sentences as tables of words, read and written as a stream.

A sentence is some comment lines, then a line of ten columns for each of

- a *word* `5`: what trees and tags are about. Words are numbered 1, 2, 3, …;
- a *multiword token* `5-6`, before word 5: how the words 5 and 6 are written together, as in French `du`;
- an *empty node* `5.1`, after word 5: a word that is not there, used by the enhanced graph (DEPS) alone.

A blank line ends the sentence. In memory, positions count from 0: position `p` is the word with ID `p + 1`.

Errors name file and line. Checked are: ten columns, none of them empty; IDs in order; ranges of existing
words that do not overlap; comments before the words. `heads` checks HEAD: the number of a word, no cycle, at
most one root. Lemmas, features and relations are passed on unchecked.

https://universaldependencies.org/format.html
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field

from dualign._core.errors import DataError
from dualign._core.files.streams import FilePath, open_output
from dualign.text.checks import number_of
from dualign.text.utf8 import read_lines, tokenize

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")

_COMMENTS = ("# sent_id =", "# text =", "# newdoc", "# newpar", "# global.columns =")

ROOT, UNKNOWN = -1, -2
"""Heads that are not words: the root's (0 in the file), and one that is not known (`_`)."""

_RANGE = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})")
_EMPTY = re.compile(r"(0|[1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")


@dataclass(slots=True)
class Sentence:
    """One sentence: its comments, and its rows in the order of the file."""

    words: list[list[str]]
    """The ten columns of each word."""
    comments: list[str] = field(default_factory=list)
    """Whole lines, from `#` on."""
    ranges: dict[int, list[str]] = field(default_factory=dict)
    """Multiword tokens by the position of their first word."""
    empty: dict[int, list[list[str]]] = field(default_factory=dict)
    """Empty nodes by the number of words before them."""
    place: str = "sentence"
    """For messages: the file, or whatever the sentence comes from."""
    line: int = 0
    """The number of the line of its first row; 0 if it is not from a file."""

    @classmethod
    def of_tokens(
        cls, tokens: Iterable[str], comments: Iterable[str] = (), place: str = "sentence"
    ) -> Sentence:
        """A sentence that has forms and nothing else."""
        rows = [[str(number), token, *["_"] * 8] for number, token in enumerate(tokens, 1)]
        return cls(rows, list(comments), place=place)

    def __len__(self) -> int:
        return len(self.words)

    def column(self, column: int) -> list[str]:
        """One column of the words."""
        return [row[column] for row in self.words]

    def surface(self) -> list[range]:
        """The positions of the words of each written token: several for a multiword token."""
        tokens, at = [], 0
        while at < len(self.words):
            end = int(self.ranges[at][ID].partition("-")[2]) if at in self.ranges else at + 1
            tokens.append(range(at, end))
            at = end
        return tokens

    def heads(self) -> list[int]:
        """The position of each word's head, `ROOT` or `UNKNOWN`; checked to be a tree, or part of one."""
        positions = {row[ID]: position for position, row in enumerate(self.words)}
        positions |= {"0": ROOT, "_": UNKNOWN}
        heads = []
        for position, row in enumerate(self.words):
            head = positions.get(row[HEAD], position)
            if head == position:
                reason = "its own head" if row[HEAD] == row[ID] else f"HEAD `{row[HEAD]}`"
                raise self._error(
                    position, f"{reason}; a head is another word, 1 to {len(self)}, or 0 for the root"
                )
            heads.append(head)
        if heads.count(ROOT) > 1:
            second = heads.index(ROOT, heads.index(ROOT) + 1)
            raise self._error(second, "a second root (HEAD 0); a tree has one")
        if cycle := find_cycle(heads):
            names = ", ".join([str(at + 1) for at in cycle[:8]] + ["…"] * (len(cycle) > 8))
            raise self._error(min(cycle), f"the heads of words {names} form a cycle; a tree has none")
        return heads

    def comment(self, key: str) -> str | None:
        """The value of a comment `# key = value`."""
        for line in self.comments:
            name, equals, value = line[1:].partition("=")
            if equals and name.strip() == key:
                return value.strip()
        return None

    def _error(self, position: int, reason: str) -> DataError:
        # Rows before the word: words, multiword tokens, empty nodes; only words are needed often.
        before = sum(1 for start in self.ranges if start <= position)
        before += sum(len(nodes) for words, nodes in self.empty.items() if words <= position)
        where = f"{self.place}:{self.line + position + before}" if self.line else self.place
        return DataError(f"{where}: word {position + 1}, `{self.words[position][FORM]}`: {reason}")


def find_cycle(heads: list[int]) -> list[int]:
    """The positions of one cycle of a head function, in the order of the walk; empty if there is none."""
    # 0: not seen; otherwise the number of the walk that has passed.
    seen = [0] * len(heads)
    for start in range(len(heads)):
        if seen[start]:
            continue
        walk, at = start + 1, start
        while at >= 0 and not seen[at]:
            seen[at] = walk
            at = heads[at]
        if at >= 0 and seen[at] == walk:
            cycle = [at]
            while (at := heads[at]) != cycle[0]:
                cycle.append(at)
            return cycle
    return []


def read_conllu(path: FilePath, errors: str = "strict") -> Generator[Sentence, None, None]:
    """Yield the sentences of `path` one after the other; `errors` as in `read_lines`."""
    path = os.fspath(path)
    return _read(path, read_lines(path, errors))


def read_sentences(path: str, conllu: bool, errors: str = "strict") -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file, or of a text with one sentence per line, split at white space."""
    return read_conllu(path, errors) if conllu else _of_lines(path, errors)


def _of_lines(path: str, errors: str) -> Iterator[Sentence]:
    for number, line in enumerate(read_lines(path, errors), 1):
        if number == 1 and (line.startswith(_COMMENTS) or line.count("\t") == 9):
            raise DataError(
                f"{path}:1: read as text, but looks like CoNLL-U; name the file .conllu, or use "
                "--target-format conllu"
            )
        if not (tokens := tokenize(line)):
            raise DataError(
                f"{path}:{number}: an empty line; CoNLL-U has no empty sentences: remove the pair"
            )
        yield Sentence.of_tokens(tokens, [f"# text = {' '.join(tokens)}"], place=path)


def write_conllu(sentences: Iterable[Sentence], path: FilePath) -> None:
    """Write sentences to `path`, whole or not at all."""
    with open_output(path) as stream:
        stream.writelines(map(format_sentence, sentences))


def format_sentence(sentence: Sentence) -> str:
    """A sentence as a file has it, with the blank line that ends it."""
    rows = sentence.words
    if sentence.ranges or sentence.empty:
        rows = list(sentence.empty.get(0, ()))
        for position, row in enumerate(sentence.words):
            rows += [sentence.ranges[position]] if position in sentence.ranges else []
            rows += [row, *sentence.empty.get(position + 1, ())]
    return "\n".join([*sentence.comments, *map("\t".join, rows), "\n"])


def _read(path: str, lines: Iterator[str]) -> Generator[Sentence, None, None]:
    sentence = Sentence([], place=path)
    words = sentence.words
    following = "1"  # the ID of the next word
    covered = 0  # words that the last multiword token promised
    number = 0
    for number, line in enumerate(lines, 1):
        row = line.split("\t")
        # First the most frequent case, the next word.
        if len(row) == 10 and row[ID] == following and "" not in row:
            words.append(row)
            following = str(len(words) + 1)
            if not sentence.line:
                sentence.line = number
        elif not line or line.isspace():
            if sentence.line or sentence.comments:
                yield _ended(sentence, covered, number)
                sentence, covered, following = Sentence([], place=path), 0, "1"
                words = sentence.words
        elif line[0] == "#":
            if sentence.line:
                raise DataError(
                    f"{path}:{number}: a comment among the words; comments stand before the first one"
                )
            sentence.comments.append(line)
        elif len(row) != 10 or "" in row:
            raise DataError(f"{path}:{number}: {_columns(row)}")
        else:
            covered = _other_row(sentence, row, covered, f"{path}:{number}")
            if not sentence.line:
                sentence.line = number
    if sentence.line or sentence.comments:
        yield _ended(sentence, covered, number + 1)


def _other_row(sentence: Sentence, row: list[str], covered: int, place: str) -> int:
    """Add a multiword token or an empty node; the number of words that its sentence must have by now."""
    words = len(sentence.words)
    if match := _RANGE.fullmatch(row[ID]):
        first, last = int(match[1]), int(match[2])
        if first != words + 1 or last < first:
            raise DataError(f"{place}: range `{row[ID]}` must begin with the next word, {words + 1}")
        if words < covered:
            raise DataError(f"{place}: range `{row[ID]}` overlaps the one before, up to word {covered}")
        sentence.ranges[words] = row
        return last
    if match := _EMPTY.fullmatch(row[ID]):
        nodes = sentence.empty.setdefault(words, [])
        if int(match[1]) != words or int(match[2]) != len(nodes) + 1:
            raise DataError(f"{place}: empty node `{row[ID]}` where `{words}.{len(nodes) + 1}` is next")
        nodes.append(row)
        return covered
    raise DataError(f"{place}: ID `{row[ID][:40]}` where word {words + 1} is next; words count 1, 2, 3, …")


def _ended(sentence: Sentence, covered: int, number: int) -> Sentence:
    here, words = f"{sentence.place}:{number}: the sentence that ends here has", len(sentence.words)
    if not words:
        raise DataError(f"{here} no words; remove its lines")
    if words < covered:
        raise DataError(f"{here} {words} words, but a range that ends at word {covered}")
    return sentence


def _columns(row: list[str]) -> str:
    if len(row) != 10:
        remedy = "; are there blanks where tabs should be?" if len(row) == 1 else ""
        return f"{number_of(len(row), 'columns')} instead of ten, separated by tabs{remedy}"
    return f"column {_COLUMNS[row.index('')]} is empty; write `_` for what is not known"
