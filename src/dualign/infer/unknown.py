"""Words that the lexicon does not know: their cells are scored by spelling and by words with the same stem.

An unknown source word v counts as the average of the known words that share its stem, and so does an
unknown target word; in addition, words of similar spelling (names, numbers, cognates) attract each other:

    score(w | v) = mean of p(w | u) over the known u with v's stem  +  LIKENESS · similarity(v, w)^4

and the same for p(v | w). What neither term reaches keeps the floor, where position alone decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.infer.cells import Cells, Pairs, lengths_of, pairs_of
from dualign.model.forms import ALIKE, POWER, Forms, forms_of, similarity, stem_of
from dualign.model.lexicon import Lexicon
from dualign.model.vocabulary import Vocabulary
from dualign.text.bitext import Bitext

LIKENESS = 0.3


class Words(NamedTuple):
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


def add_unknown_cells(
    cells: Cells,
    bitext: Bitext,
    lexicon: Lexicon,
    vocabularies: tuple[Vocabulary, Vocabulary],
    unknown: tuple[Sequence[str], Sequence[str]],
    stem_letters: int,
) -> None:
    """Add to `cells`, in place, those of the words that are numbered after the vocabularies' own.

    Their entries are −1: they have a score of their own.
    """
    pairs = pairs_of(bitext)
    if not has_unknown(pairs, len(vocabularies[0]), len(vocabularies[1])):
        return
    source = describe(vocabularies[0], unknown[0], stem_letters)
    target = describe(vocabularies[1], unknown[1], stem_letters)
    score_unknown(pairs, source, target, len(vocabularies[1]), lexicon, cells)


def describe(vocabulary: Vocabulary, new: Sequence[str], stem_letters: int) -> Words:
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
    return Words(vocabulary.forms, forms_of(new), stem, members, member)


@kernel()
def letters_of(word: int, words: Words) -> Array:
    """The letters of a word of the vocabulary, or of an unknown one."""
    known = len(words.forms.offsets) - 1
    if word < known:
        return words.forms.letters[words.forms.offsets[word] : words.forms.offsets[word + 1]]
    new, word = words.new_forms, word - known
    return new.letters[new.offsets[word] : new.offsets[word + 1]]


@kernel()
def has_unknown(pairs: Pairs, source_words: int, target_words: int) -> bool:
    """Whether there is a word that is numbered after these."""
    found = False
    for v in pairs.source:
        found = found or v >= source_words
    for w in pairs.target:
        found = found or w >= target_words
    return found


@kernel()
def score_unknown(
    pairs: Pairs, source: Words, target: Words, known_targets: int, lexicon: Lexicon, cells: Cells
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
