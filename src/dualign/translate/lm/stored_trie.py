"""Whether arrays that come from a file are the trie of a language model.

Kernels trust what they are given: an index out of its range would read, or crash, anywhere. So every rule of
`dualign.translate.lm.trie` that they rely on is checked once, when a file is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dualign.core.arrays import Array

TYPES = {
    "first": np.int64, "word": np.int32, "logprob": np.float64, "backoff": np.float64, "suffix": np.int32,
    "level": np.int64,
}  # fmt: skip


def flaw(words: list[str], arrays: Mapping[str, Array]) -> str | None:
    """What is wrong with the arrays of a stored model over `words`; None if nothing is."""
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
