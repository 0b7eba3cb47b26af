"""Dependency trees carried over links.

**Which words stand for which.** Links are many-to-many; a tree needs one word for one word.

1. *Partners.* Links are taken by falling probability, each if both its words are still free. Ties: equal
   part of speech first, then the link nearer the diagonal, then the first. So every linked source word and
   every linked target word competes once, and the partners are one-to-one.
2. *Groups.* A source word that found no partner, but has links, joins the target word of its first link in
   that order. The group of a target word is its partner and all that joined. Several source words may thus
   become one target word; a target word without partner stands for nothing.
3. *Place.* A target word takes the place of the topmost word of its group, the partner among equals.

**Edges.** A target word's head is the word whose group holds the head of the source word it stands for, its
relation is that word's relation. So an edge is kept if both its ends are aligned, and only then. The word
that stands for the source's root is the root.

**Validity.** Depth in the source tree, of the words stood for, falls from each target word to its head; so
there is no cycle. The source's root is in one group; so there is one root at most. What is left unattached
has no head: the tree is partial.

**Confidence** of an edge is the product of the two links' probabilities; the root's is that of its link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dualign.text.conllu import ROOT, UNKNOWN
from dualign.text.links import WeightedLink

NOTHING = -1
"""Instead of a position: no word."""


@dataclass(slots=True)
class Projection:
    """The part of a tree that came across; all lists have an item for each target word."""

    heads: list[int]
    """The position of the head, `ROOT`, or `UNKNOWN` for a word that is not attached."""
    stands_for: list[int]
    """The source word whose place it takes, or -1."""
    confidence: list[float]
    """Of the edge to its head; 0 if there is none."""
    group_of: list[int]
    """For each *source* word, the target word whose group it is in, or -1."""

    def edges(self) -> list[tuple[int, int]]:
        """Return the pairs (word, head), without the root."""
        return [(word, head) for word, head in enumerate(self.heads) if head >= 0]


def project(
    heads: Sequence[int],
    target_length: int,
    links: Sequence[WeightedLink],
    tags: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Projection:
    """Carry a tree over links by the rules above; `tags` are the parts of speech of both sides, for ties.

    `heads` is a tree or part of one (see `dualign.text.conllu.Sentence.heads`); links lie within both
    sentences.
    """
    source_length = len(heads)
    left, right = tags or ([""] * source_length, [""] * target_length)
    ordered = sorted(
        (-p, left[i] != right[j], abs(i * target_length - j * source_length), i, j) for i, j, p in links
    )
    group_of = [NOTHING] * source_length
    weight = [0.0] * source_length
    stands_for = [NOTHING] * target_length
    for minus_p, _, _, i, j in ordered:
        if group_of[i] == NOTHING and stands_for[j] == NOTHING:
            group_of[i], weight[i], stands_for[j] = j, -minus_p, i
    joined = []
    for minus_p, _, _, i, j in ordered:
        if group_of[i] == NOTHING:
            group_of[i], weight[i] = j, -minus_p
            joined.append(i)
    if joined:
        depth = _depths(heads)
        for i in joined:
            j = group_of[i]
            if depth[i] < depth[stands_for[j]]:
                stands_for[j] = i
    result = [UNKNOWN] * target_length
    confidence = [0.0] * target_length
    for j, i in enumerate(stands_for):
        if i == NOTHING:
            continue
        head = heads[i]
        if head == ROOT:
            result[j], confidence[j] = ROOT, weight[i]
        elif head >= 0 and group_of[head] != NOTHING:
            result[j], confidence[j] = group_of[head], weight[i] * weight[head]
    return Projection(result, stands_for, confidence, group_of)


def complete(projection: Projection, heads: Sequence[int], links: Sequence[WeightedLink]) -> list[int]:
    """Return heads for all target words: those of the projection, and for the others the nearest that makes
    sense.

    - If no word is the root, the unattached word that stands for the source word nearest to its root becomes
      the root; or the first word, if nothing is aligned.
    - A word that stands for a source word gets the word of its nearest aligned ancestor, or the root.
    - A word that is linked, but stands for nothing, gets the word that stands for its most probable link.
    - Any other word gets the root.
    """
    complete = list(projection.heads)
    depth = _depths(heads)
    loose = [j for j, head in enumerate(complete) if head == UNKNOWN]
    if ROOT not in complete and loose:
        standing = [j for j in loose if projection.stands_for[j] != NOTHING]
        complete[min(standing, key=lambda j: depth[projection.stands_for[j]]) if standing else loose[0]] = (
            ROOT
        )
    best: dict[int, WeightedLink] = {}
    for link in links:
        if link[1] not in best or link[2] > best[link[1]][2]:
            best[link[1]] = link
    for j in loose:
        if complete[j] != UNKNOWN:
            continue
        head = NOTHING
        if (i := projection.stands_for[j]) != NOTHING:
            ancestor = heads[i]
            while ancestor >= 0 and head == NOTHING:
                head, ancestor = projection.group_of[ancestor], heads[ancestor]
        elif j in best:
            head = projection.group_of[best[j][0]]
        complete[j] = complete.index(ROOT) if head == NOTHING else head
    return complete


def _depths(heads: Sequence[int]) -> list[int]:
    """Return edges above each word; a word without head has none."""
    depth = [-1] * len(heads)
    for word in range(len(heads)):
        path = []
        at = word
        while at >= 0 and depth[at] < 0:
            path.append(at)
            at = heads[at]
        below = depth[at] + 1 if at >= 0 else 0
        for k, passed in enumerate(reversed(path)):
            depth[passed] = below + k
    return depth
