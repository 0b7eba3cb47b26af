"""Link formats: round trips, guessing, and a message for every way to be malformed."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import open_input
from dualign.text.formats.pharaoh import parse_pharaoh, pharaoh
from dualign.text.link_formats import FORMATS, link_blocks, read_links, write_links
from dualign.text.links import Alignment

BLOCKS = """\
# Sentence pair (1) source length 3 target length 4 alignment score : 0.00123
the white house is
NULL ({ 4 }) das ({ 1 }) weisse ({ 2 }) Haus ({ 3 })
# Sentence pair (2) source length 2 target length 3 alignment score : 1e-05
}) a\u00a0b ({
NULL ({ }) ({ ({ 1 3 }) }) ({ })
"""

positions = st.tuples(st.integers(0, 40), st.integers(0, 40))
alignments = st.builds(Alignment.of, st.lists(positions, max_size=8), st.lists(positions, max_size=4))
corpora = st.lists(alignments, max_size=6)


def write(path: Path, text: str) -> str:
    path.write_bytes(text.encode())
    return str(path)


def links_of(tmp_path: Path, text: str, format: str | None, name: str = "links") -> list[Alignment]:
    return list(read_links(write(tmp_path / name, text), format))


def pipe(path: Path, text: str) -> str:
    """A named pipe that somebody writes `text` to."""
    os.mkfifo(path)
    threading.Thread(target=lambda: path.write_bytes(text.encode()), daemon=True).start()
    return str(path)


# Round trips


@settings(deadline=None)
@given(
    corpus=corpora,
    path_of=st.permutations(["pharaoh", "naacl", "talp"]),
    suffix=st.sampled_from(["", ".zst"]),
)
def test_links_survive_every_chain_of_formats(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[Alignment], path_of: list[str], suffix: str
) -> None:
    folder = tmp_path_factory.mktemp("links")
    files = [str(folder / f"{name}{suffix}") for name in path_of]
    write_links(corpus, files[0], path_of[0])
    for step in (1, 2):
        links = read_links(files[step - 1], path_of[step - 1], count=len(corpus))
        write_links(links, files[step], path_of[step])
    assert list(read_links(files[2], path_of[2], count=len(corpus))) == corpus


@settings(deadline=None)
@given(alignments)
def test_pharaoh_line_round_trip(alignment: Alignment) -> None:
    assert parse_pharaoh(str(alignment)) == alignment


@settings(deadline=None)
@given(st.lists(st.tuples(positions, st.floats(0, 1)), max_size=6, unique_by=lambda pair: pair[0]))
def test_naacl_keeps_probabilities_exactly(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[tuple[int, int], float]]
) -> None:
    path = str(tmp_path_factory.mktemp("links") / "links")
    pairs = sorted(pairs)
    links, probabilities = tuple(link for link, _ in pairs), tuple(p for _, p in pairs)
    write_links([Alignment(links, (), probabilities)], path, "naacl")
    (alignment,) = read_links(path, "naacl", count=1)
    assert alignment.links == links
    assert alignment.probabilities == (probabilities or None)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_written_text(tmp_path: Path, suffix: str) -> None:
    corpus = [Alignment.of([(1, 2), (0, 0)], [(0, 3)]), Alignment(), Alignment(((0, 0),), (), (0.25,))]
    expected = {
        "pharaoh": "0-0 0?3 1-2\n\n0-0\n",
        "talp": "1-1 1p4 2-3\n\n1-1\n",
        "naacl": "1 1 1 S\n1 1 4 P\n1 2 3 S\n3 1 1 S 0.25\n",
    }
    for format, text in expected.items():
        path = str(tmp_path / f"links{suffix}")
        write_links(corpus, path, format)
        with open_input(path) as stream:
            assert stream.read().decode() == text


# Pharaoh and TALP


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", Alignment()),
        ("0-0", Alignment(((0, 0),))),
        ("3-1 0-2 3-1", Alignment(((0, 2), (3, 1)))),
        (" 0-0\t1-1  2-2 ", Alignment(((0, 0), (1, 1), (2, 2)))),
        ("0-0 1?1 2p3", Alignment(((0, 0),), ((1, 1), (2, 3)))),
        ("0?0 0-0", Alignment(((0, 0),))),
        ("007-01", Alignment(((7, 1),))),
    ],
)
def test_pharaoh_lines(line: str, expected: Alignment) -> None:
    assert parse_pharaoh(line) == expected


@pytest.mark.parametrize("number", ["1", "1.0", "0.87", ".5", "0", "1e-3", "0.", "2.5E-01"])
def test_pharaoh_probabilities_stay_with_their_links(number: str) -> None:
    alignment = parse_pharaoh(f"2-1:{number} 0-3:0.125 1?1")
    assert alignment.links == ((0, 3), (2, 1))
    assert alignment.possible == ((1, 1),)
    assert alignment.probabilities == (0.125, float(number))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.sampled_from(["0", "0.5", "1.", "0.25"])))
)
def test_probabilities_are_the_same_however_links_are_written(entries: list[tuple[int, int, str]]) -> None:
    plain = parse_pharaoh(" ".join(f"{i}-{j}:{p}" for i, j, p in entries))
    spread = parse_pharaoh("\t".join(f"{i}-{j}:{p}e0" for i, j, p in entries))
    assert (plain, plain.probabilities) == (spread, spread.probabilities)
    assert parse_pharaoh(pharaoh(plain)).probabilities == plain.probabilities


MALFORMED = [
    "0", "0-", "-0", "0-0-0", "0--1", "+1-0", "1_0-0", "0-0,", "a-b", "0–0", "٣-0", "0-1x", "0?1?2", "0-0:",
    "0-0:x", "0-0:nan", "0-0:-0.5", "1.0-0", "0-12345678901", "1-23-4", "0:0", "0 - 0",
]  # fmt: skip


@pytest.mark.parametrize("token", MALFORMED)
@pytest.mark.parametrize("format", ["pharaoh", "talp"])
def test_malformed_token_names_file_line_token_and_form(tmp_path: Path, format: str, token: str) -> None:
    with pytest.raises(DataError) as caught:
        links_of(tmp_path, f"1-1\n\n1-1 {token} 2-2\n", format)
    message = str(caught.value)
    assert "links:3: " in message
    assert f"`{token.split()[0]}`" in message
    assert "`i-j`" in message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0-0:1.5", r"`0-0:1\.5`: 1.5 is not a probability"),
        ("0?0:0.5", r"`0\?0:0\.5`: only a sure link"),
        ("0-0:0.5 1-1", r"some links have a probability but 1 of 2 sure links have none, the first `1-1`"),
        ("2-2 0-1:0.5 1-1", r"but 2 of 3 sure links have none, the first `2-2`"),
    ],
)
def test_wrong_probability(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_pharaoh(line)
    with pytest.raises(DataError, match=rf"links:1: .*{message}"):
        links_of(tmp_path, f"{line}\n", "pharaoh")


def test_talp_counts_from_one(tmp_path: Path) -> None:
    assert links_of(tmp_path, "1-1 2p3\n\n3?1\n", "talp") == [
        Alignment(((0, 0),), ((1, 2),)),
        Alignment(),
        Alignment((), ((2, 0),)),
    ]


@pytest.mark.parametrize("token", ["0-1", "1-0", "0p0"])
def test_position_zero_in_talp(tmp_path: Path, token: str) -> None:
    with pytest.raises(DataError, match=rf"links:2: `{token}`: position 0, but TALP counts from 1"):
        links_of(tmp_path, f"1-1\n1-1 {token}\n", "talp")


def test_rubbish_does_not_fill_the_screen(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        links_of(tmp_path, "x" * 100_000, "pharaoh")
    assert len(str(caught.value)) < 400


def test_windows_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    expected = [Alignment(((0, 0), (1, 1))), Alignment(), Alignment(((2, 2),))]
    assert links_of(tmp_path, "\ufeff0-0 1-1\r\n\r\n2-2\r\n", "pharaoh") == expected


# NAACL


def test_naacl_fields(tmp_path: Path) -> None:
    text = "0001 1 1\n0001 2 3 P\n1 3 2 S\n\n3 1 1 P 0.5\n3 1 1 S\n0003 2 2\n"
    assert links_of(tmp_path, text, "naacl") == [
        Alignment(((0, 0), (2, 1)), ((1, 2),)),
        Alignment(),
        Alignment(((0, 0), (1, 1))),
    ]


def test_naacl_missing_confidence_is_one(tmp_path: Path) -> None:
    (alignment,) = links_of(tmp_path, "1 2 2 0.5\n1 1 1 S\n1 3 3 S 0.25\n", "naacl")
    assert alignment.links == ((0, 0), (1, 1), (2, 2))
    assert alignment.probabilities == (1.0, 0.5, 0.25)


def test_naacl_null_links_are_left_out_but_their_sentence_counts(tmp_path: Path) -> None:
    assert links_of(tmp_path, "1 0 1 S\n2 3 0 P\n2 1 1 S\n3 0 0\n", "naacl") == [
        Alignment(),
        Alignment(((0, 0),)),
        Alignment(),
    ]


def test_naacl_sentences_in_any_order(tmp_path: Path) -> None:
    text = "4 1 1 S\n2 2 2 P\n4 2 1 P\n2 1 1 S\n"
    expected = [Alignment(), Alignment(((0, 0),), ((1, 1),)), Alignment(), Alignment(((0, 0),), ((1, 0),))]
    assert links_of(tmp_path, text, "naacl") == expected


@pytest.mark.parametrize("format", ["naacl", None])
def test_naacl_through_a_pipe(tmp_path: Path, format: str | None) -> None:
    path = pipe(tmp_path / "pipe", "\n2 1 1 S\n1 2 2 S\n")
    assert list(read_links(path, format)) == [Alignment(((1, 1),)), Alignment(((0, 0),))]


def test_naacl_in_order_is_not_held_back(tmp_path: Path) -> None:
    links = read_links(write(tmp_path / "links", "1 1 1 S\n2 1 1 S\nrubbish\n"), "naacl")
    assert next(links) == Alignment(((0, 0),))
    with pytest.raises(DataError, match="links:3: `rubbish`"):
        next(links)


@pytest.mark.parametrize("count", [2, 5])
def test_naacl_count_brings_back_the_last_sentences(tmp_path: Path, count: int) -> None:
    path = write(tmp_path / "links", "2 1 1 S\n")
    found = list(read_links(path, "naacl", count=count))
    assert found == [Alignment(), Alignment(((0, 0),))] + [Alignment()] * (count - 2)


def test_naacl_sentence_beyond_count(tmp_path: Path) -> None:
    path = write(tmp_path / "links", "1 1 1 S\n7 1 1 S\n")
    with pytest.raises(DataError, match=r"links:2: sentence number 7, but there are 6 sentence pairs"):
        list(read_links(path, "naacl", count=6))


@pytest.mark.parametrize(
    "line",
    [
        "1 1",
        "1 1 1 X",
        "1 1 1 S 0.5 x",
        "1 1 1 S x",
        "a 1 1",
        "1 -1 1",
        "1 1 1 0.5 S",
        "-1 1 1",
        "1 1.5 1",
        "1-1",
    ],
)
def test_malformed_naacl_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(DataError, match=rf"links:3: `{line}` is not a NAACL link; expected `sentence source"):
        links_of(tmp_path, f"1 1 1 S\n\n{line}\n", "naacl")


def test_naacl_sentence_zero(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"links:2: sentence number 0; .*from 1"):
        links_of(tmp_path, "1 1 1\n0 1 1\n", "naacl")


def test_naacl_confidence_over_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"links:1: 2 is not a probability"):
        links_of(tmp_path, "1 1 1 S 2\n", "naacl")


# GIZA


def test_giza_third_line_is_the_source(tmp_path: Path) -> None:
    assert links_of(tmp_path, BLOCKS, "giza") == [
        Alignment(((0, 0), (1, 1), (2, 2))),
        Alignment(((0, 0), (0, 2))),
    ]


def test_giza_slice_may_begin_anywhere(tmp_path: Path) -> None:
    assert (
        len(
            links_of(tmp_path, BLOCKS.replace("pair (2)", "pair (8)").replace("pair (1)", "pair (7)"), "giza")
        )
        == 2
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# Sentence pair (1)", "# Sentence (1)", r":1: .* is not a GIZA comment line; expected"),
        ("pair (2)", "pair (5)", r":4: sentence pair 5 follows 1; merge"),
        ("the white", "the very white", r":2: 5 target words, but the comment above says 4"),
        ("source length 3", "source length 4", r":3: 3 source words, but the comment above says 4"),
        ("NULL ({ 4 }) das", "das ({ 4 }) das", r":3: `das` where a GIZA alignment begins with"),
        ("das ({ 1 })", "das { 1 }", r":3: no `\({` after the word `das`"),
        ("das ({ 1 })", "das ({ 5 })", r":3: `5` after `das` is not a target position, 1 to 4"),
        ("das ({ 1 })", "das ({ 0 })", r":3: `0` after `das`"),
        ("das ({ 1 })", "das ({ x })", r":3: `x` after `das`"),
        ("das ({ 1 })", "das ({ ² })", r":3: `²` after `das`"),
        ("Haus ({ 3 })", "Haus ({ 3", r":3: no `}\)` ends the positions of `Haus`"),
        ("Haus ({ 3 })", "Haus", r":3: no `\({` after the word `Haus`"),
        ("NULL ({ }) ({ ({ 1 3 }) }) ({ })\n", "", r":4: the file ends inside"),
    ],
)
def test_malformed_giza(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert BLOCKS.count(old) == 1
    with pytest.raises(DataError, match=f"links{message}"):
        links_of(tmp_path, BLOCKS.replace(old, new), "giza")


@pytest.mark.parametrize("output", ["giza"])
def test_giza_cannot_be_written(tmp_path: Path, output: str) -> None:
    with pytest.raises(UsageError, match="cannot be written: they repeat the sentences"):
        write_links(read_links("never read", "pharaoh"), str(tmp_path / "out"), output)
    with pytest.raises(UsageError, match="cannot be written"):
        write_links([], str(tmp_path / "out"), output)
    assert os.listdir(tmp_path) == []


# Guessing


@pytest.mark.parametrize(
    ("name", "text", "links"),
    [
        ("a.talp", "1-1\n", ((0, 0),)),
        ("a.talp.gz.txt", "1-1\n", ((1, 1),)),
        ("a.naacl", "1 1 1\n", ((0, 0),)),
        ("a.wa", "1 1 1 S\n", ((0, 0),)),
        ("a.wa", "1-1 2-2\n", ((1, 1), (2, 2))),
        ("a.txt", "0001 1 1 S 0.5\n", ((0, 0),)),
        ("a", "1-1:0.5 2?2\n", ((1, 1),)),
        ("a.A3.final", BLOCKS, ((0, 0), (1, 1), (2, 2))),
        ("a.A3.final.part000", BLOCKS, ((0, 0), (1, 1), (2, 2))),
        ("a.giza", BLOCKS, ((0, 0), (1, 1), (2, 2))),
    ],
)
def test_guessed_format(tmp_path: Path, name: str, text: str, links: tuple[tuple[int, int], ...]) -> None:
    assert links_of(tmp_path, text, None, name)[0].links == links


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_compression_suffix_does_not_hide_the_name(tmp_path: Path, suffix: str) -> None:
    path = str(tmp_path / f"a.talp{suffix}")
    write_links([Alignment(((0, 0),))], path, "talp")
    assert list(read_links(path)) == [Alignment(((0, 0),))]


def test_lines_before_the_guess_are_not_lost(tmp_path: Path) -> None:
    assert links_of(tmp_path, "\n\n0-0\n\n", None) == [
        Alignment(),
        Alignment(),
        Alignment(((0, 0),)),
        Alignment(),
    ]


def test_only_empty_lines(tmp_path: Path) -> None:
    assert links_of(tmp_path, "\n\n", None) == [Alignment(), Alignment()]
    assert links_of(tmp_path, "\n\n", None, "gold.wa") == []
    assert links_of(tmp_path, "", None) == []


def test_content_that_fits_no_format(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"links:2: cannot tell the link format from `das Haus`; name it"):
        links_of(tmp_path, "\ndas Haus\n", None)


@pytest.mark.parametrize("bad", ["a-b", "99999999999-3", "1-", "3-4x"])
def test_a_line_with_a_link_is_pharaoh_and_what_is_none_is_named(tmp_path: Path, bad: str) -> None:
    with pytest.raises(DataError, match=rf"links:1: `{bad}` is not a link"):
        links_of(tmp_path, f"0-0 {bad}\n", None)


def test_a_link_with_too_many_digits_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"links:1: `99999999999-3` is not a link; .*nine digits"):
        links_of(tmp_path, "99999999999-3\n", None)


def test_guess_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n2 1 1 S\n1 1 1 P\n")))
    assert list(read_links("-")) == [Alignment((), ((0, 0),)), Alignment(((0, 0),))]


# Arguments


@pytest.mark.parametrize("format", ["pharaoh", "talp", "giza"])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_count_is_checked_in_every_format(tmp_path: Path, format: str, count: int) -> None:
    path = write(tmp_path / "links", BLOCKS if format == "giza" else "1-1\n1-1\n")
    with pytest.raises(DataError, match=rf"links has 2 sentence pairs but the text has {count};"):
        list(read_links(path, format, count=count))
    assert len(list(read_links(path, format, count=2))) == 2


def test_unknown_formats_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown link format `moses`; known are giza, naacl, pharaoh, talp"):
        read_links("never read", "moses")
    with pytest.raises(UsageError, match="`moses`; can be written: naacl, pharaoh, talp"):
        write_links(read_links("never read"), str(tmp_path / "out"), "moses")
    with pytest.raises(UsageError, match="count=-1"):
        read_links("never read", count=-1)
    with pytest.raises(UsageError, match="errors="):
        read_links("never read", errors="ignore")


def test_failed_conversion_leaves_the_old_file(tmp_path: Path) -> None:
    source, output = write(tmp_path / "links", "0-0\nrubbish\n"), write(tmp_path / "out", "old")
    with pytest.raises(DataError, match="links:2: `rubbish`"):
        write_links(read_links(source, "pharaoh"), output, "talp")
    assert Path(output).read_text() == "old"


def test_invalid_utf8(tmp_path: Path) -> None:
    path = tmp_path / "links"
    path.write_bytes(b"# Sentence pair (1) source length 1 target length 1\nb\xff\nNULL ({ }) a ({ 1 })\n")
    with pytest.raises(DataError, match="links:2: invalid UTF-8"):
        list(read_links(str(path), "giza"))
    assert list(read_links(str(path), "giza", "replace")) == [Alignment(((0, 0),))]


def test_naacl_sentence_number_beyond_all_bounds_does_not_fill_memory(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="entry 1 is about sentence 999,999,999;"):
        links_of(tmp_path, "999999999 1 1\n", "naacl")
    assert len(links_of(tmp_path, "1 1 1\n1000000 1 1\n", "naacl")) == 1000000


def test_a_line_has_one_id_at_most():
    with pytest.raises(DataError):
        parse_pharaoh("b\t" * 2000 + "0-0")
    assert parse_pharaoh("b\t0-0").id == "b"


def test_the_docs_have_the_table_of_the_registry() -> None:
    table = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8").splitlines()
    for name, format in FORMATS.items():
        written = "no" if format.write is None else "yes"
        assert f"| `{name}` | {format.pair} | {format.first} | {format.possible} | {written} |" in table


@pytest.mark.parametrize("size", [1, 3, 100])
def test_blocks_of_any_size_have_the_same_pairs(tmp_path: Path, size: int) -> None:
    path = write(tmp_path / "links", "0-0 1-1\n\nid\t3-1:0.5 0-0:1\n2-2:.5\n1?1 0-0\n")
    blocks = list(link_blocks(path, size=size))
    assert [len(block) for block in blocks[:-1]] == [size] * (len(blocks) - 1)
    found = [alignment for block in blocks for alignment in block]
    assert found == list(read_links(path))
    assert [(each.id, each.probabilities) for each in found] == [
        (None, None),
        (None, None),
        ("id", (1.0, 0.5)),
        (None, (0.5,)),
        (None, None),
    ]


plain_links = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 12), st.sampled_from(["0", "0.5", "1.", "0.25"])), max_size=5
)


@settings(deadline=None)
@given(st.lists(plain_links, max_size=5), st.booleans(), st.booleans())
def test_lines_are_read_alike_at_once_and_one_by_one(
    tmp_path_factory: pytest.TempPathFactory,
    corpus: list[list[tuple[int, int, str]]],
    scored: bool,
    ids: bool,
) -> None:
    lines = [" ".join(f"{i}-{j}:{p}" if scored else f"{i}-{j}" for i, j, p in links) for links in corpus]
    lines = [f"pair{n}\t{line}" if ids else line for n, line in enumerate(lines)]
    path = write(tmp_path_factory.mktemp("links") / "links", "".join(f"{line}\n" for line in lines))
    for found, line in zip(read_links(path, "pharaoh"), lines, strict=True):
        one = parse_pharaoh(line)
        assert (found, found.id, found.probabilities) == (one, one.id, one.probabilities)
