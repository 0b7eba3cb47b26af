"""Neither threads, nor the memory budget, nor the cut into blocks and ranges changes a bit of a model."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from dualign._core import memory as rooms
from dualign._core import threads as core_threads
from dualign._core.errors import UsageError
from dualign._core.memory import Workspace
from dualign.engines import threads as expectation
from dualign.engines.threads import ThreadsEngine
from dualign.hmm import ibm1, posteriors, smoothing
from dualign.hmm.blocks import block_bounds
from dualign.hmm.model import Model
from dualign.hmm.training import expectation_for, train
from dualign.options import Options
from dualign.text.corpus import numbered
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def text():
    return numbered([(s, t) for s, t, _ in generate(400, seed=5, vocabulary=150)], lowercase=False)


def arrays_of(model: Model) -> dict[str, np.ndarray]:
    return {
        **model.lexicon._asdict(),
        **{f"jumps {name}": array for name, array in model.jumps._asdict().items()},
        "weights": model.weights,
    }


def assert_same(one: Model, other: Model) -> None:
    for (name, mine), theirs in zip(arrays_of(one).items(), arrays_of(other).values(), strict=True):
        np.testing.assert_array_equal(mine.view(np.uint8), theirs.view(np.uint8), name)


@pytest.fixture
def many_pieces(monkeypatch):
    """Small blocks, jobs and ranges, so that a small text has many of each."""
    monkeypatch.setattr(expectation, "BLOCK_CELLS", 3000)
    monkeypatch.setattr(posteriors, "JOB_CELLS", 500)
    for module in (expectation, ibm1, smoothing):
        monkeypatch.setattr(module, "pieces", lambda work, each, most: core_threads.pieces(work, 100, most))


@pytest.mark.parametrize("constraint", ["agreement", "symmetric"])
def test_threads_and_budgets_change_no_bit(text, constraint, many_pieces, monkeypatch, tmp_path):
    options = Options(constraint=constraint, rounds=5, prune=1e-3, jump_words=20)
    whole = train(text, options, ThreadsEngine(1, Workspace(threads=1)))
    for threads in (2, 5):
        assert_same(whole, train(text, options, ThreadsEngine(threads, Workspace(threads=threads))))
    # Everything that may lie in scratch files does.
    monkeypatch.setattr(rooms, "SMALL", 0)
    room = Workspace(1, str(tmp_path))
    room.given = False
    assert_same(whole, train(text, options, ThreadsEngine(3, room)))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [Options(rounds=2, jump_words=20), Options(constraint="symmetric", rounds=8), Options(model="ibm2")],
)
def test_the_cut_of_the_text_changes_no_bit(text, options, monkeypatch):
    """Not even where multipliers go from round to round."""
    whole = train(text, options, ThreadsEngine(2, Workspace(threads=2)))
    monkeypatch.setattr(expectation, "BLOCK_CELLS", 2000)
    assert_same(whole, train(text, options, ThreadsEngine(2, Workspace(threads=2))))


@pytest.mark.parametrize(("threads", "blocks"), [(1, 1), (2, 3)])
def test_blocks_get_smaller_where_memory_is_short(text, threads, blocks, monkeypatch):
    monkeypatch.setattr(expectation, "BLOCK_CELLS", 1 << 14)
    monkeypatch.setattr(expectation, "LEAST_CELLS", 1 << 10)
    cut, options = [], Options(rounds=1, jump_words=20)

    def bounds(bitext, cells):
        cut.append(cells)
        return block_bounds(bitext, cells)

    monkeypatch.setattr(expectation, "block_bounds", bounds)
    models = []
    for buffers_fit in (1 << 14, 1 << 12, 1):
        left = blocks * expectation.bytes_of(buffers_fit, dense=False)
        monkeypatch.setattr(Workspace, "left", property(lambda room, left=left: left))
        models.append(train(text, options, ThreadsEngine(threads, Workspace(threads=threads))))
        assert cut == [max(buffers_fit, 1 << 10)] * len(cut)
        cut.clear()
    for model in models[1:]:
        assert_same(models[0], model)


def test_a_budget_that_is_too_small_says_what_is_needed(text, tmp_path):
    with pytest.raises(
        UsageError, match=r'memory="1 MiB" is too little: a text of 400 pairs needs about \d+ MiB'
    ):
        train(text, Options(), ThreadsEngine(1, Workspace(1 << 20, str(tmp_path))))


def test_a_lexicon_that_is_too_large_says_so_when_its_size_is_known(text, tmp_path, monkeypatch):
    monkeypatch.setattr(rooms, "OWN", 0)
    monkeypatch.setattr(rooms, "PER_THREAD", 0)
    with pytest.raises(UsageError, match=r"a lexicon of [\d,]+ entries needs about"):
        train(text, replace(Options(), prune=0.0), ThreadsEngine(1, Workspace(200_000, str(tmp_path))))


def test_blocks_add_their_counts_one_after_the_other(text, monkeypatch):
    """Even where the posteriors of a later block are there first."""
    options = Options(rounds=1, jump_words=20)
    model = train(text, options, ThreadsEngine(1, Workspace(threads=1)))

    def counts(threads: int) -> np.ndarray:
        asked = expectation_for(model, text, "none", None)
        step = expectation.EStep(text, model, asked, rooms.boundless())
        step.run(threads, bounds=block_bounds(text, 1500))
        return step.counts.links

    expected = counts(1)
    calls_of, made, order = expectation.expectation_calls, [], []

    def delayed(*arguments):
        calls = calls_of(*arguments)
        made.append(len(calls))
        if len(made) % 3 == 1:
            calls.append((lambda *_: time.sleep(0.02),))
        return calls

    def noted(v0, v1, end, lookup, *others):
        order.append(id(lookup.cells.first))
        add_counts(v0, v1, end, lookup, *others)

    add_counts = expectation.add_counts
    monkeypatch.setattr(expectation, "expectation_calls", delayed)
    monkeypatch.setattr(expectation, "add_counts", noted)
    # The sums are exact, in whatever order; so that is looked at itself.
    firsts = []
    look_up = expectation.look_up

    def kept(*arguments):
        firsts.append(look_up(*arguments))
        return firsts[-1]

    monkeypatch.setattr(expectation, "look_up", kept)
    np.testing.assert_array_equal(counts(4).view(np.uint64), expected.view(np.uint64))
    assert len(firsts) == len(made) > 10
    runs = [block for n, block in enumerate(order) if n == 0 or order[n - 1] != block]
    assert len(runs) == len(set(runs)) == len(made)
    texts = {id(lookup.cells.first): lookup.pairs.source.__array_interface__["data"][0] for lookup in firsts}
    assert [texts[block] for block in runs] == sorted(texts.values())
