"""Potentials: Lagrange multipliers on what a language model remembers.

The *context* of a word is the state of the model's automaton before it. For any π, adding π(c′) where a word
leads to the context c′ and taking π(c) off where it leaves c changes the score of no sentence, because every
context but the last is left again, and π is 0 for the first and the last. It changes bounds: where only the
last word x of a context is known, the word w after it counts with

    P(x, w) = π(c′) + max_{c ends in x} log p(w | c) − π(c)

and π can be chosen to make the bound of a forest small. This is the dual of Rush & Collins (2011), §5, with a
multiplier for each context of up to two words instead of each pair of leaves, so that it holds for leaves in
any order and any number of times.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign.translate.lm.trie import Automaton, Trie, find, with_bounds


class Contexts(NamedTuple):
    """What can be before a word: contexts of one or two words, as nodes of the automaton `lm`.

    The two-word contexts that end in x are `node[begin[x] : begin[x + 1]]`; `leave` is what leaving each of
    them costs, −inf for one that cannot occur. `open` bool (W): whether a context may be x alone. `base`
    float64 (x, w): log p(w|x), −inf where w cannot follow x; `after` int32 (x, w): the context of x and w.
    `gram` are the nodes of three words (y, x, w), each with `gram_score`, a bound over what is before y.
    """

    lm: Automaton
    begin: Array
    node: Array
    leave: Array
    open: Array
    base: Array
    after: Array
    gram: Array
    gram_score: Array


def contexts_of(lm: Automaton, adjacent: Array) -> Contexts:
    """Return the contexts of words; `adjacent` bool (before, after) says which words can follow each
    other."""
    W = len(adjacent)
    words = np.arange(1, 1 + W, dtype=np.int32)
    pairs, gram = np.flatnonzero(lm.depth == 2), np.flatnonzero(lm.depth == 3)
    place = lm.parent[pairs] - 1, lm.word[pairs]
    base = lm.backoff[words][:, None] + lm.logprob[words]
    base[place] = lm.logprob[pairs]
    base[~adjacent] = -np.inf
    after = np.repeat(words[None], W, axis=0)
    after[place] = lm.state[pairs]
    after[:, lm.end] = 0
    node = pairs[lm.state[pairs] == pairs]
    node = node[np.argsort(lm.word[node], kind="stable")].astype(np.int32)
    begin = np.searchsorted(lm.word[node], np.arange(W + 1))
    result = Contexts(
        lm, begin, node, lm.backoff[node] + lm.close[node], np.zeros(W, np.bool_), base, after, gram,
        lm.upper[gram],
    )  # fmt: skip
    narrow(result, adjacent)
    return result


@kernel
def narrow(contexts: Contexts, adjacent: Array) -> None:
    """Drop what has neighbours that are not adjacent; `adjacent` bool (before, after)."""
    lm, W = contexts.lm, len(adjacent)
    contexts.open[:] = False
    for x in range(W):
        for w in range(W):
            if not adjacent[x, w]:
                contexts.base[x, w] = -np.inf
            elif contexts.after[x, w] == 1 + w:
                contexts.open[w] = True
    contexts.open[lm.begin] = True
    for k in range(len(contexts.node)):
        c = contexts.node[k]
        if not adjacent[lm.word[lm.parent[c]], lm.word[c]]:
            contexts.leave[k] = -np.inf
    for k in range(len(contexts.gram)):
        c = lm.parent[contexts.gram[k]]
        y, x = lm.word[lm.parent[c]], lm.word[c]
        if not (adjacent[y, x] and adjacent[x, lm.word[contexts.gram[k]]]):
            contexts.gram_score[k] = -np.inf


@part
def pair_bounds(contexts: Contexts, potential: Array, P: Array) -> None:
    """Fill P float64 (x, w); `potential` float64 (nodes of the automaton)."""
    lm, W = contexts.lm, len(P)
    for x in range(W):
        top = -potential[1 + x] if contexts.open[x] else -np.inf
        for k in range(contexts.begin[x], contexts.begin[x + 1]):
            top = max(top, contexts.leave[k] - potential[contexts.node[k]])
        for w in range(W):
            P[x, w] = contexts.base[x, w] + top
    for k in range(len(contexts.gram)):
        g = contexts.gram[k]
        c = lm.parent[g]
        x, w = lm.word[c], lm.word[g]
        P[x, w] = max(P[x, w], contexts.gram_score[k] - potential[c])
    for x in range(W):
        for w in range(W):
            P[x, w] += potential[1 + w]
    for k in range(len(contexts.node)):
        c = contexts.node[k]
        P[lm.word[lm.parent[c]], lm.word[c]] += potential[c] - potential[1 + lm.word[c]]


compiled_pair_bounds = kernel(pair_bounds)


@part(allocates=False)
def chosen_context(contexts: Contexts, potential: Array, x: Any, w: Any) -> Any:
    """Return the context with last word x that attains P(x, w)."""
    lm, base = contexts.lm, contexts.base[x, w]
    best = np.int64(1 + x)
    top = base - potential[best] if contexts.open[x] else -np.inf
    for k in range(contexts.begin[x], contexts.begin[x + 1]):
        c = np.int64(contexts.node[k])
        if contexts.leave[k] == -np.inf:
            continue
        value = base + contexts.leave[k]
        g = find(lm.first, lm.word, c, w)
        if g >= 0:
            value = max(value, contexts.gram_score[g - contexts.gram[0]])
        if value - potential[c] > top:
            top, best = value - potential[c], c
    return best


def pair_scores(lm: Automaton, adjacent: Array) -> Array:
    """Return log p(w|x), bounded over what is before x; −inf where w cannot follow x; float64 (x, w)."""
    nodes = np.arange(1, 1 + len(adjacent))
    # Where w does not continue x: leave x for the empty context.
    leave = lm.backoff[nodes] + (lm.close[nodes] if lm.order > 2 else 0.0)
    score = leave[:, None] + lm.logprob[nodes][None, :]
    pairs = np.flatnonzero(lm.depth == 2)
    score[lm.parent[pairs] - 1, lm.word[pairs]] = lm.upper[pairs]
    return np.where(adjacent, score, -np.inf)


def shaped(lm: Automaton, adjacent: Array, potential: Array) -> Automaton:
    """Return the automaton with potentials in its weights: the same scores for sentences, other bounds.

    `potential` is that of nodes of up to two words; longer contexts have that of their last two.
    """
    value = np.append(potential[: 1 + len(adjacent)], np.zeros(len(lm.word) - 1 - len(adjacent)))
    value[0] = 0.0
    for depth in range(2, lm.order):
        nodes = np.flatnonzero(lm.depth == depth)
        own = potential[nodes] if depth == 2 else value[lm.suffix[nodes]]
        value[nodes] = np.where(lm.state[nodes] == nodes, own, value[lm.state[nodes]])
    grams = np.flatnonzero(lm.depth == lm.order)
    value[grams] = value[lm.state[grams]]
    value[1 + lm.end] = 0.0
    logprob = lm.logprob + value - value[lm.parent]
    backoff = lm.backoff - value + value[lm.suffix]
    logprob[0], backoff[0] = lm.logprob[0], 0.0
    backoff[lm.depth == lm.order] = 0.0
    weighted = Trie(lm.first, lm.word, logprob, backoff, lm.suffix, lm.parent, lm.depth, lm.order)
    return with_bounds(weighted, adjacent, lm.left, lm.state, (lm.begin, lm.end))


def carried(potential: Array, old: Automaton, lm: Automaton) -> Array:
    """Return potentials of an automaton for another with fewer n-grams, of the same words."""
    words = int((lm.depth <= 1).sum())
    result = np.zeros(len(lm.word))
    result[:words] = potential[:words]
    had, has = (np.flatnonzero(each.depth == 2) for each in (old, lm))
    key, wanted = (each.parent[at] * np.int64(words) + each.word[at] for each, at in ((old, had), (lm, has)))
    result[has] = potential[had[np.searchsorted(key, wanted)]]
    return result
