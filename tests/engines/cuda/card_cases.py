"""What `test_card.py` runs in a process of its own, in which numba simulates a card: prints JSON."""

from __future__ import annotations

import json
import logging
import random
import sys

import numpy as np
from numba.cuda.simulator.kernelapi import FakeCUDAShared

from dualign import Aligner
from dualign.engines.cuda import engine as card_posteriors
from dualign.engines.cuda.device import DeviceError
from dualign.text.corpus import numbered


def text(pairs: int, longest: int, seed: int) -> list[tuple[list[str], list[str]]]:
    """Sentence pairs of invented words, some turned round, some with words left out."""
    draw = random.Random(seed)
    made = []
    for _ in range(pairs):
        source = [f"s{draw.randint(0, 12)}" for _ in range(draw.randint(1, longest))]
        target = ["t" + word[1:] for word in source if draw.random() < 0.8] or ["t0"]
        if draw.random() < 0.4:
            target.reverse()
        made.append((source, target))
    return made


def difference(one: Aligner, other: Aligner) -> dict[str, float]:
    """How far apart two models are."""
    a, b = one.model, other.model
    likelihoods = [[each.likelihood for each in aligner.history] for aligner in (one, other)]
    evaluations = [[each.evaluations for each in aligner.history] for aligner in (one, other)]
    return {
        "likelihood": float(np.max(np.abs(np.subtract(*likelihoods) / likelihoods[0]))),
        "evaluations": float(np.abs(np.subtract(*evaluations)).max()),
        "table": float(np.abs(a.lexicon.table - b.lexicon.table).max()),
        "null": float(np.abs(a.lexicon.null_target - b.lexicon.null_target).max()),
        "jumps": float(np.abs(a.jumps.weight / b.jumps.weight - 1).max()),
        "factors": float(np.abs(a.jumps.factor / b.jumps.factor - 1).max()),
        "chosen": float(np.abs(a.jumps.chosen / b.jumps.chosen - 1).max()),
        "weights": float(np.abs(a.weights - b.weights).max()),
    }  # fmt: skip


def links(aligner: Aligner, pairs: list[tuple[list[str], list[str]]]) -> str:
    """Links with their probabilities, and likelihoods, rounded, in print: some are not numbers."""
    found = [
        [(i, j, round(p, 2)) for (i, j), p in zip(each.links, each.probabilities, strict=True)]
        for each in aligner.align(pairs)
    ]
    return json.dumps([found, [[round(x, 2) for x in score[:2]] for score in aligner.score(pairs)]])


class CudaAPIError(Exception):
    """What numba-cuda raises, by name."""


def fail_after(launches: int) -> None:
    """From here on the card fails, after so many launches."""
    whole, left = card_posteriors.handle_pairs, [launches]

    class Failing:
        def __getitem__(self, size: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise CudaAPIError("[700] Call to cuCtxSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS")
            return whole[size]

    card_posteriors.handle_pairs = Failing()


def lost(numbers: object, pairs: list[tuple[list[str], list[str]]], launches: int) -> list[str]:
    """What happens with `cuda`, then with `auto`, when the card fails after so many launches."""
    whole, found = card_posteriors.handle_pairs, []
    for device in ("cuda", "auto"):
        fail_after(launches)
        try:
            aligner = Aligner(device=device, threads=1, constraint="none", rounds=1).fit(numbers)
            found.append(links(aligner, pairs))
        except DeviceError as error:
            found.append(str(error))
        card_posteriors.handle_pairs = whole
    return [*found, links(Aligner(threads=1, constraint="none", rounds=1).fit(numbers), pairs)]


def shared(block: FakeCUDAShared, shape: object, dtype: object) -> np.ndarray:
    """The array of a block that belongs to the calling line; numba's own may make two if lanes are fast."""
    frame = sys._getframe(1)
    return block._allocations.setdefault((frame.f_code.co_filename, frame.f_lineno), np.empty(shape, dtype))


def main() -> None:
    FakeCUDAShared.array = shared
    # The lanes of a simulated warp wait for each other; they should not do so for long.
    sys.setswitchinterval(1e-5)
    logging.basicConfig(level="WARNING", format="%(message)s")
    pairs = text(8, 6, seed=3)
    # Not learnt from: an empty side, unknown words, and a sentence that is too long for the card.
    more = [*text(3, 8, seed=4), (["s1"], []), (["new", "s2"], ["t2", "strange"]), (["s3"] * 130, ["t3"] * 3)]
    # More words than a warp has lanes.
    longer = [(["s4"], ["t4"] * 40), (["s5"] * 36, ["t5"])]
    numbers = numbered(pairs, lowercase=True)
    results = {}
    for constraint in sys.argv[1:]:
        options = {"threads": 1, "constraint": constraint, "jump_words": 3, "rounds": 2}
        plain = Aligner(**options).fit(numbers)
        card = Aligner(device="cuda", **options).fit(numbers)
        # Another run, which the card has to cut into pieces.
        small = Aligner(device="cuda", device_memory="100K", **options).fit(numbers)
        asked = more if results else [*more, *longer]  # once: the simulator takes seconds for them
        results[constraint] = {
            "difference": difference(plain, card),
            "in pieces": difference(card, small),
            "kept": sorted(card.card._kept),
            "links": links(plain, asked) == (found := links(card, asked)),
            "links in pieces": found == links(small, asked),
        }
    results["lost"] = {number: lost(numbers, more, number) for number in (0, 1, 3)}
    little = Aligner(device="auto", device_memory=200, threads=1, constraint="none", rounds=1).fit(numbers)
    results["little memory"] = links(little, more) == results["lost"][0][-1]
    print(json.dumps(results))


if __name__ == "__main__":
    main()
