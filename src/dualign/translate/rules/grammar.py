"""Synchronous grammars in the text form of Hiero, cdec and Joshua.

One rule per line, with fields separated by `|||`:

    [X] ||| le [X,1] de [X,2] ||| the [X,2] 's [X,1] ||| EgivenF=0.7 FgivenE=0.2 ||| 0-0 2-2

The left-hand side; the source side; the target side, where `[X,1]`, `[1]` or `[X,2]` refer to the
non-terminals of the source side by their numbers; features, `name=value` or values alone, which get the
names `0`, `1`, …; links of the words, which are ignored. The two sides have the same non-terminals, each
once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite

from dualign._core.errors import DataError
from dualign._core.files.streams import open_output
from dualign.text.utf8 import read_lines

_NONTERMINAL = re.compile(r"\[([^\[\],\s]+)(?:,([0-9]{1,3}))?\]")
_FIRST_WORD = re.compile(r"\[[^\[\],\s]+\] \|\|\| (?:\[\S+\] )*(?!\|\|\||\[\S+\] )(\S+) ")
_LEFT = re.compile(r"\[([^\[\],\s]+)\]")

Symbol = str | int
"""Of a target side: a word, or the place of a non-terminal among those of the source side, from 0."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`left → source, target` with features.

    `source` holds words, and non-terminals as `[X]`; `target` words and numbers of the source's
    non-terminals.
    """

    left: str
    source: tuple[str, ...]
    target: tuple[Symbol, ...]
    features: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        labels: list[str] = []
        source = []
        for symbol in self.source:
            if is_nonterminal(symbol):
                labels.append(symbol[1:-1])
                symbol = f"[{symbol[1:-1]},{len(labels)}]"
            source.append(symbol)
        target = [f"[{labels[s]},{s + 1}]" if isinstance(s, int) else s for s in self.target]
        features = " ".join(f"{name}={value:.6g}" for name, value in self.features.items())
        return f"[{self.left}] ||| {' '.join(source)} ||| {' '.join(target)} ||| {features}"


def is_nonterminal(symbol: str) -> bool:
    """Return whether a symbol of a source side is a non-terminal such as `[X]`."""
    return len(symbol) > 2 and symbol[0] == "[" and symbol[-1] == "]"


def is_markup(word: str) -> bool:
    """Return whether a word of a text would read as something else in a rule."""
    return is_nonterminal(word) or "|||" in word


def parse_rule(line: str, place: str = "rule") -> Rule:
    """Read one line; `place` stands in messages."""
    fields = [part.strip() for part in line.split("|||")]
    if len(fields) < 3:
        raise DataError(f"{place}: {len(fields)} fields; write `[X] ||| source ||| target ||| features`")
    left = _LEFT.fullmatch(fields[0])
    if not left:
        raise DataError(f"{place}: the left-hand side {fields[0][:40]!r} is not a non-terminal such as [X]")
    numbers: dict[int, int] = {}
    labels: list[str] = []
    source = []
    for symbol in fields[1].split():
        if match := _NONTERMINAL.fullmatch(symbol):
            number = int(match[2]) if match[2] else len(labels) + 1
            if number in numbers:
                raise DataError(f"{place}: the source side has non-terminal {number} twice")
            numbers[number] = len(labels)
            labels.append(match[1])
            symbol = f"[{match[1]}]"
        source.append(symbol)
    target: list[Symbol] = []
    for symbol in fields[2].split():
        match = _NONTERMINAL.fullmatch(symbol)
        if not match:
            target.append(symbol)
            continue
        # `[1]` and `[X,1]` are the same; a number alone stands where the label does.
        text = match[2] if match[2] else match[1]
        if not text.isdecimal() or int(text) not in numbers:
            raise DataError(f"{place}: {symbol} on the target side is not a non-terminal of the source side")
        target.append(numbers[int(text)])
    used = sorted(s for s in target if isinstance(s, int))
    if used != list(range(len(labels))):
        raise DataError(f"{place}: each non-terminal of the source side must occur once on the target side")
    if not source or not target:
        raise DataError(
            f"{place}: an empty {'target' if source else 'source'} side; a rule has words or non-terminals"
        )
    return Rule(left[1], tuple(source), tuple(target), _features(fields[3] if len(fields) > 3 else "", place))


def _features(text: str, place: str) -> dict[str, float]:
    features: dict[str, float] = {}
    for number, part in enumerate(text.split()):
        name, equals, value = part.rpartition("=")
        try:
            features[name if equals else str(number)] = result = float(value)
        except ValueError:
            raise DataError(f"{place}: the feature {part[:40]!r} has no number; write name=value") from None
        if not isfinite(result):
            raise DataError(f"{place}: the feature {part[:40]!r} is not finite")
    return features


def read_rules(path: str, words: Container[str] | None = None) -> Iterator[Rule]:
    """Return rules of a file; empty lines are skipped, errors name file and line.

    With `words`, only rules whose source side has no other words; the rest is skipped unchecked.
    """
    for number, line in enumerate(read_lines(path), 1):
        if line.strip() and (words is None or _is_among(line, words)):
            yield parse_rule(line, f"{path}:{number}")


def write_rules(rules: Iterable[Rule], path: str) -> None:
    """Write rules to a file, whole or not at all."""
    with open_output(path) as out:
        out.writelines(f"{rule}\n" for rule in rules)


class GrammarNode:
    """Of the tree of source sides: what can follow, and the rules that end here."""

    __slots__ = ("next", "rules")

    def __init__(self) -> None:
        self.next: dict[str, GrammarNode] = {}
        self.rules: list[int] = []


class Grammar:
    """Rules in a tree of their source sides, for `dualign.translate.forest.builder.parse`."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules: list[Rule] = []
        self.root = GrammarNode()
        for rule in rules:
            self.add(rule)

    def add(self, rule: Rule) -> None:
        """Add one rule."""
        node = self.root
        for symbol in rule.source:
            if symbol not in node.next:
                node.next[symbol] = GrammarNode()
            node = node.next[symbol]
        node.rules.append(len(self.rules))
        self.rules.append(rule)

    def __len__(self) -> int:
        return len(self.rules)


class RuleFile:
    """The rules of a file, parsed when a sentence needs them: most sentences need few.

    Lines are found by the first word of their source side.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lines = list(read_lines(path))
        self._by_word: dict[str, list[int]] = {}
        for number, line in enumerate(self._lines):
            match = _FIRST_WORD.match(line)
            # Other lines are checked for every sentence, and their errors raised there.
            self._by_word.setdefault(match[1] if match else "", []).append(number)

    def among(self, words: Collection[str]) -> Grammar:
        """Return the rules whose source side has no other words, in the order of the file."""
        numbers = [n for word in {*words, ""} for n in self._by_word.get(word, ())]
        result = Grammar()
        for number in sorted(numbers):
            line = self._lines[number]
            if line.strip() and _is_among(line, words):
                result.add(parse_rule(line, f"{self._path}:{number + 1}"))
        return result


def _is_among(line: str, words: Container[str]) -> bool:
    """Return whether the source side of a rule has no other words; true also for a line that is not a
    rule."""
    fields = line.split(" ||| ", 2)
    return len(fields) < 3 or all(w in words or is_nonterminal(w) for w in fields[1].split())
