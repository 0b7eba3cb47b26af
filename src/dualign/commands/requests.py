"""Requests to align sentence pairs, as JSON, and the answers to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from math import isnan
from typing import Any, NamedTuple

from dualign._core import release
from dualign._core.errors import DataError
from dualign._core.web_site import MOST_BYTES, STOPPING, Refused
from dualign.aligner import Aligner, alignments
from dualign.decode.decoders import PairScore, scores_of
from dualign.hmm.encoding import encode_for
from dualign.hmm.posteriors import LONGEST_IN_STEP
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

CELLS_AT_ONCE = 1_000_000
"""Of pairs that are aligned together: less than a second of work, after which a server may be stopped."""

_STRING = {"type": "string"}


class _Asked(NamedTuple):
    """The words of a pair, and whether they were cut here by more than white space; if markup is to be
    carried over, the parsed source and the target text."""

    source: list[str]
    target: list[str]
    cut: bool
    markup: Markup | None = None
    text: str = ""

    @property
    def cells(self) -> int:
        """Source words × target words."""
        return len(self.source) * len(self.target)


class Answerer:
    """Answers requests by an aligner; may be used on several threads at once."""

    def __init__(self, aligner: Aligner) -> None:
        # One thread for each request, and what is made at the first use is made now; long pairs have kernels
        # of their own.
        self.aligner = Aligner.of_model(aligner.model, threads=1)
        self.aligner.constraints = aligner.constraints
        self.cutting = aligner.cutting
        self.aligner.align([(["a"] * words, ["b"] * words) for words in (1, LONGEST_IN_STEP + 1)])
        for side in (0, 1):
            self.cutting.tokens(side, "a")

    def answer(self, body: bytes, stopped: Callable[[], bool] = lambda: False) -> bytes:
        """The answer to a request's body; raises `Refused`, also as soon as it is `stopped`."""
        try:
            request = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Refused(400, f"not JSON: {str(error)[:200]}") from None
        if not isinstance(request, dict):
            raise Refused(422, 'write an object, {"source": …, "target": …} or {"pairs": [ … ]}')
        if "pairs" not in request:
            return json.dumps(self._results([_asked(request, "the pair", self.cutting)], stopped)[0]).encode()
        pairs = request["pairs"]
        if not isinstance(pairs, list):
            raise Refused(422, '"pairs" is a list of objects {"source": …, "target": …}')
        if others := [key for key in request if key != "pairs"]:
            raise Refused(422, f'"pairs" stands alone; leave out {others[0]!r:.60}')
        if len(pairs) > MOST_PAIRS:
            raise Refused(413, f"{len(pairs):,} pairs; send at most {MOST_PAIRS:,} at a time")
        asked = [_asked(pair, f"pairs[{number}]", self.cutting) for number, pair in enumerate(pairs)]
        return json.dumps({"results": self._results(asked, stopped)}).encode()

    def _results(self, asked: list[_Asked], stopped: Callable[[], bool]) -> list[dict[str, Any]]:
        if (cells := sum(each.cells for each in asked)) > MOST_CELLS:
            raise Refused(413, f"{cells:,} pairs of words; send at most {MOST_CELLS:,} at a time")
        results: list[dict[str, Any]] = []
        for part in _parts(asked):
            if stopped():
                raise Refused(503, STOPPING)
            text = encode_for(self.aligner.model, [(each.source, each.target) for each in part])
            links = self.aligner.align_part(text)
            found = zip(part, alignments(links), scores_of(links), strict=True)
            results += [_result(*each, self.cutting) for each in found]
        return results


def _parts(asked: list[_Asked]) -> Iterator[list[_Asked]]:
    """Pairs that are aligned together; what a pair gets does not depend on the others."""
    part: list[_Asked] = []
    cells = 0
    for each in asked:
        cells += each.cells
        if part and cells > CELLS_AT_ONCE:
            yield part
            part, cells = [], each.cells
        part.append(each)
    if part:
        yield part


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


def description(*, token: bool = False) -> dict[str, Any]:
    """The server in OpenAPI's words: what its schemas allow is answered, up to the limits of 413."""
    pairs = {"type": "array", "items": _ref("Pair"), "maxItems": MOST_PAIRS}
    batch = {**_object(["pairs"], pairs=pairs), "additionalProperties": False}
    answers = _object(["results"], results={"type": "array", "items": _ref("Result")})
    most = (
        f"too much at a time: over {MOST_BYTES:,} bytes, {MOST_PAIRS:,} pairs, {MOST_WORDS:,} words of a side"
    )
    refusals = {
        "400": "not HTTP, or not JSON",
        "401": "no token, or a wrong one",
        "403": "another host name or origin",
        "408": "too slow",
        "413": f"{most}, or {MOST_CELLS:,} pairs of words",
        "415": "not called JSON",
        "422": "JSON, but no pairs, or tags that are not closed",
        "500": "a fault of the server",
        "503": "the server is being stopped: ask again",
    }

    def responses(answer: str, schema: dict[str, Any], *others: str) -> dict[str, Any]:
        refused = {code: _response(refusals[code], _ref("Error")) for code in others}
        return {"200": _response(answer, schema), **refused}

    post = {
        "summary": "Align a sentence pair, or a batch of them.",
        "security": [{"token": []}] if token else [],
        "requestBody": {"required": True, **_content({"oneOf": [_ref("Pair"), batch]})},
        "responses": responses("links", {"oneOf": [_ref("Result"), answers]}, *refusals),
    }
    ready = _object(["status", "dualign"], status={"const": "ok"}, dualign=_STRING)
    get = {
        "summary": "Whether the server is ready.",
        "responses": responses("it is", ready, "400", "403", "500", "503"),
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "dualign", "version": release(), "description": "Word alignment."},
        "paths": {"/align": {"post": post}, "/health": {"get": get}},
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas() -> dict[str, Any]:
    """A pair of a request, what is answered for it, and a refusal."""
    word = {"type": "string", "minLength": 1, "not": {"pattern": "\\n"}}
    side = {
        "oneOf": [{"type": "string"}, {"type": "array", "items": word, "maxItems": MOST_WORDS}],
        "description": "Text, to be cut into words as the model's text was, or a list of words; "
        f"at most {MOST_WORDS:,} words.",
    }
    text = {"properties": {"source": {"type": "string"}, "target": {"type": "string"}}}
    markup = {
        "type": "boolean",
        "default": False,
        "description": "The source has inline tags, each closed; the answer has the target with these tags.",
    }
    pair = {
        **_object(["source", "target"], source=side, target=side, markup=markup),
        "additionalProperties": False,
        "if": {"properties": {"markup": {"const": True}}, "required": ["markup"]},
        "then": text,
    }
    share = {"type": "number", "minimum": 0, "maximum": 1}
    words = {"type": "array", "items": _STRING}
    logarithm = {"type": ["number", "null"], "description": "Natural logarithm per word; null without words."}
    score: dict[str, Any] = dict.fromkeys(("target_given_source", "source_given_target"), logarithm)
    score |= {"mean_probability": share, "unlinked": share}
    link = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2}
    result = _object(
        ["links", "probabilities", "score"],
        links={
            "type": "array", "items": link, "description": "Source word and target word, counted from 0.",
        },
        probabilities={"type": "array", "items": share},
        score=_object([*score], **score),
        tokens={
            "type": "array", "items": words, "minItems": 2, "maxItems": 2,
            "description": "The words of both sides, if text was cut by the model's tokeniser.",
        },
        markup=_STRING,
    )  # fmt: skip
    return {"Pair": pair, "Result": result, "Error": _object(["error"], error=_STRING)}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _response(what: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": what, **_content(schema)}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
