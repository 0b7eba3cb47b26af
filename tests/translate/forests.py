"""Random forests and language models, small enough to enumerate, seeded."""

from __future__ import annotations

import math
import random

import numpy as np
from tests.oracles.translation import BackOff

from dualign.text.arpa import Arpa, Grams
from dualign.translate.lm.language_model import LanguageModel

WORDS = ("a", "b", "c", "d")


def random_model(rng: random.Random, order: int, words=WORDS) -> tuple[LanguageModel, BackOff]:
    """A model and its twin. Back-off weights are of either sign: nothing may rely on them being below 1."""
    vocabulary = ["<s>", "</s>", "<unk>", *words]
    begin, end = 0, 1
    previous: list[tuple[int, ...]] = [(w,) for w in range(len(vocabulary))]
    grams, table = [], {}
    for n in range(1, order + 1):
        rows = previous
        if n > 1:
            following = [w for w in range(len(vocabulary)) if w != begin]
            rows = [(*g, w) for g in previous if g[-1] != end for w in following if rng.random() < 0.35]
        p = [-2 * rng.random() for _ in rows]
        b = [rng.random() * 1.2 - 1.0 if n < order else 0.0 for _ in rows]
        grams.append(Grams(np.array(rows, np.int32).reshape(-1, n), np.array(p), np.array(b)))
        for row, value, weight in zip(rows, p, b, strict=True):
            table[tuple(vocabulary[w] for w in row)] = value * math.log(10), weight * math.log(10)
        previous = rows
    return LanguageModel.of_arpa(Arpa(vocabulary, grams)), BackOff(table, order)


def random_forest(rng: random.Random, inner: int = 6, edges: int = 3, words=(*WORDS, "strange")):
    """Vertices and edges with shared parts, leaves in different orders, vertices used twice; the root is
    0."""
    vertices: list[tuple[str | None, float]] = [(None, rng.uniform(-1, 1)) for _ in range(inner)]
    result = []
    for v in range(inner):
        for number in range(rng.randint(1, edges)):
            tail = []
            for _ in range(rng.randint(1, 3)):
                leaves = range(inner, len(vertices))
                if v + 1 < inner and rng.random() < 0.5:
                    tail.append(rng.randint(v + 1, inner - 1))
                elif leaves and rng.random() < 0.3:
                    tail.append(rng.choice(leaves))
                else:
                    vertices.append((rng.choice(words), rng.uniform(-1, 1)))
                    tail.append(len(vertices) - 1)
            result.append((v, tail, rng.uniform(-2, 0)))
            if number and rng.random() < 0.3:
                # The same parts the other way round, as in the paper's footnote 5.
                result.append((v, tail[::-1], rng.uniform(-2, 0)))
    return vertices, _connected(vertices, result)


def _connected(vertices, edges):
    """Without the edges that the root has nothing to do with."""
    reached, stack = set(), [0]
    while stack:
        v = stack.pop()
        if v in reached:
            continue
        reached.add(v)
        for head, tail, _ in edges:
            if head == v:
                stack.extend(tail)
    kept = [edge for edge in edges if edge[0] in reached]
    for v, (label, weight) in enumerate(vertices):
        if label is None and v not in reached:
            vertices[v] = ("unused", weight)
    return kept
