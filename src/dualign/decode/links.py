"""Aligning text with a model: blocks of sentence pairs in, links out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import UsageError
from dualign.core.threads import ordered_map, spans
from dualign.decode import choosing as kernels
from dualign.decode.symmetrize import METHODS
from dualign.infer.blocks import block_of
from dualign.infer.cells import block_bounds
from dualign.infer.constraints import ConstraintSet, give, stricter
from dualign.infer.emission import Block
from dualign.infer.posteriors import posteriors_of_block
from dualign.model.fertility import Fertilities
from dualign.model.model import Model
from dualign.model.options import Options
from dualign.model.vocabulary import Unknowns
from dualign.text.bitext import Bitext, encode

CHUNK = 4096
"""Sentence pairs that are read, encoded and aligned together when text is streamed."""

MOST_CELLS = 10_000_000
"""A pair with more cells is left without links: with its chains and cells it would take half a gigabyte."""

ROUNDING = 1e-9
"""A score this close to its bound has met it."""

Pair = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Links:
    """Links of many pairs: those of pair n are `begin[n]` … `begin[n] + count[n]` of the flat arrays.

    `score` is what the decoder takes a pair's links to be worth, `bound` the most that any set of links is,
    `certified` whether they have met; both are NaN for a pair that a decoder had to leave to the chains.
    `rounds`, `seconds`: the search for a pair, 0 where there is none; `trace`: bound and score by round, or
    empty. `too_long` marks the pairs that were not aligned because of their size.
    """

    begin: Array
    count: Array
    source: Array
    target: Array
    probability: Array
    score: Array
    bound: Array
    certified: Array
    rounds: Array
    seconds: Array
    trace: Array
    too_long: Array

    def __len__(self) -> int:
        return len(self.count)


def chunks(pairs: Iterable[Pair], size: int = CHUNK) -> Iterator[list[Pair]]:
    """Lists of up to `size` pairs."""
    stream = iter(pairs)
    while chunk := list(islice(stream, size)):
        yield chunk


def encode_chunk(model: Model, chunk: Iterable[Pair]) -> tuple[Bitext, Unknowns, Unknowns]:
    """Number the words of a chunk by the model's vocabularies; new words come after the known ones."""
    source, target = Unknowns(model.source), Unknowns(model.target)
    return encode(chunk, source, target, model.options.lowercase), source, target


def align_bitext(
    model: Model,
    bitext: Bitext,
    unknown: tuple[Sequence[str], Sequence[str]],
    threads: int,
    constraints: ConstraintSet | None = None,
) -> Links:
    """Decode every pair. The answer for a pair depends on nothing but the model and the pair.

    `unknown` lists the words numbered after the vocabularies' own. A set of `constraints` joins the
    projection that the options name.
    """
    check_constraints(model.options, constraints)
    kept, too_long = without_long(bitext)
    parts = []
    for posterior, block in posteriors_of_parts(model, kept, unknown, threads, constraints):
        parts.append(links_of_block(model.options, block, posterior, threads, model.fertilities))
    return joined(parts, too_long)


class Prepared:
    """A bitext with its posteriors, all in memory: to be decoded again and again."""

    def __init__(
        self,
        model: Model,
        bitext: Bitext,
        unknown: tuple[Sequence[str], Sequence[str]],
        threads: int,
        constraints: ConstraintSet | None = None,
    ) -> None:
        self.model, self.threads, self.constraints = model, threads, constraints
        kept, self.too_long = without_long(bitext)
        self.parts = list(posteriors_of_parts(model, kept, unknown, threads, constraints))

    def links(self, options: Options) -> Links:
        """The links by the decoder and parameters of `options`; its projection is not looked at."""
        check_constraints(options, self.constraints)
        found = [
            links_of_block(options, block, posterior, self.threads, self.model.fertilities)
            for posterior, block in self.parts
        ]
        return joined(found, self.too_long)


def check_constraints(options: Options, constraints: ConstraintSet | None) -> None:
    """Refuse constraints where they would be ignored."""
    if constraints is not None and options.decoder in ("viterbi", "bidirectional"):
        raise UsageError(
            f"the {options.decoder} decoder looks at no constraints; use soft-union or posterior with them"
        )


def without_long(bitext: Bitext) -> tuple[Bitext, Array]:
    """The bitext with pairs of too many cells emptied, and which these are."""
    too_long = bitext.source.lengths * bitext.target.lengths > MOST_CELLS
    return Bitext(bitext.source.without(too_long), bitext.target.without(too_long)), too_long


def posteriors_of_parts(
    model: Model,
    bitext: Bitext,
    unknown: tuple[Sequence[str], Sequence[str]],
    threads: int,
    constraints: ConstraintSet | None,
) -> Iterator[tuple[Array, Block]]:
    """Posteriors and blocks of a bitext, a few thousand pairs at a time."""
    for begin, end in block_bounds(bitext):
        part = Bitext(bitext.source.slice(begin, end), bitext.target.slice(begin, end))
        yield posteriors_of_part(model, part, unknown, threads, constraints)


def joined(parts: Sequence[kernels.Found], too_long: Array) -> Links:
    """The links of consecutive blocks in one, without the room they did not use."""
    counts = together([part.number for part in parts], np.int32)
    begin = np.cumsum(counts) - counts
    slots = [used_slots(part) for part in parts]
    return Links(
        begin,
        counts,
        together([part.source[used] for part, used in zip(parts, slots, strict=True)], np.int32),
        together([part.target[used] for part, used in zip(parts, slots, strict=True)], np.int32),
        together([part.probability[used] for part, used in zip(parts, slots, strict=True)], np.float32),
        together([part.score for part in parts], np.float64),
        together([part.bound for part in parts], np.float64),
        together([part.certified for part in parts], np.bool_),
        together([part.rounds for part in parts], np.int64),
        together([part.seconds for part in parts], np.float64),
        together([part.trace for part in parts], np.float64),
        too_long,
    )


def together(arrays: list[Array], dtype: type) -> Array:
    """Arrays end to end; of none, an empty one."""
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


def used_slots(part: kernels.Found) -> Array:
    """Places of a block's links in its flat arrays."""
    inside = np.cumsum(part.number) - part.number
    return np.arange(part.number.sum()) + np.repeat(part.room - inside, part.number)


def posteriors_of_bitext(
    model: Model,
    bitext: Bitext,
    unknown: tuple[Sequence[str], Sequence[str]],
    threads: int,
    constraints: ConstraintSet | None = None,
) -> list[Array]:
    """For each pair a float32 array (2, I, J): p(b_j = i) and p(a_i = j)."""
    matrices = []
    for posterior, block in posteriors_of_parts(model, bitext, unknown, threads, constraints):
        lengths, widths = np.diff(block.pairs.source_offsets), np.diff(block.pairs.target_offsets)
        for n, (I, J) in enumerate(zip(lengths, widths, strict=True)):
            cells = posterior[block.first[n] : block.first[n + 1]]
            matrices.append(np.ascontiguousarray(cells.T).reshape(2, I, J))
    return matrices


def posteriors_of_part(
    model: Model,
    part: Bitext,
    unknown: tuple[Sequence[str], Sequence[str]],
    threads: int,
    constraints: ConstraintSet | None,
) -> tuple[Array, Block]:
    """Posteriors of a few thousand pairs, and their block."""
    if constraints is not None and model.positions is not None:
        raise UsageError("constraints are for the HMM; IBM models 1 and 2 have no chain to constrain")
    giver = None if constraints is None else partial(give, constraints)
    block = block_of(model, part, threads, unknown, giver)
    kind = model.options.projection
    if kind == "none" and constraints is not None:
        kind = "given"
    return posteriors_of_block(stricter(model.options, constraints), block, kind, threads), block


def links_of_block(
    options: Options, block: Block, posterior: Array, threads: int, fertilities: Fertilities | None = None
) -> kernels.Found:
    """Choose links by the decoder of the options."""
    pairs = block.pairs
    I, J = np.diff(pairs.source_offsets), np.diff(pairs.target_offsets)
    # Posteriors of a row add up to at most 1, so few can be over the threshold.
    paths = options.decoder in ("viterbi", "bidirectional")
    most = I + J if paths else np.ceil((I + J) / options.threshold)
    room = np.zeros(len(I) + 1, np.int64)
    np.cumsum(np.minimum(I * J, most).astype(np.int64), out=room[1:])
    found = kernels.Found(
        room[:-1],
        np.zeros(len(I), np.int32),
        np.empty(room[-1], np.int32),
        np.empty(room[-1], np.int32),
        np.empty(room[-1], np.float32),
        np.zeros(len(I)),
        np.zeros(len(I)),
        np.zeros(len(I), np.bool_),
        np.zeros(len(I), np.int64),
        np.zeros(len(I)),
        np.empty(0),
    )
    if options.decoder in ("submodular", "matching"):
        from dualign.decode.matchings.matching_blocks import match_block

        match_block(options, fertilities, block, posterior, threads, found)
        found.certified[:] = found.bound - found.score <= ROUNDING
        return found
    soft = options.decoder == "soft-union"
    method = METHODS.index("union" if soft else options.symmetrize)
    marks = np.zeros((len(posterior), 2), np.uint8)

    def mark(shard: tuple[int, int]) -> None:
        if paths:
            kernels.mark_paths(*shard, block, marks)
        else:
            kernels.mark_over_threshold(*shard, block.first, soft, options.threshold, posterior, marks)

    def choose(shard: tuple[int, int]) -> None:
        kernels.choose_links(*shard, pairs, block.first, method, options.threshold, posterior, marks, found)

    shards = spans(len(I), kernels.SHARD)
    list(ordered_map(mark, shards, threads))
    proofs = None
    if options.decoder == "bidirectional":
        from dualign.decode.joint.joint_blocks import agree_block

        proofs = agree_block(options, block, threads, marks)
    list(ordered_map(choose, shards, threads))
    if proofs is None:
        found.certified[:] = found.bound - found.score <= ROUNDING
        return found
    return found._replace(**proofs._asdict())
