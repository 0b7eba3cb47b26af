"""A translation system: rules, language model and weights, trained on two parallel texts.

A folder holds `rules.gz` (`dualign.translate.rules.grammar`), `model.npz` (`LanguageModel.save`) and
`settings.json`: the weights of the features and how forests are made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

from dualign.core.certified import Certified
from dualign.core.errors import DataError, ModelError, UsageError
from dualign.core.threads import available
from dualign.text.brackets import Tree
from dualign.text.checks import same_length
from dualign.text.pairs import Pair
from dualign.text.streams import open_input, open_output
from dualign.translate.forest.chart import parse
from dualign.translate.forest.forest_builder import Parsed
from dualign.translate.forest.hypergraph import Derivation
from dualign.translate.forest.tree_match import match
from dualign.translate.lm.language_model import LanguageModel
from dualign.translate.rules.grammar import Grammar, read_rules, write_rules
from dualign.translate.rules.hiero_rules import Extraction, extract
from dualign.translate.rules.tree_rules import TreeExtraction, extract_from_trees
from dualign.translate.search.decoding import decode
from dualign.translate.tuning.tuning_rounds import tuned

WEIGHTS = {
    "EgivenF": 0.3, "FgivenE": 0.2, "LexEgivenF": 0.2, "LexFgivenE": 0.1, "Rules": -0.1, "Hiero": -0.1,
    "Words": 0.4, "Glue": -0.3, "Copy": -3.0, "LanguageModel": 0.5,
}  # fmt: skip
"""Before tuning; the features are those of `extraction` and `chart`, and the log of the language model."""

HELD_OUT = 250
"""Pairs kept apart for tuning where no others are given, at most a twentieth of the text."""

LONGEST_HELD_OUT = 30
"""Source words of such a pair, at most."""

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

    def translate(self, sentence: Source, **options: Any) -> Certified[Derivation]:
        """The best translation of a sentence that is not empty; options as those of `decode`."""
        return decode(self.forest(sentence).hypergraph, self._scaled, order=self.settings.order, **options)

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


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a system is trained: order of the language model, extraction of Hiero rules and of rules for trees,
    most rounds of tuning (0: none)."""

    order: int = 3
    settings: Extraction = field(default_factory=Extraction)
    tree_settings: TreeExtraction = field(default_factory=TreeExtraction)
    rounds: int = 8


def train_system(
    pairs: Sequence[Pair],
    folder: str,
    *,
    dev: Sequence[tuple[Source, Sequence[str]]] | None = None,
    trees: Sequence[Tree | None] | None = None,
    threads: int | None = None,
    report: Callable[[str], None] = lambda message: None,
    **options: Any,
) -> Settings:
    """Align, extract rules, learn a language model, tune weights; write all of it into a folder.

    Without `dev`, some pairs are kept apart for tuning. With `trees`, one for each pair or None, rules are
    tree-to-string rules, and the sources of `dev` are trees. Options are those of `Recipe`.
    """
    from dualign.aligner import Aligner

    recipe = Recipe(**options)
    if trees is not None:
        same_length(("the text", len(pairs)), ("the file of trees", len(trees)), unit="sentences")
    kept = [n for n, pair in enumerate(pairs) if pair[0] and pair[1]]
    if recipe.rounds and dev is None:
        fit = [n for n in kept if len(pairs[n][0]) <= LONGEST_HELD_OUT and (trees is None or trees[n])]
        count = min(HELD_OUT, len(kept) // 20, len(fit))
        chosen = fit[:: len(fit) // count][:count] if count else []
        dev = [(pairs[n][0] if trees is None else cast(Tree, trees[n]), pairs[n][1]) for n in chosen]
        kept = sorted({*kept} - {*chosen})
    if not kept:
        raise DataError("no sentence pair to learn from: one side of each line is empty")
    pairs = [pairs[n] for n in kept]
    os.makedirs(folder, exist_ok=True)
    report(f"aligning {len(pairs):,} sentence pairs")
    alignments = Aligner(threads=threads).fit(pairs).align(pairs)
    report("extracting rules")
    rules = os.path.join(folder, "rules.gz")
    if trees is not None:
        result = Settings(limit=recipe.tree_settings.limit, order=recipe.order, trees=True)
        found = extract_from_trees(pairs, [trees[n] for n in kept], alignments, recipe.tree_settings)
    else:
        result = Settings(recipe.settings.longest, recipe.settings.limit, recipe.order)
        found = extract(pairs, alignments, recipe.settings)
    write_rules(found, rules)
    del alignments, found
    report(f"learning a language model of order {recipe.order}")
    model = LanguageModel.train([pair[1] for pair in pairs], recipe.order)
    model.save(os.path.join(folder, "model.npz"))
    if recipe.rounds and dev:
        report(f"tuning weights on {len(dev):,} sentence pairs")
        grammar = Grammar(read_rules(rules, _words(source for source, _ in dev)))
        translator = Translator(grammar, model, result)
        forests = [(translator.forest(source), target) for source, target in dev]
        weights = tuned(
            forests, model, result.order, result.weights, recipe.rounds, available(threads), report
        )
        result = replace(result, weights=weights)
    with open_output(os.path.join(folder, "settings.json")) as out:
        out.write(json.dumps(asdict(result), indent=1) + "\n")
    return result
