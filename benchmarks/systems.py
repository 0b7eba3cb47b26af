"""The aligners that are compared: how each is run, and where its links are.

Every system runs with its default settings, as its documentation recommends, on the same number of threads.
Other aligners give the links of two directions. We symmetrise them in the five usual ways, outside the
measured time, and count the one with the lowest AER against the gold links. Users without gold cannot choose
like that, so this favours the other aligners. dualign runs once, with default settings.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path

from benchmarks.corpora import Text
from dualign._core.errors import DataError
from dualign.commands.bench import DUALIGN
from dualign.measure.timing import Usage, measure
from dualign.text.formats.pharaoh import parse_pharaoh
from dualign.text.link_formats import read_links
from dualign.text.links import Alignment

SYMMETRIZATIONS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run cost, and its links for the gold pairs by method of symmetrisation."""

    usage: Usage
    links: dict[str, list[Alignment]]


class Dualign:
    """`dualign align SOURCE TARGET` with the running interpreter, without tuning."""

    name = "dualign"
    more: tuple[str, ...] = ()

    def version(self) -> str:
        return version("dualign")

    def missing(self) -> str | None:
        return None

    def run(self, text: Text, place: Path, threads: int) -> Answer:
        links = place / "links"
        command = [*DUALIGN, "align", str(text.source), str(text.target), "-o", str(links), *self.more]
        usage = measure([*command, "--threads", str(threads), "--quiet"])
        return Answer(usage, {"default": first(links, len(text.gold))})


class Agreement(Dualign):
    """The same, with agreement in all rounds of training."""

    name = "dualign-agreement"
    more = ("--constraint", "agreement")


class Eflomal:
    """`eflomal-align -s SOURCE -t TARGET -f FORWARD -r REVERSE`, from the PyPI package of that name."""

    name = "eflomal"
    more: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.program = found("eflomal-align")

    def version(self) -> str:
        try:
            return version("eflomal")
        except PackageNotFoundError:
            return "of unknown version"

    def missing(self) -> str | None:
        return None if self.program else "no eflomal-align; pip install eflomal"

    def run(self, text: Text, place: Path, threads: int) -> Answer:
        forward, backward = place / "forward", place / "backward"
        files = {"-s": text.source, "-t": text.target, "-f": forward, "-r": backward}
        command = [str(self.program), *(str(word) for item in files.items() for word in item)]
        usage = measure([*command, *self.more], environment=openmp(threads))
        return Answer(usage, symmetrized(first(forward, len(text.gold)), first(backward, len(text.gold))))


class EflomalPrefix(Eflomal):
    """The same with `--source-prefix 4 --target-prefix 4`: words with the same first letters are one."""

    name = "eflomal-prefix"
    more = ("--source-prefix", "4", "--target-prefix", "4")


class FastAlign:
    """`fast_align -i TEXT -d -o -v`, and the same with `-r`, one after the other."""

    name = "fast_align"

    def __init__(self) -> None:
        self.program = found("fast_align")

    def version(self) -> str:
        return "of unknown version"

    def missing(self) -> str | None:
        return None if self.program else "no fast_align on PATH"

    def run(self, text: Text, place: Path, threads: int) -> Answer:
        joined = place / "joined"
        with (
            text.source.open(encoding="utf-8") as left,
            text.target.open(encoding="utf-8") as right,
            joined.open("w", encoding="utf-8") as both,
        ):
            both.writelines(f"{s.rstrip()} ||| {t}" for s, t in zip(left, right, strict=True))
        command = [str(self.program), "-i", str(joined), "-d", "-o", "-v"]
        forward, backward = place / "forward", place / "backward"
        usage = measure(command, output=forward, environment=openmp(threads))
        usage += measure([*command, "-r"], output=backward, environment=openmp(threads))
        return Answer(usage, symmetrized(first(forward, len(text.gold)), first(backward, len(text.gold))))


class Mgiza:
    """MGIZA++ with the options that Moses' `train-model.perl` gives it: Model 1, HMM, Models 3 and 4.

    `plain2snt S T`, `mkcls -n2 -c50` for either side, then for each direction `snt2cooc` and `mgiza` with
    OPTIONS below. The time is that of all these commands.
    """

    OPTIONS = (
        "-m1 5 -m2 0 -mh 5 -m3 3 -m4 3 -model1dumpfrequency 1 -model4smoothfactor 0.4 -nodumps 1 -nsmooth 4 "
        "-onlyaldumps 1 -p0 0.999"
    )

    name = "mgiza"
    programs = ("mgiza", "mkcls", "plain2snt", "snt2cooc")

    def version(self) -> str:
        return "of unknown version"

    def missing(self) -> str | None:
        absent = [program for program in self.programs if not found(program)]
        return f"no {', '.join(absent)} on PATH" if absent else None

    def run(self, text: Text, place: Path, threads: int) -> Answer:
        # The tools write into the directory of their input, under names derived from its name.
        names = place / "s", place / "t"
        for name, path in zip(names, (text.source, text.target), strict=True):
            shutil.copyfile(path, name)
        source, target = map(str, names)
        usage = measure(["plain2snt", source, target])
        for side in (source, target):
            usage += measure(["mkcls", "-n2", "-c50", f"-p{side}", f"-V{side}.vcb.classes", "opt"])
        answers = []
        for given, made in ((source, target), (target, source)):
            pairs = f"{given}_{Path(made).name}"
            vocabularies = f"{given}.vcb", f"{made}.vcb"
            usage += measure(["snt2cooc", f"{pairs}.cooc", *vocabularies, f"{pairs}.snt"])
            files = {"-s": vocabularies[0], "-t": vocabularies[1], "-c": f"{pairs}.snt", "-o": pairs}
            files |= {"-CoocurrenceFile": f"{pairs}.cooc", "-ncpus": str(threads)}
            words = [word for item in files.items() for word in item]
            usage += measure(["mgiza", *words, *self.OPTIONS.split()])
            answers.append(giza(place, Path(pairs).name, len(text.gold)))
        turned = [Alignment.of((i, j) for j, i in links) for links in answers[1]]
        return Answer(usage, symmetrized(answers[0], turned))


SYSTEMS = (Dualign, Agreement, Eflomal, EflomalPrefix, FastAlign, Mgiza)


def found(program: str) -> str | None:
    """A program in the directory of the running interpreter, otherwise on PATH."""
    beside = os.path.dirname(sys.executable)
    return shutil.which(program, path=beside) or shutil.which(program)


def openmp(threads: int) -> dict[str, str]:
    return {"OMP_NUM_THREADS": str(threads)}


def first(path: Path, count: int) -> list[Alignment]:
    """The links of the first lines."""
    with path.open(encoding="utf-8") as lines:
        links = [parse_pharaoh(line) for line in islice(lines, count)]
    if len(links) < count:
        raise DataError(f"{path.name} has {len(links)} lines, too few for {count} gold pairs")
    return links


def giza(place: Path, prefix: str, count: int) -> list[Alignment]:
    """The first pairs of all parts of an `A3.final` file, which MGIZA's threads write in any order."""
    blocks = {}
    for part in sorted(place.glob(f"{prefix}.A3.final*")):
        for number, block in giza_blocks(part):
            if number <= count:
                blocks[number] = block
    if len(blocks) < count:
        raise DataError(f"{prefix}.A3.final* have {len(blocks)} of the first {count} pairs")
    merged = place / f"{prefix}-merged.A3.final"
    merged.write_text("".join(blocks[number] for number in sorted(blocks)), encoding="utf-8")
    return list(read_links(str(merged), "giza"))


def giza_blocks(path: Path) -> Iterator[tuple[int, str]]:
    with path.open(encoding="utf-8") as lines:
        while block := "".join(islice(lines, 3)):
            number = re.match(r"# Sentence pair \((\d+)\)", block)
            if number is None:
                raise DataError(f"{path.name}: no GIZA block: {block[:60]!r}")
            yield int(number[1]), block


def symmetrized(forward: list[Alignment], backward: list[Alignment]) -> dict[str, list[Alignment]]:
    from dualign.decode.symmetrize import symmetrize

    return {method: symmetrize(forward, backward, method) for method in SYMMETRIZATIONS}
