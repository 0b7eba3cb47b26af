"""Texts with known links, for tests, benchmarks and demonstrations: a small bundled one, and synthetic ones.

**The sample** has 400 German-English sentence pairs, 60 of them with gold links, five with trees. All
sentences were written for dualign, none is taken from a corpus or a book. The links of the first 60 pairs and
the dependency trees of the first five (both languages, CoNLL-U) were made by hand. Everything is under
Apache-2.0 like the code.

Words recur often enough for a model to learn them from so few pairs, and the German has what makes
alignment hard: separable verbs (`fängt … an` = `begins`), compounds (`Haustür` = `front door`), verbs at the
end of a clause. Tokens are separated by blanks. Links are sure (`i-j`) where words correspond, and possible
(`i?j`) where one helps its neighbour only: auxiliaries, do-support, articles and particles without a
counterpart.

**Synthetic text** (`generate`) has this generative story, IBM 3 with a little structure:

1. Source words are Zipfian: rank r has probability proportional to 1 / (r + 2.7).
2. Each source word has four translations, with probabilities 0.6, 0.25, 0.1 and 0.05. The first ones are a
   permutation of the target vocabulary; the others are any words, so that target words are ambiguous too.
3. A source word becomes 0 to 3 target words side by side; those after the first are its next translations.
4. Neighbouring source words swap places (locally), and now and then two neighbouring blocks do.
5. Words without links are inserted; they are translations of frequent source words, so that their form does
   not give them away.

Only uniform doubles are drawn: the text does not depend on how NumPy implements other distributions.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import check_value
from dualign._core.files.atomic import explaining
from dualign._core.files.streams import FilePath, open_binary_output
from dualign.text.formats.pharaoh import parse_pharaoh
from dualign.text.links import Alignment

_TRANSLATIONS = np.cumsum([0.6, 0.25, 0.1, 0.05])
_FUNCTION_WORDS = 10

_NAMES = ("sample.de", "sample.en", "sample.gold", "sample.de.conllu", "sample.en.conllu")


def sample() -> tuple[list[list[str]], list[list[str]], list[Alignment]]:
    """Return German sentences, English sentences (400 each, tokenised), and gold links of the first 60
    pairs."""
    german, english, gold = (sample_path(name).read_text("utf-8").splitlines() for name in _NAMES[:3])
    return [*map(str.split, german)], [*map(str.split, english)], [*map(parse_pharaoh, gold)]


def sample_path(name: str) -> Traversable:
    """Return where one of the sample's files, such as `sample.de` or `sample.gold`, is installed.

    In an ordinary installation this is a path; inside a zip file, `importlib.resources.as_file` makes one of
    it.
    """
    if name not in _NAMES:
        raise UsageError(f"no sample file {name}; there are {', '.join(_NAMES)}")
    return files("dualign.text").joinpath("sample", name)


def write_sample(folder: FilePath) -> list[str]:
    """Copy the sample's files into `folder`, which is created if necessary, and return their paths.

    Raises `DataError` if there is a file of the same name with other content: it would be lost.
    """
    folder = os.fspath(folder)
    place = Path(folder)
    contents = {place / name: sample_path(name).read_bytes() for name in _NAMES}
    with explaining(folder, "write"):
        place.mkdir(parents=True, exist_ok=True)
        for path, content in contents.items():
            if path.exists() and path.read_bytes() != content:
                raise DataError(f"{path} exists and is not the sample; choose another folder")
        for path, content in contents.items():
            with open_binary_output(path) as stream:
                stream.write(content)
    return [str(path) for path in contents]


def generate(
    pairs: int,
    *,
    seed: int = 0,
    vocabulary: int = 2000,
    mean_length: float = 15.0,
    fertility: Sequence[float] = (0.07, 0.79, 0.11, 0.03),
    distortion: float = 0.15,
    null_rate: float = 0.05,
) -> Iterator[tuple[list[str], list[str], Alignment]]:
    """Yield `pairs` sentence pairs `(source, target, links)`; the same parameters give the same pairs.

    `vocabulary` is the number of words of each language; `mean_length` is that of the source sentences;
    `fertility[n]` is the probability that a source word becomes n target words; `distortion` is the
    probability that a source word swaps with the next, and twice that of a block swap in a sentence;
    `null_rate` is the probability that an unlinked word precedes a target word. Neither side is ever empty.
    Pair k does not depend on `pairs`.
    """
    for name, value, least in (("pairs", pairs, 0), ("seed", seed, 0), ("vocabulary", vocabulary, 1)):
        check_value(name, value, least=least)
    check_value("mean_length", mean_length, least=1, below=math.inf)
    check_value("distortion", distortion, least=0, most=1)
    check_value("null_rate", null_rate, least=0, most=1)
    if len(fertility) != 4 or min(fertility) < 0 or not math.isclose(sum(fertility), 1, abs_tol=1e-6):
        raise UsageError(
            "{fertility=} must be four probabilities (of 0, 1, 2, 3 words) that sum to 1", fertility=fertility
        )
    if fertility[0] > 0.9:
        raise UsageError(
            "{fertility=}: with over 0.9 on 0 words nothing is left to translate", fertility=fertility
        )
    random = np.random.Generator(np.random.PCG64(seed))
    language = _invent(random, vocabulary)
    cumulative = np.cumsum(fertility)
    return (_pair(random, language, mean_length, cumulative, distortion, null_rate) for _ in range(pairs))


@dataclass(frozen=True, slots=True)
class _Language:
    """What the sentences of one corpus share."""

    ranks: NDArray[np.float64]  # cumulative probabilities of the source words, most frequent first
    frequent: NDArray[np.float64]  # the same among the most frequent alone
    source: list[str]
    target: list[list[str]]  # the translations of each source word, most probable first


def _invent(random: np.random.Generator, vocabulary: int) -> _Language:
    ranks = np.cumsum(1 / (np.arange(vocabulary) + 3.7))
    frequent = ranks[:_FUNCTION_WORDS]
    first = np.argsort(random.random(vocabulary), kind="stable")
    others = (random.random((vocabulary, len(_TRANSLATIONS) - 1)) * vocabulary).astype(np.int64)
    translations = np.column_stack([first, others]).tolist()
    return _Language(
        ranks=ranks / ranks[-1],
        frequent=frequent / frequent[-1],
        source=[f"s{word}" for word in range(vocabulary)],
        target=[[f"t{word}" for word in words] for words in translations],
    )


def _draw(random: np.random.Generator, cumulative: NDArray[np.float64], size: int) -> list[int]:
    """Draw indices; rounding may leave the last cumulative probability a little under 1."""
    drawn = np.searchsorted(cumulative, random.random(size), side="right")
    indices: list[int] = np.minimum(drawn, len(cumulative) - 1).tolist()
    return indices


def _pair(
    random: np.random.Generator,
    language: _Language,
    mean_length: float,
    fertility: NDArray[np.float64],
    distortion: float,
    null_rate: float,
) -> tuple[list[str], list[str], Alignment]:
    # The rounded sum of two exponentials: many sentences of usual length, a tail of long ones.
    exponentials = -np.log1p(-random.random(2)).sum()
    length = 1 + int((mean_length - 1) / 2 * exponentials + 0.5)
    words = _draw(random, language.ranks, length)
    choices = _draw(random, _TRANSLATIONS, length)
    sizes = _draw(random, fertility, length)
    if not any(sizes):
        sizes[0] = 1
    insert = (random.random(sum(sizes)) < null_rate).tolist()
    unlinked = iter(_draw(random, language.frequent, sum(insert)))

    target: list[str] = []
    links: list[tuple[int, int]] = []
    made = 0
    for i in _reordered(random, length, distortion):
        translations = language.target[words[i]]
        for n in range(sizes[i]):
            if insert[made]:
                target.append(language.target[next(unlinked)][0])
            links.append((i, len(target)))
            target.append(translations[(choices[i] + n) % len(translations)])
            made += 1
    return [language.source[word] for word in words], target, Alignment.of(links)


def _reordered(random: np.random.Generator, length: int, distortion: float) -> list[int]:
    order = list(range(length))
    swap = (random.random(length) < distortion).tolist()
    block = random.random(4).tolist()
    at = 0
    while at < length - 1:
        if swap[at]:
            order[at], order[at + 1] = order[at + 1], order[at]
            at += 1  # a word that has just moved stays
        at += 1
    if block[0] < distortion / 2:
        start, middle, end = sorted(int(u * (length + 1)) for u in block[1:])
        order[start:end] = order[middle:end] + order[start:middle]
    return order
