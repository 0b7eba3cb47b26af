"""Symmetrisation with plain sets, from the definition; the slow twin of `dualign.decode.symmetrize`."""

from __future__ import annotations

Links = set[tuple[int, int]]


def neighbours(link: tuple[int, int]) -> Links:
    i, j = link
    return {(i + down, j + right) for down in (-1, 0, 1) for right in (-1, 0, 1)} - {link}


def free_words(link: tuple[int, int], alignment: Links) -> int:
    """How many of the link's two words have no link in the alignment."""
    i, j = link
    return (i not in {a for a, _ in alignment}) + (j not in {b for _, b in alignment})


def grow_diag(forward: Links, backward: Links) -> Links:
    """From the top again after each sweep of the union, until a sweep changes nothing."""
    alignment = forward & backward
    before = None
    while before != alignment:
        before = set(alignment)
        for link in sorted(forward | backward):
            if neighbours(link) & alignment and free_words(link, alignment) >= 1:
                alignment.add(link)
    return alignment


def symmetrize(forward: Links, backward: Links, method: str) -> Links:
    if method == "forward":
        return forward
    if method == "backward":
        return backward
    if method == "intersection":
        return forward & backward
    if method == "union":
        return forward | backward
    alignment = grow_diag(forward, backward)
    needed = {"grow-diag": None, "grow-diag-final": 1, "grow-diag-final-and": 2}[method]
    if needed is not None:
        for side in (forward, backward):
            for link in sorted(side):
                if free_words(link, alignment) >= needed:
                    alignment.add(link)
    return alignment
