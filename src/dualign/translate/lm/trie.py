"""The trie of a back-off language model: its layout, kernels over it, and a check of what a file has.

Node 0 is the empty context; node 1 + w is the word w; the node of an n-gram `w_1..w_n` is a child of that of
`w_1..w_{n-1}`. Nodes are numbered by depth, then parent, then word, so children are contiguous and sorted:
those of node c are `first[c] .. first[c + 1]`. The set is closed: with an n-gram it has both its (n−1)-grams.
`suffix[g]` is the node of `w_2..w_n`. Then the model is an automaton whose state is a node:

    log p(w | c) = logprob[c·w]                          if c·w is in the model
                 = backoff[c] + log p(w | suffix[c])     otherwise

Kernels trust what they are given: an index out of its range would read, or crash, anywhere. So every rule
above that they rely on is checked once, by `flaw`, when a file is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import with_room

TYPES = {
    "first": np.int64, "word": np.int32, "logprob": np.float64, "backoff": np.float64, "suffix": np.int32,
    "level": np.int64,
}  # fmt: skip
"""The arrays that files hold."""


class Trie(NamedTuple):
    """The nodes of a model and its `order`; `parent` and `depth` follow from the other arrays."""

    first: Array
    word: Array
    logprob: Array
    backoff: Array
    suffix: Array
    parent: Array
    depth: Array
    order: int


class Automaton(NamedTuple):
    """The part of a model that matters to one forest: the fields of `Trie`, bounds, and `<s>` and `</s>`.

    Bounds are over all words x that can stand before the n-gram g = c·w:

    - `upper[g] ≥ log p(w | x c)` for every x;
    - `close[c] ≥` what is charged for leaving the contexts `x c` that are in the model for c, when the word
      after c does not continue it: the sum of the back-off weights of the longer ones;
    - `cumulative[g]`: sum of `upper` over the prefixes of g, `lower[g]` of `logprob`;
    - `left[g]`: whether any `x g` is in the model, or g is one word;
    - `state[g]`: g, or its longest suffix that is worth remembering because it, or a longer context that ends
      in it, has a child or a back-off weight, or because it is one word.
    """

    first: Array
    word: Array
    logprob: Array
    backoff: Array
    suffix: Array
    parent: Array
    depth: Array
    order: int
    upper: Array
    close: Array
    cumulative: Array
    lower: Array
    left: Array
    state: Array
    begin: int
    end: int


@part(allocates=False)
def find(first: Array, word: Array, node: Any, w: Any) -> Any:
    """Return the child of `node` with word `w`, or −1."""
    if node == 0:
        return 1 + w
    low, high = first[node], first[node + 1]
    while low < high:
        middle = (low + high) >> 1
        if word[middle] < w:
            low = middle + 1
        else:
            high = middle
    if low < first[node + 1] and word[low] == w:
        return low
    return -1


@part(allocates=False)
def follow(lm: Any, context: Any, node: Any, w: Any, total: float) -> tuple[Any, float]:
    """Return the node of w after a context, and `total + log p(w | context)`; `node` is the context's child
    with w.

    Where there is no such child, −1, the context backs off until there is one. Terms are added one by one.
    """
    while node < 0:
        total += lm.backoff[context]
        context = lm.suffix[context]
        node = find(lm.first, lm.word, context, w)
    return node, total + lm.logprob[node]


@kernel
def score_sentences(lm: Trie, tokens: Array, offsets: Array, begin: int, scores: Array) -> None:
    """`scores[t] = log p(tokens[t] | before)`, in each sentence `offsets[n] .. offsets[n + 1]` from state
    `begin`.

    `lm.order` may be less than the model's: then only the last `order − 1` words count.
    """
    for n in range(len(offsets) - 1):
        state = begin
        for t in range(offsets[n], offsets[n + 1]):
            while lm.depth[state] >= lm.order:
                state = lm.suffix[state]
            node = find(lm.first, lm.word, state, tokens[t])
            state, scores[t] = follow(lm, state, node, tokens[t], 0.0)


@kernel
def last_score(lm: Automaton, words: Array) -> float:
    """log p of the last of some words, given those before it."""
    state, value = 1 + np.int64(words[0]), 0.0
    for w in words[1:]:
        node, value = follow(lm, state, find(lm.first, lm.word, state, w), w, 0.0)
        state = np.int64(lm.state[node])
    return value


@kernel
def restrict(
    first: Array, word: Array, order: int, kept: Array, place: Array, adjacent: Array
) -> tuple[Array, Array, Array]:
    """Return the part of a trie with n-grams up to `order` whose neighbouring words are all `adjacent`.

    `kept` int32, ascending: the words that remain, renumbered by their position, which `place` int32 holds
    for each word of the model, −1 for the others; `adjacent` bool (kept, kept). Returns `(origin, node,
    level)`: for each new node its old one; its new parent and word, int32 (nodes, 2); and in `level[d] ..
    level[d + 1]` the nodes of depth d. Work is proportional to the children of what remains, or where those
    are many, to the words kept.
    """
    W = len(kept)
    origin, nodes = np.empty(max(4 * W, 1024), np.int64), np.empty((max(4 * W, 1024), 2), np.int32)
    level = np.zeros(order + 2, np.int64)
    origin[0], nodes[0, 0], nodes[0, 1] = 0, -1, -1
    level[1] = 1
    for i in range(W):
        origin[1 + i], nodes[1 + i, 0], nodes[1 + i, 1] = 1 + kept[i], 0, i
    count = 1 + W
    for d in range(2, order + 1):
        level[d] = count
        for node in range(level[d - 1], level[d]):
            if count + W >= len(origin):
                origin, nodes = with_room(origin, 2 * len(origin)), with_room(nodes, 2 * len(nodes))
            begin, end = first[origin[node]], first[origin[node] + 1]
            follows = adjacent[nodes[node, 1]]
            few = end - begin <= 8 * W
            for k in range(begin, end) if few else range(W):
                w = place[word[k]] if few else k
                if w < 0 or not follows[w]:
                    continue
                child = k if few else find(first, word, origin[node], kept[w])
                if child >= 0:
                    origin[count], nodes[count, 0], nodes[count, 1] = child, node, w
                    count += 1
    level[order + 1] = count
    return origin[:count].copy(), nodes[:count].copy(), level


@kernel
def linked(parent: Array, label: Array, level: Array) -> tuple[Array, Array]:
    """Return `first` and `suffix` of a trie, from the parents and words of its nodes."""
    count, order = len(parent), len(level) - 2
    first = np.full(count + 1, count, np.int64)
    for node in range(count - 1, 0, -1):
        first[parent[node]] = node
    for node in range(count - 1, -1, -1):
        # Without children: where the next node's begin.
        if first[node] == count and node < level[order]:
            first[node] = first[node + 1]
    suffix = np.zeros(count, np.int32)
    for node in range(level[2], count):
        suffix[node] = find(first, label, suffix[parent[node]], label[node])
    return first, suffix


@kernel
def close_bounds(lm: Trie, before: Array, after: Array) -> Array:
    """Return `Automaton.close`, from the longest contexts to the empty one; `before` and `after` count the
    words that can stand directly before and after each word."""
    N = len(lm.word)
    extended, close = np.zeros(N, np.int64), np.full(N, -np.inf)
    for c in range(N - 1, 0, -1):
        if lm.depth[c] >= lm.order:
            continue
        if lm.depth[c] == lm.order - 1:
            close[c] = 0.0
        else:
            f = c
            while lm.parent[f] > 0:
                f = lm.parent[f]
            if extended[c] < before[f - 1] or extended[c] == 0:
                close[c] = max(close[c], 0.0)
        # A word that nothing follows is not a context of anything.
        if lm.depth[c] > 1 or after[c - 1] > 0:
            s = lm.suffix[c]
            extended[s] += 1
            close[s] = max(close[s], lm.backoff[c] + close[c])
    if lm.order == 1:
        close[0] = 0.0
    return close


@kernel
def upper_bounds(lm: Trie, adjacent: Array, close: Array) -> Array:
    """Return `Automaton.upper`, from the longest n-grams to single words."""
    N, W = len(lm.word), len(adjacent)
    upper = np.full(N, -np.inf)
    for g in range(N - 1, 0, -1):
        if lm.depth[g] == lm.order:
            upper[g] = max(upper[g], lm.logprob[g])
        elif lm.depth[g] > 1:
            upper[g] = max(upper[g], lm.logprob[g] + close[lm.parent[g]])
        else:
            alone = True
            for x in range(W):
                if adjacent[x, g - 1]:
                    alone = False
                    if find(lm.first, lm.word, 1 + x, g - 1) < 0:
                        upper[g] = max(upper[g], lm.logprob[g] + lm.backoff[1 + x] + close[1 + x])
            if alone:
                upper[g] = max(upper[g], lm.logprob[g])
        if lm.depth[g] > 1:
            upper[lm.suffix[g]] = max(upper[lm.suffix[g]], upper[g])
    upper[0] = 0.0
    return upper


@kernel
def remembered(lm: Trie, after: Array) -> Array:
    """Return `Automaton.state`; `after` counts the words that can follow each word."""
    N = len(lm.word)
    state = np.zeros(N, np.int32)
    for g in range(N - 1, 0, -1):
        # Marked already if a longer context that ends in g is worth remembering: the set stays closed.
        # Nothing follows </s>. First and last words are always remembered: coarser passes need them.
        if (
            lm.depth[g] < lm.order
            and after[lm.word[g]] > 0
            and (lm.depth[g] == 1 or lm.first[g] < lm.first[g + 1] or lm.backoff[g] != 0.0 or state[g] == g)
        ):
            state[g] = g
            state[lm.suffix[g]] = lm.suffix[g]
    for g in range(1, N):
        if state[g] != g:
            state[g] = state[lm.suffix[g]]
    return state


@kernel
def prefix_sums(parent: Array, value: Array) -> Array:
    """Return for each node the sum of `value` over its prefixes and itself, without the empty one."""
    result = np.zeros(len(value))
    for g in range(1, len(value)):
        result[g] = result[parent[g]] + value[g]
    return result


def with_bounds(lm: Trie, adjacent: Array, left: Array, state: Array, ends: tuple[int, int]) -> Automaton:
    """Return an automaton; `adjacent` bool (before, after) says which words can follow each other."""
    close = close_bounds(lm, adjacent.sum(axis=0), adjacent.sum(axis=1))
    upper = upper_bounds(lm, adjacent, close)
    sums = prefix_sums(lm.parent, upper), prefix_sums(lm.parent, lm.logprob)
    return Automaton(*lm, upper, close, *sums, left, state, *ends)


def flaw(words: list[str], arrays: Mapping[str, Array]) -> str | None:
    """Return what is wrong with the arrays of a stored model over `words`; None if nothing is."""
    for name, kind in TYPES.items():
        if arrays[name].ndim != 1 or arrays[name].dtype != kind:
            return f"`{name}` is {arrays[name].dtype} {arrays[name].shape}, not a row of {np.dtype(kind)}"
    first, word, suffix, level = (arrays[name] for name in ("first", "word", "suffix", "level"))
    n, V, order = len(word), len(words), len(level) - 2
    if len(set(words)) < V or not {"<s>", "</s>", "<unk>"} <= set(words):
        return "`words` has a word twice, or lacks <s>, </s> or <unk>"
    if any(len(arrays[name]) != n for name in ("logprob", "backoff", "suffix")) or len(first) != n + 1:
        return "its arrays do not have the same length"
    if not all(np.isfinite(arrays[name]).all() for name in ("logprob", "backoff")):
        return "a probability is not finite"
    if order < 1 or level[:3].tolist() != [0, 1, 1 + V] or level[-1] != n or (np.diff(level) < 0).any():
        return "`level` does not divide its nodes by depth"
    if first[0] != 1 or first[-1] != n or (np.diff(first) < 0).any():
        return "`first` does not divide its nodes by parent"
    if not (first[level[:-1]] == level[1:]).all():
        return "a node has children of another depth"
    parent = np.repeat(np.arange(n), np.diff(first))
    if not (word[1 : 1 + V] == np.arange(V)).all() or not ((word[1:] >= 0) & (word[1:] < V)).all():
        return "`word` does not number its words"
    if not (np.diff(word[1:])[np.diff(parent) == 0] > 0).all():
        return "the children of a node are not sorted"
    long = np.arange(1 + V, n)
    if not ((suffix >= 0) & (suffix < n)).all() or suffix[: 1 + V].any():
        return "`suffix` is not a node"
    up = suffix[long]
    same = (up > 0) & (word[up] == word[long]) & (parent[up - 1] == suffix[parent[long - 1]])
    return None if same.all() else "`suffix` is not the node of an n-gram without its first word"
