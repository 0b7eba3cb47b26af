"""CoNLL-U: round trips, positions, and a message for every way to be broken."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.errors import DataError
from dualign.text import conllu
from dualign.text.conllu import ROOT, UNKNOWN, UPOS, Sentence, find_cycle, read_conllu, write_conllu

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "pud"

TEXT = """\
# sent_id = one
# text = du pain
1-2	du	_	_	_	_	_	_	_	_
1	de	de	ADP	_	_	3	case	_	_
2	le	le	DET	_	Gender=Masc	3	det	_	_
3	pain	pain	NOUN	_	_	0	root	_	SpaceAfter=No
3.1	mangé	manger	VERB	_	_	_	_	0:root	_

0.1	x	_	_	_	_	_	_	_	_
1	oui	oui	INTJ	_	_	_	_	_	_

"""


def row(*columns: str) -> str:
    return "\t".join([*columns, *["_"] * (10 - len(columns))])


def headed(*heads: str) -> str:
    return "\n".join(row(str(n), "w", "_", "_", "_", "_", head) for n, head in enumerate(heads, 1)) + "\n"


def read(tmp_path: Path, text: str) -> list[Sentence]:
    path = tmp_path / "file.conllu"
    path.write_bytes(text.encode())
    return list(read_conllu(str(path)))


def heads_of(tmp_path: Path, text: str) -> list[list[int]]:
    return [sentence.heads() for sentence in read(tmp_path, text)]


def test_what_is_read_is_written_again(tmp_path: Path) -> None:
    sentences = read(tmp_path, TEXT)
    write_conllu(sentences, str(tmp_path / "copy"))
    assert (tmp_path / "copy").read_text(encoding="utf-8") == TEXT
    assert [len(sentence) for sentence in sentences] == [3, 1]
    assert sentences[0].column(UPOS) == ["ADP", "DET", "NOUN"]
    assert sentences[0].heads() == [2, 2, ROOT]
    assert sentences[1].heads() == [UNKNOWN]
    assert sentences[0].surface() == [range(2), range(2, 3)]
    assert sentences[0].comment("sent_id") == "one"
    assert sentences[1].comment("sent_id") is None


def test_line_ends_of_windows_a_byte_order_mark_and_a_missing_last_line_are_no_matter(tmp_path: Path) -> None:
    plain = read(tmp_path, TEXT)
    other = read(tmp_path, "\ufeff" + TEXT.replace("\n", "\r\n").rstrip())
    assert [(s.words, s.comments) for s in other] == [(s.words, s.comments) for s in plain]


def test_blank_lines_between_sentences_do_not_count(tmp_path: Path) -> None:
    assert len(read(tmp_path, "\n\n" + TEXT.replace("\n\n", "\n\n \n\n"))) == 2


@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_treebanks_survive_a_round_trip(language: str, tmp_path: Path) -> None:
    path = DATA / f"{language}.conllu.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    import gzip

    sentences = list(read_conllu(str(path)))
    for sentence in sentences:
        assert sentence.heads().count(ROOT) == 1
    stream = io.StringIO()
    for sentence in sentences:
        stream.write(conllu.format_sentence(sentence))
    assert stream.getvalue() == gzip.decompress(path.read_bytes()).decode("utf-8")


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("1\tw\n", 1, "2 columns instead of ten"),
        ("1 w _ _ _ _ _ _ _ _\n", 1, "1 column instead of ten, separated by tabs; are there blanks"),
        (row("1", "", "_") + "\n", 1, "column FORM is empty"),
        (row("2", "w") + "\n", 1, "ID `2` where word 1 is next"),
        (row("1", "w") + "\n" + row("1", "w") + "\n", 2, "ID `1` where word 2 is next"),
        (row("1", "w") + "\n# late\n", 2, "a comment among the words"),
        ("# only a comment\n\n", 2, "has no words"),
        (row("2-3", "w") + "\n", 1, "range `2-3` must begin with the next word, 1"),
        (row("1-2", "w") + "\n" + row("1", "w") + "\n", 3, "1 words, but a range that ends at word 2"),
        (row("1-1", "w") + "\n" + row("1-1", "w") + "\n", 2, "range `1-1` overlaps the one before"),
        (
            "\n".join([row("1-2", "w"), row("1", "w"), row("2-3", "w"), row("2", "w"), row("3", "w")]) + "\n",
            3,
            "overlaps the one before",
        ),
        (row("1", "w") + "\n" + row("1.2", "w") + "\n", 2, "empty node `1.2` where `1.1` is next"),
        (row("0.1", "w") + "\n" + row("1.1", "w") + "\n", 2, "empty node `1.1` where `0.2` is next"),
        (row("1", "w", "_", "_", "_", "_", "²") + "\n", 1, "HEAD `²`; a head is another word, 1 to 1, or 0"),
        (headed("0", "3"), 2, "HEAD `3`"),
        (headed("0", "-1"), 2, "HEAD `-1`"),
        (headed("0", "2"), 2, "its own head"),
        (headed("0", "0"), 2, "a second root"),
        (headed("0", "3", "4", "2"), 2, "the heads of words 2, 3, 4 form a cycle"),
        (row("1-1", "w") + "\n" + headed("0", "9"), 3, "HEAD `9`"),
    ],
)
def test_what_is_broken_is_named_with_its_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        heads_of(tmp_path, text)
    assert f"file.conllu:{line}: " in str(caught.value)
    assert reason in str(caught.value)


def test_a_sentence_without_a_file_is_named_in_messages() -> None:
    sentence = Sentence.of_tokens(["a"])
    sentence.words[0][conllu.HEAD] = "7"
    with pytest.raises(DataError, match="sentence: word 1, `a`: HEAD `7`"):
        sentence.heads()


@given(st.lists(st.integers(-2, 7), max_size=8))
def test_cycles_are_found_if_and_only_if_there_are_some(heads: list[int]) -> None:
    heads = [min(head, len(heads) - 1) for head in heads]

    def returns(word: int) -> bool:
        at = heads[word]
        for _ in heads:
            if at < 0 or at == word:
                break
            at = heads[at]
        return at == word

    on_cycles = {word for word in range(len(heads)) if returns(word)}
    cycle = find_cycle(heads)
    assert bool(cycle) == bool(on_cycles)
    assert set(cycle) <= on_cycles
    assert all(heads[a] == b for a, b in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True))
