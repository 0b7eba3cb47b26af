"""Branch and bound, the best part first, against enumeration of a small tree."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from dualign._search.dual import OpenParts

leaves = st.lists(st.integers(-50, 50), min_size=1, max_size=24)
slacks = st.lists(st.integers(0, 20), min_size=1, max_size=8)


def best_first(parts, split, enough, stop) -> tuple[float, bool]:
    """Split the best part until none is left or it is enough: the bound, and whether some part is open."""
    left = OpenParts()
    left.add(parts, enough())
    while left.are_left(enough()) and not stop():
        left.add(split(*left.take()), enough())
    return left.bound, left.are_left(enough())


class Search:
    """Parts are ranges of leaves; a part's bound is its best leaf and some slack."""

    def __init__(self, leaves: list[int], slacks: list[int]) -> None:
        self.leaves, self.slacks = leaves, slacks
        self.best, self.splits = -inf, 0

    def part(self, begin: int, end: int) -> tuple[float, tuple[int, int]]:
        slack = self.slacks[(begin + 3 * end) % len(self.slacks)]
        return max(self.leaves[begin:end]) + slack, (begin, end)

    def split(self, bound, part):
        self.splits += 1
        begin, end = part
        if end - begin == 1:
            self.best = max(self.best, self.leaves[begin])
            return []
        middle = (begin + end) // 2
        return [self.part(begin, middle), self.part(middle, end)]

    def run(self, tolerance: float = 0.0, most: float = inf) -> tuple[float, bool]:
        root = [self.part(0, len(self.leaves))]
        return best_first(root, self.split, lambda: self.best + tolerance, lambda: self.splits >= most)


@given(leaves, slacks)
def test_the_search_finds_the_best_leaf_and_proves_it(leaves, slacks):
    search = Search(leaves, slacks)
    bound, is_open = search.run()
    assert search.best == max(leaves)
    assert max(bound, search.best) == max(leaves)
    assert not is_open


@given(leaves, slacks, st.integers(0, 10), st.integers(0, 30))
def test_a_search_that_is_cut_short_still_bounds_everything(leaves, slacks, tolerance, most):
    search = Search(leaves, slacks)
    bound, is_open = search.run(tolerance, most)
    assert max(bound, search.best) >= max(leaves)
    assert search.splits <= most
    if not is_open:
        assert search.best >= max(leaves) - tolerance


def test_the_highest_bound_is_split_first_and_of_equal_ones_the_first_found():
    order = []

    def split(bound, part):
        order.append(part)
        return []

    best_first([(1.0, "a"), (2.0, "b"), (2.0, "c")], split, lambda: -inf, lambda: False)
    assert order == ["b", "c", "a"]


def test_nothing_to_search_bounds_nothing():
    assert best_first([], lambda bound, part: [], lambda: -inf, lambda: False) == (-inf, False)


def test_parts_that_are_not_worth_splitting_still_count_in_the_bound():
    best = [-inf]

    def split(bound, part):
        if part == "first":
            best[0] = 0.0
            return []
        return [(3.0, "within the tolerance"), (1.0, "lower")]

    found = best_first([(10.0, "first"), (9.0, "second")], split, lambda: best[0] + 4.0, lambda: False)
    assert found == (3.0, False)
