"""Dictionaries of single words, from a model or from linked text, in the forms that other programs read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from dualign._core.errors import UsageError
from dualign._core.files.container import is_model_file
from dualign._core.files.streams import is_regular, open_output
from dualign.hmm.model import Model
from dualign.jobs.running import SILENT, Run, job, one_standard_input, separate_outputs
from dualign.phrase.word_entries import CutOffs, WordEntry, entries_of_links, entries_of_model
from dualign.text.blocks import Pair, read_pairs
from dualign.text.checks import in_step, links_inside
from dualign.text.link_formats import read_links
from dualign.text.links import Alignment
from dualign.text.text_files import TextFiles
from dualign.text.tokenizing import PLAIN, Cutting, cutting_of

FORMS = ("tsv", "lex", "shortlist", "eflomal")
USUAL_PROBABILITY = 0.05
"""What a translation needs, in both directions, to stand in a glossary, unless somebody says otherwise."""

_HEAD = "source\ttarget\tcount\tp(target|source)\tp(source|target)"
_NULL = "NULL"
_CHUNK = 4096
_LEAST = 5e-8  # less would be printed as 0
_LEAST_COUNT = 1e-3


@dataclass(frozen=True, slots=True)
class DictionaryText:
    """The text behind a dictionary: two files, or one with both sides on each line."""

    source: str
    target: str | None = None

    def pairs(self, cutting: Cutting, errors: str) -> Iterator[Pair]:
        """The tokens of each pair."""
        return read_pairs(TextFiles(self.source, self.target, errors=errors, cutting=cutting))


@job
def dictionary(
    given: str,
    output: str = "-",
    *,
    text: DictionaryText | None = None,
    form: str = "tsv",
    cut_offs: CutOffs | None = None,
    run: Run = SILENT,
) -> int:
    """Write a dictionary of single words; returns the number of entries.

    `given` is a model, or a file of links; links need the `text` that they belong to. A model with a text
    aligns it, cut into tokens as the model's own was. `form` is one of `FORMS`: `tsv` is a glossary for
    people, with an example where there is a text; `lex` writes `output`.s2t and `output`.t2s, Moses' lex.f2e
    and lex.e2f, with null; `shortlist` has lines `target source p(target|source)`; `eflomal` has eflomal's
    priors.
    """
    if form not in FORMS:
        raise UsageError(f'form="{form}" is not one of {", ".join(FORMS)}')
    if form == "lex" and output == "-":
        raise UsageError("two files are written, FILE.s2t and FILE.t2s; name FILE")
    limits = cut_offs or CutOffs(probability=USUAL_PROBABILITY if form == "tsv" else 0.0)
    separate_outputs(*([f"{output}.s2t", f"{output}.t2s"] if form == "lex" else [output]))
    model = Model.load(given) if is_model_file(given) else None
    cutting = PLAIN if model is None else cutting_of(model.options.tokenize, model.options.whitespace)
    entries = _entries(given, model, text, cutting, form == "tsv", run)
    if form == "lex":
        both = [
            _write_lex(f"{output}.{name}", limits.kept(entries, (d,)), d)
            for name, d in (("s2t", "forward"), ("t2s", "backward"))
        ]
        return sum(both)
    directions = ("forward", "backward") if form == "tsv" else ("forward",)
    known = [e for e in limits.kept(entries, directions) if e.source and e.target]
    if form == "shortlist":
        return _write_lex(output, known, "forward")
    if form == "eflomal" and not any(entry.times for entry in known):
        raise UsageError(
            f"{given}: a model that does not tell how much text it has seen has no counts for priors; "
            "train it again, or give the text, too"
        )
    with open_output(output) as stream:
        if form == "eflomal":
            known = [entry for entry in known if entry.times >= _LEAST_COUNT]
            stream.writelines(f"LEX\t{e.source}\t{e.target}\t{e.times:g}\n" for e in known)
        else:
            stream.writelines(_glossary(known, text, cutting, run))
    return len(known)


def _entries(
    given: str, model: Model | None, text: DictionaryText | None, cutting: Cutting, one_case: bool, run: Run
) -> list[WordEntry]:
    """The entries of a model, or of linked text, which may be linked now."""
    if text is None:
        if model is None:
            raise UsageError(
                f"{given}: a file of links needs its text; give source=FILE and target=FILE, or a model"
            )
        return entries_of_model(model)
    one_standard_input(given, text.source, text.target)
    if not all(is_regular(path) for path in (text.source, text.target) if path is not None):
        raise UsageError("the text is read a second time for its examples; name files instead of -")
    pairs = text.pairs(cutting, run.errors)
    if model is not None:
        return entries_of_links(run.counted(_aligned(model, pairs, run), "dictionary"), one_case=one_case)
    named = text.source if text.target is None else f"{text.source} with {text.target}"
    both = in_step((named, pairs), (given, read_links(given, errors=run.errors)), unit="sentence pairs")
    return entries_of_links(run.counted(_checked(both, given), "dictionary"), one_case=one_case)


def _aligned(model: Model, pairs: Iterator[Pair], run: Run) -> Iterator[tuple[Pair, Alignment]]:
    from dualign.aligner import Aligner

    aligner = Aligner.of_model(model, run.threads)
    while chunk := list(islice(pairs, _CHUNK)):
        yield from zip(chunk, aligner.align(chunk), strict=True)


def _checked(both: Iterator[tuple[Pair, Alignment]], path: str) -> Iterator[tuple[Pair, Alignment]]:
    for number, ((source, target), alignment) in enumerate(both, 1):
        links_inside(alignment.links, len(source), len(target), f"{path}:{number}")
        yield (source, target), alignment


def _write_lex(path: str, entries: Iterable[WordEntry], direction: str) -> int:
    """Lines `target source p(target|source)`, or of the other direction; the words in the order of the given
    one."""
    there = direction == "forward"
    lines = []
    for entry in entries:
        if (probability := getattr(entry, direction)) >= _LEAST:
            words = (entry.source, entry.target) if there else (entry.target, entry.source)
            lines.append((words[0] or _NULL, words[1] or _NULL, probability))
    with open_output(path) as stream:
        stream.writelines(f"{other} {given} {p:.7f}\n" for given, other, p in sorted(lines))
    return len(lines)


def _glossary(
    entries: list[WordEntry], text: DictionaryText | None, cutting: Cutting, run: Run
) -> Iterator[str]:
    """A head and a line for each entry, the most frequent first."""
    examples: dict[int, Pair] = {}
    if text is not None:
        wanted = {entry.line for entry in entries}
        pairs = enumerate(text.pairs(cutting, run.errors))
        examples = {line: pair for line, pair in pairs if line in wanted}
    yield _HEAD + ("\tline\tsource example\ttarget example\n" if examples else "\n")
    for e in sorted(entries, key=lambda e: (-e.times, -e.forward * e.backward, e.source, e.target)):
        fields = [e.source, e.target, f"{e.times:.6g}", f"{e.forward:.4f}", f"{e.backward:.4f}"]
        if e.line is not None:
            fields += [str(e.line + 1), *map(" ".join, examples[e.line])]
        yield "\t".join(fields) + "\n"
