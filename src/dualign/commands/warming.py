"""Compiling the kernels of a job before its work, in parallel, by doing such work on a few sentences.

Numba compiles one function at a time, whatever the number of threads, so the work is split between
processes. They leave the machine code in the cache, for this run and all later ones. Half of the time goes
to one kernel, that of the posteriors: one process begins with it, another trains as far as it comes without.
What is still missing then is compiled where it is used.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dualign._core.jit import kernel_folder, not_compiled, remove_unused, with_kernel_folder
from dualign._core.progress import Clock, Watcher, announce, expecting, unmeasured, unwatched, watched
from dualign._core.threads import available

if TYPE_CHECKING:
    from dualign.aligner import Aligner

# Ctrl-C is for us to handle; an error shows again where the kernel is used.
QUIETLY: dict[str, Any] = {
    "stdin": subprocess.DEVNULL,
    "stderr": subprocess.DEVNULL,
    "start_new_session": True,
}

_APART = "import sys; from dualign.commands.warming import main; main(sys.argv[1:])"

_at_work: list[str] = []
"""What is being compiled ahead here: the work that is done for that compiles nothing ahead itself."""


def compile_ahead(everything: bool, note: Callable[[str], None]) -> Path:
    """Compile what word alignment needs, or everything, unless that was done before; returns the folder.

    For images of machines and for clusters, where the first run should not take longer than later ones.
    """
    from dualign.translate.search.decoding import METHODS

    names = [*WORD_ALIGNER, "lines", "cutting", "cluster"]
    if everything:
        names = [name for name in KERNELS if name not in ("translation", "rest")]
        names += [f"translation-{method}" for method in METHODS]
    compile_kernels(note, *names)
    compile_kernels(note, "rest")
    return kernel_folder()


def compile_kernels(note: Callable[[str], None], *names: str) -> None:
    """Compile kernels by their names in `KERNELS`, unless that was done before; `note` gets a message."""
    if _at_work:
        return
    marks = not_compiled(names)
    if not marks:
        return
    what = ", ".join(dict.fromkeys(_kernels(name).title for name in marks))
    note(f"compiling kernels, once for this version of dualign: {what} …")
    clock = Clock()
    groups = _shared_out(marks, available())
    with expecting(sum(_kernels(name).functions for name in marks)):
        if len(groups) == 1:
            _compile(groups[0])
        elif not _compile_apart(groups):
            return  # The kernels will be compiled where they are used; errors show there.
    for mark in marks.values():
        with suppress(OSError):  # nothing can be written there
            mark.touch()
    remove_unused()
    if clock.seconds >= 1:  # else they were all in the cache
        note(f"kernels compiled in {clock.seconds:.0f} s")


def _shared_out(names: Iterable[str], processes: int) -> list[list[str]]:
    """Share work out: the longest first, each piece to whoever has least to do.

    What needs the posteriors' kernel is one piece, so that one process compiles that, and does so first.
    """
    pieces = [[name] for name in names if _kernels(name).apart]
    pieces.append([name for name in KERNELS if name in names and not _kernels(name).apart])
    groups: list[list[str]] = [[] for _ in range(processes)]
    for piece in sorted(pieces, key=_size, reverse=True):
        min(groups, key=_size).extend(piece)
    return [group for group in groups if group]


def _size(group: list[str]) -> int:
    return sum(_kernels(name).functions for name in group)


def _compile(names: list[str]) -> None:
    """Do the work that needs these kernels; nobody watches or measures it."""
    _at_work.extend(names)
    try:
        with unmeasured(), unwatched(), TemporaryDirectory() as folder:
            for name in names:
                _kernels(name).work(Path(folder), *name.split("-")[1:])
    finally:
        _at_work.clear()


def _compile_apart(groups: list[list[str]]) -> bool:
    """Compile each group in a process of its own, and announce what they compile; whether all went well."""
    ours, theirs = os.pipe()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        with open(ours) as names:
            try:
                for group in groups:
                    command = [sys.executable, "-c", _APART, *group]
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


def _six_pairs(folder: Path) -> list[str]:
    """Files of the two sides of six bundled sentence pairs."""
    from dualign.text.samples import sample

    paths = [folder / "source", folder / "target"]
    for path, sentences in zip(paths, sample()[:2], strict=True):
        path.write_text("".join(f"{' '.join(words)}\n" for words in sentences[:6]), encoding="utf-8")
    return [str(path) for path in paths]


def _untrained() -> Aligner:
    """An aligner whose model was not trained: that would take the kernels that are to be compiled first."""
    from dualign.aligner import Aligner
    from dualign.hmm.jumps import classes_of, initial_jumps, initial_weights
    from dualign.hmm.lexicon import Lexicon
    from dualign.hmm.model import Model, Vocabulary
    from dualign.options import Options

    even, table = np.full(3, 1 / 3, np.float32), np.full((3, 2), 0.5, np.float32)
    lexicon = Lexicon(np.arange(4), np.arange(3, dtype=np.int32), table, even, even)
    jumps = initial_jumps(*(classes_of(np.zeros(3), 0) for _ in range(2)))
    words = Vocabulary(["a", "b", "c"]), Vocabulary(["x", "y", "z"])
    return Aligner.of_model(Model(*words, lexicon, initial_weights(0.2, 1e-8), jumps, Options()), threads=1)


def _align(folder: Path, decoders: tuple[str, ...] = ("soft-union",), words: int = 3) -> None:
    """Posteriors, and links by these decoders."""
    aligner = _untrained()
    for decoder in decoders:
        aligner.set_options(decoder=decoder).align([(["a", "b", "c"] * (words // 3), ["x", "y", "z"])])


def _align_lines(folder: Path) -> None:
    """A file that has both sides, and a few words that the saved model does not know."""
    _untrained().save(model := str(folder / "model"))
    (folder / "pairs").write_text("a b c ||| x y z\n" * 9 + "new a ||| x newer\n", encoding="utf-8")
    _run("align", str(folder / "pairs"), output=str(folder / "links"), load=model)


def _learn(folder: Path) -> None:
    """Training without the rounds that need posteriors."""
    _run("train", *_six_pairs(folder), output=str(folder / "model"), rounds=0, ibm1_rounds=1)


def _learn_and_align(folder: Path) -> None:
    """All that `dualign align` does."""
    _run("align", *_six_pairs(folder), output=str(folder / "links"))


def _run(verb: str, *files: str, **options: Any) -> None:
    """Run a verb, which itself asks for its kernels to be compiled ahead."""
    module = import_module(f"dualign.commands.{verb}")
    getattr(module, verb.title()).of(*files, threads=1, **options).execute()


def _count(folder: Path) -> None:
    """What workers of a cluster do with counts."""
    from dualign.engines.dask.tasks import add_at, counted

    entries, counts = counted(np.ones((1, 2)), 1)
    add_at(entries, counts, np.zeros((1, 1)))


def load_kernels() -> None:
    """What workers of a cluster need for the posteriors, loaded while the command reads the text."""
    _compile(["chains", "cluster"])


def _tokenize(folder: Path) -> None:
    """The built-in tokeniser, and where its tokens are."""
    from dualign.text.simple_tokenizer import simple_cut
    from dualign.transfer.positions import places_of_tokens

    places_of_tokens(b"a.\n", simple_cut(b"a.\n"), False)


def _extract_phrases(folder: Path) -> None:
    from dualign.phrase.phrase_tables import build_table
    from dualign.text.links import Alignment

    build_table([((["a", "b"], ["x", "y"]), Alignment(((0, 0), (1, 1))))], os.devnull, threads=1)


def _align_phrases(folder: Path) -> None:
    from dualign.phrase.aligning import align

    align({(0, 1, 0, 1): 0.0}, 1, 1)


def _extract_rules(folder: Path) -> None:
    """Extracting rules of translation, and tuning their weights."""
    from dualign.text.links import Alignment
    from dualign.translate.mert import envelopes
    from dualign.translate.rules.hiero import extract

    list(extract([(["a", "b"], ["x", "y"])], [Alignment(((0, 0), (1, 1)))]))
    envelopes(np.zeros(2), np.zeros(2), np.array([0, 2]))


def _translate(folder: Path, method: str) -> None:
    """A decoder of translations; with a time limit, it compiles all its kernels before the clock starts."""
    from dualign.translate import Hypergraph, LanguageModel, decode

    graph = Hypergraph([(None, 0.0), ("a", 0.0), ("b", 0.0)], [(0, [1, 2], 0.0), (0, [2, 1], 0.0)], 0)
    decode(graph, LanguageModel.train([["a", "b"], ["b", "a"]], 3), method=method, time_limit=60.0)


class Kernels(NamedTuple):
    """Kernels that are needed together: what they are for, about how many functions they have, and work that
    needs them, `apart` from the posteriors' kernel or not."""

    title: str
    functions: int
    work: Callable[..., None]
    apart: bool = True


KERNELS = {
    "chains": Kernels("alignment models", 80, _align, False),
    "paths": Kernels("symmetrisation", 30, partial(_align, decoders=("viterbi", "posterior")), False),
    "agreement": Kernels("bidirectional decoder", 70, partial(_align, decoders=("bidirectional",)), False),
    "matchings": Kernels("matchings", 35, partial(_align, decoders=("submodular", "matching")), False),
    "lines": Kernels("saved models", 25, _align_lines, False),
    "rest": Kernels("rounds of training", 20, _learn_and_align, False),
    "learning": Kernels("training", 60, _learn),
    "long": Kernels("long sentences", 80, partial(_align, words=150)),
    "cutting": Kernels("tokeniser", 20, _tokenize),
    "cluster": Kernels("cluster", 2, _count),
    "extraction": Kernels("phrase extraction", 40, _extract_phrases),
    "phrases": Kernels("phrase alignment", 50, _align_phrases),
    "rules": Kernels("rules", 30, _extract_rules),
    "translation": Kernels("translation", 75, _translate),
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


class _Names(Watcher):
    """Prints the names of functions as they are compiled."""

    def compiling(self, done: int, expected: int, name: str) -> None:
        print(name, flush=True)


def main(names: list[str]) -> None:
    """Compile kernels by their names, and print the names of functions as they are compiled."""
    gc.set_threshold(1_000_000)  # compilation makes very many objects, and this process ends soon
    with watched(_Names()):
        _compile(names)
