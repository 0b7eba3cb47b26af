"""The page about a run: corpus, objective by round, links, confidence, dictionary, unaligned words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from urllib.parse import quote

import numpy as np

from dualign.learn.training import Progress
from dualign.show.charts import bars, line
from dualign.show.page import asset, document
from dualign.show.statistics import BINS, MOST_FERTILE, Run
from dualign.text.alignment import Alignment
from dualign.text.checks import number_of
from dualign.text.pairs import Pair

EXTREMES = 8
ENTRIES = 40
SAVED_ENTRIES = 2000
UNALIGNED = 20
DOUBTS = 6


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a run besides its text and links: rounds of training, reports (JSON lines), facts."""

    title: str
    rounds: Sequence[Progress] = ()
    records: Sequence[str | None] = ()
    facts: dict[str, str] = field(default_factory=dict)


def summary_page(pairs: Sequence[Pair], alignments: Sequence[Alignment], about: About) -> str:
    """One HTML page without scripts that needs nothing else."""
    run = Run(pairs, alignments)
    sections = [
        f"<h1>{escape(about.title)}</h1>",
        _facts(about.facts),
        _corpus(run),
        _training(about.rounds),
        _links(run),
        _confidence(run),
        _certificates(about.records),
        _extremes(run, pairs, alignments),
        _dictionary(run),
        _unaligned(run),
    ]
    return document(f"{about.title} · dualign", asset("summary.css"), "\n".join(filter(None, sections)))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Cells are plain text; the first `left` columns are words, the others numbers."""

    def cells(row: Sequence[str], tag: str) -> str:
        kinds = ("words" if k < left else "number" for k in range(len(row)))
        return "".join(
            f'<{tag} class="{kind}" dir="auto">{escape(cell)}</{tag}>'
            for kind, cell in zip(kinds, row, strict=True)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"<table><thead><tr>{cells(head, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def _facts(facts: dict[str, str]) -> str:
    if not facts:
        return ""
    items = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items())
    return f"<table>{items}</table>"


def _corpus(run: Run) -> str:
    sides = run.side(0), run.side(1)
    rows = [
        ("words", *(f"{side.words:,}" for side in sides)),
        ("different words", *(f"{side.distinct:,}" for side in sides)),
        ("words per sentence", *(f"{side.mean_length:.1f}" for side in sides)),
        ("longest sentence", *(f"{side.longest:,}" for side in sides)),
        ("empty sentences", *(f"{side.empty:,}" for side in sides)),
    ]
    return f"<h2>Corpus: {len(run):,} sentence pairs</h2>" + _table(("", "source", "target"), rows)


def _training(rounds: Sequence[Progress]) -> str:
    if not rounds:
        return ""
    labels = [f"{progress.stage} {progress.number}" for progress in rounds]
    rows = [
        (label, f"{progress.likelihood:.6g}", f"{progress.bits:.4f}")
        for label, progress in zip(labels, rounds, strict=True)
    ]
    table = _table(("round", "objective", "bits per word"), rows)
    # Objectives of different models cannot be compared; bits per word can, roughly.
    chart = line([progress.bits for progress in rounds], labels, x="round", y="bits per word")
    return f'<h2>Training</h2><div class="side">{table}{chart}</div>'


def _links(run: Run) -> str:
    sides = run.side(0), run.side(1)
    rows = [
        ("links per word", *(f"{run.links / max(side.words, 1):.3f}" for side in sides)),
        ("words without links", *(f"{100 * side.unaligned / max(side.words, 1):.1f} %" for side in sides)),
    ]
    labels = [str(k) for k in range(MOST_FERTILE)] + [f"{MOST_FERTILE}+"]
    charts = [
        f"<figure><figcaption>{name} words by links</figcaption>"
        f"{bars(labels, side.fertility, x='links of a word', y='words')}</figure>"
        for name, side in zip(("Source", "Target"), sides, strict=True)
    ]
    total = f"<h2>Links: {run.links:,}, {run.links / max(len(run), 1):.2f} per pair</h2>"
    return f'{total}{_table(("", "source", "target"), rows)}<div class="side">{"".join(charts)}</div>'


def _confidence(run: Run) -> str:
    values = run.histogram()
    if not sum(values):
        return '<h2>Confidence</h2><p class="soft">The links have no probabilities.</p>'
    known = run.probability[np.isfinite(run.probability)]
    labels = [f"{k / BINS:.2f}" for k in range(BINS)]
    return (
        f"<h2>Confidence</h2><p>Mean probability of a link: {known.mean():.3f}; "
        f"{100 * (known >= 0.9).mean():.1f} % of the links have 0.9 or more.</p>"
        + bars(labels, values, x="probability of a link, from", y="links")
    )


def _certificates(records: Sequence[str | None]) -> str:
    found = [json.loads(record) for record in records if record]
    if not found:
        return ""
    certified = sum(record.get("certified") is True for record in found)
    gaps = [
        record["bound"] - record["score"]
        for record in found
        if isinstance(record.get("bound"), int | float) and isinstance(record.get("score"), int | float)
    ]
    seconds = [record["seconds"] for record in found if isinstance(record.get("seconds"), int | float)]
    rows = [("certified", f"{certified:,} of {len(found):,} ({100 * certified / len(found):.1f} %)")]
    if gaps:
        rows.append(("largest gap", f"{max(0.0, *gaps):.6g}"))
    if any(seconds):
        rows.append(("seconds in all", f"{sum(seconds):.3f}"))
    return "<h2>Certificates</h2>" + _table(("", ""), rows)


def _extremes(run: Run, pairs: Sequence[Pair], alignments: Sequence[Alignment]) -> str:
    most, least = run.extremes(EXTREMES)
    if not most and not least:
        return ""
    confidence = run.confidence()
    parts = []
    for title, chosen, doubtful in (("Most", most, False), ("Least", least, True)):
        items = "".join(
            f'<li value="{n + 1}"><span class="number">{confidence[n]:.3f}</span>{_sentences(pairs[n])}'
            f"{_doubts(pairs[n], alignments[n]) if doubtful else ''}</li>"
            for n in chosen
        )
        if items:
            parts.append(f'<h2>{title} certain pairs</h2><ol class="pairs">{items}</ol>')
    return "".join(parts)


def _sentences(pair: Pair) -> str:
    return "".join(f'<p dir="auto">{escape(" ".join(words))}</p>' for words in pair)


def _doubts(pair: Pair, alignment: Alignment) -> str:
    """The links of a pair that are least probable."""
    probabilities = alignment.probabilities or (np.nan,) * len(alignment)
    known = [item for item in zip(probabilities, alignment.links, strict=True) if np.isfinite(item[0])]
    links = ", ".join(
        f"<bdi>{escape(pair[0][i])}</bdi>–<bdi>{escape(pair[1][j])}</bdi> {p:.2f}"
        for p, (i, j) in sorted(known)[:DOUBTS]
    )
    return f'<p class="soft">least certain links: {links}</p>' if links else ""


def _dictionary(run: Run) -> str:
    entries = run.glossary(SAVED_ENTRIES)
    what = "content words"
    if not entries:  # in a short text every word is frequent, or none is linked twice
        entries, what = run.dictionary(ENTRIES), "most frequent links"
    if not entries:
        return ""
    rows = [
        (entry.source, entry.target, f"{entry.count}", f"{entry.there:.2f}", f"{entry.back:.2f}")
        for entry in entries
    ]
    head = ("source", "target", "count", "p(target|source)", "p(source|target)")
    half = -(-min(len(rows), ENTRIES) // 2)
    short = (*head[:3], "p(t|s)", "p(s|t)")
    tables = "".join(_table(short, part, left=2) for part in (rows[:half], rows[half : 2 * half]) if part)
    saved = quote("".join("\t".join(row) + "\n" for row in [head, *rows]))
    save = (
        f'<p><a download="dictionary.tsv" href="data:text/tab-separated-values;charset=utf-8,{saved}">'
        f"Save {number_of(len(rows), 'word pairs')} as dictionary.tsv</a>. The probabilities are shares of "
        "the links of a word; <code>dualign dictionary</code> writes all entries, with examples.</p>"
    )
    return f'<h2>Dictionary: {what}</h2><div class="side">{tables}</div>{save}'


def _unaligned(run: Run) -> str:
    tables = []
    for which, name in enumerate(("source", "target")):
        rows = [
            (item.word, f"{item.unaligned:,}", f"{100 * item.unaligned / item.count:.0f} %")
            for item in run.unaligned(which, UNALIGNED)
        ]
        if rows:
            tables.append(_table((f"{name} word", "without links", "of all"), rows))
    return f'<h2>Unaligned words</h2><div class="side">{"".join(tables)}</div>' if tables else ""
