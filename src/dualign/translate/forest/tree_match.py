"""The forest of a source tree: every rule of a tree-to-string grammar at every node where it fits.

A rule's source side is a fragment of a tree as text (`tree_rules`), so that matching reads
the tree from left to right and follows the grammar's tree of source sides: at a node either its label, as a
non-terminal, or on into it.

So that each tree has a derivation, a node without words of its own can also be the sequence of its children
(feature `Glue`), and a node with words where no rule fits copies them (feature `Copy`).
"""

from __future__ import annotations

from collections.abc import Mapping

from dualign.text.brackets import Tree, unescaped
from dualign.translate.forest.forest_builder import ForestBuilder, Parsed
from dualign.translate.rules.grammar import Grammar, Node


def match(tree: Tree, grammar: Grammar, weights: Mapping[str, float], *, limit: int | None = None) -> Parsed:
    """The forest of `tree`, with edge weights Σ weights[feature] · value, without a language model.

    `limit` is the most rules for one source side that are kept, by weight. Each vertex is a node of the tree.
    """
    builder = ForestBuilder(grammar, weights, limit)
    label = {n: tree.tokens[n][1:] for n in tree.nodes}
    cell: dict[int, dict[str, int]] = {n: {} for n in label}
    vertex = {n: builder.vertex(cell[n], label[n]) for n in label}
    for n in label:
        end = tree.after[n]
        fits = False
        agenda: list[tuple[int, Node, tuple[int, ...]]] = [(n, grammar.root, ())]
        while agenda:
            p, node, below = agenda.pop()
            if p == end:
                fits = fits or bool(node.rules)
                builder.apply(node, below, cell[n], n, n)
                continue
            following = node.next.get(tree.tokens[p])
            if following is not None:
                agenda.append((p + 1, following, below))
            following = node.next.get(f"[{label[p]}]") if p in label and p != n else None
            if following is not None:
                agenda.append((tree.after[p], following, (*below, vertex[p])))
        children = list(tree.children(n))
        words = sum(child not in label for child in children)
        if words and fits:
            continue
        tail = [
            vertex[c] if c in label else builder.copied(unescaped(tree.tokens[c]), n, n) for c in children
        ]
        features = {"Copy": float(words), "Words": float(words)} if words else {}
        if words < len(children):
            features["Glue"] = 1.0
        builder.edge(vertex[n], tail, builder.weight(features), -2 if words else -1, features)
    return builder.pruned(vertex[0])
