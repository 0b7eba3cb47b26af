"""Tree-to-string rules from their definition: all sets of nodes at which a fragment could end."""

from __future__ import annotations

from itertools import chain, combinations


def tree_rules(tree, target, links, parts, symbols):
    """The rules of one pair as a set of (source side, target side, minimal rules in it).

    `tree` is (label, [children]), children being words or trees. Only for small trees: every subset of the
    nodes of the frontier is tried.
    """
    nodes = []  # (path, label, set of word positions)

    def number(node, path, at):
        label, children = node
        begin = at
        for place, child in enumerate(children):
            at = at + 1 if isinstance(child, str) else number(child, (*path, place), at)
        nodes.append((path, label, set(range(begin, at))))
        return at

    number(tree, (), 0)
    spans = {}
    for path, _, inside in nodes:
        linked = {j for i, j in links if i in inside}
        closure = set(range(min(linked), max(linked) + 1)) if linked else set()
        if closure and not closure & {j for i, j in links if i not in inside}:
            spans[path] = closure
    rules = set()
    for root, closure in spans.items():
        under = [path for path in spans if path != root and path[: len(root)] == root]
        for cut in chain.from_iterable(combinations(sorted(under), k) for k in range(len(under) + 1)):
            if any(a != b and b[: len(a)] == a for a in cut for b in cut):
                continue
            inner = [p for p in under if not any(p[: len(c)] == c for c in cut)]
            source, leaves = fragment(subtree(tree, root), root, cut)
            if 1 + len(inner) > parts or leaves > symbols:
                continue
            right = []
            for j in sorted(closure):
                hole = next((n for n, c in enumerate(cut) if j in spans[c]), None)
                symbol = target[j] if hole is None else hole
                if hole is None or hole not in right:
                    right.append(symbol)
            rules.add((tuple(source), tuple(right), 1 + len(inner)))
    return rules


def subtree(tree, path):
    for place in path:
        tree = tree[1][place]
    return tree


def fragment(node, path, cut):
    """Symbols from the node on down to the cut, and how many of them are words or end there."""
    label, children = node
    source, leaves = [f"({label}"], 0
    for place, child in enumerate(children):
        here = (*path, place)
        if isinstance(child, str):
            source.append(child)
            leaves += 1
        elif here in cut:
            source.append(f"[{child[0]}]")
            leaves += 1
        else:
            inner, count = fragment(child, here, cut)
            source += inner
            leaves += count
    return [*source, ")"], leaves


def tree_derivations(tree, rules):
    """How often a tree can be derived: by `rules`, a list of source sides as tuples; by the sequence of the
    children where none is a word; by copying where no rule fits a node with words."""
    total = 0
    for source in rules:
        for cut in cuts(tree, ()):
            if tuple(fragment(tree, (), cut)[0]) == source:
                ways = 1
                for path in cut:
                    ways *= tree_derivations(subtree(tree, path), rules)
                total += ways
    if not any(isinstance(child, str) for child in tree[1]) or not total:
        ways = 1
        for child in tree[1]:
            if not isinstance(child, str):
                ways *= tree_derivations(child, rules)
        total += ways
    return total


def cuts(node, path):
    """Every set of nodes below this one of which none is above another."""
    found = [()]
    for place, child in enumerate(node[1]):
        if not isinstance(child, str):
            here = (*path, place)
            found = [(*a, *b) for a in found for b in [*cuts(child, here), (here,)]]
    return found
