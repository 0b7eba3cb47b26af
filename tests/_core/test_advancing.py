from __future__ import annotations

import pytest

from dualign._core.progress import advance, begin, in_words, watched


class Heard:
    def __init__(self):
        self.said = []

    def begin(self, stage, rounds):
        self.said.append((stage, rounds))

    def advance(self, share):
        self.said.append(share)


def test_only_the_innermost_watcher_hears_and_only_inside():
    outer, inner = Heard(), Heard()
    advance(0.1)
    with watched(outer):
        begin("HMM", 3)
        with watched(inner):
            advance(0.25)
            advance(1.2)
        advance(0.5)
    begin("late", 1)
    assert outer.said == [("HMM", 3), 0.5]
    assert inner.said == [0.25, 1.0]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (119.4, "119 s"), (119.6, "2 min 0 s"),
     (7199.4, "119 min 59 s"), (7200, "2 h 0 min"), (9001, "2 h 30 min")],
)  # fmt: skip
def test_time_in_words(seconds, words):
    assert in_words(seconds) == words
