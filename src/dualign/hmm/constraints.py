"""Constraint sets of your own: what the posteriors of a sentence pair must satisfy in expectation.

A constraint set is any object with a method `rules(source, target)` that lists the rules of a pair, given its
words. A rule bounds the expectation of a weighted sum of link events, in one direction or in both:

    Σ coefficient · p(link i-j in direction d)  ≤  bound      (or = bound)

with direction 0 where target words choose and 1 where source words do. Rules are scaled so that their largest
coefficient is 1; if those of a pair are not met within slack + tolerance, a warning is logged. Training
replaces the E-step's posteriors by the closest distribution that satisfies the rules
(`dualign.hmm.projection`), and so does aligning. For example, "a number is linked to the same number" takes
a few lines:

    class SameNumbers:
        def rules(self, source, target):
            for i, s in enumerate(source):
                for j, t in enumerate(target):
                    if s == t and s.isdigit():
                        yield Rule.at_least(0.9, [(0, i, j)])
                        yield Rule.at_least(0.9, [(1, i, j)])

    Aligner().fit(bitext, constraints=SameNumbers())

`Glossary` is such a set. Pairs without rules are left as they are without a set. The symmetric and bijective
sets are built into the kernels.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from numbers import Integral
from threading import Lock
from typing import Any, Protocol
from weakref import WeakSet

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import FilePath
from dualign.hmm.blocks import Block, Given
from dualign.text.tokenizing import PLAIN, Cutting
from dualign.text.utf8 import read_lines

Node = tuple[int, int, int]
"""Direction (0: the target word chooses; 1: the source word does), source position, target position."""


@dataclass(frozen=True, slots=True)
class ConstraintRule:
    """`Σ coefficient · p(node) ≤ bound`, or `= bound`."""

    nodes: tuple[Node, ...]
    coefficients: tuple[float, ...]
    bound: float
    equality: bool = False

    @classmethod
    def at_most(cls, bound: float, nodes: Iterable[Node]) -> ConstraintRule:
        """The expected number of these links is at most `bound`."""
        nodes = tuple(nodes)
        return cls(nodes, (1.0,) * len(nodes), bound)

    @classmethod
    def at_least(cls, bound: float, nodes: Iterable[Node]) -> ConstraintRule:
        """The expected number of these links is at least `bound`."""
        nodes = tuple(nodes)
        return cls(nodes, (-1.0,) * len(nodes), -bound)


Rule = ConstraintRule
"""The documented name."""


class ConstraintSet(Protocol):
    """Anything that can list the rules of a sentence pair."""

    def rules(self, source: Sequence[str], target: Sequence[str]) -> Iterable[ConstraintRule]:
        """The rules of a pair, given its words (in lower case if the aligner compares them so)."""


class Glossary:
    """Known translations: where both words of an entry occur, they are linked with at least `strength`.

    If a word occurs more than once, or has several translations in the pair, one of the links is enough. A
    side of an entry may be a phrase, words with blanks between them: where both sides occur, each word of
    either is linked to some word of the other.
    """

    def __init__(self, entries: Iterable[tuple[str, str]], strength: float = 0.9) -> None:
        if not 0 < strength <= 1:
            raise UsageError(f"glossary strength {strength} must lie above 0 and be at most 1")
        self.strength = strength
        self.translations: dict[str, dict[str, None]] = {}
        """Sets in the order of the entries: a glossary is pickled to the same bytes in every process."""
        self.phrases: dict[str, list[tuple[list[str], list[str]]]] = {}
        """Pairs of phrases, by the first word of the source side."""
        self.asked = False
        """Whether anybody has asked for the rules of a pair."""
        self.found: set[tuple[str, str]] = set()
        """Entries both of whose sides occurred in such a pair, in lower case."""
        for source, target in entries:
            left, right = source.lower().split(), target.lower().split()
            if not left or not right:
                raise DataError(f"glossary entry `{source}` - `{target}`: one side has no word")
            if len(left) == len(right) == 1:
                self.translations.setdefault(left[0], {})[right[0]] = None
            elif (left, right) not in self.phrases.setdefault(left[0], []):
                self.phrases[left[0]].append((left, right))

    @property
    def size(self) -> int:
        """The number of entries, each once."""
        return sum(map(len, self.translations.values())) + sum(map(len, self.phrases.values()))

    def __getstate__(self) -> dict[str, Any]:
        """Without what was found: a glossary is the same after it was used."""
        return {**self.__dict__, "asked": False, "found": set()}

    @classmethod
    def read(
        cls, path: FilePath, strength: float = 0.9, errors: str = "strict", cutting: Cutting = PLAIN
    ) -> Glossary:
        """Read lines `source<TAB>target`, words or phrases; empty lines are passed over.

        Further columns are ignored, and so is a first line of titles over them, `source<TAB>target<TAB>…`: a
        glossary of `dualign dictionary` can be read. `cutting` is how the text is split into tokens.
        """
        path = os.fspath(path)
        entries = []
        for number, line in enumerate(read_lines(path, errors), 1):
            fields = line.split("\t")
            sides = [cutting.tokens(at, side) for at, side in enumerate(fields[:2])]
            if sides == [[]] or (number == 1 and fields[:2] == ["source", "target"] and len(fields) > 2):
                continue
            if len(sides) != 2 or not all(sides):
                missing = "no tab" if len(sides) != 2 else "no source" if not sides[0] else "no translation"
                raise DataError(
                    f"{path}:{number}: {missing} on the line {shortened(line)!r}; "
                    "write a source word or phrase, a tab and its translation"
                )
            entries.append((" ".join(sides[0]), " ".join(sides[1])))
        return cls(entries, strength)

    def rules(self, source: Sequence[str], target: Sequence[str]) -> Iterator[ConstraintRule]:
        """Rules in both directions for each word with a translation in the pair.

        Of words that translate each other, the rarer side has the rules: two occurrences of a word cannot
        both be linked to the only occurrence of its translation.
        """
        self.asked = True
        if self.phrases:
            yield from self._rules_of_phrases([w.lower() for w in source], [w.lower() for w in target])
        links = [
            (i, j)
            for i, word in enumerate(source)
            if (known := self.translations.get(word.lower()))
            for j, other in enumerate(target)
            if other.lower() in known
        ]
        self.found.update((source[i].lower(), target[j].lower()) for i, j in links)
        while links:
            group = {links[0]}
            while (
                more := {link for link in links if any(link[0] == i or link[1] == j for i, j in group)}
                - group
            ):
                group |= more
            links = [link for link in links if link not in group]
            side = 0 if len({i for i, _ in group}) <= len({j for _, j in group}) else 1
            for position in sorted({link[side] for link in group}):
                choices = sorted(link for link in group if link[side] == position)
                for direction in (0, 1):
                    yield ConstraintRule.at_least(self.strength, [(direction, i, j) for i, j in choices])

    def _rules_of_phrases(self, source: list[str], target: list[str]) -> Iterator[ConstraintRule]:
        """Rules for each word of a phrase that occurs, in the direction in which it chooses.

        Where one side occurs more often than the other, only the words of the rarer side have rules.
        """
        found = [entry for word in dict.fromkeys(source) for entry in self.phrases.get(word, ())]
        for left, right in found:
            here, there = places(left, source), places(right, target)
            I = sorted({i + k for i in here for k in range(len(left))})
            J = sorted({j + k for j in there for k in range(len(right))})
            if here and there:
                self.found.add((" ".join(left), " ".join(right)))
            if here and len(here) <= len(there):
                yield from (ConstraintRule.at_least(self.strength, [(1, i, j) for j in J]) for i in I)
            if there and len(there) <= len(here):
                yield from (ConstraintRule.at_least(self.strength, [(0, i, j) for i in I]) for j in J)


def places(phrase: Sequence[str], sentence: Sequence[str]) -> list[int]:
    """Where a phrase begins in a sentence."""
    size = len(phrase)
    return [n for n in range(len(sentence) - size + 1) if list(sentence[n : n + size]) == list(phrase)]


ROUNDING = 1e-3
"""What the sums of a rule may be off by in float32."""

_TOLD: WeakSet[ConstraintSet] = WeakSet()
"""Sets whose violations have been logged."""

_ONE_AT_A_TIME = Lock()
"""Sets of constraints may be the user's own code: two threads never call it at the same time."""


def give(constraints: ConstraintSet, pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Given:
    """The rules of a block's pairs, checked, as kernels take them."""
    per_pair = []
    rules: list[ConstraintRule] = []
    for source, target in pairs:
        with _ONE_AT_A_TIME:
            found = list(constraints.rules(source, target))
        for rule in found:
            check(rule, len(source), len(target))
        per_pair.append(len(found))
        rules += map(scaled, found)
    nodes = list(chain.from_iterable(rule.nodes for rule in rules))
    return Given(
        np.concatenate(([0], np.cumsum(np.array(per_pair, np.int64)))),
        np.array([rule.bound for rule in rules], np.float32),
        np.array([not rule.equality for rule in rules], np.uint8),
        np.concatenate(([0], np.cumsum(np.array([len(rule.nodes) for rule in rules], np.int64)))),
        np.array(nodes, np.int32).reshape(-1, 3),
        np.array(list(chain.from_iterable(rule.coefficients for rule in rules)), np.float32),
    )


def scaled(rule: ConstraintRule) -> ConstraintRule:
    """The same rule with 1 as its largest coefficient.

    Multipliers have a bound (`dualign.hmm.lbfgs.MOST`), and with it a rule with small coefficients would
    have little effect. Slack and tolerance are in these units.
    """
    most = max(map(abs, rule.coefficients), default=0.0)
    if most in (0, 1):
        return rule
    coefficients = tuple(coefficient / most for coefficient in rule.coefficients)
    return replace(rule, coefficients=coefficients, bound=rule.bound / most)


def violations(block: Block, posterior: Array) -> tuple[Array, Array]:
    """By how much posteriors (slots, 2) break each rule of a block, and the pair of each: float64, int64."""
    given = block.given
    pairs = np.repeat(np.arange(len(given.pair_begin) - 1), np.diff(given.pair_begin))
    rules = np.repeat(np.arange(len(pairs)), np.diff(given.node_begin))
    d, i, j = given.node.T.astype(np.int64)
    slots = block.first[pairs[rules]] + i * np.diff(block.pairs.target_offsets)[pairs[rules]] + j
    terms = given.coefficient.astype(np.float64) * posterior[slots, d]
    excess = np.bincount(rules, terms, len(pairs)) - given.bound
    excess[given.signed > 0] = np.maximum(excess[given.signed > 0], 0)
    return excess, pairs


def tell_violations(
    constraints: ConstraintSet,
    block: Block,
    posterior: Array,
    most: float,
    words: Callable[[], Sequence[tuple[Sequence[str], Sequence[str]]]],
) -> None:
    """Log a warning, once for a set of constraints, if the rules of a pair are broken by more than `most`.

    The pair whose rules are broken most is an example; `words` has those of each pair.
    """
    excess, pairs = violations(block, posterior)
    broken = np.sqrt(np.bincount(pairs, excess * excess))
    if not (broken > most + ROUNDING).any():
        return
    try:
        if constraints in _TOLD:
            return
        _TOLD.add(constraints)
    except TypeError:
        pass  # an object of the user's that cannot be remembered: told again
    what = "some entries of the glossary" if isinstance(constraints, Glossary) else "some rules"
    of_worst = np.flatnonzero(pairs == broken.argmax())
    worst = int(of_worst[excess[of_worst].argmax()])
    pair = words()[int(pairs[worst])]
    logging.getLogger("dualign").warning(
        f"{what} could not be followed everywhere, such as {example(block.given, worst, *pair)}, whose rules "
        f"are broken by {broken.max():.3g} in all, more than slack + tolerance, {most:g}. They may "
        "contradict each other, or be very improbable to the model: correct or leave out what is wrong; "
        "if all is right, try more evaluations, such as evaluations=1000"
    )


def example(given: Given, rule: int, source: Sequence[str], target: Sequence[str]) -> str:
    """The words that a rule is about, and the pair that they are from, both cut short."""
    nodes = given.node[given.node_begin[rule] : given.node_begin[rule + 1]]
    sides = [
        shortened(" ".join(words[n] for n in sorted({*nodes[:, column].tolist()})))
        for column, words in ((1, source), (2, target))
    ]
    there = [shortened(" ".join(words)) for words in (source, target)]
    return "`{}` - `{}` in the pair `{}` - `{}`".format(*sides, *there)


def shortened(text: str, most: int = 40) -> str:
    """The beginning of a text."""
    return text if len(text) <= most else text[: most - 1] + "…"


def check(rule: ConstraintRule, source_length: int, target_length: int) -> None:
    """Refuse a rule that is malformed or speaks of words that the pair does not have."""
    if len(rule.nodes) != len(rule.coefficients):
        raise UsageError(f"a rule has {len(rule.nodes)} nodes but {len(rule.coefficients)} coefficients")
    if not np.isfinite([*rule.coefficients, rule.bound]).all():
        raise UsageError(f"a rule has a coefficient or bound that is not a number: {rule}")
    for direction, i, j in rule.nodes:
        if not all(isinstance(number, Integral) for number in (direction, i, j)):
            raise UsageError(f"a rule names direction {direction}, link {i}-{j}, not in whole numbers")
        if direction not in (0, 1) or not 0 <= i < source_length or not 0 <= j < target_length:
            raise UsageError(
                f"a rule names direction {direction}, link {i}-{j}, in a pair of {source_length} and "
                f"{target_length} words"
            )
