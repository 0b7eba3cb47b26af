"""Choosing by a few sentence pairs with gold links: decoder parameters, and the weight of similarities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, product
from typing import Any

import numpy as np

from dualign._core.errors import DataError
from dualign.aligner import Aligner
from dualign.commands.bundles import Tuning
from dualign.commands.console import Reporter
from dualign.hmm.model import Model
from dualign.measure.curves import curve
from dualign.measure.links import evaluate
from dualign.options import STYLES, SYMMETRIZATIONS, Options
from dualign.text.blocks import Pair, TextFiles, read_blocks, read_pairs
from dualign.text.checks import links_inside, number_of, same_length
from dualign.text.corpus import SIMILARITY_WEIGHT, Numbered
from dualign.text.gold import Gold, read_gold
from dualign.text.links import Alignment
from dualign.text.numbering import LINES
from dualign.text.score_matrices import MOST
from dualign.text.tokenizing import Cutting
from dualign.text.utf8 import read_lines

THRESHOLDS = tuple(round(0.1 + 0.05 * k, 2) for k in range(17))
LOW_THRESHOLDS = (1e-6, 0.01, 0.02, 0.05)
"""For decoders that limit the links of a word instead."""

ALPHAS = tuple(round(0.1 * k, 1) for k in range(1, 11))
QUANTILES = (0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
PENALTIES = (0.0, -0.5, -1.0, -2.0)
UNSUPPORTED = (-1.0, -2.0, -3.0, -4.0, -6.0, -8.0)
LIMITS = (1, 2, 3, 5)
SWEEPS = 4

Trial = dict[str, Any]
Judge = Callable[[Trial], float]


def tune(aligner: Aligner, pairs: Sequence[Pair] | Numbered, gold: Sequence[Alignment]) -> dict[str, Any]:
    """Set the aligner's options to the best for these pairs; returns what was chosen.

    soft-union: the middle of the thresholds that are about as good as the best, and the style. matching:
    threshold, on a grid. posterior: threshold and symmetrisation, on a grid. viterbi: symmetrisation.
    bidirectional: the costs of agreement on a grid, then symmetrisation. submodular: threshold, side and
    limits, α and (if the model knows fertilities) quantile, each in turn on its grid until none helps.
    """
    options = aligner.options
    decode = aligner.decoder_of(pairs)

    def judge(trial: Trial) -> float:
        return errors(decode, options, trial, gold)

    steady: tuple[float, ...] = ()
    if options.decoder == "soft-union" or (options.decoder, options.scores) == ("submodular", "posterior"):
        steady = (steady_threshold(aligner, pairs, gold),)
    if options.decoder == "soft-union":
        # Each pair's own, if nobody asked for another, may be better.
        thresholds = steady + (0.0,) * (options.threshold == 0)
        chosen: Trial = min(
            ({"threshold": t, "style": style} for style, t in product(STYLES, thresholds)), key=judge
        )
    elif options.decoder == "bidirectional":
        chosen = min(costs_of_agreement(options), key=judge)
        joins: list[Trial] = [chosen | {"symmetrize": method} for method in SYMMETRIZATIONS]
        chosen = min(joins, key=judge)
    elif options.decoder == "submodular":
        chosen = by_turns(judge, options, steady, aligner.model.fertilities is not None)
    else:
        chosen = min(trials(options), key=judge)
    aligner.set_options(**chosen)
    return chosen


def errors(
    decode: Callable[[Options], list[Alignment]], options: Options, trial: Trial, gold: Sequence[Alignment]
) -> float:
    """The AER of a trial."""
    return evaluate(decode(replace(options, **trial)), gold).aer


def steady_threshold(aligner: Aligner, pairs: Sequence[Pair] | Numbered, gold: Sequence[Alignment]) -> float:
    """The middle of the thresholds on link probabilities with about the lowest AER."""
    return curve(aligner.posteriors(pairs), gold).steady_threshold(present=aligner.options.fixed_threshold)


def trials(options: Options) -> Iterable[Trial]:
    """The grid of a decoder with one or two parameters."""
    match options.decoder:
        case "matching":
            return [{"threshold": threshold} for threshold in LOW_THRESHOLDS + THRESHOLDS]
        case "posterior":
            return [{"threshold": t, "symmetrize": m} for t, m in product(THRESHOLDS, SYMMETRIZATIONS)]
        case _:
            return [{"symmetrize": method} for method in SYMMETRIZATIONS]


def costs_of_agreement(options: Options) -> list[Trial]:
    """Penalties of the bidirectional decoder, for the agreement that is asked for."""
    match options.agreement:
        case "full":
            return [{"penalty": options.penalty}]
        case "adjacent":
            return [{"penalty": penalty} for penalty in PENALTIES]
        case _:
            grid = product(PENALTIES, UNSUPPORTED)
            return [{"penalty": p, "unsupported": u} for p, u in grid if u <= p]


def by_turns(judge: Judge, options: Options, thresholds: tuple[float, ...], fertilities: bool) -> Trial:
    """Parameters of the submodular decoder, found one after the other; the first of equals is kept.

    `thresholds` are tried besides those of the grid.
    """
    limits = [
        {"concave": side, "source_limit": s, "target_limit": t}
        for side in ("both", "source", "target")
        for s, t in [*((k, k) for k in LIMITS), *((k, 0) for k in LIMITS), *((0, k) for k in LIMITS)]
    ]
    grids: list[list[Trial]] = [
        [{"threshold": threshold} for threshold in thresholds + LOW_THRESHOLDS + THRESHOLDS],
        limits,
        [{"alpha": alpha} for alpha in ALPHAS],
    ]
    if fertilities:
        grids.append([{"quantile": quantile} for quantile in QUANTILES])
    names = ["threshold", "alpha", "concave", "source_limit", "target_limit", "quantile"]
    chosen: Trial = {name: getattr(options, name) for name in names}
    best = judge(chosen)
    for _ in range(SWEEPS):
        before = best
        for grid in grids:
            for change in grid:
                if (aer := judge(chosen | change)) < best:
                    best, chosen = aer, chosen | change
        if best == before:
            break
    return chosen


def area_judge(
    pairs: Sequence[Pair] | Numbered, gold: Sequence[Alignment], threads: int
) -> Callable[[Model], float]:
    """Judge models by the area under the precision-recall curve of their link probabilities."""
    return lambda model: curve(Aligner.of_model(model, threads).posteriors(pairs), gold).area()


def gold_of(tuning: Tuning, text: TextFiles) -> Gold:
    """Read the gold links, which may be those of the first pairs of a text."""
    assert tuning.gold is not None
    ids: list[str] = []
    if tuning.on_input and tuning.ids is not None:
        ids = list(read_lines(tuning.ids))
    elif tuning.on_input and text.has_ids:
        ids = [id for block in read_blocks(text, LINES) for id in block.ids]
    gold = read_gold(tuning.gold, errors=text.errors, ids=ids)
    if not gold.links:
        raise DataError("no gold links, the file is empty", place=tuning.gold)
    # A correction may say that a pair has no links.
    if (tuning.early_stop or not tuning.pin) and not linked(gold):
        lines = number_of(len(gold.links), "lines")
        raise DataError(f"no gold links in {lines}; there is nothing to tune by", place=tuning.gold)
    return gold


def pairs_with_gold(
    tuning: Tuning, begin: Iterable[Pair], gold: Gold, errors: str, cutting: Cutting
) -> list[Pair]:
    """Return the sentence pairs of the gold links, checked; `begin` are those of the input, or the first."""
    place, text = "the input", begin
    if tuning.source is not None:
        own = TextFiles(tuning.source, tuning.target, errors=errors, cutting=cutting)
        place, text = tuning.source, list(read_pairs(own))
        if not gold.chosen:
            counts = (str(tuning.gold), len(gold.links)), (place, len(text))
            same_length(*counts, unit="pairs", remedy="give the gold links of this text")
    pairs = gold.of(text, place)
    for number, (s, t), links in zip(gold.lines, pairs, gold.links, strict=True):
        every = chain(links.links, links.possible)
        at = f"{tuning.gold}, pair {number + 1}" if gold.chosen else f"{tuning.gold}:{number + 1}"
        try:
            links_inside(every, len(s), len(t), at)
        except DataError as error:
            if tuning.pin or not tuning.on_input:
                raise
            what = "{error}; if they belong to another text, name it: {tune_source=}, {tune_target=}"
            raise DataError(what, error=error, tune_source=..., tune_target=...) from None
    return pairs


def linked(gold: Gold) -> int:
    """Return how many pairs have gold links."""
    return sum(bool(each.links or each.possible) for each in gold.links)


def tune_by(
    aligner: Aligner, pairs: Sequence[Pair] | Numbered, gold: Sequence[Alignment], tell: Reporter
) -> None:
    """Choose threshold and decoder parameters by gold links, and tell which."""
    chosen = ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in tune(aligner, pairs, gold).items()
    )
    tell.note(f"tuned on {number_of(len(gold), 'pairs')}: {chosen}")


WEIGHTS = (1.0, 2.0, 4.0, 8.0)
"""That are tried, the usual one first where several do as well."""


def tuned_weight(
    weighted: Callable[[float], tuple[Numbered, Sequence[Pair] | Numbered]],
    matrices: Sequence[tuple[str, Any]],
    gold: Sequence[Alignment],
    learn: Callable[[Numbered], Model],
    tell: Reporter,
    threads: int,
) -> float:
    """The weight whose model has the largest area under the precision-recall curve of the gold links.

    `weighted` gives the text and its pairs with gold links for a weight. Each weight that keeps w · s within
    bounds is tried by training.
    """
    largest = max((_largest(content) for _, content in matrices), default=0.0)
    tried = [weight for weight in WEIGHTS if weight * largest <= MOST] or [SIMILARITY_WEIGHT]
    tell.note(f"similarities: trying weights {', '.join(f'{w:g}' for w in tried)}, a training for each")
    areas = {}
    for weight in tried:
        text, labelled = weighted(weight)
        areas[weight] = area_judge(labelled, gold, threads)(learn(text))
    best = max(tried, key=lambda weight: (areas[weight], weight == SIMILARITY_WEIGHT))
    shown = ", ".join(f"{weight:g}: {area:.4f}" for weight, area in areas.items())
    tell.note(f"similarity weight {best:g}; area under the curve by weight: {shown}")
    return best


def _largest(content: Any) -> float:
    """The largest |s| of a matrix; 0 of one that is not, which is refused when it is used."""
    try:
        return float(np.max(np.abs(np.asarray(content, np.float64)), initial=0.0))
    except (TypeError, ValueError):
        return 0.0
