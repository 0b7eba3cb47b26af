"""Forests that are hard for their size: many translations for each word and free reordering; not learnt.

Each source word has 10 to 20 translations, some neighbours have phrases of their own, and spans of up to 4 to
6 words come in either order, some with a word in between; longer ones are joined in order. The trigram model
is learnt from text of a Markov chain over the same words, whose frequencies follow Zipf's law.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from dualign.translate import Hypergraph, LanguageModel

WORDS = 600
EDGES = 1000, 3000


def reordered(seed: int, count: int) -> Iterator[tuple[Hypergraph, LanguageModel, int]]:
    """That many forests with 1,000 to 3,000 edges, the model, and the number of source words."""
    rng = random.Random(seed)
    frequency = [1 / (n + 2) for n in range(WORDS)]
    model = LanguageModel.train(_text(rng, frequency, 5000), 3)
    while count:
        words = rng.randint(10, 30)
        graph = _forest(rng, frequency, words)
        if EDGES[0] <= len(graph.head) <= EDGES[1]:
            count -= 1
            yield graph, model, words


def _text(rng: random.Random, frequency: list[float], sentences: int) -> list[list[str]]:
    follow = [rng.choices(range(WORDS), frequency, k=rng.randint(3, 30)) for _ in range(WORDS)]
    text = []
    for _ in range(sentences):
        word = rng.choices(range(WORDS), frequency)[0]
        line = []
        for _ in range(rng.randint(5, 25)):
            line.append(f"t{word}")
            word = rng.choice(follow[word]) if rng.random() < 0.7 else rng.choices(range(WORDS), frequency)[0]
        text.append(line)
    return text


def _forest(rng: random.Random, frequency: list[float], words: int) -> Hypergraph:
    vertices: list[tuple[str | None, float]] = []
    edges: list[tuple[int, list[int], float]] = []
    span: dict[tuple[int, int], int] = {}
    reach = rng.randint(4, 6)

    def vertex(label: str | None = None) -> int:
        vertices.append((label, 0.0))
        return len(vertices) - 1

    def word() -> int:
        return rng.choices(range(WORDS), frequency)[0] if rng.random() < 0.5 else rng.randrange(WORDS)

    for i in range(words):
        span[i, i + 1] = vertex()
        several: set[int] = set()
        size = rng.randint(10, 20)
        while len(several) < size:
            several.add(word())
        edges += [(span[i, i + 1], [vertex(f"t{w}")], -3 * rng.random()) for w in sorted(several)]
    for length in range(2, reach + 1):
        for i in range(words - length + 1):
            head = span[i, i + length] = vertex()
            for m in range(i + 1, i + length):
                a, b = span[i, m], span[m, i + length]
                edges += [(head, [a, b], -rng.random()), (head, [b, a], -0.5 - rng.random())]
                for _ in range(rng.randint(1, 3) if rng.random() < 0.4 else 0):
                    w = vertex(f"t{word()}")
                    tail = rng.choice([[a, w, b], [b, w, a], [w, a, b], [a, b, w]])
                    edges.append((head, tail, -1 - 2 * rng.random()))
            for _ in range(rng.randint(4, 16) if length == 2 else 0):
                phrase = [vertex(f"t{word()}") for _ in range(rng.randint(1, 3))]
                edges.append((head, phrase, -1 - 4 * rng.random()))
    tops: dict[int, int] = {}
    for j in range(1, words + 1):
        tops[j] = vertex()
        if (0, j) in span:
            edges.append((tops[j], [span[0, j]], 0.0))
        edges += [(tops[j], [tops[k], span[k, j]], -0.3) for k in range(max(1, j - reach), j)]
    return Hypergraph(vertices, edges, tops[words])
