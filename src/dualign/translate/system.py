"""A translation system: rules, language model and weights, learnt from two parallel texts.

A folder holds `rules.gz` (`dualign.translate.grammar`), `model.npz` (`LanguageModel.save`) and
`settings.json`: the weights of the features and how forests are made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dualign.core.certified import Certified
from dualign.core.errors import DataError, ModelError
from dualign.core.threads import available, ordered_map
from dualign.measure.bleu import bleu_counts, bleu_of_counts
from dualign.text.streams import open_input, open_output
from dualign.translate.chart import Parsed, parse
from dualign.translate.decoding import decode
from dualign.translate.extraction import Extraction, extract
from dualign.translate.grammar import Grammar, read_rules, write_rules
from dualign.translate.languagemodel import LanguageModel
from dualign.translate.tuning import Candidates, tune_weights

__all__ = ["WEIGHTS", "Settings", "Translator", "train_system"]

WEIGHTS = {
    "EgivenF": 0.3, "FgivenE": 0.2, "LexEgivenF": 0.2, "LexFgivenE": 0.1, "Rules": -0.1, "Hiero": -0.1,
    "Words": 0.4, "Glue": -0.3, "Copy": -3.0, "LanguageModel": 0.5,
}  # fmt: skip
"""Before tuning; the features are those of `extraction` and `chart`, and the log of the language model."""

HELD_OUT = 200
"""Pairs kept apart for tuning where no others are given, at most a twentieth of the text."""

Pair = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Settings:
    """How forests are made: longest span of a rule, most rules for a source side, order of the model;
    weights."""

    span: int = 10
    limit: int = 20
    order: int = 3
    weights: dict[str, float] = field(default_factory=lambda: dict(WEIGHTS))


class Translator:
    """Translates sentences with a grammar and a language model."""

    def __init__(self, grammar: Grammar, model: LanguageModel, settings: Settings) -> None:
        self.grammar = grammar
        self.settings = settings
        self.model = model
        self._scaled = model.scaled(settings.weights.get("LanguageModel", 1.0))

    def forest(self, sentence: Sequence[str]) -> Parsed:
        """The forest of the translations of a sentence."""
        s = self.settings
        return parse(sentence, self.grammar, s.weights, span=s.span, limit=s.limit)

    def translate(self, sentence: Sequence[str], **options: Any) -> Certified[Any]:
        """The best translation of a sentence that is not empty; options as those of `decode`."""
        return decode(self.forest(sentence).hypergraph, self._scaled, order=self.settings.order, **options)

    def candidates(self, sentence: Sequence[str], k: int, beam: int) -> list[tuple[tuple[str, ...], Any]]:
        """The k best translations that cube pruning finds, and their features in the order of the weights."""
        parsed = self.forest(sentence)
        names = list(self.settings.weights)
        results = decode(
            parsed.hypergraph, self._scaled, method="cube", order=self.settings.order, k=max(k, 2), beam=beam
        )
        found = []
        for result in results:
            features = np.zeros(len(names))
            for edge in result.solution.edges:
                for name, value in parsed.features[edge].items():
                    if name in self.settings.weights:
                        features[names.index(name)] += value
            words = result.solution.words
            features[names.index("LanguageModel")] = self.model.score(words, order=self.settings.order)
            found.append((words, features))
        return found

    @classmethod
    def load(cls, folder: str, sentences: Iterable[Sequence[str]] | None = None) -> Translator:
        """Read a folder; with `sentences`, only the rules that these can use."""
        path = os.path.join(folder, "settings.json")
        if not os.path.isdir(folder):
            raise DataError(f"{folder}: no such folder; name one that `dualign translate train` has made")
        with open_input(path) as stream:
            content = stream.read()
        try:
            values = json.loads(content)
            weights = {str(name): float(weight) for name, weight in values.pop("weights").items()}
            settings = Settings(weights=weights, **values)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ModelError(
                f"{path}: not the settings of a translation system ({error}); train again"
            ) from None
        words = None if sentences is None else {word for sentence in sentences for word in sentence}
        grammar = Grammar(read_rules(os.path.join(folder, "rules.gz"), words))
        return cls(grammar, LanguageModel.load(os.path.join(folder, "model.npz")), settings)


def train_system(
    pairs: Sequence[Pair],
    folder: str,
    *,
    dev: Sequence[Pair] | None = None,
    order: int = 3,
    settings: Extraction | None = None,
    rounds: int = 4,
    threads: int | None = None,
    report: Callable[[str], None] = lambda message: None,
) -> Settings:
    """Align, extract rules, learn a language model, tune weights; write all of it into a folder.

    Without `dev`, some pairs are kept apart for tuning; `rounds=0` leaves the weights as they are.
    """
    from dualign.aligner import Aligner

    pairs = [pair for pair in pairs if pair[0] and pair[1]]
    if rounds and dev is None:
        count = min(HELD_OUT, len(pairs) // 20)
        step = len(pairs) // max(count, 1)
        chosen = set(range(step - 1, len(pairs), step)[:count]) if count else set()
        dev = [pair for n, pair in enumerate(pairs) if n in chosen and len(pair[0]) <= 40]
        pairs = [pair for n, pair in enumerate(pairs) if n not in chosen]
    if not pairs:
        raise DataError("no sentence pair to learn from: one side of each line is empty")
    os.makedirs(folder, exist_ok=True)
    report(f"aligning {len(pairs):,} sentence pairs")
    alignments = Aligner(threads=threads).fit(pairs).align(pairs)
    report("extracting rules")
    extraction = settings or Extraction()
    rules = os.path.join(folder, "rules.gz")
    write_rules(extract(pairs, alignments, extraction), rules)
    del alignments
    report(f"learning a language model of order {order}")
    model = LanguageModel.train([pair[1] for pair in pairs], order)
    model.save(os.path.join(folder, "model.npz"))
    result = Settings(span=extraction.longest, limit=extraction.limit, order=order)
    if rounds and dev:
        report(f"tuning weights on {len(dev):,} sentence pairs")
        result = _tuned(dev, rules, model, result, rounds, available(threads), report)
    with open_output(os.path.join(folder, "settings.json")) as out:
        out.write(json.dumps(asdict(result), indent=1) + "\n")
    return result


def _tuned(
    dev: Sequence[Pair],
    rules: str,
    model: LanguageModel,
    settings: Settings,
    rounds: int,
    threads: int,
    report: Callable[[str], None],
) -> Settings:
    grammar = Grammar(read_rules(rules, {word for pair in dev for word in pair[0]}))
    lists = [Candidates() for _ in dev]
    names = list(settings.weights)
    best = settings
    top = -1.0
    for number in range(1, rounds + 1):
        translator = Translator(grammar, model, settings)
        sources = [pair[0] for pair in dev]
        found = list(ordered_map(partial(translator.candidates, k=50, beam=30), sources, threads))
        first = []
        for entry, pair, several in zip(lists, dev, found, strict=True):
            for words, features in several:
                entry.add(words, features, bleu_counts(words, [pair[1]]))
            first.append(bleu_counts(several[0][0], [pair[1]]))
        reached = float(bleu_of_counts(np.sum(first, axis=0), smooth=1.0))
        report(f"round {number}: BLEU {reached:.2f} on the tuning text")
        if reached > top:
            best, top = settings, reached
        weights, _ = tune_weights(lists, np.array([settings.weights[name] for name in names]), seed=number)
        settings = Settings(
            settings.span, settings.limit, settings.order, dict(zip(names, weights.tolist(), strict=True))
        )
    translator = Translator(grammar, model, settings)
    counts = [
        bleu_counts(translator.translate(s, method="cube", beam=30).solution.words, [t]) for s, t in dev
    ]
    reached = float(bleu_of_counts(np.sum(counts, axis=0), smooth=1.0))
    report(f"at the end: BLEU {reached:.2f}, best {max(top, reached):.2f}")
    return settings if reached >= top else best
