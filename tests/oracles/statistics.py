"""Statistics of a run, counted one word and one link at a time."""

from __future__ import annotations

from collections import Counter


def fertilities(pairs, links, side, most):
    counts = [0] * (most + 1)
    for pair, set_of_links in zip(pairs, links, strict=True):
        for at in range(len(pair[side])):
            counts[min(most, sum(link[side] == at for link in set_of_links))] += 1
    return counts


def dictionary(pairs, links):
    """Times that two words are linked, in lower case."""
    counts = Counter()
    for (source, target), set_of_links in zip(pairs, links, strict=True):
        for i, j in set_of_links:
            counts[source[i].lower(), target[j].lower()] += 1
    return counts


def unaligned(pairs, links, side):
    """For each word, how often it stands without a link, and how often at all."""
    alone, total = Counter(), Counter()
    for pair, set_of_links in zip(pairs, links, strict=True):
        for at, word in enumerate(pair[side]):
            total[word.lower()] += 1
            if all(link[side] != at for link in set_of_links):
                alone[word.lower()] += 1
    return alone, total


def components(links):
    """Sets of nodes ("s", i), ("t", j) that hang together."""
    groups = []
    for i, j in links:
        joined = {("s", i), ("t", j)}
        rest = []
        for group in groups:
            if group & joined:
                joined |= group
            else:
                rest.append(group)
        groups = [*rest, joined]
    return groups
