"""Compiling the kernels of a job before its work, in parallel.

Numba compiles one function at a time, whatever the number of threads, so the work is split between
processes. They leave the machine code in the cache, for this run and all later ones.
"""

from __future__ import annotations

import gc
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.compile_watch import announce, expecting, watched
from dualign._core.jit import (
    PACKAGE,
    digest_and_imports,
    kernel_folder,
    remove_unused,
    versions,
    with_kernel_folder,
)
from dualign._core.memory import boundless
from dualign._core.progress import Clock, unmeasured, unwatched
from dualign._core.threads import available
from dualign.options import Options
from dualign.text.corpus import Bitext, GrowingVocabulary, Numbered, encode

if TYPE_CHECKING:
    from dualign.hmm.model import Model

# Ctrl-C is for us to handle; an error shows again where the kernel is used.
QUIETLY: dict[str, Any] = {
    "stdin": subprocess.DEVNULL,
    "stderr": subprocess.DEVNULL,
    "start_new_session": True,
}

SOURCE = [["a", "b", "c"], ["b", "a"], ["c"]]
TARGET = [["x", "y", "z"], ["y", "x"], ["z"]]


class Mark:
    """Remembers that the kernels of a job have been compiled for this state of our sources.

    It has two names. One depends on the content of our sources, the other on their places, sizes and times:
    that one is quick to find, and made anew where only the times have changed.
    """

    def __init__(self, job: str, versions: str) -> None:
        self._name = hashlib.sha256(f"{job} {versions}".encode()).hexdigest()[:16]
        self._job = job

    def is_set(self) -> bool:
        """Whether the kernels have been compiled."""
        if self._path(_state()).exists():
            return True
        if not self._path(_all_sources()).exists():
            return False
        self.set()
        return True

    def set(self) -> None:
        """From now on, `is_set`; without a word where nothing can be written."""
        for state in (_all_sources(), _state()):
            with suppress(OSError):
                self._path(state).touch()

    def _path(self, state: str) -> Path:
        return kernel_folder() / f"{self._job}-compiled-{self._name}-{state}"


def _source_files() -> Iterator[str]:
    for folder, folders, names in os.walk(PACKAGE):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))


@cache
def _state() -> str:
    """A digest of the places, sizes and times of our sources."""
    digest = hashlib.sha256()
    for path in _source_files():
        status = os.stat(path)
        digest.update(f"{path} {status.st_mtime_ns} {status.st_size} ".encode())
    return digest.hexdigest()[:16]


@cache
def _all_sources() -> str:
    """A digest of the content of our sources."""
    digest = hashlib.sha256()
    for path in _source_files():
        digest.update(os.path.relpath(path, PACKAGE).encode() + digest_and_imports(path)[0])
    return digest.hexdigest()[:16]


def compile_ahead(everything: bool, note: Callable[[str], None]) -> Path:
    """Compile what word alignment needs, or everything, unless that was done before; returns the folder.

    For images of machines and for clusters, where the first run should not take longer than later ones.
    """
    from dualign.translate.search.decoding import METHODS

    names = [*WORD_ALIGNER, "lines", "cutting", "cluster"]
    if everything:
        names = [name for name in KERNELS if name != "translation"]
        names += [f"translation-{method}" for method in METHODS]
    compile_kernels(note, *names)
    return kernel_folder()


def compile_kernels(note: Callable[[str], None], *names: str) -> None:
    """Compile kernels by their names in `KERNELS`, unless that was done before; `note` gets a message."""
    marks = {name: mark for name in names if not (mark := Mark(name, str(versions()))).is_set()}
    if not marks:
        return
    what = ", ".join(dict.fromkeys(_kernels(name).title for name in marks))
    note(f"compiling kernels, once for this version of dualign: {what} …")
    clock = Clock()
    groups = _shared_out(marks, available())
    with expecting(sum(_kernels(name).functions for name in marks)):
        if len(groups) == 1:
            for name in marks:
                _compile(name)
        elif not _compile_apart(groups):
            return  # The kernels will be compiled where they are used; errors show there.
    for mark in marks.values():
        mark.set()
    remove_unused()
    if clock.seconds >= 1:  # else they were all in the cache
        note(f"kernels compiled in {clock.seconds:.0f} s")


def _shared_out(names: Iterable[str], processes: int) -> list[list[str]]:
    """Share work out: the longest first, each piece to whoever has least to do."""
    groups: list[list[str]] = [[] for _ in range(processes)]
    for name in sorted(names, key=lambda name: -_kernels(name).functions):
        min(groups, key=lambda group: sum(_kernels(each).functions for each in group)).append(name)
    return [group for group in groups if group]


def _compile_apart(groups: list[list[str]]) -> bool:
    """Compile each group in a process of its own, and announce what they compile; whether all went well."""
    ours, theirs = os.pipe()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        with open(ours) as names:
            try:
                for group in groups:
                    command = [sys.executable, "-m", "dualign.commands.warming", *group]
                    environment = with_kernel_folder(os.environ)
                    processes.append(subprocess.Popen(command, stdout=theirs, env=environment, **QUIETLY))
            finally:
                os.close(theirs)
            for name in names:  # until all of them have ended
                announce(name.rstrip())
        codes = [process.wait() for process in processes]
        return not any(codes)
    except BaseException:
        for process in processes:
            process.kill()
        raise


def compile_chains() -> None:
    """The posteriors' kernel, half of all the work, and nothing else."""
    from dualign.hmm.blocks import block_with
    from dualign.hmm.cells import CellBuffers, Cells

    model, bitext = untrained_model()
    slots = np.cumsum([0, *(len(s) * len(t) for s, t in zip(SOURCE, TARGET, strict=True))])
    none = np.zeros(len(bitext.source.tokens), np.int32)
    block = block_with(model, bitext, Cells(slots, none, none.copy(), *CellBuffers.of(int(slots[-1]))))
    _expect(model, block, alone=False)


def compile_long() -> None:
    """The posteriors' kernel for pairs with a very long sentence."""
    model, block, _ = untrained()
    _expect(model, block, alone=True)


def _expect(model: Model, block: Any, alone: bool) -> None:
    from dualign.hmm.posteriors import Job, constraint_of, expectation_tasks, only_posteriors
    from dualign.hmm.statistics import Tallies

    posterior = np.zeros((block.first[-1], 2), np.float32)
    jobs = [Job(np.arange(len(SOURCE)), alone)]
    rules = constraint_of(model.options, "symmetric")
    expectation_tasks(block, jobs, rules, only_posteriors(posterior), Tallies(0))[0]()


def compile_lines() -> None:
    """Reading lines for a saved model, and files that have both sides."""
    from dualign.hmm.blocks import block_of
    from dualign.hmm.encoding import encode_lines
    from dualign.text.blocks import Position, TextBlock
    from dualign.text.text_files import TextFiles

    block = TextBlock(Position(), Position(1, 10), b"a ||| \xc3\xa9\n", None, TextFiles("-"), True)
    block.normalised()
    model, _ = untrained_model()
    text, unknown, _ = encode_lines(model, *(b"new a \xc3\xa9\n", b"x newer\n"))
    block_of(model, text, unknown)


def compile_paths() -> None:
    """The decoders `viterbi` and `posterior`, with symmetrisation."""
    from dualign.decode.decoders import links_of_block

    model, block, posterior = untrained()
    for decoder in ("viterbi", "posterior"):
        links_of_block(replace(model.options, decoder=decoder), block, posterior)


def compile_learning() -> None:
    """All that learning from a text and its default decoder need, except the posteriors."""
    compile_reading()
    compile_usual()


def compile_reading() -> None:
    """The kernels that read a text to learn from."""
    from dualign.text.numbering import SideNumbering
    from dualign.text.utf8_kernels import normal_form, octets
    from dualign.text.word_table import grown, room_for_words

    normal_form(b"a\n", "strict")
    grown(room_for_words(octets(b"a"), 1), 0, 2)
    SideNumbering().add(b"a b\n")
    _, bitext = untrained_model()
    text = Numbered(bitext.source, bitext.target, ["a", "b", "c"], ["x", "y", "z"])
    text.renumbered([1, 2, 0], [1, 2, 0])
    text.chosen(text.fitting() & (np.arange(len(SOURCE)) > 0))


def compile_usual() -> None:
    """The kernels of training and decoding that every run needs, except the posteriors'."""
    compile_training()
    compile_choosing()


def compile_training() -> None:
    """The kernels of training, except the posteriors'."""
    from dualign.hmm.cells import look_up, visit_rows
    from dualign.hmm.expected_counts import ExpectedCounts, add_counts, add_null_counts
    from dualign.hmm.ibm1 import Whole, frequencies, lift, prune, train_ibm1
    from dualign.hmm.posteriors import Output
    from dualign.hmm.smoothing import make_priors, reestimate_lexicon, shift_numbers

    model, bitext = untrained_model()
    words = model.source.words, model.target.words
    sizes = len(words[0]), len(words[1])
    lexicon = prune(train_ibm1(bitext, *sizes, 2, 1), 1e-9, 1)
    Whole(bitext, sizes, 1, boundless()).kept(1e-9)
    sides = zip((bitext.source, bitext.target), sizes, strict=True)
    source, target = (frequencies(side.tokens, size, 1) for side, size in sides)
    lift(lexicon, (source, target), 1)
    priors = make_priors(lexicon, *words, 4, 1.0, 1.0, 1)
    shift_numbers(0, 0, lexicon, priors.stems, 0)  # that of ranges, and so few words have one
    counts = ExpectedCounts(np.zeros(lexicon.table.shape), np.zeros(len(words[1])), np.zeros(len(words[0])))
    lexicon = reestimate_lexicon(lexicon, counts, priors, 1)
    lookup = look_up(bitext, lexicon)
    end = visit_rows(0, len(words[0]), lookup)
    nulls = np.zeros(len(SOURCE) * 3, np.float32)
    output = Output(np.zeros((lookup.cells.first[-1], 2), np.float32), nulls, nulls, True)
    add_counts(0, len(words[0]), end, lookup, output, counts, 8.0)
    add_null_counts(lookup, output, counts, 8.0)


def compile_choosing() -> None:
    """Cells, links by the default decoder, and their printing."""
    from dualign.decode.decoders import decode_block, joined
    from dualign.text.printing import print_links

    model, block, posterior = untrained()
    block = block._replace(likelihood=np.zeros((len(SOURCE), 2)))
    links = joined([decode_block(model.options, block, posterior)])
    print_links(links, False)


def load_ahead(learns: bool) -> None:
    """Load compiled kernels: those that read a text to learn from now, the others while it is read.

    Threads that need one at the same moment would all wait for it, and each look it up by itself.
    """
    if learns:
        compile_reading()
    first = compile_training if learns else compile_lines
    Thread(target=_load, args=((first, compile_chains, compile_choosing),)).start()


def _load(compiles: Sequence[Callable[[], None]]) -> None:
    # An error shows again where the kernel is used; nobody watches or measures what is done for practice.
    with unmeasured(), unwatched(), suppress(Exception):
        for compile in compiles:
            compile()


def load_kernels() -> None:
    """What workers of a cluster need for training and aligning, loaded while the command reads the text."""
    for compile in (compile_chains, compile_usual, compile_lines, compile_cluster):
        compile()


def compile_cluster() -> None:
    """What workers do with counts."""
    from dualign.engines.dask.tasks import add_at, counted

    entries, counts = counted(np.ones((1, 2)), 1)
    add_at(entries, counts, np.zeros((1, 1)))


def compile_agreement() -> None:
    """The bidirectional decoder."""
    from dualign.decode.joint.api import solve
    from dualign.decode.joint.model import JointProblem, potentials

    solve(JointProblem(*potentials(0, untrained()[1]), -1.0, -3.0), "exact")


def compile_matchings() -> None:
    """The decoders `submodular` and `matching`."""
    from dualign.decode.decoders import links_of_block

    model, block, posterior = untrained()
    for decoder in ("submodular", "matching"):
        links_of_block(replace(model.options, decoder=decoder), block, posterior + np.float32(0.5))


def untrained() -> tuple[Model, Any, Array]:
    """A model of three words on each side, the block of its text, and posteriors of 0."""
    from dualign.hmm.blocks import block_of

    model, bitext = untrained_model()
    block = block_of(model, bitext)
    return model, block, np.zeros((block.first[-1], 2), np.float32)


def untrained_model() -> tuple[Model, Bitext]:
    """A model of three words on each side, and its text."""
    from dualign.hmm.jumps import classes_of, initial_jumps, initial_weights
    from dualign.hmm.lexicon import Lexicon
    from dualign.hmm.model import Model, Vocabulary

    source, target = GrowingVocabulary(), GrowingVocabulary()
    bitext = encode(zip(SOURCE, TARGET, strict=True), source, target, True)
    even = np.full(3, 1 / 3, np.float32)
    table = np.full((3, 2), 0.5, np.float32)
    lexicon = Lexicon(np.arange(4), np.arange(3, dtype=np.int32), table, even, even)
    jumps = initial_jumps(*(classes_of(np.zeros(len(words)), 0) for words in (target, source)))
    words = Vocabulary(list(source)), Vocabulary(list(target))
    return Model(*words, lexicon, initial_weights(0.2, 1e-8), jumps, Options()), bitext


def compile_cutting() -> None:
    """The built-in tokeniser, and where its tokens are."""
    from dualign.text.simple_tokenizer import simple_cut
    from dualign.text.token_positions import places_of_tokens

    places_of_tokens(b"a.\n", simple_cut(b"a.\n"), False)


def compile_extraction() -> None:
    """Phrase extraction."""
    from dualign.phrase.phrase_tables import build_table
    from dualign.text.links import Alignment

    build_table([((["a", "b"], ["x", "y"]), Alignment(((0, 0), (1, 1))))], os.devnull, threads=1)


def compile_phrases() -> None:
    """Phrase alignment."""
    from dualign.phrase.aligning import align

    align({(0, 1, 0, 1): 0.0}, 1, 1)


def compile_rules() -> None:
    """Extracting rules of translation, and tuning their weights."""
    from dualign.text.links import Alignment
    from dualign.translate.mert import envelopes
    from dualign.translate.rules.hiero import extract

    list(extract([(["a", "b"], ["x", "y"])], [Alignment(((0, 0), (1, 1)))]))
    envelopes(np.zeros(2), np.zeros(2), np.array([0, 2]))


def compile_translation(method: str) -> None:
    """A decoder of translations; with a time limit, it compiles all its kernels before the clock starts."""
    from dualign.translate import Hypergraph, LanguageModel, decode

    graph = Hypergraph([(None, 0.0), ("a", 0.0), ("b", 0.0)], [(0, [1, 2], 0.0), (0, [2, 1], 0.0)], 0)
    decode(graph, LanguageModel.train([["a", "b"], ["b", "a"]], 3), method=method, time_limit=60.0)


class Kernels(NamedTuple):
    """Kernels that are needed together: what they are for, about how many functions they have, a call."""

    title: str
    functions: int
    compile: Callable[..., None]


KERNELS = {
    "chains": Kernels("alignment models", 80, compile_chains),
    "learning": Kernels("training", 60, compile_learning),
    "lines": Kernels("saved models", 25, compile_lines),
    "paths": Kernels("symmetrisation", 30, compile_paths),
    "long": Kernels("long sentences", 80, compile_long),
    "agreement": Kernels("bidirectional decoder", 70, compile_agreement),
    "matchings": Kernels("matchings", 35, compile_matchings),
    "cutting": Kernels("tokeniser", 20, compile_cutting),
    "cluster": Kernels("cluster", 2, compile_cluster),
    "extraction": Kernels("phrase extraction", 40, compile_extraction),
    "phrases": Kernels("phrase alignment", 50, compile_phrases),
    "rules": Kernels("rules", 30, compile_rules),
    "translation": Kernels("translation", 75, compile_translation),
}
"""What can be compiled; `translation-METHOD` is for one decoder of translations."""

WORD_ALIGNER = ("chains", "learning")
DECODERS = {
    "viterbi": (*WORD_ALIGNER, "paths"),
    "posterior": (*WORD_ALIGNER, "paths"),
    "bidirectional": (*WORD_ALIGNER, "agreement"),
    "submodular": (*WORD_ALIGNER, "matchings"),
    "matching": (*WORD_ALIGNER, "matchings"),
}
"""What word alignment needs with these decoders; with the others, `WORD_ALIGNER`."""


def _kernels(name: str) -> Kernels:
    return KERNELS[name.partition("-")[0]]


def _compile(name: str) -> None:
    _kernels(name).compile(*name.split("-")[1:])


def main(names: list[str]) -> None:
    """Compile kernels by their names, and print the names of functions as they are compiled."""
    gc.set_threshold(1_000_000)  # compilation makes very many objects, and this process ends soon
    with watched(lambda done, expected, name: print(name, flush=True)):
        for name in names:
            _compile(name)


if __name__ == "__main__":
    main(sys.argv[1:])
