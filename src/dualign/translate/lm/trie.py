"""Kernels over the trie of a back-off language model.

Node 0 is the empty context; node 1 + w is the word w; the node of an n-gram `w_1..w_n` is a child of that of
`w_1..w_{n-1}`. Nodes are numbered by depth, then parent, then word, so children are contiguous and sorted:
those of node c are `first[c] .. first[c + 1]`. The set is closed: with an n-gram it has both its (n−1)-grams.
`suffix[g]` is the node of `w_2..w_n`. Then the model is an automaton whose state is a node:

    log p(w | c) = logprob[c·w]                          if c·w is in the model
                 = backoff[c] + log p(w | suffix[c])     otherwise
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel


@kernel()
def find(first: Array, word: Array, node: int, w: int) -> int:
    """The child of `node` with word `w`, or −1."""
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


@kernel()
def score_sentences(
    first: Array,
    word: Array,
    logprob: Array,
    backoff: Array,
    suffix: Array,
    depth: Array,
    order: int,
    tokens: Array,
    offsets: Array,
    begin: int,
    scores: Array,
) -> None:
    """`scores[t] = log p(tokens[t] | before)`, in each sentence `offsets[n] .. offsets[n + 1]` from state
    `begin`.

    `order` may be less than the model's: then only the last `order − 1` words count.
    """
    for n in range(len(offsets) - 1):
        state = begin
        while depth[state] >= order:
            state = suffix[state]
        for t in range(offsets[n], offsets[n + 1]):
            total = 0.0
            node = find(first, word, state, tokens[t])
            while node < 0:
                total += backoff[state]
                state = suffix[state]
                node = find(first, word, state, tokens[t])
            scores[t] = total + logprob[node]
            state = node
            while depth[state] >= order:
                state = suffix[state]


@kernel()
def restrict(
    first: Array, word: Array, order: int, kept: Array, place: Array, adjacent: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The part of a trie with n-grams up to `order` whose neighbouring words are all `adjacent`.

    `kept` int32, ascending: the words that remain, renumbered by their position; `place` int32 is −1 for
    each word of the model, on entry and on return; `adjacent` bool (kept, kept). Returns `(origin, parent,
    label, level, first, suffix)`: for each new node its old one, its new parent and word, in `level[d] ..
    level[d + 1]` the nodes of depth d, and the rest of the layout. Work is proportional to the children of
    what remains, or where those are many, to the words kept.
    """
    W = len(kept)
    for i in range(W):
        place[kept[i]] = i
    size = max(4 * W, 1024)
    origin, parent, label = np.empty(size, np.int64), np.empty(size, np.int32), np.empty(size, np.int32)
    level = np.zeros(order + 2, np.int64)
    origin[0], parent[0], label[0] = 0, -1, -1
    level[1] = 1
    for i in range(W):
        origin[1 + i], parent[1 + i], label[1 + i] = 1 + kept[i], 0, i
    count = 1 + W
    for d in range(2, order + 1):
        level[d] = count
        for node in range(level[d - 1], level[d]):
            begin, end = first[origin[node]], first[origin[node] + 1]
            if count + W >= size:
                size *= 2
                origin, o = np.empty(size, np.int64), origin
                parent, p = np.empty(size, np.int32), parent
                label, l = np.empty(size, np.int32), label
                origin[:count], parent[:count], label[:count] = o[:count], p[:count], l[:count]
            last = label[node]
            if end - begin <= 8 * W:
                for child in range(begin, end):
                    w = place[word[child]]
                    if w >= 0 and adjacent[last, w]:
                        origin[count], parent[count], label[count] = child, node, w
                        count += 1
            else:
                for w in range(W):
                    if adjacent[last, w]:
                        child = find(first, word, origin[node], kept[w])
                        if child >= 0:
                            origin[count], parent[count], label[count] = child, node, w
                            count += 1
    level[order + 1] = count
    for i in range(W):
        place[kept[i]] = -1
    origin, parent, label = origin[:count].copy(), parent[:count].copy(), label[:count].copy()
    begins = np.full(count + 1, count, np.int64)
    for node in range(count - 1, 0, -1):
        begins[parent[node]] = node
    for node in range(count - 1, -1, -1):
        # Without children: where the next node's begin.
        if begins[node] == count and node < level[order]:
            begins[node] = begins[node + 1]
    suffix = np.zeros(count, np.int32)
    for node in range(1 + W, count):
        suffix[node] = find(begins, label, suffix[parent[node]], label[node])
    return origin, parent, label, level, begins, suffix


@kernel()
def bounds(
    first: Array,
    word: Array,
    logprob: Array,
    backoff: Array,
    suffix: Array,
    parent: Array,
    depth: Array,
    order: int,
    adjacent: Array,
    upper: Array,
    close: Array,
    cumulative: Array,
    lower: Array,
    left: Array,
    state: Array,
) -> None:
    """What unseen words on the left can do at most, for each node; all outputs (N).

    With x any words that can stand before the n-gram g = c·w (`adjacent[x, w]`: x may stand directly before
    w):

    - `upper[g] ≥ log p(w | x c)` for every x;
    - `close[c] ≥` what is charged for leaving the contexts `x c` that are in the model for c, when the word
      after c does not continue it: the sum of the back-off weights of the longer ones;
    - `cumulative[g]`: sum of `upper` over the prefixes of g, `lower[g]` of `logprob`;
    - `left[g]`: whether any `x g` is in the model, or g is one word;
    - `state[g]`: g, or its longest suffix that is worth remembering because it, or a longer context that ends
      in it, has a child or a back-off weight, or because it is one word.
    """
    N, W = len(word), len(adjacent)
    for g in range(N):
        # First and last words are always remembered: coarser passes go by them.
        left[g] = depth[g] == 1
    for g in range(1 + W, N):
        left[suffix[g]] = True
    before, after = np.zeros(W, np.int64), np.zeros(W, np.int64)
    for x in range(W):
        for w in range(W):
            before[w] += adjacent[x, w]
            after[x] += adjacent[x, w]
    # `close`, from the longest contexts to the empty one.
    extended = np.zeros(N, np.int64)
    for c in range(N):
        close[c] = -np.inf
    for c in range(N - 1, 0, -1):
        if depth[c] >= order:
            continue
        if depth[c] == order - 1:
            close[c] = 0.0
        else:
            f = c
            while parent[f] > 0:
                f = parent[f]
            if extended[c] < before[f - 1] or extended[c] == 0:
                close[c] = max(close[c], 0.0)
        # A word that nothing follows is no context of anything.
        if depth[c] > 1 or after[c - 1] > 0:
            s = suffix[c]
            extended[s] += 1
            close[s] = max(close[s], backoff[c] + close[c])
    if order == 1:
        close[0] = 0.0
    for g in range(N):
        upper[g] = -np.inf
    for g in range(N - 1, 0, -1):
        if depth[g] == 1:
            w = g - 1
            if order == 1 or before[w] == 0:
                upper[g] = max(upper[g], logprob[g])
            else:
                for x in range(W):
                    if adjacent[x, w] and find(first, word, 1 + x, w) < 0:
                        upper[g] = max(upper[g], logprob[g] + backoff[1 + x] + close[1 + x])
        elif depth[g] == order:
            upper[g] = logprob[g]
        else:
            upper[g] = max(upper[g], logprob[g] + close[parent[g]])
        if depth[g] > 1:
            upper[suffix[g]] = max(upper[suffix[g]], upper[g])
    cumulative[0] = lower[0] = upper[0] = 0.0
    for g in range(N):
        state[g] = 0
    for g in range(N - 1, 0, -1):
        # Marked already if a longer context that ends in g is worth remembering: the set stays closed.
        # Nothing follows </s>.
        if (
            depth[g] < order
            and after[word[g]] > 0
            and (depth[g] == 1 or first[g] < first[g + 1] or backoff[g] != 0.0 or state[g] == g)
        ):
            state[g] = g
            state[suffix[g]] = suffix[g]
    for g in range(1, N):
        cumulative[g] = cumulative[parent[g]] + upper[g]
        lower[g] = lower[parent[g]] + logprob[g]
        if state[g] != g:
            state[g] = state[suffix[g]]
