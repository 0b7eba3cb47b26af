"""Parsing a source sentence with a synchronous grammar into the forest of its translations.

Bottom-up over spans of the source: a dotted item is a node of the grammar's tree of source sides and the
chart vertices behind its non-terminals. Rules with left-hand side X cover at most `span` words. A word with
no rule of its own is copied (feature `Copy`). Above them stand the *glue* rules of Chiang (2007), which
join any pieces in order: `S → X` and `S → S X` (feature `Glue`).

Each vertex of the forest is a pair of a label and a span; leaves are shared among the rules of one vertex.
The features of an edge are those of its rule, and `Words`, the number of its target words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dualign._core.errors import DataError
from dualign.translate.forest.builder import ForestBuilder, Parsed
from dualign.translate.rules.grammar import Grammar, GrammarNode, is_nonterminal

_TOP = "S"


def parse(
    sentence: Sequence[str],
    grammar: Grammar,
    weights: Mapping[str, float],
    *,
    span: int = 10,
    limit: int | None = None,
    label: str = "X",
) -> Parsed:
    """Return the forest of `sentence`, with edge weights Σ weights[feature] · value, without a language
    model.

    `limit` is the most rules for one source side and span that are kept, by weight.
    """
    if not sentence:
        raise DataError("an empty sentence has no forest; write an empty line for it")
    builder = ForestBuilder(grammar, weights, limit)
    n = len(sentence)
    # chart[i][j]: vertex of each label over words i..j; active[i][j]: dotted items there.
    chart: list[list[dict[str, int]]] = [[{} for _ in range(n + 1)] for _ in range(n + 1)]
    active: list[list[list[tuple[GrammarNode, tuple[int, ...]]]]] = [
        [[] for _ in range(n + 1)] for _ in range(n + 1)
    ]
    for j in range(1, n + 1):
        for i in range(j - 1, max(-1, j - 1 - span), -1):
            dotted = active[i][j]
            word = sentence[j - 1]
            before = [(grammar.root, ())] if i == j - 1 else active[i][j - 1]
            for node, below in before:
                if word in node.next and not is_nonterminal(word):
                    dotted.append((node.next[word], below))
            for k in range(i + 1, j):
                complete = chart[k][j]
                if not complete:
                    continue
                for node, below in active[i][k]:
                    if node.next:
                        for name, vertex in complete.items():
                            following = node.next.get(f"[{name}]")
                            if following is not None:
                                dotted.append((following, (*below, vertex)))
            for node, below in dotted:
                if node.rules:
                    builder.apply(node, below, chart[i][j], i, j)
            if i == j - 1 and label not in chart[i][j]:
                builder.copy(word, chart[i][j], label, i, j)
            # A rule may begin with a non-terminal; one that is nothing else would be a unary cycle.
            for name, vertex in chart[i][j].items():
                following = grammar.root.next.get(f"[{name}]")
                if following is not None:
                    dotted.append((following, (vertex,)))
    return _glued(builder, chart, n, label, span)


def _glued(
    builder: ForestBuilder, chart: list[list[dict[str, int]]], n: int, label: str, span: int
) -> Parsed:
    tops: dict[int, int] = {}
    for j in range(1, n + 1):
        whole = chart[0][j].get(label)
        pieces = [
            (tops[k], chart[k][j][label])
            for k in range(max(1, j - span), j)
            if k in tops and label in chart[k][j]
        ]
        if whole is None and not pieces:
            continue
        tops[j] = builder.vertex({}, _TOP)
        if whole is not None:
            builder.edge(tops[j], [whole], 0.0, -1, {})
        features = {"Glue": 1.0}
        for pair in pieces:
            builder.edge(tops[j], list(pair), builder.weight(features), -1, features)
    return builder.pruned(tops[n])
