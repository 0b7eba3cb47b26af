"""Symmetrisation: one alignment out of two, one for each direction (Och and Ney 2003; Koehn et al. 2003).

Links of both directions are given as (source, target). Let A be the alignment so far:

- `intersection`: links that both directions have. `union`: links that either has.
- `grow-diag`: A starts as the intersection. A link of the union joins A if one of the eight cells around it
  is in A, and its source word or its target word (or both) has no link in A yet.
- `grow-diag-final`: then each link of `forward`, and after them each of `backward`, joins A if its source
  word or its target word has no link in A yet.
- `grow-diag-final-and`: the same, but only if neither word has a link in A yet.
- `forward`, `backward`: that direction alone.

Which links join depends on the order in which they are tried, for each that joins may cover the words of
another. The order here is fast_align's (`atools`): growing tries the links of the union that are left in
row-major order (by source word, then by target word), a link that joins counts at once, and the sweep is
repeated until one adds nothing; the final step tries each direction's links once, row-major too. Moses
sweeps over the links of A instead and tries the neighbours of each; the two differ where links compete for
a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import index

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, UsageError
from dualign._core.jit import kernel, part
from dualign.options import SHORT_NAMES, SYMMETRIZATIONS
from dualign.text.checks import is_list, same_length
from dualign.text.links import Alignment, Link, Links

METHODS = SYMMETRIZATIONS
"""The methods; the kernel's `method` is the position in this tuple."""

INTERSECTION, UNION, GROW_DIAG, GROW_DIAG_FINAL, GROW_DIAG_FINAL_AND, FORWARD, BACKWARD = range(len(METHODS))

# Sentence pairs for one call of the kernel: enough to hide what a call costs, few enough to stay in cache.
_BATCH = 1024
_POSITION_LIMIT = 1 << 31
# Three matrices of a quarter of a gigabyte each; pairs that need more link over 8,000 words per side.
_CELL_LIMIT = 1 << 28


def symmetrize(
    forward: Sequence[str | Iterable[Link]],
    backward: Sequence[str | Iterable[Link]],
    method: str = "grow-diag-final-and",
) -> list[Alignment]:
    """Combine the alignments of two directions, one sentence pair after the other, by one of `METHODS`.

    An item is an `Alignment`, links `(i, j)` or a Pharaoh line; in *both* arguments i is the source word.
    Of an `Alignment` with possible links the sure ones are taken; probabilities are not carried over.

    A sentence pair takes memory for the words that have links, not for the largest position: gaps between
    these words are closed up to one row or column, which changes no neighbourhood. A pair that even so
    needs a matrix of more than 2²⁸ cells is refused.
    """
    method_of(method)
    for name, side in (("forward", forward), ("backward", backward)):
        if not is_list(side):
            what = "one string" if isinstance(side, str) else f"a {type(side).__name__}"
            raise UsageError(f"{name} is {what}; give a list with one item for each sentence pair")
    same_length(("forward", len(forward)), ("backward", len(backward)), unit="alignments")
    there, back = (
        Links.of([Alignment(tuple(_links(item, name, n))) for n, item in enumerate(side)])
        for name, side in (("forward", forward), ("backward", backward))
    )
    return list(chain.from_iterable(symmetrized(there, back, method)))


def method_of(name: str) -> int:
    """Return the position of a method, which may have a short name, in `METHODS`."""
    method = SHORT_NAMES.get(name, name)
    if method not in METHODS:
        raise UsageError("{method=} is not one of {choices}", method=method, choices=", ".join(METHODS))
    return METHODS.index(method)


def symmetrized(forward: Links, backward: Links, method: str) -> Iterator[Links]:
    """Combine the sure links of the two directions of the same pairs; yields some pairs at a time."""
    there, back, number = forward.sure(), backward.sure(), method_of(method)
    for begin in range(0, len(there), _BATCH):
        end = begin + _BATCH
        yield _symmetrize_batch(there.slice(begin, end), back.slice(begin, end), number, begin)


def _links(item: str | Iterable[Link], side: str, number: int) -> list[Link]:
    """The links of one item, validated."""
    if isinstance(item, str):
        # Its patterns take 10 ms; aligning needs none of them.
        from dualign.text.formats.pharaoh import parse_pharaoh

        try:
            return list(parse_pharaoh(item))
        except DataError as error:
            raise DataError(f"{side}[{number}]: {error}") from None
    try:
        links = [(index(i), index(j)) for i, j in item]
    except (TypeError, ValueError):
        text = repr(item)
        raise DataError(
            f"{side}[{number}]: expected links, pairs of whole numbers (i, j), or a line `0-0 1-2`; "
            f"got `{text if len(text) <= 60 else text[:60] + '…'}`{_remedy(item)}"
        ) from None
    for i, j in links:
        if not (0 <= i < _POSITION_LIMIT and 0 <= j < _POSITION_LIMIT):
            raise DataError(
                f"{side}[{number}]: link ({i}, {j}) has a position outside 0 to 2³¹ − 1; "
                "positions count from 0"
            )
    return links


def _symmetrize_batch(forward: Links, backward: Links, method: int, first: int) -> Links:
    """Run the kernel over the links of both directions, where it marks those of the answer."""
    pair = np.concatenate((forward.pair, backward.pair))
    source = np.concatenate((forward.source, backward.source))
    target = np.concatenate((forward.target, backward.target))
    rows, heights = _close_gaps(pair, source, len(forward))
    columns, widths = _close_gaps(pair, target, len(forward))
    largest = int(np.argmax(heights * widths))
    cells = int(heights[largest] * widths[largest])
    if cells > _CELL_LIMIT:
        raise DataError(
            f"forward[{first + largest}] and backward[{first + largest}] link {heights[largest]} source "
            f"positions and {widths[largest]} target positions, more than {_CELL_LIMIT} cells; "
            "split the text into sentences"
        )
    chosen = np.zeros(len(pair), np.bool_)
    _choose(
        np.column_stack((rows, columns)),
        np.stack((forward.offsets, backward.offsets + len(forward.source))),
        np.column_stack((heights, widths)),
        method,
        np.empty((3, cells), np.uint8),
        chosen,
    )
    order = np.flatnonzero(chosen)
    order = order[np.lexsort((target[order], source[order], pair[order]))]
    offsets = np.searchsorted(pair[order], np.arange(len(forward) + 1))
    return Links(offsets, source[order], target[order])


def _close_gaps(pair: Array, positions: Array, pairs: int) -> tuple[Array, Array]:
    """New positions with the order and the neighbours of the old ones, and their number in each pair.

    Within a pair the smallest becomes 0; a neighbour follows at distance 1, any other position at 2.
    """
    distinct, inverse = np.unique(pair * _POSITION_LIMIT + positions, return_inverse=True)
    owner = distinct // _POSITION_LIMIT
    same_pair = np.diff(owner, prepend=-1) == 0
    steps = np.where(same_pair, np.minimum(np.diff(distinct, prepend=-1), 2), 0)
    compact = np.cumsum(steps)
    # Steps add up over all pairs; each pair begins again at 0.
    compact -= compact[np.searchsorted(owner, owner)]
    sizes = np.zeros(pairs, np.int64)
    np.maximum.at(sizes, owner, compact + 1)
    return compact[inverse], sizes


def _remedy(item: object) -> str:
    """What to say where an item is one link, of a single pair that was given without a list around it."""
    is_link = isinstance(item, list | tuple) and len(item) == 2 and all(hasattr(i, "__index__") for i in item)
    return "; give a list with one item for each sentence pair" if is_link else ""


@part
def symmetrize_links(forward: Array, backward: Array, method: int, out: Array) -> None:
    """Symmetrise one sentence pair: uint8 matrices [source, target] of 0 and 1, the answer into `out`.

    `method` is a position in `METHODS`; bool matrices work as well. Costs O(cells), and for growing
    O(sweeps x links outside the intersection) more; text rarely needs over three sweeps.
    """
    rows, columns = out.shape
    for i in range(rows):
        for j in range(columns):
            if method == FORWARD:
                out[i, j] = forward[i, j]
            elif method == BACKWARD:
                out[i, j] = backward[i, j]
            elif method == UNION:
                out[i, j] = forward[i, j] | backward[i, j]
            else:
                out[i, j] = forward[i, j] & backward[i, j]
    if method in (GROW_DIAG, GROW_DIAG_FINAL, GROW_DIAG_FINAL_AND):
        source_linked = np.zeros(rows, np.bool_)
        target_linked = np.zeros(columns, np.bool_)
        _grow(forward, backward, source_linked, target_linked, out)
        if method != GROW_DIAG:
            both = method == GROW_DIAG_FINAL_AND
            _finish(forward, both, source_linked, target_linked, out)
            _finish(backward, both, source_linked, target_linked, out)


@part
def _grow(forward: Array, backward: Array, source_linked: Array, target_linked: Array, out: Array) -> None:
    """Grow `out` from the intersection; note which words have links in the other two (False when called)."""
    rows, columns = out.shape
    count = 0
    for i in range(rows):
        for j in range(columns):
            count += forward[i, j] != backward[i, j]
    candidates = np.empty(count, np.int64)
    count = 0
    for i in range(rows):
        for j in range(columns):
            if out[i, j]:
                source_linked[i] = True
                target_linked[j] = True
            elif forward[i, j] != backward[i, j]:
                candidates[count] = i * columns + j
                count += 1
    grown = True
    while grown:
        grown = False
        kept = 0
        for c in range(count):
            i, j = candidates[c] // columns, candidates[c] % columns
            if source_linked[i] and target_linked[j]:
                # Words do not lose their links, so this candidate can never join.
                continue
            if _touches(i, j, out):
                out[i, j] = 1
                source_linked[i] = True
                target_linked[j] = True
                grown = True
            else:
                candidates[kept] = candidates[c]
                kept += 1
        count = kept


@part
def _touches(i: int, j: int, out: Array) -> bool:
    """Whether one of the up to eight cells around (i, j), which has no link itself, is a link."""
    rows, columns = out.shape
    for row in range(max(i - 1, 0), min(i + 2, rows)):
        for column in range(max(j - 1, 0), min(j + 2, columns)):
            if out[row, column]:
                return True
    return False


@part
def _finish(links: Array, both: bool, source_linked: Array, target_linked: Array, out: Array) -> None:
    """Add each of `links` that covers a new word, or two new words if `both`."""
    rows, columns = out.shape
    for i in range(rows):
        for j in range(columns):
            new = (not source_linked[i]) + (not target_linked[j])
            if links[i, j] and new > both:
                out[i, j] = 1
                source_linked[i] = True
                target_linked[j] = True


@kernel
def _choose(links: Array, offsets: Array, sizes: Array, method: int, scratch: Array, chosen: Array) -> None:
    """Mark in `chosen` the `links` [L, 2] that are in the answer of their sentence pair, equal ones once.

    Pair n has the forward links `offsets[0, n]` to `offsets[0, n + 1]`, the backward ones by
    `offsets[1]`, and matrices of `sizes[n]` rows and columns. `scratch` [3, cells] holds the largest.
    """
    for n in range(len(sizes)):
        rows, columns = sizes[n, 0], sizes[n, 1]
        cells = rows * columns
        forward = scratch[0, :cells].reshape(rows, columns)
        backward = scratch[1, :cells].reshape(rows, columns)
        out = scratch[2, :cells].reshape(rows, columns)
        forward[:] = 0
        backward[:] = 0
        for side, matrix in enumerate((forward, backward)):
            for k in range(offsets[side, n], offsets[side, n + 1]):
                matrix[links[k, 0], links[k, 1]] = 1
        symmetrize_links(forward, backward, method, out)
        for side in range(2):
            for k in range(offsets[side, n], offsets[side, n + 1]):
                chosen[k] = out[links[k, 0], links[k, 1]]
                out[links[k, 0], links[k, 1]] = 0
