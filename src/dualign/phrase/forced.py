"""Forced decoding: the best way to make given translations from the entries of a phrase table, and its
weights by Viterbi EM (DeNero & Klein 2008, §5).

The lines of a phrase alignment are `i:j-k:l …  ||| score ||| bound`, source words i..j−1 with target words
k..l−1, counted from 0, in the order of the source. Without an alignment the links are missing and both
numbers are −inf.

The model is a distribution θ over phrase pairs: joint, or of target phrases given the source phrase. A text's
likelihood by its best phrase alignments is

    F(θ, a) = Σ_{sentence pairs} Σ_{links of a} log θ(link) + κ Σ_entries log θ(entry)

where κ, the pseudo-count of each entry, keeps entries alive that no alignment uses (κ = 0: they go).
E-step: the best alignment of each sentence pair. M-step: θ by relative frequency of the links, plus κ. Either
step maximises F over what it may change, so **F never gets worse**; where a time limit ends the search of a
pair, its former alignment stays unless the new one is better, so that this holds then too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

import numpy as np

from dualign._core.arrays import Array
from dualign._core.certified import Certified
from dualign._core.errors import DataError, Infeasible
from dualign._core.fields import check_value
from dualign._core.threads import available, ordered_map, spans
from dualign.phrase.aligning import PhraseAlignment, align_pair
from dualign.phrase.occurrences import Occurrences
from dualign.phrase.weights import PhraseLink, WeightedPair
from dualign.text.utf8 import parsed, read_lines

MODELS = ("joint", "conditional")
"""θ sums to 1 over all entries, or over those with the same source phrase."""

_CHUNK = 256  # sentence pairs for one job of a thread
_LINK = re.compile(r"([0-9]{1,9}):([0-9]{1,9})-([0-9]{1,9}):([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Forced:
    """The answer for one sentence pair."""

    result: Certified[PhraseAlignment | None] | None
    """None if it is proved that the table has no alignment, or if a side is empty."""
    empty: bool
    """Whether a side has no words, so that there is nothing to align."""


def decode(
    occurrences: Occurrences,
    weights: Array,
    *,
    method: str = "exact",
    time_limit: float | None = None,
    threads: int = 1,
) -> Iterator[Forced]:
    """Align the phrases of each sentence pair of a text, by the weights [entries] of its table entries."""

    def work(job: tuple[int, int]) -> list[Forced]:
        pairs = (occurrences.weighted(number, weights)[0] for number in range(*job))
        return [_forced(pair, method, time_limit) for pair in pairs]

    for chunk in ordered_map(work, spans(len(occurrences), _CHUNK), threads):
        yield from chunk


def _forced(pair: WeightedPair, method: str, time_limit: float | None) -> Forced:
    if not pair.source_length or not pair.target_length:
        return Forced(None, empty=True)
    try:
        return Forced(align_pair(pair, method, time_limit), empty=False)
    except Infeasible:
        return Forced(None, empty=False)


def format_line(forced: Forced) -> str:
    """Return one line of output, without the line end; empty if a side has no words."""
    if forced.empty:
        return ""
    score = bound = -math.inf
    links: PhraseAlignment = ()
    if forced.result is not None:
        score, bound = forced.result.score, forced.result.bound
        links = forced.result.solution or ()
    text = " ".join(f"{i}:{j}-{k}:{l}" for i, j, k, l in links)
    return f"{text} ||| {score:.9g} ||| {bound:.9g}".lstrip()


def parse_line(line: str) -> list[PhraseLink]:
    """Return the links of one line; scores after them are ignored."""
    links = []
    for token in line.partition("|||")[0].split():
        match = _LINK.fullmatch(token)
        if match is None:
            raise DataError(f"`{token:.40}` is not a phrase link; expected `i:j-k:l` with numbers")
        i, j, k, l = map(int, match.groups())
        if i >= j or k >= l:
            raise DataError(f"`{token}` has a span without words; expected `i:j-k:l` with i < j and k < l")
        links.append((i, j, k, l))
    return links


def read_alignments(path: str, errors: str = "strict") -> Iterator[list[PhraseLink]]:
    """Return the phrase links of each line of a file that `dualign phrases align` wrote."""
    return parsed(path, read_lines(path, errors), parse_line)


@dataclass(frozen=True, slots=True)
class PhraseRound:
    """What one round reached."""

    number: int
    objective: float
    """F of the alignments of this round and the model they were found with."""
    aligned: int
    """Sentence pairs that have an alignment."""
    certified: int
    """Of these, those whose alignment is proved to be the best."""
    entries: int
    """Phrase pairs with θ > 0."""


def train(
    occurrences: Occurrences,
    weights: Array,
    *,
    rounds: int = 5,
    model: str = "joint",
    pseudo_count: float = 0.0,
    time_limit: float | None = None,
    threads: int | None = None,
    report: Callable[[PhraseRound], None] = lambda progress: None,
) -> tuple[Array, Array]:
    """Train from the weights [entries] of extraction; returns log θ and the links' counts, both [entries].

    The first alignments are those by `weights`; a model is made from them, and then each round aligns with
    the model before it. `report` is called after each round, and first, as round 0, for the first model with
    the first alignments. Sentence pairs without an alignment by the first weights are left out. `time_limit`
    is for each sentence pair.
    """
    check_value("model", model, choices=MODELS)
    check_value("rounds", rounds, least=1)
    check_value("pseudo_count", pseudo_count, "float", least=0)
    workers = available(threads)
    alive = weights > -np.inf
    parameters = weights
    chosen: dict[int, Array] = {}
    for number in range(rounds + 1):
        # A pair that has no alignment at first stays out: it would change what F is about.
        pairs = list(chosen) if number else range(len(occurrences))
        chosen, certified = _align_all(occurrences, parameters, pairs, chosen, time_limit, workers)
        if not chosen:
            raise DataError("no sentence pair has a phrase alignment by this table; is it of another text?")
        used = np.concatenate(list(chosen.values()))
        counts = np.bincount(used, minlength=len(weights)).astype(np.float64)
        smoothed = counts + pseudo_count * alive
        if number == 0:
            # The first weights are of any kind; from here on they are those of the model.
            parameters = _estimate(occurrences, smoothed, model)
        objective = float(parameters[smoothed > 0] @ smoothed[smoothed > 0])
        report(PhraseRound(number, objective, len(chosen), certified, int((parameters > -np.inf).sum())))
        parameters = _estimate(occurrences, smoothed, model)
    return parameters, counts


def _align_all(
    occurrences: Occurrences,
    weights: Array,
    pairs: Sequence[int],
    before: Mapping[int, Array],
    time_limit: float | None,
    workers: int,
) -> tuple[dict[int, Array], int]:
    """Return the entries that the alignment of each of `pairs` uses, and how many of these are proved to be
    best."""

    def work(job: tuple[int, int]) -> list[tuple[int, Array | None, bool]]:
        return [(n, *_align(occurrences, weights, n, before.get(n), time_limit)) for n in pairs[slice(*job)]]

    results = [result for chunk in ordered_map(work, spans(len(pairs), _CHUNK), workers) for result in chunk]
    chosen = {number: entries for number, entries, _ in results if entries is not None}
    return chosen, sum(proved for _, _, proved in results)


def _align(
    occurrences: Occurrences, weights: Array, number: int, before: Array | None, time_limit: float | None
) -> tuple[Array | None, bool]:
    """Return the entries of one pair's alignment, None if there is none, and whether it is proved."""
    pair, entries = occurrences.weighted(number, weights)
    result = _forced(pair, "exact", time_limit).result
    if result is None or result.solution is None:
        return before, False
    links = {pair.link(n): entry for n, entry in enumerate(entries.tolist())}
    found = np.array([links[link] for link in result.solution], np.int64)
    if before is not None and weights[before].sum() > weights[found].sum():
        return before, result.certified
    return found, result.certified


def _estimate(occurrences: Occurrences, counts: Array, model: str) -> Array:
    """Return the logarithms of relative frequencies."""
    if model == "joint":
        totals = np.full(len(counts), counts.sum())
    else:
        source = occurrences.sources()
        totals = np.bincount(source, counts)[source]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts > 0, np.log(counts / totals), -np.inf)


def write_table(occurrences: Occurrences, parameters: Array, counts: Array, stream: TextIO) -> None:
    """Write lines `source ||| target ||| θ ||| ||| count` of the entries with θ > 0, sorted."""
    lines = [
        f"{source} ||| {target} ||| {math.exp(parameter):.9g} ||| ||| {count:.0f}\n"
        for (source, target), parameter, count in zip(
            occurrences.entries(), parameters.tolist(), counts.tolist(), strict=True
        )
        if parameter > -math.inf
    ]
    stream.writelines(sorted(lines))
