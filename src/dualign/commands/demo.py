"""`dualign demo`: a model of the bundled sample, and what it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dualign._core.fields import bundle, opt
from dualign._core.files.streams import open_output
from dualign._core.progress import Clock
from dualign.commands.bundles import Computing
from dualign.commands.command import Command
from dualign.commands.console import Reporter

if TYPE_CHECKING:
    from dualign.text.links import Alignment

SHOWN = (1, 3, 13)
"""Of the pairs with gold: a time that moves; do-support, which is hard; a verb before its subject."""

ENTRIES = 12
LETTERS = 4

Sentences = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Demo(Command):
    """Train on the bundled sample, and show the result.

    The sample has 400 German-English sentence pairs, written for dualign. Training uses only these sentences;
    gold links of the first 60 are used to measure the result.
    """

    folder: str | None = opt(
        None, "Only copy the sample's files into this folder, created if necessary, to try commands on.",
        name="files", metavar="DIR",
    )  # fmt: skip
    computing: Computing = bundle(Computing, "threads")

    @property
    def main_output(self) -> str:
        """Return where the result is shown."""
        return "-"

    def run(self, tell: Reporter) -> list[str]:
        """Return the lines to show."""
        if self.folder is not None:
            from dualign.text.samples import write_sample

            tell.note("wrote {files}", files=", ".join(write_sample(self.folder)))
            return []
        from dualign.aligner import Aligner
        from dualign.commands.evaluate import Report
        from dualign.commands.warming import WORD_ALIGNER, compile_kernels
        from dualign.measure.bootstrap import confidence_interval
        from dualign.measure.links import evaluate
        from dualign.text.samples import sample

        source, target, gold = sample()
        pairs = list(zip(source, target, strict=True))
        compile_kernels(tell.note, *WORD_ALIGNER)
        tell.progress(0, "train")
        clock = Clock()
        aligner = Aligner(threads=self.computing.threads).fit(pairs, report=tell.round)
        learnt = clock.restart()
        alignments = aligner.align(pairs)
        aligned = clock.seconds

        first = alignments[: len(gold)]
        quality = Report(evaluate(first, gold), confidence_interval(first, gold))
        lines = [
            f"Trained on {len(source)} German-English sentence pairs, without any gold links.",
            "",
            "Links, with their probabilities in per cent",
            "(!: not a gold link; ?: a gold link that was missed)",
        ]
        for n in SHOWN:
            lines += ["", *_grid(source[n], target[n], alignments[n], gold[n])]
        return [
            *lines,
            f"\nQuality on the {len(gold)} pairs with gold links, in per cent\n\n{quality.as_text()}",
            "\nThe most frequent translations of longer words, with p(English | German)\n",
            *_dictionary(source, target, alignments),
            f"\nTime: {learnt:.1f} s to train, {aligned:.1f} s to align. "
            "Your own text: dualign align SOURCE TARGET\n",
        ]

    def show(self, result: list[str], tell: Reporter) -> None:
        """Print the lines."""
        if result:
            with open_output("-") as stream:
                stream.write("\n".join(result))


def _grid(source: Sequence[str], target: Sequence[str], found: Alignment, gold: Alignment) -> Iterator[str]:
    """Draw source words as rows, target words as columns, per cent in the cells of links."""
    probabilities = dict(zip(found.links, found.probabilities or (), strict=True))
    accepted = {*gold.links, *gold.possible}
    left = max(map(len, source))
    widths = [max(4, len(word)) for word in target]
    heads = (f"{word:>{width}s}" for word, width in zip(target, widths, strict=True))
    yield f"  {'':{left}s}  {' '.join(heads)}"
    for i, word in enumerate(source):
        cells = []
        for j, width in enumerate(widths):
            if (i, j) in probabilities:
                mark = " " if (i, j) in accepted else "!"
                cell = f"{100 * probabilities[i, j]:.0f}{mark}"
            else:
                cell = "? " if (i, j) in gold.links else ". "
            cells.append(f"{cell:>{width}s}")
        yield f"  {word:{left}s}  {' '.join(cells)}".rstrip()


def _dictionary(source: Sentences, target: Sentences, alignments: Sequence[Alignment]) -> Iterator[str]:
    """Return the translations with most links between words of some length, two columns of them."""
    together: Counter[tuple[str, str]] = Counter()
    alone: Counter[str] = Counter()
    for words, translations, alignment in zip(source, target, alignments, strict=True):
        for i, j in alignment:
            together[words[i].lower(), translations[j].lower()] += 1
            alone[words[i].lower()] += 1
    longer = [pair for pair in together if min(map(len, pair)) >= LETTERS]
    best = sorted(longer, key=lambda pair: (-together[pair], pair))[:ENTRIES]
    shown = [f"{v:10s} {w:10s} {together[v, w] / alone[v]:5.2f}" for v, w in best]
    half = -(-len(shown) // 2)
    for row in range(half):
        yield "  " + "     ".join(shown[row::half])
