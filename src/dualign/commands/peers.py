"""`dualign fast-align` and `dualign eflomal`: links of one direction, with the options of these programs.

`forward` has at most one link for a target word, `backward` for a source word; in both files the source word
comes first. A link of a direction is one whose probability in that direction is over one half.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, replace
from typing import Any, ClassVar

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import bundle, opt
from dualign._core.files.streams import open_output
from dualign.commands.bundles import WITHOUT_MODEL, Computing, Evidence, Outputs
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.options import Options
from dualign.text.blocks import TextFiles

DIRECTION = {"decoder": "posterior", "threshold": 0.5}
"""How the links of a direction are chosen."""


@dataclass(frozen=True)
class AlignDirections(Command):
    """Learn from a bitext, or align it with the model `load`, and write the links of either direction.

    A score is the mean cost of a word, −log p(target given source) or −log p(source given target), in nats.
    With `after_links`, it follows the links, as the log-probability of the sentence: `0-0 1-1 ||| -7.3`.
    """

    text: TextFiles = bundle(TextFiles)
    forward: str | None = opt(None, "Links; at most one per target word.", metavar="FILE", file="out")
    backward: str | None = opt(None, "Links; at most one per source word.", metavar="FILE", file="out")
    save: str | None = opt(None, "Save the model.", metavar="MODEL", file="out")
    forward_scores: str | None = opt(
        None, "Cost of a target word, given the source.", metavar="FILE", file="out"
    )
    backward_scores: str | None = opt(
        None, "Cost of a source word, given the target.", metavar="FILE", file="out"
    )
    after_links: bool = opt(False, "Write `links ||| log-probability`.")
    load: str | None = opt(None, "Align with this saved model.", metavar="MODEL", file="in")
    options: dict[str, Any] = bundle(Options, deferred=True)
    evidence: Evidence = bundle(Evidence, WITHOUT_MODEL)
    computing: Computing = bundle(Computing)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self._wanted():
            raise UsageError("nothing to write; name a file for the links of one direction at least")

    def _wanted(self) -> list[tuple[str, str | None, str | None]]:
        """Return the directions whose links or scores are written."""
        both = (
            ("forward", self.forward, self.forward_scores),
            ("backward", self.backward, self.backward_scores),
        )
        return [each for each in both if each[1:] != (None, None)]

    def run(self, tell: Reporter) -> None:
        """Align once for each direction; the second time with the model of the first."""
        from dualign._core.files.atomic import temporary_folder
        from dualign.commands.align import Align

        load, wanted = self.load, self._wanted()
        if (len(wanted) == 2 or self.after_links) and not self.text.is_regular:
            raise UsageError("the text is read more than once; name files instead of - or a pipe")
        with temporary_folder(self.computing.scratch) as folder:
            links, costs, model = (os.path.join(folder, name) for name in ("links", "scores", "model"))
            for direction, place, scores in wanted:
                scored = scores is not None or self.after_links
                first = links if place is None or self.after_links else place
                outputs = Outputs(first, scores=costs if scored else None)
                how: dict[str, Any] = {**self.options, **DIRECTION, "symmetrize": direction}
                if load is not None:
                    how = {name: value for name, value in how.items() if name not in ("model", "null")}
                    how["load"] = load
                else:
                    load = self.save or (model if len(wanted) == 2 else None)
                    how["evidence"], outputs = self.evidence, replace(outputs, model=load)
                verb = Align.of(text=self.text, outputs=outputs, computing=self.computing, **how)
                cutting = verb.run(tell).cutting
                if scores is not None:
                    with open_output(scores) as stream:
                        stream.writelines(f"{-value:g}\n" for value in _scores(costs, direction))
                if self.after_links and place is not None:
                    text = replace(self.text, errors=self.computing.errors, cutting=cutting)
                    _write_after_links(links, costs, text, place, direction)


def _scores(path: str, direction: str) -> Iterator[float]:
    """Return the log-probabilities per word of a direction, from a file of scores."""
    from dualign.text.utf8 import read_lines

    column = 0 if direction == "forward" else 1
    return (float(line.split("\t")[column]) for line in read_lines(path))


def _write_after_links(links: str, scores: str, text: TextFiles, output: str, direction: str) -> None:
    from dualign.text.blocks import read_pairs
    from dualign.text.utf8 import read_lines

    side = 1 if direction == "forward" else 0
    rows = zip(read_lines(links), _scores(scores, direction), read_pairs(text), strict=True)
    with open_output(output) as stream:
        stream.writelines(f"{line} ||| {value * len(pair[side]):g}\n" for line, value, pair in rows)


def _ignored(flag: str, short: str = "", text: str = "Accepted but ignored.", **rules: Any) -> Any:
    """Declare an option that the other program has, and this one does not heed."""
    return opt(None if rules else False, text, flag=flag, short=short, ignored=True, **rules)


@dataclass(frozen=True)
class FastAlign(Command):
    """Align as fast_align does, with its options.

    Writes the links of one direction to standard output. Words are what ASCII white space separates.
    fast_align's files of probabilities are neither read nor written: -p and -f save and load a model of
    dualign.
    """

    quiet: ClassVar[tuple[str, ...]] = ("--quiet",)

    input: str = opt(MISSING, "Lines `source ||| target`.", short="-i", metavar="FILE", file="in")
    reverse: bool = opt(False, "Link each source word to at most one target word.", short="-r")
    scores: bool = opt(False, "Write `links ||| log-probability`.", short="-s")
    save: str | None = opt(
        None, "Save the model, in dualign's format.",
        flag="--conditional_probabilities", short="-p", metavar="MODEL", file="out",
    )  # fmt: skip
    load: str | None = opt(
        None, "Align with a model that -p saved, instead of training one.",
        flag="--force_align", short="-f", metavar="MODEL", file="in",
    )  # fmt: skip
    computing: Computing = bundle(Computing, "threads")
    p0: float | None = opt(None, "Probability that a word has no link.", short="-q", metavar="P")
    diagonal: bool = _ignored("--favor_diagonal", "-d", "Accepted but ignored: an HMM does this.")
    tension: bool = _ignored("--optimize_tension", "-o")
    bayes: bool = _ignored("--variational_bayes", "-v")
    no_null: bool = _ignored("--no_null_word", "-N")
    iterations: int | None = _ignored("--iterations", "-I", metavar="N")
    start_tension: float | None = _ignored("--diagonal_tension", "-T", metavar="X")
    alpha: float | None = _ignored("--alpha", "-a", metavar="X")
    beam: float | None = _ignored("--beam_threshold", "-t", metavar="X")
    multiplier: float | None = _ignored("--mean_srclen_multiplier", "-m", metavar="X")
    buffer: int | None = _ignored("--thread_buffer_size", "-b", metavar="N")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.load is not None and self.save is not None:
            raise UsageError("-f and -p exclude each other: a model is either loaded or saved")
        self.work()

    @property
    def main_output(self) -> str:
        """Return where the links go."""
        return "-"

    def work(self) -> AlignDirections:
        """Return the same as a verb of our own."""
        how = {} if self.p0 is None else {"null": self.p0}
        return AlignDirections.of(
            self.input, **{"backward" if self.reverse else "forward": "-"}, save=self.save, load=self.load,
            after_links=self.scores, whitespace="ascii", computing=self.computing, **how,
        )  # fmt: skip

    def run(self, tell: Reporter) -> None:
        """Write links of one direction to standard output."""
        from dualign.text.tables import OR_TWO_FILES, SEPARATED

        try:
            self.work().run(tell)
        except DataError as error:
            if error.remedy != OR_TWO_FILES:
                raise
            remedy = f"{SEPARATED}; for two files there is `dualign align SOURCE TARGET`"
            raise error.with_remedy(remedy) from None


@dataclass(frozen=True)
class Eflomal(Command):
    """Align as eflomal-align does, with its options.

    Writes the links of either direction, or of both. Words are what ASCII white space separates.
    """

    quiet: ClassVar[tuple[str, ...]] = ("--quiet",)

    source: str | None = opt(None, "Source text.", short="-s", metavar="FILE", file="in")
    target: str | None = opt(None, "Target text.", short="-t", metavar="FILE", file="in")
    input: str | None = opt(None, "Lines `source ||| target`.", short="-i", metavar="FILE", file="in")
    forward: str | None = opt(
        None, "Links; at most one per target word.",
        flag="--forward-links", short="-f", metavar="FILE", file="out",
    )  # fmt: skip
    reverse: str | None = opt(
        None, "Links; at most one per source word.",
        flag="--reverse-links", short="-r", metavar="FILE", file="out",
    )  # fmt: skip
    forward_scores: str | None = opt(
        None, "Cost of a target word, given the source.", short="-F", metavar="FILE", file="out"
    )
    reverse_scores: str | None = opt(
        None, "Cost of a source word, given the target.", short="-R", metavar="FILE", file="out"
    )
    priors: str | None = opt(
        None, "Priors of eflomal-makepriors, or others.", short="-p", metavar="FILE", file="in"
    )
    model: int = opt(3, "1: IBM Model 1; 2 and 3: HMM.", short="-m", metavar="N", least=1, most=3)
    computing: Computing = bundle(Computing, "threads")
    null_prior: float | None = opt(None, "Probability that a word has no link.", metavar="P")
    overwrite: bool = opt(False, "Overwrite existing files.")
    length: float | None = _ignored("--length", "-l", metavar="X")
    ibm1_iters: int | None = _ignored("--ibm1-iters", "-1", metavar="N")
    hmm_iters: int | None = _ignored("--hmm-iters", "-2", metavar="N")
    fert_iters: int | None = _ignored("--fert-iters", "-3", metavar="N")
    samplers: int | None = _ignored("--n-samplers", metavar="N")
    score_model: int | None = _ignored("--score-model", "-M", metavar="N")
    source_prefix: int | None = _ignored("--source-prefix", metavar="N")
    source_suffix: int | None = _ignored("--source-suffix", metavar="N")
    target_prefix: int | None = _ignored("--target-prefix", metavar="N")
    target_suffix: int | None = _ignored("--target-suffix", metavar="N")
    verbose: bool = opt(False, "Show progress and notes on stderr.", short="-v")
    debug: bool = _ignored("--debug")

    def __post_init__(self) -> None:
        super().__post_init__()
        two = self.source is not None and self.target is not None
        if (self.input is None) != two or (self.input and (self.source or self.target)):
            raise UsageError("name either -s and -t, or -i")
        self.work()

    @property
    def is_silent(self) -> bool:
        """Whether nothing is shown on stderr."""
        return not self.verbose

    def check_files(self) -> None:
        """Refuse to overwrite links, too."""
        super().check_files()
        for path in (self.forward, self.reverse):
            if path is not None and not self.overwrite and os.path.isfile(path):
                raise DataError("already exists; remove it, or use {overwrite=}", place=path, overwrite=True)

    def work(self) -> AlignDirections:
        """Return the same as a verb of our own."""
        how = {} if self.null_prior is None else {"null": self.null_prior}
        return AlignDirections.of(
            self.source or str(self.input), self.target, forward=self.forward, backward=self.reverse,
            forward_scores=self.forward_scores, backward_scores=self.reverse_scores, prior=self.priors,
            model="ibm1" if self.model == 1 else "hmm", whitespace="ascii", computing=self.computing, **how,
        )  # fmt: skip

    def run(self, tell: Reporter) -> None:
        """Write links of one direction, or of both."""
        self.work().run(tell)
