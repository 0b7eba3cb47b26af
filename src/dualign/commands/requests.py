"""Requests to align sentence pairs, as JSON, and the answers to them."""

from __future__ import annotations

import json
from math import isnan
from typing import Any, NamedTuple

from dualign._core import release
from dualign._core.errors import DataError
from dualign.aligner import Aligner, alignments
from dualign.decode.decoders import PairScore, scores_of
from dualign.hmm.encoding import encode_for
from dualign.text.checks import number_of
from dualign.text.links import Alignment
from dualign.text.tokenizing import PLAIN, Cutting
from dualign.transfer.markup import Markup, parse_markup, place_markup
from dualign.transfer.sentences import weighted
from dualign.transfer.tokens import letters, locate

MOST_PAIRS = 10_000
MOST_WORDS = 1_000
"""Of one side of a pair."""

MOST_CELLS = 20_000_000
"""Of all pairs of a request together, source words × target words: some seconds of work."""


class Refused(Exception):  # noqa: N818 - what happened, in words
    """A request that is not answered; `code` is HTTP's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Asked(NamedTuple):
    """The words of a pair, and whether they were cut here by more than white space; if markup is to be
    carried over, the parsed source and the target text."""

    source: list[str]
    target: list[str]
    cut: bool
    markup: Markup | None = None
    text: str = ""


class Answerer:
    """Answers requests by an aligner; may be used on several threads at once."""

    def __init__(self, aligner: Aligner) -> None:
        # One thread for each request, and what is made at the first use is made now.
        self.aligner = Aligner.of_model(aligner.model, threads=1)
        self.aligner.constraints = aligner.constraints
        self.cutting = aligner.cutting
        self.aligner.align([(["a"], ["b"])])

    def answer(self, body: bytes) -> bytes:
        """The answer to a request's body; raises `Refused`."""
        try:
            request = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Refused(400, f"not JSON: {str(error)[:200]}") from None
        if not isinstance(request, dict):
            raise Refused(422, 'write an object, {"source": …, "target": …} or {"pairs": [ … ]}')
        if "pairs" not in request:
            return json.dumps(self._results([_asked(request, "the pair", self.cutting)])[0]).encode()
        pairs = request["pairs"]
        if not isinstance(pairs, list):
            raise Refused(422, '"pairs" is a list of objects {"source": …, "target": …}')
        if others := [key for key in request if key != "pairs"]:
            raise Refused(422, f'"pairs" stands alone; leave out {others[0]!r:.60}')
        if len(pairs) > MOST_PAIRS:
            raise Refused(413, f"{len(pairs):,} pairs; send at most {MOST_PAIRS:,} at a time")
        asked = [_asked(pair, f"pairs[{number}]", self.cutting) for number, pair in enumerate(pairs)]
        return json.dumps({"results": self._results(asked)}).encode()

    def _results(self, asked: list[_Asked]) -> list[dict[str, Any]]:
        if (cells := sum(len(each.source) * len(each.target) for each in asked)) > MOST_CELLS:
            raise Refused(413, f"{cells:,} pairs of words; send at most {MOST_CELLS:,} at a time")
        text = encode_for(self.aligner.model, [(each.source, each.target) for each in asked])
        links = self.aligner.align_part(text)
        found = zip(asked, alignments(links), scores_of(links), strict=True)
        return [_result(*each, self.cutting) for each in found]


def _asked(pair: Any, place: str, cutting: Cutting) -> _Asked:
    """A pair of a request, checked."""
    allowed = {"source", "target", "markup"}
    others = [key for key in pair if key not in allowed] if isinstance(pair, dict) else []
    if not isinstance(pair, dict) or others or not {"source", "target"} <= pair.keys():
        unknown = f"unknown key {others[0]!r:.60}; " if others else ""
        shape = '{"source": …, "target": …}, and "markup": true if it has tags'
        raise Refused(422, f"{place}: {unknown}write {shape}")
    source, target, with_tags = pair["source"], pair["target"], pair.get("markup", False)
    if not isinstance(with_tags, bool):
        raise Refused(422, f'{place}: "markup" is true or false')
    cut = cutting != PLAIN and (isinstance(source, str) or isinstance(target, str))
    if not with_tags:
        return _Asked(*_both(source, target, place, cutting), cut)
    if not (isinstance(source, str) and isinstance(target, str)):
        raise Refused(422, f"{place}: text with markup is a string on both sides")
    try:
        markup = parse_markup(source)
    except DataError as error:
        raise Refused(422, f"{place}.source: {error}") from None
    return _Asked(*_both(markup.text, target, place, cutting), cut, markup, target)


def _both(source: Any, target: Any, place: str, cutting: Cutting) -> tuple[list[str], list[str]]:
    return _words(source, f"{place}.source", 0, cutting), _words(target, f"{place}.target", 1, cutting)


def _words(side: Any, place: str, at: int, cutting: Cutting) -> list[str]:
    if isinstance(side, str):
        try:
            words = cutting.tokens(at, side)
        except UnicodeEncodeError:
            raise Refused(422, f"{place} has half a surrogate pair; send whole characters") from None
    elif isinstance(side, list) and all(isinstance(word, str) and word and "\n" not in word for word in side):
        words = side
    else:
        raise Refused(422, f"{place} is a string, to be cut into words, or a list of words")
    if len(words) > MOST_WORDS:
        raise Refused(413, f"{place} has {number_of(len(words), 'words')}; send at most {MOST_WORDS:,}")
    return words


def _result(asked: _Asked, alignment: Alignment, score: PairScore, cutting: Cutting) -> dict[str, Any]:
    result: dict[str, Any] = {
        "links": alignment.links,
        "probabilities": [round(p, 6) for p in alignment.probabilities or ()],
        "score": {name: None if isnan(value) else round(value, 6) for name, value in score._asdict().items()},
    }
    if asked.cut:
        result["tokens"] = [asked.source, asked.target]
    if asked.markup is not None:
        sides = ((asked.source, asked.markup.text), (asked.target, asked.text))
        schemes = ["sentencepiece" if marked else "words" for marked in cutting.marked]
        try:
            places = [
                locate(letters(words, scheme), text, ("the tokens", "their text"))
                for (words, text), scheme in zip(sides, schemes, strict=True)
            ]
        except DataError as error:  # a tokeniser that changes letters
            raise Refused(422, f"markup cannot be placed: {error}") from None
        placed = place_markup(asked.markup, places[0], asked.text, places[1], weighted(alignment))
        result["markup"] = placed.text
    return result


def description() -> dict[str, Any]:
    """The server in OpenAPI's words."""
    side = {
        "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "Text, to be cut into words as the model's text was, or a list of words.",
    }
    pair = {
        "type": "object",
        "required": ["source", "target"],
        "additionalProperties": False,
        "properties": {
            "source": side,
            "target": side,
            "markup": {
                "type": "boolean",
                "default": False,
                "description": "The source has inline tags; the answer has the target with these tags.",
            },
        },
    }
    rate = {"type": "number"}
    logarithm = {"type": ["number", "null"], "description": "Natural logarithm per word; null without words."}
    result = {
        "type": "object",
        "required": ["links", "probabilities", "score"],
        "properties": {
            "links": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
                "description": "Source word and target word, counted from 0.",
            },
            "probabilities": {"type": "array", "items": rate},
            "score": {
                "type": "object",
                "properties": {
                    "target_given_source": logarithm,
                    "source_given_target": logarithm,
                    "mean_probability": rate,
                    "unlinked": rate,
                },
            },
            "tokens": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "string"}},
                "minItems": 2,
                "maxItems": 2,
                "description": "The words of both sides, if text was cut by the model's tokeniser.",
            },
            "markup": {"type": "string"},
        },
    }

    def content(schema: dict[str, Any]) -> dict[str, Any]:
        return {"application/json": {"schema": schema}}

    pairs = {"type": "array", "items": _ref("Pair"), "maxItems": MOST_PAIRS}
    batch = {"type": "object", "required": ["pairs"], "properties": {"pairs": pairs}}
    answers = {"type": "object", "properties": {"results": {"type": "array", "items": _ref("Result")}}}
    error = {"type": "object", "properties": {"error": {"type": "string"}}}
    refusals = {
        "400": "not JSON",
        "401": "no token, or a wrong one",
        "403": "another host name or origin",
        "408": "too slow",
        "413": "too much at a time",
        "415": "not called JSON",
        "422": "JSON, but no pairs",
    }
    responses: dict[str, Any] = {
        "200": {"description": "links", "content": content({"oneOf": [_ref("Result"), answers]})}
    } | {code: {"description": why, "content": content(error)} for code, why in refusals.items()}
    post = {
        "summary": "Align a sentence pair, or a batch of them.",
        "security": [{}, {"token": []}],
        "requestBody": {"required": True, "content": content({"oneOf": [_ref("Pair"), batch]})},
        "responses": responses,
    }
    ready = {"summary": "Whether the server is ready.", "responses": {"200": {"description": "it is"}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "dualign", "version": release(), "description": "Word alignment."},
        "paths": {"/align": {"post": post}, "/health": {"get": ready}},
        "components": {
            "schemas": {"Pair": pair, "Result": result},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
