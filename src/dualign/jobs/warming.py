"""Compiling the kernels before their first use, in parallel, and saying so.

Numba compiles one function at a time, whatever the number of threads, so the work is split between
processes of their own. They leave the machine code in the cache, for this run and all later ones.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from threading import Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from dualign.cli.exits import say
from dualign.core.jit import compiled_mark
from dualign.core.threads import available
from dualign.model.options import Options
from dualign.text.bitext import Bitext, GrowingVocabulary, encode

if TYPE_CHECKING:
    from dualign.model.model import Model

# Ctrl-C is for us to handle; an error shows again where the kernel is used.
QUIETLY: dict[str, Any] = {
    "stdin": subprocess.DEVNULL,
    "stderr": subprocess.DEVNULL,
    "start_new_session": True,
}

SOURCE = [["a", "b", "c"], ["b", "a"], ["c"]]
TARGET = [["x", "y", "z"], ["y", "x"], ["z"]]


def compile_kernels(quiet: bool, decoder: str = "") -> None:
    """Compile whatever the word aligner needs, also by that decoder, unless that was done before.

    "long" stands for pairs with very long sentences, which have kernels of their own.
    """
    wanted = ("chains", "others", *DECODERS.get(decoder, ()))
    done = {job: compiled_mark(job) for job in wanted}
    jobs = [job for job in wanted if not done[job].exists()]
    if not jobs:
        return
    if not quiet:
        say("compiling kernels, once for this version (some 20 to 40 s) …")
    began = perf_counter()
    if available() > 1:
        command = [sys.executable, "-m", "dualign.jobs.warming"]
        processes = [subprocess.Popen([*command, job], **QUIETLY) for job in jobs]
        try:
            codes = [process.wait() for process in processes]
        except BaseException:
            for process in processes:
                process.kill()
            raise
        if any(codes):
            return  # The kernels will be compiled where they are used; errors show there.
    else:
        for job in jobs:
            JOBS[job]()
    for job in jobs:
        done[job].touch()
    if not quiet:
        say(f"kernels compiled in {perf_counter() - began:.0f} s")


def load_kernels(threads: int) -> None:
    """Load the kernels that every run needs on a thread of its own, while the text is being read.

    Only if there is more than one: with one, reading would wait just as long.
    """

    def load() -> None:
        with suppress(Exception):  # it shows again where the kernel is used
            compile_chains()
            compile_usual()

    if threads > 1:
        Thread(target=load, daemon=True).start()


def compile_chains() -> None:
    """The posteriors' kernel, half of all the work."""
    from dualign.infer.blocks import block_of
    from dualign.infer.posteriors import posteriors_of_block

    model, bitext = untrained()
    posteriors_of_block(model.options, block_of(model, bitext, 1), "symmetric", 1)


def compile_long() -> None:
    """The posteriors' kernel for pairs with a very long sentence."""
    from dualign.infer.blocks import block_of
    from dualign.infer.posteriors import constraint_of, expect_long, new_sums

    model, bitext = untrained()
    block = block_of(model, bitext, 1)
    rules = constraint_of(model.options, "symmetric")
    posterior = np.zeros((len(block.entry), 2), np.float32)
    expect_long(np.arange(len(bitext)), block, rules, new_sums(0), posterior)


def compile_others() -> None:
    """All other kernels of training and decoding."""
    from dataclasses import replace

    from dualign.decode.links import links_of_block
    from dualign.infer.blocks import block_of
    from dualign.infer.encoding import encode_for

    compile_usual()
    model, bitext = untrained()
    block = block_of(model, bitext, 1)
    posterior = np.zeros((len(block.entry), 2), np.float32)
    links_of_block(replace(model.options, decoder="viterbi"), block, posterior, 1)
    text, unknown = encode_for(model, [(["new", "a"], ["x", "newer"])])
    block_of(model, text, 1, unknown)


def compile_usual() -> None:
    """The kernels of training and decoding that every run needs, but for the posteriors'."""
    from dataclasses import replace

    from dualign.decode.links import joined, links_of_block
    from dualign.infer.blocks import block_of
    from dualign.learn.counts import add_counts, add_null_counts
    from dualign.learn.ibm1 import prune, train_ibm1
    from dualign.learn.smoothing import make_priors, reestimate_lexicon
    from dualign.text.numbering import Side
    from dualign.text.printing import print_links

    model, bitext = untrained()
    words = model.source.words, model.target.words
    lexicon = prune(train_ibm1(bitext, len(words[0]), len(words[1]), 2, 1), 1e-9)
    priors = make_priors(lexicon, *words, 4, 1.0, 1.0, 1)
    counts, nulls = np.zeros(lexicon.table.shape), [np.zeros(len(side)) for side in words]
    model = replace(model, lexicon=reestimate_lexicon(lexicon, counts, nulls[1], nulls[0], priors, 1))
    block = block_of(model, bitext, 1)
    posterior = np.zeros((len(block.entry), 2), np.float32)
    add_counts(0, len(words[0]), block, True, posterior, counts, nulls[0])
    add_null_counts(block, posterior, nulls[1])
    links = joined([links_of_block(model.options, block, posterior, 1)], np.zeros(len(bitext), np.bool_))
    print_links(links.source, links.target, links.probability, links.begin, links.count, False)
    Side().add(b"a b\n")


def compile_agreement() -> None:
    """The bidirectional decoder."""
    from dualign.decode.joint.bidirectional import solve
    from dualign.decode.joint.objective import Problem
    from dualign.decode.joint.potentials import potentials
    from dualign.infer.blocks import block_of

    model, bitext = untrained()
    solve(Problem(*potentials(0, block_of(model, bitext, 1)), -1.0, -3.0), "exact")


def compile_matchings() -> None:
    """The decoders `submodular` and `matching`."""
    from dataclasses import replace

    from dualign.decode.links import links_of_block
    from dualign.infer.blocks import block_of

    model, bitext = untrained()
    block = block_of(model, bitext, 1)
    posterior = np.full((len(block.entry), 2), 0.5, np.float32)
    for decoder in ("submodular", "matching"):
        links_of_block(replace(model.options, decoder=decoder), block, posterior, 1)


def untrained() -> tuple[Model, Bitext]:
    """A model of three words a side, and its text."""
    from dualign.model.jumps import classes_of, initial_jumps, initial_weights
    from dualign.model.lexicon import Lexicon
    from dualign.model.model import Model
    from dualign.model.vocabulary import Vocabulary

    source, target = GrowingVocabulary(), GrowingVocabulary()
    bitext = encode(zip(SOURCE, TARGET, strict=True), source, target, True)
    table = np.full((3, 2), 0.5, np.float32)
    even = np.full(3, 1 / 3, np.float32)
    lexicon = Lexicon(np.arange(4), np.arange(3, dtype=np.int32), table, even, even)
    weights = initial_weights(0.2, 1e-8)
    jumps = initial_jumps(*(classes_of(np.zeros(len(words)), 0) for words in (target, source)))
    return Model(
        Vocabulary(list(source)), Vocabulary(list(target)), lexicon, weights, jumps, Options()
    ), bitext


JOBS = {
    "chains": compile_chains,
    "others": compile_others,
    "long": compile_long,
    "agreement": compile_agreement,
    "matchings": compile_matchings,
}
DECODERS = {
    "bidirectional": ("agreement",),
    "submodular": ("matchings",),
    "matching": ("matchings",),
    "long": ("long",),
}
"""Jobs that only some decoders or texts need."""

if __name__ == "__main__":
    JOBS[sys.argv[1]]()
