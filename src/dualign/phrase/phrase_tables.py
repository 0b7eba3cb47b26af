"""From texts and links to a phrase table, in memory that does not grow with the texts.

1. Read: words get numbers, and pairs go to disk as numbers; links are counted for the dictionary.
2. Extract: chunk by chunk, the phrase pairs of the chunk are sorted and added up: a run on disk.
3. Merge the runs: phrase pairs with counts, in the order of the table.
4. Sort by target phrase for its total, and back again by position; source totals are there in step 5.
5. Score, format and write, again chunk by chunk.

Vocabularies and the dictionary are held in memory; all else is streams. Steps 2 and 5 use several threads,
or whatever `Spread` is; chunks are cut independently of their number, so the file is the same for any.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.fields import check_value
from dualign._core.files.streams import FilePath, open_binary_output, open_output, pack
from dualign._core.memory import ScratchFile
from dualign._core.threads import available, ordered_map
from dualign.phrase.external_sort import Runs, collapsed, is_first, whole_groups
from dualign.phrase.extraction import LONGEST, EncodedPhrases, Layout, extract_rows, new_layout
from dualign.phrase.scoring import BARS, WordStatistics, best_alignments, format_lines, words_of
from dualign.phrase.word_entries import LinkCounts, WordDictionary, write_dictionary
from dualign.text.blocks import Pair
from dualign.text.checks import links_inside
from dualign.text.corpus import GrowingVocabulary
from dualign.text.links import Alignment, Links
from dualign.text.phrase_table import escape

_CHUNK = 2500  # sentence pairs: some half million phrase pairs
_ROWS = 1 << 17  # phrase pairs that are scored at a time


Spread = Callable[..., Iterable[Sequence[Array]]]
"""`spread(name, function, items, *settings)`: arrays `function(item, *settings)` of each item, in order."""


@dataclass(frozen=True, slots=True)
class Built:
    """What went into a table."""

    sentence_pairs: int
    phrase_pairs: int
    """Distinct ones: lines of the table."""
    instances: int
    """All of them: the sum of the counts."""


def build_table(
    pairs: Iterable[tuple[Pair, Alignment]],
    table: FilePath,
    *,
    max_length: int = 7,
    reordering: FilePath | None = None,
    dictionary: FilePath | None = None,
    threads: int | Spread | None = None,
    place: str = "pair",
    scratch: FilePath | None = None,
) -> Built:
    """Extract phrase pairs from sentence pairs with links, and write the phrase table `table`.

    Also writes, where wanted, the reordering table `reordering` and the dictionary `dictionary`.s2t, .t2s.
    The work is done by that many threads, or by a `Spread`. `place` begins the message about a link outside
    its pair; `scratch` is the folder for scratch files.
    """
    check_value("max_length", max_length, least=1, most=LONGEST)
    spread = threads if callable(threads) else on_threads(available(threads))
    scratch = None if scratch is None else os.fspath(scratch)
    with ExitStack() as outputs:
        # Opened first: a place that cannot be written to is an error before the work, not after it.
        written = [os.fspath(path) for path in (table, reordering) if path is not None]
        streams = [outputs.enter_context(open_binary_output(path, packed=True)) for path in written]
        words = [] if dictionary is None else [f"{os.fspath(dictionary)}.{way}" for way in ("s2t", "t2s")]
        dictionaries = [outputs.enter_context(open_output(path)) for path in words]
        corpus = _Corpus(scratch, pairs, place)
        layout = corpus.layout(max_length)
        write_dictionary(corpus.dictionary, *corpus.words, dictionaries)
        runs = Runs(scratch, layout.columns, layout.keys)
        for (rows,) in spread("extract", _extracted, corpus.chunks(), layout):
            runs.add(rows)
        merged = _Merged(scratch, runs, layout)
        scoring = _Scoring(layout, corpus.dictionary, (words_of(corpus.words[0]), words_of(corpus.words[1])))
        endings = [f"table{os.path.splitext(path)[1]}" for path in written]
        for parts in spread("score", _lines, merged.chunks(), scoring, endings):
            for part, stream in zip(parts, streams, strict=True):
                stream.write(part.data)
    return Built(corpus.pairs, merged.rows, merged.instances)


def on_threads(threads: int) -> Spread:
    """Work on chunks with threads of this process."""

    def spread(
        name: str, function: Callable[..., Sequence[Array]], items: Iterable[Any], *settings: Any
    ) -> Iterator[Sequence[Array]]:
        return ordered_map(lambda item: function(item, *settings), items, threads)

    return spread


def _extracted(chunk: EncodedPhrases, layout: Layout) -> list[Array]:
    return [collapsed(extract_rows(chunk, layout), layout.keys)]


class _Scoring(NamedTuple):
    """What lines are made with."""

    layout: Layout
    dictionary: WordDictionary
    words: tuple[WordStatistics, WordStatistics]


def _lines(chunk: tuple[Array, Array], scoring: _Scoring, paths: Sequence[str]) -> list[Array]:
    """Return lines of the phrase table for the first path, and of the reordering table for the second, if
    any."""
    rows, totals = chunk
    found = []
    for number, path in enumerate(paths):
        text = format_lines(rows, scoring.layout, totals, scoring.dictionary, scoring.words, bool(number))
        # Compressed here: better by those who share the work than by the one who writes.
        found.append(np.frombuffer(pack(text.tobytes(), path), np.uint8))
    return found


class _Corpus:
    """Sentence pairs as numbers on disk, the words, and the dictionary of their links."""

    def __init__(self, folder: str | None, pairs: Iterable[tuple[Pair, Alignment]], name: str) -> None:
        self._file = ScratchFile(folder)
        self._shapes: list[list[tuple[type, tuple[int, ...]]]] = []
        self.pairs = 0
        vocabularies = GrowingVocabulary(), GrowingVocabulary()
        for words in vocabularies:
            # Null, which no word of a text is, has 0; the bars end a phrase and sort as they do in the file.
            words.update({"": 0, BARS: 1})
        counts = LinkCounts()
        stream = iter(pairs)
        while chunk := list(islice(stream, _CHUNK)):
            encoded = self._encode(chunk, vocabularies, name)
            counts.add(encoded)
            for array in encoded:
                self._file.write(array)
            self._shapes.append([(array.dtype.type, array.shape) for array in encoded])
            self.pairs += len(chunk)
        ranked = [_by_rank(list(words)) for words in vocabularies]
        self.words = ranked[0][0], ranked[1][0]
        self._ranks = ranked[0][1], ranked[1][1]
        self.dictionary: WordDictionary = counts.dictionary(*self._ranks)

    def layout(self, max_length: int) -> Layout:
        """Return how the phrases of this corpus are packed."""
        bits = max(len(words) for words in self.words).bit_length()
        return new_layout(max_length, bits, *(int(ranks[1]) for ranks in self._ranks))

    def chunks(self) -> Iterator[EncodedPhrases]:
        """Return the sentence pairs, with numbers that sort like the words."""
        self._file.rewind()
        for shapes in self._shapes:
            chunk = EncodedPhrases(
                *(self._file.read(dtype, math.prod(shape)).reshape(shape) for dtype, shape in shapes)
            )
            source, target = self._ranks[0][chunk.source], self._ranks[1][chunk.target]
            yield chunk._replace(source=source, target=target)
        self._file.close()

    def _encode(
        self, chunk: list[tuple[Pair, Alignment]], vocabularies: Sequence[dict[str, int]], name: str
    ) -> EncodedPhrases:
        sides: tuple[list[int], list[int]] = [], []
        offsets: tuple[list[int], list[int]] = [0], [0]
        for number, (pair, alignment) in enumerate(chunk, self.pairs + 1):
            for words, tokens, ends, vocabulary in zip(pair, sides, offsets, vocabularies, strict=True):
                tokens.extend(vocabulary[escape(word)] for word in words)
                ends.append(len(tokens))
            links_inside(alignment.links, len(pair[0]), len(pair[1]), f"{name} {number}")
        links = Links.of([alignment for _, alignment in chunk]).sure()
        return EncodedPhrases(
            np.array(sides[0], np.int32),
            np.array(offsets[0]),
            np.array(sides[1], np.int32),
            np.array(offsets[1]),
            np.stack((links.source, links.target), axis=1),
            links.offsets,
        )


def _by_rank(words: list[str]) -> tuple[list[str], Array]:
    """Return null, number 0, and the words in the order of their bytes; and the place of each there."""
    # Code points sort like the bytes of UTF-8.
    order = [0, *sorted(range(1, len(words)), key=words.__getitem__)]
    ranks = np.empty(len(words), np.int64)
    ranks[order] = np.arange(len(words))
    return [words[n] for n in order], ranks


def _group_sums(keys: Array, counts: Array) -> Array:
    """Return for each row, the sum of the counts of all rows with its key; rows are sorted by key."""
    first = is_first(keys)
    return np.add.reduceat(counts, np.flatnonzero(first))[np.cumsum(first) - 1]


class _Merged:
    """Phrase pairs in the order of the table on disk, with the totals of their target phrases."""

    def __init__(self, folder: str | None, runs: Runs, layout: Layout) -> None:
        self._layout = layout
        self._file = ScratchFile(folder)
        self.rows = self.instances = 0
        width = layout.phrase
        targets = Runs(folder, width + 2, width + 1)
        for chunk in whole_groups(runs.merged(), 2 * width):
            rows = best_alignments(chunk, layout)
            self._file.write(rows)
            counts = rows[:, layout.keys]
            index = np.arange(self.rows, self.rows + len(rows), dtype=np.uint64)
            targets.add(collapsed(np.column_stack((rows[:, width : 2 * width], index, counts)), width + 1))
            self.rows += len(rows)
            self.instances += int(counts.sum())
        self._totals = Runs(folder, 2, 1)
        for chunk in whole_groups(targets.merged(), width):
            sums = _group_sums(chunk[:, :width], chunk[:, -1])
            self._totals.add(collapsed(np.column_stack((chunk[:, width], sums)), 1))

    def chunks(self) -> Iterator[tuple[Array, Array]]:
        """Return rows, whole groups of a source phrase, and totals int64 [rows, 2] of source and target
        phrases."""
        width = self._layout.phrase
        totals = self._totals.merged()
        held = np.empty((0, 2), np.uint64)
        for chunk in whole_groups(self._stored(), width):
            while len(held) < len(chunk):
                held = np.concatenate((held, next(totals)))
            sums = _group_sums(chunk[:, :width], chunk[:, self._layout.keys])
            yield chunk, np.column_stack((sums, held[: len(chunk), 1])).astype(np.int64)
            held = held[len(chunk) :]

    def _stored(self) -> Iterator[Array]:
        columns = self._layout.columns
        self._file.rewind()
        while len(numbers := self._file.read(np.uint64, _ROWS * columns)):
            yield numbers.reshape(-1, columns)
        self._file.close()
