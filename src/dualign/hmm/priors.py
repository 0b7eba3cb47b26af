"""What is known of word pairs before training, as pseudo-counts: from a dictionary, or from another model.

A pseudo-count c(v, w) counts like as many links that were seen: the M-step adds it to the expected counts of
both directions (`dualign.hmm.smoothing`), so that what is seen often outweighs it. It also shapes the
lexicon that the HMM begins with. A model stands for the text that it was trained on: c(v, w) is p(w | v)
times the number of times that v was seen, and the same in the other direction. Where the probabilities of a
word add up to less than 1, because counts of rare pairs were partly left out, or improbable ones pruned, the
rest stays left out: it is nobody's, but the M-step includes it in the sum that it divides by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import UsageError
from dualign.hmm.jumps import Jumps
from dualign.hmm.lexicon import Lexicon, entries_of, shares, with_entries
from dualign.hmm.model import Model, Seen
from dualign.hmm.smoothing import Pseudo
from dualign.hmm.statistics import ExpectedCounts

UNTOLD = 10.0
"""How often a word is taken to have been seen by a model that does not tell."""


MOST = 1e12
"""The largest weight of an entry: beyond it nothing else counts."""


class Prior(NamedTuple):
    """Pseudo-counts of word pairs.

    Entry k is about `source_words[source[k]]` and `target_words[target[k]]` (int32), with `counts` float64
    (entries, 2), the direction p(target | source) first. `null_target` and `null_source` float64 (words): of
    words that are linked to nothing. `seen` float64 (words) of either side: how often they were seen;
    `left_out`, likewise: what was left out of their counts. `begin`: the model whose chains training begins
    with, if any.
    """

    source_words: list[str]
    target_words: list[str]
    source: Array
    target: Array
    counts: Array
    null_target: Array
    null_source: Array
    seen: tuple[Array, Array]
    left_out: tuple[Array, Array]
    begin: Model | None = None

    @classmethod
    def of_pairs(cls, source: Sequence[str], target: Sequence[str], weight: Sequence[float]) -> Prior:
        """Word pairs with weights; the empty word is null."""
        for c in weight:
            if not 0 <= c <= MOST:
                raise UsageError(f"weight {c} of a prior must be at least 0 and at most {MOST:g}")
        words = [{w: n for n, w in enumerate(dict.fromkeys(filter(None, side)))} for side in (source, target)]
        nulls, unseen = [[np.zeros(len(side)) for side in words] for _ in range(2)]
        kept: list[tuple[int, int, float]] = []
        for v, w, c in zip(source, target, weight, strict=True):
            if v and w:
                kept.append((words[0][v], words[1][w], c))
            elif v:
                nulls[0][words[0][v]] += c
            elif w:
                nulls[1][words[1][w]] += c
        left, right, weights = zip(*kept, strict=True) if kept else ((), (), ())
        counts = np.repeat(np.array(weights, np.float64)[:, None], 2, axis=1)
        places = np.array(left, np.int32), np.array(right, np.int32)
        none = unseen[0], unseen[1]
        return cls(list(words[0]), list(words[1]), *places, counts, nulls[1], nulls[0], none, none)

    @classmethod
    def of_model(cls, model: Model, *, begin: bool = False) -> Prior:
        """All that a model knows; with `begin`, training goes on from its chains, too."""
        lexicon = model.lexicon
        source = np.repeat(np.arange(len(model.source), dtype=np.int32), np.diff(lexicon.rows))
        told = model.seen or Seen(np.full(len(model.source), UNTOLD), np.full(len(model.target), UNTOLD))
        seen = told.source.astype(np.float64), told.target.astype(np.float64)
        counts = lexicon.table * np.stack((seen[0][source], seen[1][lexicon.columns]), axis=1)
        sums = (
            np.bincount(word, counts[:, d], len(seen[d])) for d, word in enumerate((source, lexicon.columns))
        )
        left, right = (np.maximum(often - s, 0) for often, s in zip(seen, sums, strict=True))
        null_target = lexicon.null_target * model.options.null * seen[1].sum()
        null_source = lexicon.null_source * model.options.null * seen[0].sum()
        return cls(
            list(model.source.words), list(model.target.words), source, lexicon.columns, counts,
            null_target, null_source, seen, (left, right), model if begin else None,
        )  # fmt: skip

    def scaled(self, weight: float) -> Prior:
        """All counts times a weight."""
        return self._replace(
            counts=self.counts * weight,
            null_target=self.null_target * weight,
            null_source=self.null_source * weight,
            seen=(self.seen[0] * weight, self.seen[1] * weight),
            left_out=(self.left_out[0] * weight, self.left_out[1] * weight),
        )


def joined(words: list[str], more: list[str], lowercase: bool) -> tuple[list[str], Array]:
    """The words, then those of `more` that are not among them; and the numbers of `more` in it (int32).

    What is known of words that become one in `lowercase` adds up where it is counted by these numbers.
    """
    numbers = {word: number for number, word in enumerate(words)}
    spelled = map(str.lower, more) if lowercase else more
    places = np.array([numbers.setdefault(word, len(numbers)) for word in spelled], np.int32)
    return list(numbers), places


def pseudo_counts(lexicon: Lexicon, prior: Prior, source: Array, target: Array) -> tuple[Lexicon, Pseudo]:
    """The lexicon with all entries of a prior, and what it knows by entry and word.

    `source`, `target` int32: the numbers of the prior's words in the lexicon.
    """
    v, w = source[prior.source], target[prior.target]
    lexicon = with_entries(lexicon, v, w)
    entry = entries_of(lexicon, v, w)
    links = np.zeros(lexicon.table.shape)
    for d in range(2):
        links[:, d] = np.bincount(entry, prior.counts[:, d], len(links))
    sizes = len(lexicon.null_source), len(lexicon.null_target)
    null_target = np.bincount(target, prior.null_target, sizes[1])
    null_source = np.bincount(source, prior.null_source, sizes[0])
    left_out = (
        np.bincount(source, prior.left_out[0], sizes[0]), np.bincount(target, prior.left_out[1], sizes[1])
    )  # fmt: skip
    return lexicon, Pseudo(ExpectedCounts(links, null_target, null_source), left_out)


def with_counts(lexicon: Lexicon, pseudo: Pseudo, frequencies: tuple[Array, Array]) -> Lexicon:
    """The probabilities of a lexicon, taken as counts of words of these frequencies, with pseudo-counts."""
    often = np.stack((frequencies[0][lexicon.sources], frequencies[1][lexicon.columns]), axis=1)
    counts = lexicon.table * often + pseudo.counts.links
    return lexicon._replace(table=shares(lexicon, counts, pseudo.left_out).astype(np.float32))


def inherited(jumps: Jumps, begin: Model, source: list[str], target: list[str]) -> Jumps:
    """Jumps that begin with those of a model: each word's own if it has some there, else the usual ones."""
    weight, factor, chosen = jumps.weight.copy(), jumps.factor.copy(), jumps.chosen.copy()
    for d, (words, classes, vocabulary, before) in enumerate(
        (
            (target, jumps.by_target, begin.target, begin.jumps.by_target),
            (source, jumps.by_source, begin.source, begin.jumps.by_source),
        )
    ):
        weight[d] = begin.jumps.weight[d, 0]
        for number in np.flatnonzero(classes).tolist():
            known = vocabulary.numbers.get(words[number])
            if known is not None:
                weight[d, classes[number]] = begin.jumps.weight[d, before[known]]
                factor[d, classes[number]] = begin.jumps.factor[d, before[known]]
                chosen[1 - d, :, classes[number]] = begin.jumps.chosen[1 - d, :, before[known]]
    return jumps._replace(weight=weight, factor=factor, chosen=chosen)
