"""Dictionaries with weights, and eflomal's priors."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from dualign._core.errors import DataError
from dualign._core.files.container import is_model_file
from dualign.text.priors import read_word_pairs


def write(folder: Path, text: str) -> str:
    path = folder / "prior"
    path.write_text(text, "utf-8")
    return str(path)


def test_a_dictionary_with_and_without_weights(tmp_path):
    path = write(
        tmp_path, "Haus\thouse\t3.5\n\nund\tand\nEuropäische Union\tEuropean Union\t2\nzu\tto\t1\tand more\n"
    )
    pairs = read_word_pairs(path)
    assert (pairs.source, pairs.target) == (["Haus", "und", "zu"], ["house", "and", "to"])
    assert pairs.weight == [3.5, 1, 1]
    assert (pairs.phrases, pairs.others) == (1, 0)


def test_the_head_of_a_glossary_is_no_entry(tmp_path):
    pairs = read_word_pairs(write(tmp_path, "source\ttarget\tcount\np\tq\t2\nsource\ttarget\t1\n"))
    assert pairs.source == ["p", "source"]


def test_priors_of_eflomal(tmp_path):
    text = "LEX\tkatt\tcat\t100\nLEX\t<NULL>\tthe\t2\nFERF\tkatt\t1\t3\nHMMF\t-1\t5\nHMMR\t1\t5\n"
    pairs = read_word_pairs(write(tmp_path, text))
    assert (pairs.source, pairs.target, pairs.weight) == (["katt", ""], ["cat", "the"], [100, 2])
    assert pairs.others == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\nhaus house\n", "prior:2: `haus house`: write source word, tab"),
        ("a\tb\tmany\n", "prior:1: `many` is not a weight"),
        ("a\tb\t-1\n", "prior:1: the weight `-1` must be"),
        ("a\tb\tnan\n", "prior:1: the weight `nan` must be"),
        ("a\t\t1\n", "prior:1: `a\t\t1`: no word on one side"),
        ("LEX\t<NULL>\t<NULL>\t1\n", "no word on one side"),
        ("", "no pair of single words"),
        ("a b\tc\n", "no pair of single words"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    with pytest.raises(DataError) as raised:
        read_word_pairs(write(tmp_path, text))
    assert message in str(raised.value)


def test_a_pipe_is_no_model_and_loses_nothing(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    threading.Thread(target=lambda: path.write_bytes(b"Haus\thouse\n"), daemon=True).start()
    assert not is_model_file(str(path))
    assert read_word_pairs(str(path)).source == ["Haus"]
