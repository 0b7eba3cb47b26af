"""Eight bytes at a time: the same as one character at a time."""

import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualign._core.jit import kernel
from dualign.text.utf8_kernels import (
    combining_classes,
    eight_bytes,
    first_marked,
    is_plain,
    octets,
    stops,
    white_space,
    word_end,
)

compiled_eight_bytes = kernel(eight_bytes)
compiled_first_marked = kernel(first_marked)
compiled_stops = kernel(stops)
compiled_white_space = kernel(white_space)
compiled_word_end = kernel(word_end)

pytestmark = pytest.mark.kernel

MARKED = [
    chr(code) for code in range(0x300, 0x3100) if unicodedata.normalize("NFC", chr(code)) != chr(code)
] + [chr(code) for code in range(0x300, 0x3100) if unicodedata.combining(chr(code))]
COMPOSE = "aeoAधড়なか\u1100\u1161\u11a8가\u0dd9\u0dcf\u0938\u093c\u0301\u0323\u05b0\u094d\u3099\ufeff\0"


def eight(text, at):
    """As a kernel gets them: Python's integers have no size."""
    return np.uint64(compiled_eight_bytes(text, at))


def plain(data):
    """The definition, by way of strings; of text that is plain we may think that it is not."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return "\0" not in text and "\ufeff" not in text and unicodedata.is_normalized("NFC", text)


@given(st.binary(max_size=30))
def test_eight_bytes_anywhere(data):
    text, padded = octets(data), data + b"\n" * 8
    for at in range(len(data)):
        assert compiled_eight_bytes(text, at) == np.uint64(int.from_bytes(padded[at : at + 8], "little"))


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=5) | st.text(max_size=4).map(str.encode), max_size=6).map(b"".join))
def test_what_is_plain_is_sound(data):
    if is_plain(octets(data), len(data)):
        assert plain(data)


@settings(max_examples=300)
@given(st.text(st.sampled_from([*COMPOSE, *MARKED, "a", "é", " "]), max_size=12))
def test_what_is_not_in_normal_form_is_never_plain(text):
    data = text.encode()
    if is_plain(octets(data), len(data)):
        assert plain(data)


@given(st.text(st.sampled_from("abcdefgh \n\té’日本語にЖя“”ßžω한국어สวัनमते😀\u3000"), max_size=30))
def test_usual_text_is_plain(text):
    """Otherwise the slow way would be taken, with the same result."""
    data = unicodedata.normalize("NFC", text).encode()
    assert is_plain(octets(data), len(data))


def test_every_character_alone_and_after_a_letter():
    """A character that is called plain stays what it is, whatever stands before it."""
    classes = combining_classes()
    for code in [*range(0x80, 0xD800), *range(0xE000, 0x30000)]:
        if code < 0x300 or classes[code] < 255:
            character = chr(code)
            assert unicodedata.normalize("NFC", character) == character
            assert code < 0x300 or unicodedata.combining(character) == classes[code]


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",
        b"\xc3",
        b"\xc0\xaf",
        b"\xc1\xbf",
        b"\xe0\x80\x80",
        b"\xe0\x9f\xbf",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xf0\x80\x80\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\x80",
        b"\xe2\x80",
        b"\xf0\x9f\x98",
        b"a\0b",
        b"\xef\xbb\xbfa",
        "e\u0301".encode(),
        "\u0344".encode(),
        "\u212b".encode(),
        "\U0002f800".encode(),
    ],
)
@pytest.mark.parametrize("before", range(9))
def test_what_is_not_plain(data, before):
    text = b"x" * before + data + b"\n"
    assert not is_plain(octets(text), len(text))


def test_every_white_space_and_nothing_else():
    for code in [*range(1, 0xD800), *range(0xE000, 0x11000)]:
        data = chr(code).encode()
        found = compiled_white_space(eight(octets(data + b"x"), 0), False)
        assert (found > 0) == chr(code).isspace(), hex(code)
        assert found in (0, len(data)), hex(code)
        ascii = compiled_white_space(eight(octets(data + b"x"), 0), True)
        assert (ascii > 0) == (data.split() == []), hex(code)
        if found:
            assert compiled_stops(eight(octets(data), 0)) & 0x80


def test_the_first_mark():
    for marked in range(1, 256):
        places = [k for k in range(8) if marked >> k & 1]
        assert compiled_first_marked(np.uint64(sum(0x80 << 8 * k for k in places))) == places[0]


@given(
    st.text(st.sampled_from("ab\x01\x1b\x7fé’日\u200b\u2010 \n\u3000\u00a0\u2003\u1680\u1681"), max_size=30)
)
def test_words_end_where_python_says(text):
    words = text.split()
    data = octets(text.encode() + b"\n")
    at = 0
    for word in words:
        while (gap := compiled_white_space(eight(data, at), False)) > 0:
            at += gap
        end = compiled_word_end(data, at, False)
        assert text.encode()[at:end].decode() == word
        at = end


def test_no_decomposed_letter_is_taken_for_normal_form():
    for code in range(0x80, sys.maxunicode + 1):
        letter = chr(code)
        if 0xD800 <= code < 0xE000 or not unicodedata.is_normalized("NFC", letter):
            continue
        apart = unicodedata.normalize("NFD", letter)
        if apart != letter:
            data = f"a {apart}b\n".encode()
            assert not is_plain(octets(data), len(data)), hex(code)
