"""A sample is uniform, the same for the same seed, however the text is cut, and in the order of the text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.errors import DataError, UsageError
from dualign.text import sampling
from dualign.text.sampling import as_count, keys_of, sampled


def blocks_of(lines: int, cut: int):
    for begin in range(0, lines, cut):
        numbers = range(begin, min(begin + cut, lines))
        yield ("".join(f"{n}\n" for n in numbers).encode(), "".join(f"é{n} x\n" for n in numbers).encode())


def draw(lines: int, cut: int, size: int, seed: int, folder: str) -> list[int]:
    with sampled(blocks_of(lines, cut), size, seed, folder) as sample:
        assert sample.lines == lines
        sides = [b"".join(side) for side in zip(*sample.blocks, strict=True)] or [b"", b""]
        source, target = (side.decode().split("\n")[:-1] for side in sides)
        assert len(source) == len(target) == sample.size
    assert target == [f"é{n} x" for n in source]
    return [int(n) for n in source]


@given(st.integers(0, 300), st.integers(1, 70), st.integers(1, 320), st.integers(-5, 5))
def test_the_sample_is_the_lines_with_the_smallest_keys(tmp_path_factory, lines, cut, size, seed):
    folder = str(tmp_path_factory.getbasetemp())
    keys = keys_of(0, lines, seed)
    expected = sorted(sorted(range(lines), key=lambda n: keys[n])[:size])
    assert draw(lines, cut, size, seed, folder) == expected


def test_candidates_are_thinned_out_while_reading(tmp_path):
    lines, size = 300_000, 500
    keys = keys_of(0, lines, 1)
    expected = np.sort(np.argsort(keys)[:size]).tolist()
    assert draw(lines, 10_000, size, 1, str(tmp_path)) == expected


def test_every_line_is_drawn_equally_often(tmp_path):
    drawn = np.zeros(40)
    for seed in range(2_000):
        drawn[np.argsort(keys_of(0, 40, seed))[:10]] += 1
    # 2000 draws of 10 in 40: mean 500, standard deviation 19.4.
    assert abs(drawn - 500).max() < 4 * 19.4


def test_keys_depend_on_number_and_seed_alone():
    whole = keys_of(0, 100, 3)
    assert np.array_equal(np.concatenate([keys_of(0, 7, 3), keys_of(7, 100, 3)]), whole)
    assert not np.array_equal(whole, keys_of(0, 100, 4))
    assert len(np.unique(whole)) == 100


@pytest.mark.parametrize(
    ("given_", "count"),
    [(5, 5), ("500000", 500_000), ("10M", 10_000_000), ("2.5m", 2_500_000), ("3 k", 3000)],
)
def test_counts_are_read(given_, count):
    assert as_count(given_) == count


@pytest.mark.parametrize("wrong", ["", "many", "-3", "0", "1.5", "1e6", True, "10X", 0])
def test_what_is_no_count_is_refused(wrong):
    with pytest.raises(UsageError, match="sample="):
        as_count(wrong)


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    class Full:
        def write(self, data: bytes) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match="cannot hold the sample: No space left"):
        sampling._write(Full(), b"a", str(tmp_path))
