"""Spans as JSON lines: carried by their tokens, checked, and accounted for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transfer.strategies import links

from dualign.core.errors import DataError
from dualign.transfer.annotated import Record, carry_record, plain_record, read_records


def read(tmp_path: Path, text: str) -> list[Record]:
    path = tmp_path / "file.jsonl"
    path.write_text(text, encoding="utf-8")
    return list(read_records(str(path)))


@given(st.data())
def test_identity_copies_spans_of_words(data: st.DataObject) -> None:
    text = data.draw(st.text("ab ", min_size=1, max_size=12))
    plain = plain_record(text, "here")
    if not plain.tokens:
        return
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(plain.tokens) - 1)] * 2)))
    span = {"start": plain.tokens[first][0], "end": plain.tokens[last][1], "label": "X"}
    source = Record(text, plain.tokens, [span], id=7)
    same = [(k, k, 1.0) for k in range(len(plain.tokens))]
    content, statuses = carry_record(source, plain, same, "largest")
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
    record = Record(source, plain_record(source, "s").tokens, spans)
    content, statuses = carry_record(record, plain_record(target, "t"), data.draw(links(4, 3)), how)
    assert {span["k"] for span in content["spans"]} | {span["k"] for span in content["lost"]} == set(
        range(len(spans))
    )
    assert not {span["k"] for span in content["spans"]} & {span["k"] for span in content["lost"]}
    assert all(0 <= span["start"] < span["end"] <= len(target) for span in content["spans"])
    assert len(statuses) == len(spans)


def test_part_of_a_token_takes_the_token_and_given_tokens_count(tmp_path: Path) -> None:
    text = '{"text": "don\'t go", "tokens": ["do", "n\'t", "go"], "spans": [{"start": 3, "end": 4}]}\n'
    record = read(tmp_path, text)[0]
    content, _ = carry_record(record, plain_record("ne va pas", "t"), [(1, 0, 1.0), (2, 1, 1.0)], "largest")
    assert content["spans"] == [{"start": 0, "end": 2, "confidence": 1.0, "status": "whole"}]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "no JSON"),
        ('{"text": "a", "x": NaN}', "NaN is no number"),
        ('{"text": "\\ud800"}', "no JSON"),
        ("[]", 'expected an object with "text"'),
        ('{"text": 1}', 'expected an object with "text"'),
        ('{"text": "a", "spans": {}}', '"spans" must be a list'),
        ('{"text": "a", "spans": [1]}', "span 0 must be an object"),
        ('{"text": "a", "spans": [{"start": 0}]}', 'span 0 needs "start" and "end"'),
        ('{"text": "a", "spans": [{"start": 0, "end": true}]}', 'span 0 needs "start" and "end"'),
        ('{"text": "a", "spans": [{"start": 0, "end": 2}]}', "0 to 2, lies outside the text, 0 to 1"),
        ('{"text": "a", "spans": [{"start": 1, "end": 0}]}', "lies outside the text"),
        ('{"text": "a", "tokens": "a"}', '"tokens" must be a list of strings'),
        ('{"text": "a", "tokens": ["b"]}', "token 0, `b`, where its text has `a`"),
    ],
)
def test_broken_lines_are_named(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, '{"text": "fine"}\n' + line + "\n")
    assert "file.jsonl:2" in str(caught.value)
    assert reason in str(caught.value)
