"""The package does not grow unnoticed: no number of `house.json` is exceeded, neither of the walks."""

from __future__ import annotations

import pytest
from tests.house import allowed, counts, flat, walks


def exceeded(found: dict[str, float]) -> list[str]:
    limits = allowed()
    return [
        f"{name}: {number:,}, allowed {limits[name]:,}"
        for name, number in found.items()
        if number > limits[name]
    ]


def test_the_source_has_no_more_of_anything_than_is_allowed():
    assert exceeded(counts()) == []


@pytest.mark.slow
def test_no_journey_uses_more_files_or_changes_rooms_more_often_than_is_allowed():
    assert exceeded(flat({"walks": walks()})) == []
