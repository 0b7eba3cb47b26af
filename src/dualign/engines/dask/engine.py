"""The engine of training whose passes over the text run on a cluster.

A round is a protocol of files. The text is numbered here, once, and mapped by all workers. A task counts some
consecutive blocks of it and writes their counts, by range of the lexicon's entries; a second kind of task
merges one range of all these files; statistics are added up here, and the M-step is that of a single machine.
A finished round is a model file, named by its content, and a record of how it was made: whoever repeats the
command goes on after the last of them, or, where rounds hand multipliers on, after the last whose multipliers
are still there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import ModelError, UsageError
from dualign._core.memory import Workspace
from dualign._core.threads import ordered_map, pieces
from dualign.engines.dask.tasks import Counting, TextPart, count_part, first_rows, merge, text_arrays
from dualign.engines.dask.work_folder import (
    is_whole,
    keep,
    kept_model,
    made,
    mark_of,
    model_mark,
    model_path,
    remove,
)
from dualign.engines.dask.workers import TASKS_PER_WORKER, Task, Workers, crew_of
from dualign.engines.threads import ThreadsEngine
from dualign.hmm.blocks import block_bounds, pairs_of, word_ranges
from dualign.hmm.constraints import ConstraintSet
from dualign.hmm.ibm1 import Kept, Whole, joined_rows
from dualign.hmm.lexicon import Lexicon
from dualign.hmm.model import Model
from dualign.hmm.posteriors import jobs_of
from dualign.hmm.smoothing import Priors
from dualign.hmm.statistics import ChainStatistics, ExpectedCounts, added, in_numbers
from dualign.hmm.training import EMRound, Expectation, Statistics, expectation_for, maximised
from dualign.text.corpus import Bitext, Numbered

RANGE_ENTRIES = 1 << 18
MOST_RANGES = 64
"""Entries of the lexicon whose counts are merged by one task, and how many such ranges there are at most."""

MOST_CELLS = 1 << 25
"""Pairs of words that the first round looks at in one task; the more, the more memory a task takes."""


MANY_BLOCKS = 8
"""From this many blocks for each task on, tasks are made of whole blocks; otherwise of their jobs."""


def cut_at_jobs(bitext: Bitext, blocks: Sequence[tuple[int, int]], tasks: int) -> list[TextPart]:
    """Parts with about the same number of cells, at most `tasks`, cut between any two jobs."""
    places, cells = [], []
    for number, (begin, end) in enumerate(blocks):
        block = bitext.slice(begin, end)
        lengths, widths = block.source.lengths, block.target.lengths
        for job, (pairs, _) in enumerate(jobs_of(pairs_of(block))):
            places.append((number, job))
            cells.append(int((lengths[pairs] * widths[pairs]).sum()))
    ends = np.cumsum(cells)
    wanted = ends[-1] * np.arange(1, tasks) / tasks
    cuts = sorted({0, *(1 + np.searchsorted(ends, wanted)).tolist(), len(places)})
    found = []
    for a, b in pairwise(cuts):
        first, last = places[a], places[b] if b < len(places) else (len(blocks), 0)
        if last[1]:  # a part of the block of the job behind this part belongs to it
            found.append(TextPart(blocks[first[0] : last[0] + 1], first[1], last[1]))
        else:
            found.append(TextPart(blocks[first[0] : last[0]], first[1]))
    return found


class DaskEngine(ThreadsEngine):
    """Training with the workers of a cluster, of whom a Dask client knows. `threads` are those of this
    process, for its own part."""

    def __init__(
        self, client: Any, work: str | os.PathLike[str] | None, threads: int, workspace: Workspace
    ) -> None:
        super().__init__(threads, workspace)
        self._stack = ExitStack()
        self.crew = (
            client if isinstance(client, Workers) else self._stack.enter_context(crew_of(client, work))
        )
        self.number = 0
        self.kept: list[str] = []
        self._last: tuple[Model, str, bool] | None = None

    def start(self, text: Numbered, max_length: int) -> Numbered:
        """Write the text for the workers, and cut it into parts."""
        bitext = super().start(text, max_length)
        arrays = text_arrays(bitext)
        self.mark = mark_of(*arrays.values(), *map("\n".join, (bitext.source_words, bitext.target_words)))
        self.text = self.crew.place(f"text-{self.mark[:20]}")
        self.parts = self._cut()
        if not is_whole(self.text, self.mark):
            keep(self.text, self.mark, arrays)
        return bitext

    def close(self) -> None:
        """Leave the cluster, unless it was here before."""
        self._stack.close()

    def _cut(self) -> list[TextPart]:
        """Parts of about the same size, as many as workers can share; as before, if there was a before."""
        blocks = block_bounds(self.bitext)
        path = self.crew.place(f"tasks-{self.mark[:20]}")
        if not is_whole(path, self.mark):
            keep(path, self.mark, {}, {"tasks": TASKS_PER_WORKER * self.crew.workers})
        self.tasks = int(made(path)[0]["tasks"])
        if len(blocks) >= MANY_BLOCKS * self.tasks:
            edges = np.linspace(0, len(blocks), self.tasks + 1).astype(np.int64).tolist()
            return [TextPart(blocks[a:b]) for a, b in pairwise(edges)]
        return cut_at_jobs(self.bitext, blocks, self.tasks)

    def first_lexicon(self, sizes: tuple[int, int], least: float) -> Kept:
        """See `Engine.first_lexicon`; each task looks at the whole text for a range of source words."""
        whole = Whole(self.bitext, sizes, self.threads, self.workspace)
        nulls, column_sums = whole.even_shares()
        where, crew = whole.corpus.words, self.crew
        mark = mark_of(self.mark, sizes, least)
        index = crew.place(f"index-{mark[:20]}")
        if not is_whole(index, mark):
            keep(index, mark, {**where._asdict(), "column_sums": column_sums})
        cells = int((self.bitext.source.lengths * self.bitext.target.lengths).sum())
        ranges = word_ranges(where.starts, max(cells // MOST_CELLS, 2 * self.tasks))
        tasks = [
            Task(
                crew.place(f"rows-{mark[:12]}-{v0}-{v1}"), mark, first_rows,
                (self.text, index, (v0, v1), whole.above, least),
            )
            for v0, v1 in ranges
        ]  # fmt: skip
        crew.run("first_round", tasks)
        rows = []
        for task in tasks:
            _, arrays = made(task.path)
            found = Lexicon(arrays["rows"], arrays["columns"], arrays["table"], *nulls)
            rows.append(Kept(found, arrays["together"]))
        return joined_rows(rows, *nulls, self.workspace)

    def round(
        self, model: Model, priors: Priors, constraint: str, constraints: ConstraintSet | None, keep: bool
    ) -> EMRound:
        """See `Engine.round`."""
        self.number += 1
        state = self._mark_of(model)
        rules = b"" if constraints is None else self.crew.pickled(constraints)
        known = *priors.pseudo.counts, *priors.pseudo.left_out, priors.alike, priors.kept
        mark = mark_of(self.mark, self.tasks, state, constraint, rules, keep, *known)
        record = self.crew.place(f"round-{mark[:12]}-{self.number}")
        if (done := self._finished(record, mark, model)) is not None:
            return done
        asked = expectation_for(model, self.bitext, constraint, constraints)
        found, spent = self._expected(model, state, mark, asked, keep)
        table = self.workspace.empty(model.lexicon.table.shape, np.float32, hot=True)
        done = maximised(self.bitext, model, priors, constraint, found, self.threads, table)
        self._finish(record, mark, done)
        remove(*spent)
        return done

    def _finished(self, record: str, mark: str, model: Model) -> EMRound | None:
        """The round that a record tells of, if it was made from the same; its multipliers are there, too."""
        if not is_whole(record, mark):
            return None
        about, _ = made(record)
        try:
            new = Model.load(self.crew.place(about["model"]), mapped=True)
        except ModelError:
            return None
        kept = [self.crew.place(name) for name in about["kept"]]
        if not all(is_whole(path, mark) for path in kept):
            return None
        self.kept = kept
        new = replace(model, lexicon=new.lexicon, weights=new.weights, jumps=new.jumps)
        return EMRound(new, about["objective"], about["evaluations"])

    def _mark_of(self, model: Model) -> str:
        """The mark of a model; that of the last round's is known."""
        if self._last is None or self._last[0] is not model:
            self._last = model, model_mark(model), False
        return self._last[1]

    def _finish(self, record: str, mark: str, done: EMRound) -> None:
        state = model_mark(done.model)
        stored = kept_model(self.crew.work, done.model, state)
        self._last = done.model, state, True
        about = {
            "model": os.path.basename(stored),
            "objective": done.objective,
            "evaluations": done.evaluations,
            "kept": [os.path.basename(path) for path in self.kept],
        }
        keep(record, mark, {}, about)

    def _expected(
        self, model: Model, state: str, mark: str, asked: Expectation, keep: bool
    ) -> tuple[Statistics, list[str]]:
        """The E-step: all counts, the statistics of all blocks; and the files to remove after the round."""
        crew, entries, name = self.crew, len(model.lexicon.columns), f"round_{self.number}"
        stored = self._stored(model, state)
        ranges = pieces(entries, RANGE_ENTRIES, min(MOST_RANGES, self.tasks))
        edges = np.linspace(0, entries, ranges + 1).astype(int).tolist()
        before: list[str | None] = [*self.kept] if self.kept else [None] * len(self.parts)
        counting = [
            Task(
                crew.place(f"{name}-{mark[:12]}-counts-{n}"), mark, count_part,
                (Counting(self.text, stored, edges, warm, keep), part, asked),
            )
            for n, (part, warm) in enumerate(zip(self.parts, before, strict=True))
        ]  # fmt: skip
        crew.run(f"{name}_counts", counting)
        counts = [task.path for task in counting]
        merging = [
            Task(crew.place(f"{name}-{mark[:12]}-merged-{n}"), mark, merge, (counts, n, begin, end))
            for n, (begin, end) in enumerate(pairwise(edges))
        ]
        crew.run(f"{name}_merge", merging)
        nulls, sums = self._small(model, counts)
        found = Statistics(ExpectedCounts(self._merged(model, merging, edges), *nulls), sums)
        spent = [*(task.path for task in merging), *self.kept, *(() if keep else counts)]
        self.kept = counts if keep else []
        return found, spent

    def _merged(self, model: Model, merging: list[Task], edges: list[int]) -> Array:
        links = self.workspace.empty(model.lexicon.table.shape, np.float64, hot=True)

        def fetch(number: int) -> None:
            links[edges[number] : edges[number + 1]] = made(merging[number].path)[1]["links"]

        list(ordered_map(fetch, range(len(merging)), self.threads))
        return links

    def _small(self, model: Model, counts: list[str]) -> tuple[tuple[Array, Array], ChainStatistics]:
        """What is added up here: the counts of null, and the statistics."""
        names = [f"tally_{name}" for name in ChainStatistics._fields]
        nulls = np.zeros(len(model.lexicon.null_target)), np.zeros(len(model.lexicon.null_source))
        tallies = []
        for path in counts:
            _, arrays = made(path, (*names, "null_target", "null_source"))
            nulls[0][:] += arrays["null_target"]
            nulls[1][:] += arrays["null_source"]
            tallies.append(ChainStatistics(*(arrays[name] for name in names)))
        return nulls, in_numbers(added(tallies))

    def _stored(self, model: Model, state: str) -> str:
        """The file of a model, which is written unless this process has just done so."""
        if self._last is None or self._last[1:] != (state, True):
            return kept_model(self.crew.work, model, state)
        return model_path(self.crew.work, state)


def check_learnable(model: str, *, similarities: bool) -> None:
    """Refuse what a cluster does not learn."""
    if model != "hmm":
        raise UsageError(
            "a cluster learns the HMM; train {model=} on one machine, then align on the cluster with the "
            "saved model",
            model=model,
        )
    if similarities:
        raise UsageError("a cluster does not know similarities; train on one machine")
