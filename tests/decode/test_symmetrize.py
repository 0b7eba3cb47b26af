"""Symmetrisation against its twin with sets, its inclusions, and input that it must refuse."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import symmetrize as oracle

from dualign._core.errors import DataError, UsageError
from dualign._core.jit import kernel
from dualign.decode.symmetrize import METHODS, symmetrize, symmetrize_links
from dualign.text.links import Alignment

compiled_symmetrize_links = kernel(symmetrize_links)

pytestmark = pytest.mark.kernel

GROWING = ["grow-diag", "grow-diag-final", "grow-diag-final-and"]
SIZE = 7

links = st.sets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=20)
# Both directions draw from the same few cells, so that they meet and compete.
pairs = st.sets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=24).flatmap(
    lambda cells: (
        st.tuples(*[st.sets(st.sampled_from(sorted(cells)))] * 2) if cells else st.just((set(), set()))
    )
)
methods = st.sampled_from(METHODS)
# The first example that reaches a kernel waits for its compilation.
patiently = settings(deadline=None)


def one(forward: object, backward: object, method: str) -> set[tuple[int, int]]:
    (alignment,) = symmetrize([forward], [backward], method)
    return set(alignment)


def matrix(cells: set[tuple[int, int]], dtype: type = np.uint8) -> np.ndarray:
    result = np.zeros((SIZE, SIZE), dtype)
    for cell in cells:
        result[cell] = 1
    return result


@patiently
@given(st.lists(pairs, max_size=6), methods)
def test_equals_its_twin_with_sets(drawn: list, method: str) -> None:
    answers = symmetrize([a for a, _ in drawn], [b for _, b in drawn], method)
    assert answers == [Alignment.of(oracle.symmetrize(a, b, method)) for a, b in drawn]


@patiently
@given(pairs, methods, st.sampled_from([np.uint8, np.bool_]))
def test_kernel_overwrites_its_output_with_the_twins_links(pair: tuple, method: str, dtype: type) -> None:
    out = np.ones((SIZE, SIZE), dtype)
    compiled_symmetrize_links(matrix(pair[0], dtype), matrix(pair[1], dtype), METHODS.index(method), out)
    np.testing.assert_array_equal(out, matrix(oracle.symmetrize(*pair, method), dtype))


@patiently
@given(pairs, st.sampled_from([method for method in METHODS if method not in ("forward", "backward")]))
def test_lies_between_intersection_and_union(pair: tuple, method: str) -> None:
    assert pair[0] & pair[1] <= one(*pair, method) <= pair[0] | pair[1]


@patiently
@given(pairs)
def test_the_final_step_only_adds(pair: tuple) -> None:
    grown, final, final_and = (one(*pair, method) for method in GROWING)
    assert grown <= final
    assert grown <= final_and


@patiently
@given(links, methods)
def test_equal_directions_stay_as_they_are(both: set, method: str) -> None:
    assert one(both, both, method) == both


@patiently
@given(pairs)
def test_final_leaves_no_word_of_the_union_without_link(pair: tuple) -> None:
    result = one(*pair, "grow-diag-final")
    for side in (0, 1):
        assert {link[side] for link in result} == {link[side] for link in pair[0] | pair[1]}


@patiently
@given(pairs, methods, st.lists(st.integers(0, 2**31 - 1), min_size=2 * SIZE, max_size=2 * SIZE))
def test_far_positions_change_nothing_but_themselves(pair: tuple, method: str, places: list[int]) -> None:
    rows, columns = sorted(places[:SIZE]), sorted(places[SIZE:])
    forward, backward = ({(rows[i], columns[j]) for i, j in side} for side in pair)
    assert one(forward, backward, method) == oracle.symmetrize(forward, backward, method)


# Worked by hand; the third and the fourth say in which order links are tried.
@pytest.mark.parametrize(
    ("forward", "backward", "method", "expected"),
    [
        ("0-0 1-1", "0-0 1-2", "grow-diag", "0-0 1-1 1-2"),
        ("0-0 2-2", "0-0 3-2", "grow-diag", "0-0"),
        # 0-1 and 0-2 both touch 1-1 and compete for source word 0; the first in row-major order gets it.
        ("0-2 1-1 3-2", "0-1 1-1 3-2", "grow-diag", "0-1 1-1 3-2"),
        # The sweep meets 0-0 before 1-1 has joined, so 0-0 waits for the next sweep.
        ("0-0 2-2", "1-1 2-2", "grow-diag", "0-0 1-1 2-2"),
        # forward goes first and takes source word 2.
        ("0-0 2-2", "0-0 2-4", "grow-diag-final-and", "0-0 2-2"),
        ("0-0 2-2", "0-0 2-4", "grow-diag-final", "0-0 2-2 2-4"),
        # A link that `final` adds for one word may cover a word of a link that `final-and` adds for two:
        # the answer of the stricter method is no part of the other's.
        ("", "0-0 0-1 1-0 1-1", "grow-diag-final", "0-0 0-1 1-0"),
        ("", "0-0 0-1 1-0 1-1", "grow-diag-final-and", "0-0 1-1"),
        ("", "", "grow-diag-final-and", ""),
        ("999999999-999999999", "0-0", "union", "0-0 999999999-999999999"),
    ],
)
def test_examples_worked_by_hand(forward: str, backward: str, method: str, expected: str) -> None:
    assert [str(alignment) for alignment in symmetrize([forward], [backward], method)] == [expected]


def test_takes_alignments_pairs_arrays_iterators_and_lines_alike() -> None:
    forward = [Alignment.of([(0, 0), (1, 1)], possible=[(5, 5)]), [(0, 0)], np.array([[0, 0]]), "0-0 7?7"]
    backward = ["0-0 1-2", iter([(0, 0)]), {(0, 0), (1, 0)}, ()]
    assert [str(alignment) for alignment in symmetrize(forward, backward, "union")] == [
        "0-0 1-1 1-2",
        "0-0",
        "0-0 1-0",
        "0-0",
    ]


def test_order_and_number_of_pairs_survive_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    forward = [[(n, n)] if n % 3 else [] for n in range(20)]
    whole = symmetrize(forward, forward, "grow-diag-final")
    monkeypatch.setitem(symmetrize.__globals__, "_BATCH", 7)
    assert (
        symmetrize(forward, forward, "grow-diag-final") == whole == [Alignment.of(each) for each in forward]
    )


def test_no_sentence_pairs_give_no_alignments() -> None:
    assert symmetrize([], [], "union") == []


def test_unknown_method_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r'method="grow" is not one of intersection, union, grow-diag, '):
        symmetrize([""], [""], "grow")


def test_unequal_numbers_of_pairs_are_both_named() -> None:
    with pytest.raises(DataError, match="forward has 2 alignments but backward has 1"):
        symmetrize(["", ""], [""], "union")


def test_one_line_instead_of_a_list_is_refused() -> None:
    for bare, name in (({(0, 0)}, "set"), ({0: [(0, 0)]}, "dict"), (iter([[(0, 0)]]), "list_iterator")):
        with pytest.raises(UsageError, match=f"forward is a {name}; give a list with one item"):
            symmetrize(bare, bare, "union")
    with pytest.raises(UsageError, match="backward is one string"):
        symmetrize(["0-0"], "0-0", "union")


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ([(0, 0), (-1, 2)], "link (-1, 2) has a position outside"),
        ([(0, -1)], "link (0, -1) has a position outside"),
        ([(0, 2**31)], "link (0, 2147483648) has a position outside"),
        ([(10**30, 0)], "has a position outside"),
        ("0-0 1:2", "`1:2` is not a link"),
        ([(0, 0.5)], "got `[(0, 0.5)]`"),
        ([(0, 0, 0)], "expected links"),
        ([0, 0], "expected links"),
        (None, "got `None`"),
        ((0, 0), "got `(0, 0)`; give a list with one item for each sentence pair"),
        (list(range(99)), "…`"),
    ],
)
@pytest.mark.parametrize("side", ["forward", "backward"])
def test_bad_links_are_refused_with_their_place(item: object, message: str, side: str) -> None:
    good, bad = ["0-0"] * 3, ["0-0", "0-0", item]
    arguments = (bad, good) if side == "forward" else (good, bad)
    with pytest.raises(DataError, match=rf"^{side}\[2\]: .*{re.escape(message)}"):
        symmetrize(*arguments, "union")


def test_a_pair_that_needs_too_large_a_matrix_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(symmetrize.__globals__, "_CELL_LIMIT", 100)
    # Four positions 100 apart take seven rows and seven columns, not 301.
    scattered = [(100 * n, 100 * n) for n in range(4)]
    assert one(scattered, [], "union") == set(scattered)
    with pytest.raises(DataError, match=r"backward\[1\] link 11 source positions and 11 target .* split"):
        symmetrize([scattered, []], [scattered, [(n, n) for n in range(11)]], "union")
