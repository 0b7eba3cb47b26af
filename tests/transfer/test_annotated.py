"""Spans as JSON lines: carried by their tokens, checked, and accounted for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transfer.strategies import links

from dualign._core.errors import DataError
from dualign.transfer.sentences import AnnotatedText, carry_record, plain, read_annotated


def read(tmp_path: Path, text: str) -> list[AnnotatedText]:
    path = tmp_path / "file.jsonl"
    path.write_text(text, encoding="utf-8")
    return list(read_annotated(str(path)))


@given(st.data())
def test_identity_copies_spans_of_words(data: st.DataObject) -> None:
    text = data.draw(st.text("ab ", min_size=1, max_size=12))
    target = plain(text)
    if not target.tokens:
        return
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(target.tokens) - 1)] * 2)))
    span = {"start": target.tokens[first][0], "end": target.tokens[last][1], "label": "X"}
    source = AnnotatedText(text, target.tokens, [span], id=7)
    same = [(k, k, 1.0) for k in range(len(target.tokens))]
    content, statuses = carry_record(source, target, same, "largest")
    assert content == {
        "id": 7,
        "text": text,
        "spans": [{**span, "confidence": 1.0, "status": "whole"}],
        "lost": [],
    }
    assert statuses == ["whole"]


@given(st.data(), st.sampled_from(["largest", "hull", "split", "drop"]))
def test_each_span_is_carried_or_lost_and_lies_in_the_text(data: st.DataObject, how: str) -> None:
    source, target = "aa b cc dd", "x yy z"
    bounds = st.tuples(*[st.integers(0, len(source))] * 2).map(sorted)
    spans = [
        {"start": a, "end": b, "k": k} for k, (a, b) in enumerate(data.draw(st.lists(bounds, max_size=4)))
    ]
    record = AnnotatedText(source, plain(source).tokens, spans)
    content, statuses = carry_record(record, plain(target), data.draw(links(4, 3)), how)
    assert {span["k"] for span in content["spans"]} | {span["k"] for span in content["lost"]} == set(
        range(len(spans))
    )
    assert not {span["k"] for span in content["spans"]} & {span["k"] for span in content["lost"]}
    assert all(0 <= span["start"] < span["end"] <= len(target) for span in content["spans"])
    assert len(statuses) == len(spans)


def test_part_of_a_token_takes_the_token_and_given_tokens_count(tmp_path: Path) -> None:
    text = '{"text": "don\'t go", "tokens": ["do", "n\'t", "go"], "spans": [{"start": 3, "end": 4}]}\n'
    record = read(tmp_path, text)[0]
    content, _ = carry_record(record, plain("ne va pas"), [(1, 0, 1.0), (2, 1, 1.0)], "largest")
    assert content["spans"] == [{"start": 0, "end": 2, "confidence": 1.0, "status": "whole"}]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ('{"text": "a", "x": NaN}', "NaN is not a number"),
        ('{"text": "\\ud800"}', "not JSON"),
        ("[]", 'expected an object with "text"'),
        ('{"text": 1}', 'expected an object with "text"'),
        ('{"text": "a", "spans": {}}', '"spans" must be a list'),
        ('{"text": "a", "spans": [1]}', "span 0 must be an object"),
        ('{"text": "a", "spans": [{"start": 0}]}', 'span 0 needs "start" and "end"'),
        ('{"text": "a", "spans": [{"start": 0, "end": true}]}', 'span 0 needs "start" and "end"'),
        ('{"text": "a", "spans": [{"start": 0, "end": 2}]}', "0 to 2, is outside the text, 0 to 1"),
        ('{"text": "a", "spans": [{"start": 1, "end": 0}]}', "is outside the text"),
        ('{"text": "a", "tokens": "a"}', '"tokens" must be a list of strings'),
        ('{"text": "a", "tokens": ["b"]}', "token 0, `b`, where its text has `a`"),
    ],
)
def test_broken_lines_are_named(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, '{"text": "fine"}\n' + line + "\n")
    assert "file.jsonl:2" in str(caught.value)
    assert reason in str(caught.value)
