"""ARPA files: what is read, written and refused."""

from __future__ import annotations

import numpy as np
import pytest

import dualign
from dualign.text.arpa import read_arpa, write_arpa

GOOD = """comment before
\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-1.5\t<s>\t-0.25
-0.5 </s>
-2\t<unk>
-0.75\tdog\t0.1

\\2-grams:
-0.1\t<s> dog
-0.2\tdog </s>

\\end\\
"""


def read(tmp_path, text):
    path = tmp_path / "lm.arpa"
    path.write_bytes(text.encode())
    return read_arpa(str(path))


@pytest.mark.parametrize(
    "text", [GOOD, GOOD.replace("\n", "\r\n"), "\ufeff" + GOOD.removeprefix("comment before\n")]
)
def test_reading(tmp_path, text):
    model = read(tmp_path, text)
    assert model.words == ["<s>", "</s>", "<unk>", "dog"]
    assert model.grams[1].words.tolist() == [[0, 3], [3, 1]]
    assert model.grams[0].logprob.tolist() == [-1.5, -0.5, -2.0, -0.75]
    assert model.grams[0].backoff.tolist() == [-0.25, 0.0, 0.0, 0.1]


def test_writing_and_reading_again(tmp_path):
    model = read(tmp_path, GOOD)
    path = str(tmp_path / "again.arpa.gz")
    write_arpa(model, path)
    again = read_arpa(path)
    assert again.words == model.words
    for one, other in zip(again.grams, model.grams, strict=True):
        assert np.array_equal(one.words, other.words)
        assert np.allclose(one.logprob, other.logprob, rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\\data\\", "data", r"lm\.arpa: no line"),
        ("ngram 2=2", "ngram 3=2", r"lm\.arpa:4: .*ngram 2=COUNT"),
        ("ngram 1=4\nngram 2=2", "", r"no line `ngram 1"),
        ("ngram 2=2", "ngram 2=3", r"2 2-grams, but the header says 3"),
        ("\\2-grams:", "\\7-grams:", r"lm\.arpa:12: .*2-grams:` was expected"),
        ("\\end\\", "", r"lm\.arpa: the model ends early"),
        ("-0.1\t<s> dog", "-0.1\t<s> cat", r"lm\.arpa:13: .*'cat' is not among the 1-grams"),
        ("-0.1\t<s> dog", "-0.1\t<s>", r"lm\.arpa:13: .*2 fields"),
        ("-0.1\t<s> dog", "x\t<s> dog", r"lm\.arpa:13: .*not a number"),
        ("-0.1\t<s> dog", "0.1\t<s> dog", r"lm\.arpa:13: .*out of range"),
        ("-0.1\t<s> dog", "nan\t<s> dog", r"lm\.arpa:13: .*out of range"),
        ("-0.75\tdog", "-0.75\t<unk>", r"'<unk>' is listed twice"),
    ],
)
def test_malformed_files_are_refused_with_file_and_line(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(dualign.DataError, match=message):
        read(tmp_path, GOOD.replace(old, new))
