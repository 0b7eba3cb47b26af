"""`dualign dictionary`: words and their translations, from a model or from linked text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from dualign._core.errors import UsageError
from dualign._core.fields import arg, bundle, opt
from dualign._core.files.streams import open_output
from dualign.commands.bundles import Computing, columns, output
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.text.blocks import TextFiles

if TYPE_CHECKING:
    from dualign.hmm.model import Model
    from dualign.phrase.word_entries import WordEntry
    from dualign.text.blocks import Pair
    from dualign.text.links import Alignment

FORMS = ("tsv", "lex", "shortlist", "eflomal")
USUAL_PROBABILITY = 0.05
"""What a translation needs, in both directions, to stand in a glossary, unless somebody says otherwise."""

HEAD = "source\ttarget\tcount\tp(target|source)\tp(source|target)"
NULL = "NULL"
CHUNK = 4096
LEAST = 5e-8
"""Less would be printed as 0."""
LEAST_COUNT = 1e-3


@dataclass(frozen=True)
class Dictionary(Command):
    """Write a dictionary of words, from a model or from links.

    A glossary has counts and both probabilities; with the text, words as they are written there and the
    shortest example. A model with a text aligns it first.
    """

    subject: str = arg(
        "A saved model, or a file of links with its text.", name="given", metavar="MODEL|LINKS", file="in"
    )
    output: str = output()
    source: str | None = opt(None, "Source text of the links, or bitext.", metavar="FILE", file="in")
    target: str | None = opt(None, "Target text of the links.", metavar="FILE", file="in", needs="source")
    columns: str | None = columns(needs="source")
    form: str = opt(
        "tsv", "A glossary; FILE.s2t and FILE.t2s as Moses' lex; `target source p`; eflomal's priors.",
        flag="--to", choices=FORMS,
    )  # fmt: skip
    least_count: float = opt(0.0, "Leave out entries that are linked less often.", metavar="N", least=0)
    least_probability: float | None = opt(
        None, "Leave out less probable entries; default for a glossary: 0.05 in both directions.",
        metavar="P", least=0,
    )  # fmt: skip
    relative: float = opt(
        0.0, "Leave out translations less probable than this share of the word's best one.",
        metavar="R", least=0,
    )  # fmt: skip
    computing: Computing = bundle(Computing, "threads errors")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form == "lex" and self.output == "-":
            raise UsageError("two files are written, FILE.s2t and FILE.t2s; name FILE")

    def files(self, kind: str, *, without: str = "") -> list[str]:
        """Return what it reads or writes; two files as Moses' lex."""
        if kind == "out" and self.form == "lex":
            return [f"{self.output}.s2t", f"{self.output}.t2s"]
        return super().files(kind, without=without)

    def run(self, tell: Reporter) -> int:
        """Write entries; return their number."""
        from dualign._core.files.container import is_model_file
        from dualign.hmm.model import Model
        from dualign.text.tokenizing import PLAIN, cutting_of

        model = Model.load(self.subject) if is_model_file(self.subject) else None
        cutting = PLAIN if model is None else cutting_of(model.options.tokenize, model.options.whitespace)
        if self.source is None:
            return self._write(model, None, tell)
        errors = self.computing.errors
        text = TextFiles(self.source, self.target, self.columns, errors=errors, cutting=cutting)
        if not text.is_regular:
            raise UsageError("the text is read a second time for its examples; name files instead of -")
        return self._write(model, text, tell)

    def _write(self, model: Model | None, text: TextFiles | None, tell: Reporter) -> int:
        from dualign.phrase.word_entries import CutOffs

        least = self.least_probability
        if least is None:
            least = USUAL_PROBABILITY if self.form == "tsv" else 0.0
        limits = CutOffs(self.least_count, least, self.relative)
        entries = self._entries(model, text, tell)
        if self.form == "lex":
            both = ("s2t", "forward"), ("t2s", "backward")
            kept = [(f"{self.output}.{end}", limits.kept(entries, (side,)), side) for end, side in both]
            return sum(_write_lex(*each) for each in kept)
        directions = ("forward", "backward") if self.form == "tsv" else ("forward",)
        known = [entry for entry in limits.kept(entries, directions) if entry.source and entry.target]
        if self.form == "shortlist":
            return _write_lex(self.output, known, "forward")
        if self.form == "eflomal":
            if not any(entry.times for entry in known):
                raise UsageError(
                    "{file}: a model that does not tell how much text it has seen has no counts for priors; "
                    "train it again, or give the text, too",
                    file=self.subject,
                )
            known = [entry for entry in known if entry.times >= LEAST_COUNT]
            lines: Iterable[str] = (f"LEX\t{e.source}\t{e.target}\t{e.times:g}\n" for e in known)
        else:
            lines = _glossary(known, text)
        with open_output(self.output) as stream:
            stream.writelines(lines)
        return len(known)

    def _entries(self, model: Model | None, text: TextFiles | None, tell: Reporter) -> list[WordEntry]:
        """Return the entries of a model, or of linked text, which may be linked now."""
        from dualign.phrase.word_entries import entries_of_links, entries_of_model
        from dualign.text.blocks import read_pairs
        from dualign.text.checks import in_step
        from dualign.text.link_formats import read_links

        if text is None:
            if model is None:
                raise UsageError(
                    "{file}: a file of links needs its text; give {source=} and {target=}, or a model",
                    file=self.subject, source="FILE", target="FILE",
                )  # fmt: skip
            return entries_of_model(model)
        pairs = read_pairs(text)
        if model is not None:
            linked = _aligned(model, pairs, self.computing.threads)
        else:
            named = text.source if text.target is None else f"{text.source} with {text.target}"
            links = read_links(self.subject, errors=self.computing.errors)
            both = in_step((named, pairs), (self.subject, links), unit="sentence pairs")
            linked = _checked(both, self.subject)
        return entries_of_links(tell.counted(linked, "dictionary"), one_case=self.form == "tsv")

    def show(self, result: int, tell: Reporter) -> None:
        """Tell how many entries were written."""
        tell.wrote(result, "entries", self.output)


def _aligned(model: Model, pairs: Iterator[Pair], threads: int | None) -> Iterator[tuple[Pair, Alignment]]:
    from dualign.aligner import Aligner

    aligner = Aligner.of_model(model, threads)
    while chunk := list(islice(pairs, CHUNK)):
        yield from zip(chunk, aligner.align(chunk), strict=True)


def _checked(both: Iterator[tuple[Pair, Alignment]], path: str) -> Iterator[tuple[Pair, Alignment]]:
    from dualign.text.checks import links_inside

    for number, ((source, target), alignment) in enumerate(both, 1):
        links_inside(alignment.links, len(source), len(target), f"{path}:{number}")
        yield (source, target), alignment


def _write_lex(path: str, entries: Iterable[WordEntry], direction: str) -> int:
    """Write lines `target source p(target|source)`, or of the other direction; the words of each line stand
    in the order of the given one."""
    there = direction == "forward"
    lines = []
    for entry in entries:
        if (probability := getattr(entry, direction)) >= LEAST:
            words = (entry.source, entry.target) if there else (entry.target, entry.source)
            lines.append((words[0] or NULL, words[1] or NULL, probability))
    with open_output(path) as stream:
        stream.writelines(f"{other} {given} {p:.7f}\n" for given, other, p in sorted(lines))
    return len(lines)


def _glossary(entries: list[WordEntry], text: TextFiles | None) -> Iterator[str]:
    """Return a head and a line for each entry, the most frequent first."""
    from dualign.text.blocks import read_pairs

    examples: dict[int, Pair] = {}
    if text is not None:
        wanted = {entry.line for entry in entries}
        examples = {line: pair for line, pair in enumerate(read_pairs(text)) if line in wanted}
    yield HEAD + ("\tline\tsource example\ttarget example\n" if examples else "\n")
    for e in sorted(entries, key=lambda e: (-e.times, -e.forward * e.backward, e.source, e.target)):
        fields = [e.source, e.target, f"{e.times:.6g}", f"{e.forward:.4f}", f"{e.backward:.4f}"]
        if e.line is not None:
            fields += [str(e.line + 1), *map(" ".join, examples[e.line])]
        yield "\t".join(fields) + "\n"
