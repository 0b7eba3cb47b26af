"""The next item is made while the last is used."""

import threading

import pytest

from dualign._core.threads import prefetched


def test_the_same_items_in_the_same_order():
    assert list(prefetched(iter(range(50)))) == list(range(50))
    assert list(prefetched(iter([]))) == []


def test_the_next_item_is_made_meanwhile():
    made = threading.Event()

    def items():
        yield 1
        made.set()
        yield 2

    stream = prefetched(items())
    assert next(stream) == 1
    assert made.wait(timeout=60)
    assert list(stream) == [2]


def test_an_error_comes_after_the_items_before_it():
    def items():
        yield 1
        raise OSError("broken")

    stream = prefetched(items())
    assert next(stream) == 1
    with pytest.raises(OSError, match="broken"):
        next(stream)


def test_a_stream_left_half_read_makes_no_more():
    made = []

    def items():
        for n in range(1000):
            made.append(n)
            yield n

    stream = prefetched(items())
    next(stream)
    stream.close()
    assert len(made) <= 3
