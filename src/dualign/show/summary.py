"""The page about a run: corpus, objective by round, links, confidence, dictionary, unaligned words.

Its charts are SVG in the page's colours: no script, no library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from math import floor, log10
from urllib.parse import quote

import numpy as np

from dualign.hmm.training import Progress
from dualign.show.statistics import BINS, MOST_FERTILE, UnalignedRun
from dualign.show.viewer import asset, document
from dualign.text.blocks import Pair
from dualign.text.checks import number_of
from dualign.text.links import Alignment

EXTREMES, DOUBTS = 8, 6
"""Most and least certain pairs that are shown, and least certain links of such a pair."""

ENTRIES, SAVED_ENTRIES = 40, 2000
"""Entries of the dictionary that are shown, and those that can be saved."""

UNALIGNED = 20
"""Words without links that are shown of each side."""

_WIDTH, _HEIGHT = 460, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 8, 10, 34


def bars(labels: Sequence[str], values: Sequence[float], *, x: str, y: str) -> str:
    """Draw a bar for each value, labelled below; pointing at it shows its value."""
    most = _round_up(max(values, default=0) or 1)
    step = (_WIDTH - _LEFT - _RIGHT) / max(len(values), 1)
    parts = [_axis(0, most)]
    for k, (label, value) in enumerate(zip(labels, values, strict=True)):
        height = (_HEIGHT - _TOP - _BOTTOM) * value / most
        left = _LEFT + k * step
        parts.append(
            f'<rect class="bar" x="{left + 1:.1f}" y="{_HEIGHT - _BOTTOM - height:.1f}" '
            f'width="{max(step - 2, 1):.1f}" height="{height:.1f}">'
            f"<title>{escape(label)}: {value:,}</title></rect>"
        )
        # Where bars are many, not every label has room.
        if len(values) <= 12 or k % 4 == 0:
            parts.append(_text(left + step / 2, _HEIGHT - _BOTTOM + 13, label, "middle"))
    return _svg(parts, x, y)


def line(values: Sequence[float], labels: Sequence[str], *, x: str, y: str) -> str:
    """Draw values in their order, joined by a line; `labels` name them."""
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 1, high + 1
    across = (_WIDTH - _LEFT - _RIGHT - 20) / max(len(values) - 1, 1)
    points = [
        (_LEFT + 10 + k * across, _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low))
        for k, value in enumerate(values)
    ]
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
    parts = [_axis(low, high), f'<polyline class="curve" points="{path}"/>']
    for (px, py), value, label in zip(points, values, labels, strict=True):
        parts.append(
            f'<circle class="point" cx="{px:.1f}" cy="{py:.1f}" r="3.5">'
            f"<title>{escape(label)}: {value:.6g}</title></circle>"
        )
        parts.append(_text(px, _HEIGHT - _BOTTOM + 13, label, "middle"))
    return _svg(parts, x, y)


def _axis(low: float, high: float) -> str:
    lines = []
    for k in range(5):
        y = _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * k / 4
        value = low + (high - low) * k / 4
        lines.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(_text(_LEFT - 5, y + 4, f"{value:,.4g}" if abs(value) < 1e4 else _short(value), "end"))
    return "".join(lines)


def _round_up(value: float) -> float:
    """Return a number not much larger whose quarters are round."""
    size = 10.0 ** floor(log10(value))
    return next(part * size for part in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if part * size >= value)


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(parts: Sequence[str], x: str, y: str) -> str:
    label = escape(f"{y} by {x}")
    below = _text(_WIDTH / 2, _HEIGHT - 4, f"{x}  (upwards: {y})", "middle")
    return (
        f'<svg class="chart" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{label}">{"".join(parts)}{below}</svg>'
    )


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a run besides its text and links: rounds of training, reports (JSON lines), facts."""

    title: str
    rounds: Sequence[Progress] = ()
    records: Sequence[str | None] = ()
    facts: dict[str, str] = field(default_factory=dict)


def summary_page(pairs: Sequence[Pair], alignments: Sequence[Alignment], about: About) -> str:
    """Return one HTML page without scripts that needs nothing else."""
    run = UnalignedRun(pairs, alignments)
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
    """Return a table; cells are plain text, the first `left` columns are words, the others numbers."""

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


def _corpus(run: UnalignedRun) -> str:
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


def _links(run: UnalignedRun) -> str:
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


def _confidence(run: UnalignedRun) -> str:
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


def _extremes(run: UnalignedRun, pairs: Sequence[Pair], alignments: Sequence[Alignment]) -> str:
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
    """Return the links of a pair that are least probable."""
    probabilities = alignment.probabilities or (np.nan,) * len(alignment)
    known = [item for item in zip(probabilities, alignment.links, strict=True) if np.isfinite(item[0])]
    links = ", ".join(
        f"<bdi>{escape(pair[0][i])}</bdi>–<bdi>{escape(pair[1][j])}</bdi> {p:.2f}"
        for p, (i, j) in sorted(known)[:DOUBTS]
    )
    return f'<p class="soft">least certain links: {links}</p>' if links else ""


def _dictionary(run: UnalignedRun) -> str:
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


def _unaligned(run: UnalignedRun) -> str:
    tables = []
    for which, name in enumerate(("source", "target")):
        rows = [
            (item.word, f"{item.unaligned:,}", f"{100 * item.unaligned / item.count:.0f} %")
            for item in run.unaligned(which, UNALIGNED)
        ]
        if rows:
            tables.append(_table((f"{name} word", "without links", "of all"), rows))
    return f'<h2>Unaligned words</h2><div class="side">{"".join(tables)}</div>' if tables else ""
