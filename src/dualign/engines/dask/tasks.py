"""What workers do in training. Each function returns the header and the arrays of the file that it makes.

Text, index and model are mapped from files, so that the workers of a machine share them. Counts are exact
sums (`dualign.hmm.statistics`): however a text is cut, adding up the parts gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import ModelError, refusing
from dualign._core.jit import kernel
from dualign._core.memory import boundless
from dualign.engines.dask.work_folder import made, remembered
from dualign.engines.dask.workers import Made
from dualign.engines.threads import EStep, warm_starts
from dualign.hmm.blocks import COLD, Warm, pairs_of
from dualign.hmm.cooccurrence import Appearances, Corpus
from dualign.hmm.ibm1 import kept_entries
from dualign.hmm.model import Model
from dualign.hmm.posteriors import Job, jobs_of
from dualign.hmm.training import Expectation
from dualign.text.corpus import UNPINNED, Bitext, Pins, Sentences

SPARSE = 0.5
"""With a smaller share of the lexicon's entries, a file of counts lists those it has."""


class TextPart(NamedTuple):
    """Consecutive blocks of a text: of the first, jobs from `first` on; of the last, those before `last`."""

    blocks: Sequence[tuple[int, int]]
    first: int = 0
    last: int | None = None

    def of(self, text: Bitext) -> tuple[Bitext, list[tuple[int, int]], list[list[Job] | None]]:
        """The pairs of this part, the bounds of blocks, and the jobs of those blocks that are not whole."""
        begin, end = self.blocks[0][0], self.blocks[-1][1]
        kept = np.ones(end - begin, np.bool_)
        jobs: list[list[Job] | None] = []
        for number, (a, b) in enumerate(self.blocks):
            first = 0 if number else self.first
            last = None if number < len(self.blocks) - 1 else self.last
            if not first and last is None:
                jobs.append(None)
                continue
            block = text.slice(a, b)
            mine = jobs_of(pairs_of(block))[first:last]
            here = kept[a - begin : b - begin]
            here[:] = False
            here[np.concatenate([job.pairs for job in mine])] = True
            at = np.cumsum(here) - 1
            jobs.append([Job(at[job.pairs], job.alone) for job in mine])
        counts = np.concatenate(([0], np.cumsum(kept)))
        bounds = [(int(counts[a - begin]), int(counts[b - begin])) for a, b in self.blocks]
        bitext = text.slice(begin, end)
        return bitext if kept.all() else bitext.some(kept), bounds, jobs


def text_arrays(bitext: Bitext) -> dict[str, Array]:
    """The arrays of a text, for `text_of`."""
    arrays: dict[str, Array] = {}
    for name, side in (("source", bitext.source), ("target", bitext.target)):
        arrays |= {f"{name}_tokens": side.tokens, f"{name}_offsets": side.offsets}
    for name, array in bitext.pins._asdict().items():
        arrays[f"pins_{name}"] = array.view(np.uint8) if array.dtype == bool else array
    return arrays


@remembered
def text_of(path: str) -> Bitext:
    """The text of a training."""
    _, arrays = made(path)
    sides = [Sentences(arrays[f"{side}_tokens"], arrays[f"{side}_offsets"]) for side in ("source", "target")]
    pins = Pins(
        *(
            arrays[f"pins_{name}"].view(empty.dtype)
            for name, empty in zip(Pins._fields, UNPINNED, strict=True)
        )
    )
    return Bitext(*sides, pins=pins)


@remembered
def index_of(path: str) -> dict[str, Array]:
    """Where each source word occurs, and the sums that the first round needs."""
    return made(path)[1]


@remembered
def model_of(path: str) -> Model:
    """The model of a round."""
    with refusing(ModelError, what="{cause}; repeat the same command, which makes this file again"):
        return Model.load(path, mapped=True)


def first_rows(text: str, index: str, words: tuple[int, int], above: float, least: float) -> Made:
    """The rows of source words after the first round of Model 1, pruned."""
    bitext, arrays = text_of(text), index_of(index)
    where = Appearances(arrays["starts"], arrays["sentence"])
    corpus = Corpus(where, pairs_of(bitext), len(arrays["column_sums"]))
    found, together = kept_entries(corpus, words, arrays["column_sums"], above, least)
    return {}, {"rows": found.rows, "columns": found.columns, "table": found.table, "together": together}


class Counting(NamedTuple):
    """The files of an E-step: the text, the model; the multipliers to begin with; whether to keep them.

    `ranges` are the bounds of the ranges of entries whose counts are merged by one task each.
    """

    text: str
    model: str
    ranges: Sequence[int]
    warm: str | None
    keep: bool


def count_part(files: Counting, part: TextPart, asked: Expectation) -> Made:
    """The expected counts and statistics of a part of a text."""
    bitext, blocks, jobs = part.of(text_of(files.text))
    model = model_of(files.model)
    warm = _warm(bitext, files)
    step = EStep(bitext, model, asked, boundless())
    step.run(1, warm, blocks, jobs)
    arrays = {"null_target": step.counts.null_target, "null_source": step.counts.null_source}
    arrays |= {f"tally_{name}": array for name, array in step.tallies.together()._asdict().items()}
    links = step.counts.links
    for n, (begin, end) in enumerate(zip(files.ranges, files.ranges[1:], strict=False)):
        entries, mine = counted(links[begin:end], 1 if asked.agree else 2)
        if len(entries) < SPARSE * (end - begin):
            arrays[f"entries_{n:04}"] = entries
        else:
            mine = np.ascontiguousarray(links[begin:end, : mine.shape[1]])
        arrays[f"links_{n:04}"] = mine
    if files.keep:
        for name in ("used", "key", "value"):
            arrays[f"warm_{name}"] = getattr(warm, name)
    return {}, arrays


def _warm(bitext: Bitext, files: Counting) -> Warm:
    """The multipliers of each pair, as the last round has left them."""
    if not files.keep and files.warm is None:
        return COLD
    warm = warm_starts(bitext, boundless())
    if files.warm is not None:
        _, arrays = made(files.warm, ("warm_used", "warm_key", "warm_value"))
        for name in ("used", "key", "value"):
            getattr(warm, name)[:] = arrays[f"warm_{name}"]
    return warm


def merge(counts: Sequence[str], number: int, begin: int, end: int) -> Made:
    """The counts of a range of entries, of all parts of the text."""
    total: Array | None = None
    for path in counts:
        names = f"links_{number:04}", f"entries_{number:04}"
        _, arrays = made(path, names)
        links = arrays[names[0]]
        if total is None:
            total = np.zeros((end - begin, links.shape[1]))
        if names[1] in arrays:
            add_at(arrays[names[1]], links, total)
        else:
            total += links
    assert total is not None
    return {}, {"links": total}


@kernel
def counted(links: Array, columns: int) -> tuple[Array, Array]:
    """Which entries have counts, int32, and these; one of the columns if both are the same."""
    found = 0
    for k in range(len(links)):
        found += links[k, 0] > 0 or links[k, 1] > 0
    entries, counts = np.empty(found, np.int32), np.empty((found, columns))
    found = 0
    for k in range(len(links)):
        if links[k, 0] > 0 or links[k, 1] > 0:
            entries[found] = k
            for d in range(columns):
                counts[found, d] = links[k, d]
            found += 1
    return entries, counts


@kernel
def add_at(entries: Array, links: Array, total: Array) -> None:
    """Add the counts of some entries, int32, to the totals of all."""
    for k in range(len(entries)):
        for d in range(links.shape[1]):
            total[entries[k], d] += links[k, d]
