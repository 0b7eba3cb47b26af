"""A translation system: rules, language model and weights, trained on two parallel texts.

A folder holds `rules.gz` (`dualign.translate.rules.grammar`), `model.npz` (`LanguageModel.save`) and
`settings.json`: the weights of the features, how forests are made, and checksums of the other two files, so
that files of two systems are never taken for one. A system is made in a folder beside its own,
`NAME.partial`, and moved when it is complete; while its weights are tuned, that folder is a system as well,
and a training that was interrupted then can go on.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

from dualign._core.certified import Certified
from dualign._core.errors import DataError, ModelError, UsageError
from dualign._core.files.atomic import explaining, is_temporary
from dualign._core.files.streams import FilePath, checksum, open_input, open_output
from dualign._core.threads import available
from dualign.text.blocks import Pair
from dualign.text.brackets import Tree
from dualign.text.checks import same_length
from dualign.text.links import Alignment
from dualign.translate.forest.builder import Parsed, match, parse
from dualign.translate.forest.hypergraph import MOST_WEIGHT, Derivation, Hypergraph
from dualign.translate.lm.language_model import LanguageModel
from dualign.translate.rules.grammar import Grammar, RuleFile, read_rules, write_rules
from dualign.translate.rules.hiero import Extraction, extract
from dualign.translate.rules.trees import TreeExtraction, extract_from_trees
from dualign.translate.search.decoding import compile_method, decode, decode_different
from dualign.translate.tuning import WeightTuning, tuned

WEIGHTS = {
    "EgivenF": 0.3, "FgivenE": 0.2, "LexEgivenF": 0.2, "LexFgivenE": 0.1, "Rules": -0.1, "Hiero": -0.1,
    "Words": 0.4, "Glue": -0.3, "Copy": -3.0, "LanguageModel": 0.5,
}  # fmt: skip
"""Before tuning; features are those of `rules.hiero` and `forest.builder`, and the language model's log."""

FILES, SETTINGS = ("rules.gz", "model.npz"), "settings.json"
"""Of a folder."""

MOST_SETTING = 1_000_000
"""Of a number in the settings."""

HELD_OUT = 250
"""Pairs kept apart for tuning where no others are given, at most a twentieth of the text."""

LONGEST_HELD_OUT = 30
"""Source words of such a pair, at most."""

Source = Sequence[str] | Tree
"""What is translated: words, or for a grammar of tree-to-string rules a tree."""


@dataclass(frozen=True, slots=True)
class SystemSettings:
    """How forests are made: longest span of a rule, most rules for a source side, order of the model;
    whether sources are trees; weights; a checksum of what it was trained from."""

    span: int = 10
    limit: int = 20
    order: int = 3
    trees: bool = False
    weights: dict[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    origin: str = ""


class Translator:
    """Translates sentences with a grammar, or a file of rules, and a language model."""

    def __init__(self, grammar: Grammar | RuleFile, model: LanguageModel, settings: SystemSettings) -> None:
        self.grammar = grammar
        self.settings = settings
        self.model = model
        self._scaled = model.scaled(settings.weights.get("LanguageModel", 1.0))

    def forest(self, sentence: Source) -> Parsed:
        """Return the forest of the translations of a sentence, or of a tree where the rules are for trees."""
        s = self.settings
        if s.trees != isinstance(sentence, Tree):
            raise UsageError(f"the rules of this system are for {'trees' if s.trees else 'words, not trees'}")
        grammar = self.grammar
        if isinstance(grammar, RuleFile):
            grammar = grammar.among(_words([sentence]))
        if isinstance(sentence, Tree):
            return match(sentence, grammar, s.weights, limit=s.limit)
        return parse(sentence, grammar, s.weights, span=s.span, limit=s.limit)

    def translate(self, sentence: Source, **options: Any) -> Certified[Derivation]:
        """Return the best translation of a sentence that is not empty; options as those of `decode`."""
        return decode(self.forest(sentence).hypergraph, self._scaled, order=self.settings.order, **options)

    @staticmethod
    def compile(method: str) -> None:
        """Compile the kernels of a method of decoding, or load them, so that no sentence pays for it."""
        compile_method(method)

    def decode(self, forest: Hypergraph, count: int = 1, **options: Any) -> list[Certified[Derivation]]:
        """Return the best translations of a forest, of that many different sentences; options as those of
        `decode`."""
        order = self.settings.order
        if count > 1:
            return decode_different(forest, self._scaled, count, order=order, **options)
        return [decode(forest, self._scaled, order=order, **options)]

    @classmethod
    def load(
        cls,
        folder: FilePath,
        sentences: Iterable[Source] | None = None,
        *,
        lm: FilePath | None = None,
        errors: str = "strict",
    ) -> Translator:
        """Read a folder; with `sentences`, only the rules that these can use, otherwise rules are parsed when
        they are needed. `lm`: a file with another language model, read as `errors` says."""
        folder = os.fspath(folder)
        settings = read_settings(folder)
        rules = os.path.join(folder, "rules.gz")
        grammar = RuleFile(rules) if sentences is None else Grammar(read_rules(rules, _words(sentences)))
        if lm is None:
            return cls(grammar, LanguageModel.load(os.path.join(folder, "model.npz")), settings)
        model = LanguageModel.read(lm, errors)
        return cls(grammar, model, replace(settings, order=max(settings.order, model.order)))


def _words(sentences: Iterable[Source]) -> set[str]:
    """Return the words that a source side may have."""
    return {w for s in sentences for w in (s.tokens if isinstance(s, Tree) else s)}


def check_folder(folder: str) -> None:
    """Raise a `DataError` for a folder that does not exist."""
    if not os.path.isdir(folder):
        raise DataError("no such folder; name one that `dualign translate train` has made", place=folder)


def read_settings(folder: str) -> SystemSettings:
    """Return the settings of a folder that `train_system` has made; its other files must be those they belong
    to."""
    check_folder(folder)
    path = os.path.join(folder, SETTINGS)
    with open_input(path) as stream:
        content = stream.read()
    try:
        values = json.loads(content)
        files = values.pop("files", {})
        weights = {str(name): _number(name, weight) for name, weight in values.pop("weights").items()}
        settings = SystemSettings(weights=weights, **values)
        for name in ("span", "limit", "order"):
            if type(value := getattr(settings, name)) is not int or not 1 <= value <= MOST_SETTING:
                raise ValueError(f"{name} is {value!r:.40}, not a whole number of at least 1")
        if type(settings.trees) is not bool:
            raise ValueError(f"trees is {settings.trees!r:.40}, not true or false")
        if type(settings.origin) is not str:
            raise ValueError(f"origin is {settings.origin!r:.40}, not a checksum")
        checked = [(str(name), str(sum_)) for name, sum_ in files.items() if name in FILES]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ModelError(f"{path}: not the settings of a translation system ({error}); train again") from None
    for name, expected in checked:
        if checksum(os.path.join(folder, name)) != expected:
            raise ModelError(
                f"{os.path.join(folder, name)}: not the file that {SETTINGS} was written with, so it is of "
                "another system, or damaged; train again"
            )
    return settings


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MOST_WEIGHT:
        raise ValueError(f"the weight of {name} is {value!r:.40}, not a number")
    return float(value)


def write_settings(settings: SystemSettings, folder: str) -> None:
    """Write the settings of a folder that has its other files."""
    files = {name: checksum(os.path.join(folder, name)) for name in FILES}
    with open_output(os.path.join(folder, SETTINGS)) as out:
        out.write(json.dumps({**asdict(settings), "files": files}, indent=1) + "\n")


def partial_folder(folder: str) -> str:
    """Return where a system is while it is made."""
    return os.path.normpath(folder) + ".partial"


@contextmanager
def making(folder: str, *, afresh: bool = True) -> Iterator[str]:
    """Make a folder beside `folder`, whose files replace those of `folder` when all is done.

    If it is not, what was made stays only where it is a system already, and `folder` is as it was. What is
    there from the last time goes, if it is made `afresh`.
    """
    partial = partial_folder(folder)
    if os.path.isdir(partial) and any(
        name not in (*FILES, SETTINGS) and not is_temporary(name) for name in os.listdir(partial)
    ):
        raise UsageError(f"{partial}: has files of others, but a system is made there; move them away")
    with explaining(partial, "write"):
        os.makedirs(os.path.dirname(partial) or ".", exist_ok=True)
        if afresh:
            shutil.rmtree(partial, ignore_errors=True)
            os.mkdir(partial)
    try:
        yield partial
        with explaining(folder, "write"):
            os.makedirs(folder, exist_ok=True)
            for name in (*FILES, SETTINGS):  # the settings last: they say what belongs to them
                os.replace(os.path.join(partial, name), os.path.join(folder, name))
            os.rmdir(partial)
    finally:
        if not os.path.exists(os.path.join(partial, SETTINGS)):
            shutil.rmtree(partial, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a system is trained: order of the language model, extraction of Hiero rules and of rules for trees,
    most rounds of tuning (0: none), how to tune and the seed for it. `links`, one for each pair, and `model`
    replace what would be learnt. `resume` goes on with what an interrupted training has left. `report` hears
    of progress."""

    order: int = 3
    settings: Extraction = field(default_factory=Extraction)
    tree_settings: TreeExtraction = field(default_factory=TreeExtraction)
    rounds: int = 8
    tuner: str = "mert"
    seed: int = 0
    resume: bool = False
    links: Sequence[Alignment] | None = None
    model: LanguageModel | None = None
    threads: int | None = None
    report: Callable[[str], None] = lambda message: None


def train_system(
    pairs: Sequence[Pair],
    folder: FilePath,
    *,
    dev: Sequence[tuple[Source, Sequence[str]]] | None = None,
    trees: Sequence[Tree | None] | None = None,
    **options: Any,
) -> SystemSettings:
    """Align, extract rules, learn a language model, tune weights; write all of it into a folder.

    Without `dev`, some pairs are kept apart for tuning. With `trees`, one for each pair or None, rules are
    tree-to-string rules, and the sources of `dev` are trees. Options are those of `Recipe`.
    """
    folder = os.fspath(folder)
    recipe = Recipe(**options)
    if recipe.links is not None:
        same_length(("the text", len(pairs)), ("the links", len(recipe.links)), unit="sentence pairs")
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
        raise DataError("no sentence pair to train on: one side of every line is empty")
    pairs = [pairs[n] for n in kept]
    if recipe.links is not None:
        recipe = replace(recipe, links=[recipe.links[n] for n in kept])
    some_trees = None if trees is None else [trees[n] for n in kept]
    settings = _settings(pairs, some_trees, recipe)
    found = _interrupted(folder, settings) if recipe.resume else None
    with making(folder, afresh=found is None) as partial:
        if found is None:
            _learn(pairs, some_trees, partial, settings, recipe)
        else:
            recipe.report(f"going on with {partial}, whose rules and language model are complete")
        return _tune(dev or [], partial, found or settings, recipe)


def _settings(pairs: Sequence[Pair], trees: Sequence[Tree | None] | None, recipe: Recipe) -> SystemSettings:
    """Return what a recipe says about forests, and a checksum of all that rules and language model depend
    on."""
    sum_ = hashlib.blake2b(digest_size=16)
    for part in (pairs, trees, recipe.links, recipe.order, recipe.settings, recipe.tree_settings):
        for item in part if isinstance(part, Sequence) else [part]:
            sum_.update(f"{item}\n".encode())
    if recipe.model is not None:
        sum_.update(recipe.model.logprob.tobytes())
    if trees is not None:
        return SystemSettings(
            limit=recipe.tree_settings.limit, order=recipe.order, trees=True, origin=sum_.hexdigest()
        )
    rules = recipe.settings
    return SystemSettings(rules.longest, rules.limit, recipe.order, origin=sum_.hexdigest())


def _interrupted(folder: str, settings: SystemSettings) -> SystemSettings | None:
    """Return the settings of what an interrupted training has left, None if it has left nothing to go on
    with."""
    partial = partial_folder(folder)
    if not os.path.exists(os.path.join(partial, SETTINGS)):
        return None
    found = read_settings(partial)
    if replace(found, weights=settings.weights) != settings:
        raise UsageError(
            f"{partial}: left by a training on other text, or with other options; repeat these, or leave out "
            "resume to begin again"
        )
    return found


def _learn(
    pairs: Sequence[Pair],
    trees: Sequence[Tree | None] | None,
    folder: str,
    settings: SystemSettings,
    recipe: Recipe,
) -> None:
    """Fill a folder with rules, language model and the weights before tuning."""
    from dualign.aligner import Aligner

    alignments = recipe.links
    if alignments is None:
        recipe.report(f"aligning {len(pairs):,} sentence pairs")
        alignments = Aligner(threads=recipe.threads).fit(pairs).align(pairs)
    recipe.report("extracting rules")
    if trees is not None:
        found = extract_from_trees(pairs, trees, alignments, recipe.tree_settings)
    else:
        found = extract(pairs, alignments, recipe.settings)
    write_rules(found, os.path.join(folder, "rules.gz"))
    del alignments, found
    model = recipe.model
    if model is None:
        recipe.report(f"learning a language model of order {recipe.order}")
        model = LanguageModel.train([pair[1] for pair in pairs], recipe.order)
    model.save(os.path.join(folder, "model.npz"))
    write_settings(settings, folder)


def _tune(
    dev: Sequence[tuple[Source, Sequence[str]]], folder: str, settings: SystemSettings, recipe: Recipe
) -> SystemSettings:
    """Tune the weights of a folder that is a system; better weights are kept as they are found."""
    if not recipe.rounds or not dev:
        return settings
    report = recipe.report
    report(f"tuning weights on {len(dev):,} sentence pairs; meanwhile {folder} can be used, and resumed")
    translator = Translator.load(folder, (source for source, _ in dev))
    forests = [(translator.forest(source), target) for source, target in dev]

    def keep(weights: dict[str, float]) -> None:
        write_settings(replace(settings, weights=weights), folder)

    threads = available(recipe.threads)
    search = WeightTuning(recipe.rounds, threads, report, keep, recipe.tuner, recipe.seed)
    weights = tuned(forests, translator.model, settings.order, settings.weights, search)
    settings = replace(settings, weights=weights)
    write_settings(settings, folder)
    return settings
