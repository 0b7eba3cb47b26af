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


def positions_between(edges):
    """The steps ⟨a, b⟩ of each edge, between positions (vertex, "down" or "up")."""
    return [
        [
            ((head, "down"), (tail[0], "down")),
            ((tail[-1], "up"), (head, "up")),
            *(((a, "up"), (b, "down")) for a, b in itertools.pairwise(tail)),
        ]
        for head, tail, _ in edges
    ]


def restricted_value(vertices, edges, root, model, prices, step_prices, classes):
    """The Lagrangian of Rush & Collins (2011), maximised by trying every derivation and every choice.

    Each leaf chooses the n − 1 leaves before it, of the same classes as those that stand there, and paths
    between them. Leaves are numbers of vertices, ("<s>", i) and ("</s>", i); `prices[k]` has those of leaves
    at place k, `step_prices[k]` those of steps between places k and k + 1, `classes` those of leaves; all
    may leave out zeros.
    """
    n = model.order
    starts, ends = [("<s>", i) for i in range(n - 1)], [("</s>", i) for i in range(n - 1)]
    numbered = [*edges, ("goal", [*starts, root, *ends], 0.0)]
    steps = positions_between(numbered)
    words = {v: label for v, (label, _) in enumerate(vertices) if label is not None}
    words |= {v: v[0] for v in (*starts, *ends)}
    leaving = defaultdict(set)
    for a, b in itertools.chain(*steps):
        leaving[a].add(b)
    routes = [defaultdict(dict) for _ in range(n - 1)]  # leaf, leaf before it: the best path between them

    def walk(k, first, position, cost):
        for after in leaving[position]:
            total = cost - step_prices[k].get((position, after), 0.0)
            if after[0] in words and after[1] == "down":
                known = routes[k][after[0]].get(first, -math.inf)
                routes[k][after[0]][first] = max(known, total)
            else:
                walk(k, first, after, total)

    for k in range(n - 1):
        for v in words:
            walk(k, v, (v, "up"), 0.0)

    def choices(chain, stands, value):
        """The best value of the leaves before those of `chain`, which agree with `stands`, nearest last."""
        k = n - 1 - len(chain)
        if k < 0:
            context = [words[v] for v in chain[:-1]]
            if words[chain[-1]] == "</s>" == context[-1]:
                return value
            while context.count("<s>") > 1:
                del context[0]
            return value + model.word(context, words[chain[-1]])
        best = -math.inf
        for v, route in routes[k][chain[0]].items():
            if classes.get(v, 0) == classes.get(stands[k], 0):
                best = max(best, choices([v, *chain], stands, value + route - prices[k].get(v, 0.0)))
        return best

    def leaves_of(used):
        following, found, stack = iter(used), [], [root]
        while stack:
            v = stack.pop()
            if v in words:
                found.append(v)
            else:
                stack.extend(reversed(edges[next(following)][1]))
        return found

    memory, best = {}, -math.inf
    for used, _, weight in derivations(vertices, edges, root):
        sequence = [*starts, *leaves_of(used), *ends]
        total = weight
        for e in (*used, len(edges)):
            total += sum(price.get(step, 0.0) for price in step_prices for step in steps[e])
        for at in range(n - 1, len(sequence)):
            v, stands = sequence[at], tuple(sequence[at - n + 1 : at])
            key = v, tuple(classes.get(s, 0) for s in stands)
            if key not in memory:
                memory[key] = choices([v], stands, 0.0)
            total += memory[key] + sum(price.get(v, 0.0) for price in prices)
        best = max(best, total)
    return best
