"""Brute-force twins of the translate room: all derivations, back-off by dictionary, counts by hand."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict


def derivations(vertices, edges, root, limit=600):
    """Every derivation as (edges from the root left to right, words, weight); None if there are too many."""
    incoming = defaultdict(list)
    for number, (head, _, _) in enumerate(edges):
        incoming[head].append(number)
    memory = {}

    def below(vertex):
        label, weight = vertices[vertex]
        if label is not None:
            return [((), (label,), weight)]
        if vertex not in memory:
            found = []
            for e in incoming[vertex]:
                parts = [below(child) for child in edges[e][1]]
                if any(part is None for part in parts) or math.prod(map(len, parts)) > limit:
                    found = None
                    break
                for choice in itertools.product(*parts):
                    found.append(
                        (
                            (e, *itertools.chain(*(c[0] for c in choice))),
                            tuple(itertools.chain(*(c[1] for c in choice))),
                            weight + edges[e][2] + sum(c[2] for c in choice),
                        )
                    )
                if len(found) > limit:
                    found = None
                    break
            memory[vertex] = found
        return memory[vertex]

    return below(root)


class BackOff:
    """An n-gram model as a dictionary from word tuples to (log p, log back-off), natural logarithms."""

    def __init__(self, table, order):
        self.table = table
        self.order = order

    def word(self, context, word):
        context = tuple(context)[max(0, len(context) - self.order + 1) :]
        if (word,) not in self.table:
            word = "<unk>"
        context = tuple(w if (w,) in self.table else "<unk>" for w in context)
        while True:
            if (*context, word) in self.table:
                return self.table[(*context, word)][0]
            if not context:
                return -100 * math.log(10)
            rest = context[1:]
            return self.table.get(context, (0.0, 0.0))[1] + self.word_exactly(rest, word)

    def word_exactly(self, context, word):
        if (*context, word) in self.table:
            return self.table[(*context, word)][0]
        if not context:
            return -100 * math.log(10)
        return self.table.get(context, (0.0, 0.0))[1] + self.word_exactly(context[1:], word)

    def sentence(self, words):
        history, total = ["<s>"], 0.0
        for word in (*words, "</s>"):
            total += self.word(history, word)
            history.append(word)
        return total


def kneser_ney(sentences, order, discounts_of):
    """p(w | c) of interpolated modified Kneser-Ney as a function of (context, word), straight from the
    formula."""
    raw = [Counter() for _ in range(order + 1)]
    for sentence in sentences:
        words = ["<s>", *sentence, "</s>"]
        for n in range(1, order + 1):
            for i in range(len(words) - n + 1):
                raw[n][tuple(words[i : i + n])] += 1
    counts = [Counter() for _ in range(order + 1)]
    counts[order] = raw[order]
    for n in range(1, order):
        different = Counter(gram[1:] for gram in raw[n + 1])
        for gram in raw[n]:
            counts[n][gram] = raw[n][gram] if gram[0] == "<s>" else different[gram]
    counts[1].pop(("<s>",), None)
    vocabulary = {word for (word,) in counts[1]} | {"<unk>"}
    discounts = [None] + [discounts_of(list(counts[n].values())) for n in range(1, order + 1)]

    def p(context, word):
        context = tuple(context)[max(0, len(context) - order + 1) :]
        n = len(context) + 1
        following = {gram[-1]: c for gram, c in counts[n].items() if gram[:-1] == context}
        lower = p(context[1:], word) if context else 1.0 / len(vocabulary)
        total = sum(following.values())
        if not total:
            return lower
        d = discounts[n]
        taken = sum(d[min(c, 3) - 1] for c in following.values() if c)
        c = following.get(word, 0)
        return (c - (d[min(c, 3) - 1] if c else 0.0)) / total + taken / total * lower

    return p, vocabulary


def hiero_rules(source, target, links, longest, symbols, gap):
    """The rules of one sentence pair as a set of (source side, target side), by trying all spans."""
    linked_source, linked_target = {i for i, _ in links}, {j for _, j in links}

    def phrase(i, k):
        if k - i > longest or i not in linked_source or k - 1 not in linked_source:
            return None
        inside = [j for s, j in links if i <= s < k]
        low, high = min(inside), max(inside) + 1
        if high - low > longest or any(low <= j < high and not i <= s < k for s, j in links):
            return None
        return low, high

    spans = {(i, k): phrase(i, k) for i in range(len(source)) for k in range(i + 1, len(source) + 1)}
    spans = {span: found for span, found in spans.items() if found}
    rules = set()
    for (i, k), (low, high) in spans.items():
        inner = [(a, b) for a, b in spans if i <= a and b <= k and (a, b) != (i, k) and b - a >= gap]
        for holes in itertools.chain([()], ((h,) for h in inner), itertools.combinations(sorted(inner), 2)):
            if len(holes) == 2 and holes[0][1] >= holes[1][0]:
                continue
            left, at = [], i
            words = []
            while at < k:
                hole = next((n for n, h in enumerate(holes) if h[0] == at), None)
                if hole is None:
                    left.append(source[at])
                    words.append(at)
                    at += 1
                else:
                    left.append(f"[{hole}]")
                    at = holes[hole][1]
            if len(left) > symbols or not any(w in linked_source for w in words):
                continue
            right, at = [], low
            while at < high:
                hole = next((n for n, h in enumerate(holes) if spans[h][0] == at), None)
                if hole is None:
                    right.append(target[at])
                    at += 1
                else:
                    right.append(f"[{hole}]")
                    at = spans[holes[hole]][1]
            rules.add((tuple(left), tuple(right)))
    assert linked_target or not rules
    return rules


def bleu(translations, references):
    """BLEU from its definition, with plain loops."""
    logs, length, reference_length = 0.0, 0, 0
    for n in range(1, 5):
        hits = total = 0
        for words, several in zip(translations, references, strict=True):
            grams = Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
            for gram, count in grams.items():
                most = max(sum(tuple(r[i : i + n]) == gram for i in range(len(r) - n + 1)) for r in several)
                hits += min(count, most)
                total += count
        if not hits:
            return 0.0
        logs += math.log(hits / total) / 4
    for words, several in zip(translations, references, strict=True):
        length += len(words)
        reference_length += min((abs(len(r) - len(words)), len(r)) for r in several)[1]
    return 100 * math.exp(logs + min(0.0, 1 - reference_length / length))
