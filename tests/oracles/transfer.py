"""Annotation over links by the letter of the rules, slowly; the twins of `dualign.transfer`."""

from __future__ import annotations

from fractions import Fraction

Link = tuple[int, int, float]


def depth(heads: list[int], word: int) -> int:
    return 0 if heads[word] < 0 else 1 + depth(heads, heads[word])


def project(heads: list[int], length: int, links: list[Link]) -> tuple[list[int], list[int]]:
    """Heads of the target words (-1 root, -2 none), and the source words they stand for (-1 none)."""

    def better(link: Link) -> tuple[Fraction, Fraction, int, int]:
        i, j, p = link
        return -Fraction(p), abs(Fraction(i, len(heads)) - Fraction(j, length)), i, j

    partner: dict[int, int] = {}  # of a target word
    rest = list(links)
    while rest:
        i, j, _ = min(rest, key=better)
        partner[j] = i
        rest = [link for link in rest if link[0] != i and link[1] != j]
    group = {j: {i} for j, i in partner.items()}
    for i in range(len(heads)):
        mine = [link for link in links if link[0] == i]
        if mine and i not in partner.values():
            group[min(mine, key=better)[1]].add(i)
    stands_for = [-1] * length
    for j, members in group.items():
        top = min(depth(heads, i) for i in members)
        highest = [i for i in members if depth(heads, i) == top]
        # Among equals the partner, then who joined first, which is the one with the better link.
        if partner[j] in highest:
            stands_for[j] = partner[j]
        else:
            stands_for[j] = min(highest, key=lambda i: min(better(link) for link in links if link[0] == i))
    result = [-2] * length
    for j, i in enumerate(stands_for):
        if i < 0:
            continue
        if heads[i] == -1:
            result[j] = -1
        for k, members in group.items():
            if heads[i] in members:
                result[j] = k
    return result, stands_for


def runs(begin: int, end: int, length: int, links: list[Link], gap: int) -> list[tuple[int, int]]:
    """Runs of target words that a source span claims; probabilities must be exact in binary."""
    inside = [sum(p for i, j, p in links if j == k and begin <= i < end) for k in range(length)]
    outside = [sum(p for i, j, p in links if j == k and not begin <= i < end) for k in range(length)]
    claimed = [k for k in range(length) if inside[k] > 0 and inside[k] >= outside[k]]
    pieces = []
    for first in claimed:
        for last in claimed:
            between = [k for k in range(first, last + 1) if k not in claimed]
            fits = all(inside[k] == outside[k] == 0 for k in between)
            # No stretch of unlinked words may be longer than the gap.
            longest = 0
            for k in range(first, last + 1):
                stretch = next((n for n in range(length) if k + n in claimed or k + n > last), 0)
                longest = max(longest, stretch)
            if first <= last and fits and longest <= gap:
                pieces.append((first, last + 1))
    return sorted(
        (a, b) for a, b in pieces if not any((c, d) != (a, b) and c <= a and b <= d for c, d in pieces)
    )


def vote(tags: list[str], length: int, links: list[Link]) -> list[str]:
    """Tags by vote; probabilities must be exact in binary."""
    result = []
    for k in range(length):
        mine = sorted((-p, i) for i, j, p in links if j == k and tags[i] != "_")
        sums = {tags[i]: sum(-q for q, other in mine if tags[other] == tags[i]) for _, i in mine}
        best = [tags[i] for _, i in mine if sums[tags[i]] == max(sums.values())]
        result.append(best[0] if best else "_")
    return result


def letters_shared(first: list[str], second: list[str]) -> list[list[int]]:
    """For each token of a tokenisation, the tokens of another that hold one of its letters."""
    owners = [[k for k, token in enumerate(tokens) for _ in token] for tokens in (first, second)]
    return [sorted({b for a, b in zip(*owners, strict=True) if a == k}) for k in range(len(first))]
