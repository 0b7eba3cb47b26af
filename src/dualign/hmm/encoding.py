"""Text in the numbers of a model's words, and cells of words that the lexicon does not know.

An unknown source word v counts as the average of the known words that share its stem, and so does an
unknown target word; in addition, words of similar spelling (names, numbers, cognates) attract each other:

    score(w | v) = mean of p(w | u) over the known u with v's stem  +  LIKENESS · similarity(v, w)^4

and the same for p(v | w). What neither term reaches keeps the floor, where position alone decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign.hmm.blocks import Cells, PairOffsets, lengths_of, pairs_of
from dualign.hmm.lexicon import Lexicon
from dualign.hmm.model import Model, Unknowns, Vocabulary
from dualign.hmm.word_forms import ALIKE, POWER, Forms, forms_of, similarity, stem_of
from dualign.text.corpus import Bitext, Numbered, Sentences, encode
from dualign.text.numbering import number_lines

if TYPE_CHECKING:
    from dualign.text.blocks import Pair, Position, TextBlock, TextFiles

CHUNK = 2048
"""Sentence pairs that are read, encoded and aligned together when text is streamed."""

FEW = 32
"""The same for a decoder that searches for a long time for each pair."""


class Lines(NamedTuple):
    """Lines of both sides as bytes, each with its `\\n`: as they were written, and blanks between tokens."""

    written: tuple[bytes, bytes]
    tokens: tuple[bytes, bytes]


class EncodedText(NamedTuple):
    """A bitext in a model's numbers; `unknown` lists, for each side, the words numbered after the model's."""

    bitext: Bitext
    unknown: tuple[list[str], list[str]] = ([], [])
    lines: Lines | None = None
    """Where it was read from files, and somebody wants to know: what was read."""


def chunk_size(model: Model) -> int:
    """How many pairs to align together: enough that a lexicon row is read once for many of its words, and so
    few that all threads have something to do."""
    return FEW if model.options.decoder == "bidirectional" else CHUNK


def encode_for(model: Model, text: Iterable[Pair]) -> EncodedText:
    """Number the words of a text by the model's vocabularies; new words come after the known ones."""
    source, target = Unknowns(model.source), Unknowns(model.target)
    return EncodedText(encode(text, source, target, model.options.lowercase), (source.new, target.new))


def encode_lines(model: Model, source: bytes, target: bytes) -> EncodedText:
    """The same for lines of both sides, each with its `\\n`, in the form of `dualign.text.utf8`."""
    lowercase, ascii = model.options.lowercase, model.options.whitespace == "ascii"
    (left, new_left), (right, new_right) = (
        number_lines(lines, words.table, lowercase, ascii=ascii, is_lower=lowercase and words.is_lower)
        for lines, words in ((source, model.source), (target, model.target))
    )
    return EncodedText(Bitext(left, right), (new_left, new_right))


def words_of(model: Model, text: EncodedText) -> list[tuple[list[str], list[str]]]:
    """The words of each pair, as the model compares them."""
    bitext, sides = text.bitext, []
    for side, vocabulary, new in zip(
        (bitext.source, bitext.target), (model.source, model.target), text.unknown, strict=True
    ):
        words = [*vocabulary.words, *new]
        numbers = side.tokens.tolist()
        sides.append([[words[v] for v in numbers[a:b]] for a, b in pairwise(side.offsets.tolist())])
    return list(zip(*sides, strict=True))


class UnreadPart(NamedTuple):
    """Some consecutive pairs of a text, between two places, with their ids if they have any; to be encoded on
    any thread, by the model that aligns them."""

    begin: Position
    end: Position
    encode: Callable[[Model], EncodedText]
    ids: Sequence[str] = ()


def parts_of(
    model: Model,
    text: TextFiles | Numbered | Iterable[Pair],
    size: int,
    begin: Position | None = None,
    *,
    keep: bool = False,
) -> Iterator[UnreadPart]:
    """A text in parts of that many pairs; a stream of pairs is read no further than is needed.

    Of files, all that is behind the `begin`; `keep`: the lines, too.
    """
    from dualign.text.blocks import BEGINNING, Position, TextFiles, read_blocks

    if isinstance(text, TextFiles):
        _prepare(model)
        for block in read_blocks(text, size, begin or BEGINNING):
            encode = partial(encode_block, block=block, keep=keep)
            yield UnreadPart(block.begin, block.end, encode, block.ids)
        return
    if not isinstance(text, Numbered):
        line, stream = 0, iter(text)
        while pairs := list(islice(stream, size)):
            places = Position(line), Position(line := line + len(pairs))
            yield UnreadPart(*places, partial(encode_for, text=pairs))
        return
    text = text.lowered() if model.options.lowercase else text
    numbers = [
        np.fromiter(map(vocabulary.numbers.get, words, repeat(-1)), np.int32, len(words))
        for words, vocabulary in ((text.source_words, model.source), (text.target_words, model.target))
    ]
    for first in range(0, len(text), size):
        last = min(first + size, len(text))
        encode = partial(_renumbered, text=text, span=(first, last), numbers=numbers)
        yield UnreadPart(Position(first), Position(last), encode)


def _prepare(model: Model) -> None:
    """Make what all threads would otherwise begin with."""
    for side in (model.source, model.target):
        side.table  # noqa: B018
        if model.options.lowercase:
            side.is_lower  # noqa: B018
        if model.options.skip_tokens:
            side.numbers  # noqa: B018


def encode_block(model: Model, block: TextBlock, keep: bool = False) -> EncodedText:
    """Some lines of a text in a model's numbers; `keep` the lines, too."""
    if not keep:
        return encode_lines(model, *block.tokens())
    sides = block.normalised()
    tokens = block.tokens(sides)
    written = sides if block.target is None else (block.source, block.target)
    return encode_lines(model, *tokens)._replace(lines=Lines(written, tokens))


def _renumbered(model: Model, text: Numbered, span: tuple[int, int], numbers: list[Array]) -> EncodedText:
    """A part of a text with the `numbers` of a model, −1 for words it lacks, which come after its own."""
    part = text.slice(*span)
    sides, unknown = [], []
    for side, known, words, vocabulary in zip(
        (part.source, part.target),
        numbers,
        (text.source_words, text.target_words),
        (model.source, model.target),
        strict=True,
    ):
        tokens = known[side.tokens]
        new = np.flatnonzero(tokens < 0)
        different, places = np.unique(side.tokens[new], return_inverse=True)
        tokens[new] = len(vocabulary) + places
        sides.append(Sentences(tokens, side.offsets))
        unknown.append([words[number] for number in different.tolist()])
    return EncodedText(Bitext(*sides, similar=part.similar), (unknown[0], unknown[1]))


LIKENESS = 0.3


class SpellingTable(NamedTuple):
    """The words of one side of a block.

    `forms` of the vocabulary's words, and `new_forms` of the unknown ones, which are numbered after these.
    `stem` int32 (words of the vocabulary, then unknown ones): a number for the stems that unknown words
    have, else −1. The known words with stem g are `member[members[g] : members[g + 1]]`.
    """

    forms: Forms
    new_forms: Forms
    stem: Array
    members: Array
    member: Array


def add_unknown_cells(cells: Cells, text: EncodedText, model: Model) -> None:
    """Add to `cells`, in place, those of the words that are numbered after the model's own.

    Their entries are −1: they have a score of their own.
    """
    pairs, known = pairs_of(text.bitext), (len(model.source), len(model.target))
    tokens = pairs.source, pairs.target
    if any(text.unknown) and any(
        side.max(initial=0) >= words for side, words in zip(tokens, known, strict=True)
    ):
        source = describe(model.source, text.unknown[0], model.options.stem_letters)
        target = describe(model.target, text.unknown[1], model.options.stem_letters)
        score_unknown(pairs, source, target, known[1], model.lexicon, cells)


def describe(vocabulary: Vocabulary, new: Sequence[str], stem_letters: int) -> SpellingTable:
    """Forms and stems of the words of a block."""
    known = len(vocabulary)
    stems: dict[str, int] = {}
    for word in new:
        stems.setdefault(stem_of(word, stem_letters), len(stems))
    by_stem = vocabulary.stems(stem_letters)
    siblings = [by_stem.get(stem, []) for stem in stems]
    members = np.zeros(len(stems) + 1, np.int64)
    np.cumsum([len(words) for words in siblings], out=members[1:])
    member = np.array([number for words in siblings for number in words], np.int32)
    stem = np.full(known + len(new), -1, np.int32)
    stem[member] = np.repeat(np.arange(len(stems), dtype=np.int32), np.diff(members))
    stem[known:] = [stems[stem_of(word, stem_letters)] for word in new]
    return SpellingTable(vocabulary.forms, forms_of(new), stem, members, member)


@part
def letters_of(word: int, words: SpellingTable) -> Array:
    """The letters of a word of the vocabulary, or of an unknown one."""
    known = len(words.forms.offsets) - 1
    if word < known:
        return words.forms.letters[words.forms.offsets[word] : words.forms.offsets[word + 1]]
    new, word = words.new_forms, word - known
    return new.letters[new.offsets[word] : new.offsets[word + 1]]


@kernel
def score_unknown(
    pairs: PairOffsets,
    source: SpellingTable,
    target: SpellingTable,
    known_targets: int,
    lexicon: Lexicon,
    cells: Cells,
) -> None:
    """Append the scored cells to those of their source tokens."""
    rows, columns, table = lexicon.rows, lexicon.columns, lexicon.table
    known_sources = len(rows) - 1
    places = np.zeros(1 << 10, np.int64)
    # Scores of one source token: with each known target word, and with each stem of unknown target words.
    by_word = np.zeros((known_targets, 2), np.float32)
    by_stem = np.zeros((len(target.members) - 1, 2), np.float32)
    for n in range(len(pairs.source_offsets) - 1):
        s, t = pairs.source_offsets[n], pairs.target_offsets[n]
        I, J = lengths_of(n, pairs)
        new_targets = 0
        for j in range(J):
            new_targets += pairs.target[t + j] >= known_targets
        for i in range(I):
            v = pairs.source[s + i]
            if v < known_sources and new_targets == 0:
                continue
            if v >= known_sources:
                g = source.stem[v]
                members = source.members[g + 1] - source.members[g]
                for k in range(source.members[g], source.members[g + 1]):
                    u = source.member[k]
                    for m in range(rows[u], rows[u + 1]):
                        by_word[columns[m], 0] += table[m, 0] / members
                        by_word[columns[m], 1] += table[m, 1] / members
            else:
                for m in range(rows[v], rows[v + 1]):
                    g = target.stem[columns[m]]
                    if g >= 0:
                        members = target.members[g + 1] - target.members[g]
                        by_stem[g, 0] += table[m, 0] / members
                        by_stem[g, 1] += table[m, 1] / members
            a = letters_of(v, source)
            for j in range(J):
                w = pairs.target[t + j]
                p = q = np.float32(0)
                if v < known_sources:
                    if w < known_targets:
                        continue
                    p, q = by_stem[target.stem[w], 0], by_stem[target.stem[w], 1]
                elif w < known_targets:
                    p, q = by_word[w, 0], by_word[w, 1]
                alike = similarity(a, letters_of(w, target), places)
                if alike >= ALIKE:
                    p += np.float32(LIKENESS * alike**POWER)
                    q += np.float32(LIKENESS * alike**POWER)
                if p > 0 or q > 0:
                    c = cells.begin[s + i] + cells.filled[s + i]
                    cells.position[c] = j
                    cells.entry[c] = -1
                    cells.score[c, 0], cells.score[c, 1] = p, q
                    cells.filled[s + i] += 1
            if v >= known_sources:
                g = source.stem[v]
                for k in range(source.members[g], source.members[g + 1]):
                    u = source.member[k]
                    for m in range(rows[u], rows[u + 1]):
                        by_word[columns[m], 0] = by_word[columns[m], 1] = 0
            else:
                by_stem[:] = 0
