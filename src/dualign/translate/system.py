"""A translation system: rules, language model and weights, learnt from two parallel texts.

A folder holds `rules.gz` (`dualign.translate.grammar`), `model.npz` (`LanguageModel.save`) and
`settings.json`: the weights of the features and how forests are made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from dualign.core.certified import Certified
from dualign.core.errors import DataError, ModelError, UsageError
from dualign.core.threads import available, ordered_map
from dualign.measure.bleu import bleu_counts, bleu_of_counts
from dualign.text.brackets import Tree
from dualign.text.streams import open_input, open_output
from dualign.translate.chart import parse
from dualign.translate.decoding import decode
from dualign.translate.extraction import Extraction, extract
from dualign.translate.forestbuilder import Parsed
from dualign.translate.grammar import Grammar, read_rules, write_rules
from dualign.translate.languagemodel import LanguageModel
from dualign.translate.treematch import match
from dualign.translate.treerules import TreeExtraction, extract_from_trees
from dualign.translate.tuning import Candidates, tune_weights

__all__ = ["WEIGHTS", "Settings", "Translator", "read_settings", "train_system"]

WEIGHTS = {
    "EgivenF": 0.3, "FgivenE": 0.2, "LexEgivenF": 0.2, "LexFgivenE": 0.1, "Rules": -0.1, "Hiero": -0.1,
    "Words": 0.4, "Glue": -0.3, "Copy": -3.0, "LanguageModel": 0.5,
}  # fmt: skip
"""Before tuning; the features are those of `extraction` and `chart`, and the log of the language model."""

HELD_OUT = 200
"""Pairs kept apart for tuning where no others are given, at most a twentieth of the text."""

Pair = tuple[Sequence[str], Sequence[str]]

Source = Sequence[str] | Tree
"""What is translated: words, or for a grammar of tree-to-string rules a tree."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How forests are made: longest span of a rule, most rules for a source side, order of the model;
    whether sources are trees; weights."""

    span: int = 10
    limit: int = 20
    order: int = 3
    trees: bool = False
    weights: dict[str, float] = field(default_factory=lambda: dict(WEIGHTS))


class Translator:
    """Translates sentences with a grammar and a language model."""

    def __init__(self, grammar: Grammar, model: LanguageModel, settings: Settings) -> None:
        self.grammar = grammar
        self.settings = settings
        self.model = model
        self._scaled = model.scaled(settings.weights.get("LanguageModel", 1.0))

    def forest(self, sentence: Source) -> Parsed:
        """The forest of the translations of a sentence, or of a tree where the rules are for trees."""
        s = self.settings
        if s.trees != isinstance(sentence, Tree):
            raise UsageError(f"the rules of this system are for {'trees' if s.trees else 'words, not trees'}")
        if isinstance(sentence, Tree):
            return match(sentence, self.grammar, s.weights, limit=s.limit)
        return parse(sentence, self.grammar, s.weights, span=s.span, limit=s.limit)

    def translate(self, sentence: Source, **options: Any) -> Certified[Any]:
        """The best translation of a sentence that is not empty; options as those of `decode`."""
        return decode(self.forest(sentence).hypergraph, self._scaled, order=self.settings.order, **options)

    def candidates(self, sentence: Source, k: int, beam: int) -> list[tuple[tuple[str, ...], Any]]:
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
    def load(cls, folder: str, sentences: Iterable[Source] | None = None) -> Translator:
        """Read a folder; with `sentences`, only the rules that these can use."""
        settings = read_settings(folder)
        words = None if sentences is None else _words(sentences)
        grammar = Grammar(read_rules(os.path.join(folder, "rules.gz"), words))
        return cls(grammar, LanguageModel.load(os.path.join(folder, "model.npz")), settings)


def _words(sentences: Iterable[Source]) -> set[str]:
    """All that a source side may have besides non-terminals."""
    return {w for s in sentences for w in (s.tokens if isinstance(s, Tree) else s)}


def read_settings(folder: str) -> Settings:
    """The settings of a folder that `train_system` has made."""
    path = os.path.join(folder, "settings.json")
    if not os.path.isdir(folder):
        raise DataError(f"{folder}: no such folder; name one that `dualign translate train` has made")
    with open_input(path) as stream:
        content = stream.read()
    try:
        values = json.loads(content)
        weights = {str(name): float(weight) for name, weight in values.pop("weights").items()}
        return Settings(weights=weights, **values)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(f"{path}: not the settings of a translation system ({error}); train again") from None


def train_system(
    pairs: Sequence[Pair],
    folder: str,
    *,
    dev: Sequence[tuple[Source, Sequence[str]]] | None = None,
    trees: Sequence[Tree | None] | None = None,
    order: int = 3,
    settings: Extraction | None = None,
    tree_settings: TreeExtraction | None = None,
    rounds: int = 4,
    threads: int | None = None,
    report: Callable[[str], None] = lambda message: None,
) -> Settings:
    """Align, extract rules, learn a language model, tune weights; write all of it into a folder.

    Without `dev`, some pairs are kept apart for tuning; `rounds=0` leaves the weights as they are. With
    `trees`, one for each pair or None, rules are tree-to-string rules, and the sources of `dev` are trees.
    """
    from dualign.aligner import Aligner

    if trees is not None and len(trees) != len(pairs):
        raise DataError(f"{len(pairs)} sentence pairs but {len(trees)} trees; each pair needs its tree")
    kept = [n for n, pair in enumerate(pairs) if pair[0] and pair[1]]
    if rounds and dev is None:
        count = min(HELD_OUT, len(kept) // 20)
        step = len(kept) // max(count, 1)
        chosen = kept[step - 1 :: step][:count] if count else []
        dev = [
            (source, pairs[n][1])
            for n in chosen
            if len(pairs[n][0]) <= 40 and (source := pairs[n][0] if trees is None else trees[n]) is not None
        ]
        apart = set(chosen)
        kept = [n for n in kept if n not in apart]
    if not kept:
        raise DataError("no sentence pair to learn from: one side of each line is empty")
    pairs = [pairs[n] for n in kept]
    os.makedirs(folder, exist_ok=True)
    report(f"aligning {len(pairs):,} sentence pairs")
    alignments = Aligner(threads=threads).fit(pairs).align(pairs)
    report("extracting rules")
    rules = os.path.join(folder, "rules.gz")
    if trees is not None:
        tree_settings = tree_settings or TreeExtraction()
        result = Settings(limit=tree_settings.limit, order=order, trees=True)
        found = extract_from_trees(pairs, [trees[n] for n in kept], alignments, tree_settings)
    else:
        settings = settings or Extraction()
        result = Settings(span=settings.longest, limit=settings.limit, order=order)
        found = extract(pairs, alignments, settings)
    write_rules(found, rules)
    del alignments, found
    report(f"learning a language model of order {order}")
    model = LanguageModel.train([pair[1] for pair in pairs], order)
    model.save(os.path.join(folder, "model.npz"))
    if rounds and dev:
        report(f"tuning weights on {len(dev):,} sentence pairs")
        result = _tuned(dev, rules, model, result, rounds, available(threads), report)
    with open_output(os.path.join(folder, "settings.json")) as out:
        out.write(json.dumps(asdict(result), indent=1) + "\n")
    return result


def _tuned(
    dev: Sequence[tuple[Source, Sequence[str]]],
    rules: str,
    model: LanguageModel,
    settings: Settings,
    rounds: int,
    threads: int,
    report: Callable[[str], None],
) -> Settings:
    grammar = Grammar(read_rules(rules, _words(source for source, _ in dev)))
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
        settings = replace(settings, weights=dict(zip(names, weights.tolist(), strict=True)))
    translator = Translator(grammar, model, settings)
    counts = [
        bleu_counts(translator.translate(s, method="cube", beam=30).solution.words, [t]) for s, t in dev
    ]
    reached = float(bleu_of_counts(np.sum(counts, axis=0), smooth=1.0))
    report(f"at the end: BLEU {reached:.2f}, best {max(top, reached):.2f}")
    return settings if reached >= top else best
