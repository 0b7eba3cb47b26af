"""The server: answers as the library does, refuses what it should, and goes on."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import socket
import threading
import time
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.commands.json_schema import Schemas

from dualign import Aligner, jobs
from dualign._core import web_server
from dualign._core.errors import DataError, UsageError
from dualign.commands import requests as pair_requests
from dualign.commands import serve as serving
from dualign.commands.requests import Answerer, Refused
from dualign.text.samples import sample

SOURCE, TARGET = ([" ".join(words) for words in side] for side in sample()[:2])


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    path = str(tmp_path_factory.mktemp("serving") / "model")
    Aligner(threads=1, rounds=2).fit((SOURCE, TARGET)).save(path)
    return path


@contextmanager
def running(model: str, **settings: Any):
    """A server on a thread of its own, stopped at the end."""
    server = jobs.serve(model, port=0, **{"run": jobs.Run(threads=2), **settings})
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.place
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def place(model):
    with running(model) as place:
        yield place


def ask(
    place, method: str = "POST", path: str = "/align", body: Any = None, **headers: str
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=20)
    given = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    try:
        connection.request(method, path, content, given)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    kind = answer.headers["Content-Type"]
    return answer.status, json.loads(text) if kind == "application/json" else text.decode()


def alive(place) -> bool:
    return ask(place, "GET", "/health")[0] == 200


def test_a_pair_and_a_batch_are_aligned_as_by_the_library(place, model):
    aligner = Aligner.load(model, threads=1)
    pairs = [*zip(SOURCE[:40], TARGET[:40], strict=True), ("", "x"), ("nie gehört", "never heard of")]
    found, scores = aligner.align(pairs), aligner.score(pairs)
    status, answer = ask(place, body={"pairs": [{"source": s, "target": t} for s, t in pairs]})
    assert status == 200
    assert len(answer["results"]) == len(pairs)
    for result, alignment, score in zip(answer["results"], found, scores, strict=True):
        assert result["links"] == [list(link) for link in alignment.links]
        assert result["probabilities"] == [round(p, 6) for p in alignment.probabilities]
        assert result["score"]["unlinked"] == round(score.unlinked, 6)
    assert answer["results"][40]["score"]["target_given_source"] is None
    one = ask(place, body={"source": SOURCE[3].split(), "target": TARGET[3]})
    assert one == (200, answer["results"][3])


def test_markup_is_carried_over(place):
    pair = {"source": SOURCE[0].replace("Markt", "<b>Markt</b>"), "target": TARGET[0], "markup": True}
    status, answer = ask(place, body=pair)
    assert status == 200
    assert answer["markup"] == TARGET[0].replace("market", "<b>market</b>")


def test_the_page_health_and_description(place):
    status, page = ask(place, "GET", "/")
    assert status == 200
    assert "Content-Security-Policy" in page
    assert ask(place, "GET", "/health")[1]["status"] == "ok"
    status, described = ask(place, "GET", "/openapi.json")
    assert described["openapi"].startswith("3.")
    assert set(described["paths"]) == {"/align", "/health"}
    assert ask(place, "GET", "/nowhere")[0] == 404
    assert ask(place, "GET", "/align") == (405, {"error": "/align does not answer GET; send POST"})
    assert ask(place, "DELETE", "/") == (405, {"error": "/ does not answer DELETE; send GET, HEAD"})
    connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=20)
    connection.request("PUT", "/align")
    assert connection.getresponse().headers["Allow"] == "POST"
    connection.close()


PAIR = {"source": "a", "target": "b"}


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b"{", 400, "not JSON"),
        (b"", 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        (b"[" * 100_000, 400, "not JSON"),
        (b'{"source": 1' + b"0" * 5000 + b"}", 400, "not JSON"),
        ([], 422, "write an object"),
        ({}, 422, "the pair: write"),
        ({"source": "a"}, 422, "the pair: write"),
        (PAIR | {"more": 1}, 422, "the pair: unknown key 'more'; write"),
        ({"source": 1, "target": "b"}, 422, "the pair.source is a string"),
        ({"source": ["a", 1], "target": "b"}, 422, "the pair.source is a string"),
        ({"source": ["a", ""], "target": "b"}, 422, "the pair.source is a string"),
        ({"source": "a", "target": ["b\n"]}, 422, "the pair.target is a string"),
        (PAIR | {"markup": "yes"}, 422, "is true or false"),
        ({"source": "<b>a", "target": "b", "markup": True}, 422, "never closed"),
        ({"source": ["a"], "target": "b", "markup": True}, 422, "a string on both sides"),
        ({"pairs": "a"}, 422, "is a list"),
        ({"pairs": [PAIR, None]}, 422, "pairs[1]: write"),
        ({"pairs": ["a"]}, 422, "pairs[0]: write"),
        ({"pairs": [5]}, 422, "pairs[0]: write"),
        ({"pairs": [], "source": "a"}, 422, "\"pairs\" stands alone; leave out 'source'"),
        ({"pairs": [PAIR] * (pair_requests.MOST_PAIRS + 1)}, 413, "at most 10,000"),
        ({"source": "a " * 1001, "target": "b"}, 413, "1,001 words"),
        ({"pairs": [{"source": "a " * 1000, "target": "b " * 1000}] * 21}, 413, "pairs of words"),
        (b" " * 10_000_000, 413, "at most 4,194,304 bytes"),
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused_and_the_server_goes_on(place, body, code, message):
    status, answer = ask(place, body=body)
    assert status == code
    assert message in answer["error"]
    assert alive(place)


def test_lone_surrogates_and_nulls_are_words_like_others(place):
    assert ask(place, body=b'{"source": "\\ud800 a\\u0000b", "target": "x"}')[0] == 200


def test_a_body_that_never_ends_is_cut_off(place):
    with socket.create_connection(("127.0.0.1", place.port), timeout=20) as client:
        head = f"POST /align HTTP/1.1\r\nHost: 127.0.0.1:{place.port}\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        answer = b""
        try:
            for _ in range(1500):
                client.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
            answer = client.recv(1000)
        except ConnectionError:
            pass
        assert answer == b"" or b" 413 " in answer
    assert alive(place)


def test_bytes_that_are_not_http_are_refused(place):
    for nonsense in (
        b"\x16\x03\x01\x02\x00" * 20,
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000,
    ):
        with socket.create_connection(("127.0.0.1", place.port), timeout=20) as client:
            try:
                client.sendall(nonsense)
                while client.recv(1 << 16):
                    pass
            except OSError:
                pass
    assert alive(place)


@pytest.mark.slow
@pytest.mark.parametrize("half", [b"", b"POST /align HTTP/1.1\r\nHost:", b"WHOLE"])
def test_half_open_connections_are_closed(model, half, monkeypatch):
    monkeypatch.setattr("dualign._core.web_site.PATIENCE", 0.5)
    with running(model) as place:
        if half == b"WHOLE":
            host = f"Host: 127.0.0.1:{place.port}\r\nContent-Type: application/json\r\n"
            half = f"POST /align HTTP/1.1\r\n{host}Content-Length: 100\r\n\r\n{{".encode()
        with socket.create_connection(("127.0.0.1", place.port), timeout=20) as client:
            client.sendall(half)
            answer = client.recv(1000)
            assert answer == b"" or b" 408 " in answer
        assert alive(place)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.test:80", ""])
def test_other_host_names_are_refused(place, host):
    assert ask(place, body=PAIR, Host=host)[0] in (400, 403)
    assert ask(place, "GET", "/", Host=host)[0] in (400, 403)
    assert alive(place)


def test_other_origins_are_refused(place):
    ours = f"http://127.0.0.1:{place.port}"
    assert ask(place, body=PAIR, Origin=ours)[0] == 200
    for origin in ("http://evil.example", "null", ours.replace("http", "https"), f"{ours}.evil.example"):
        assert ask(place, body=PAIR, Origin=origin)[0] == 403
    assert ask(place, body=PAIR, Content_Type="text/plain")[0] == 415


@pytest.mark.slow
def test_elsewhere_a_token_is_needed(model):
    with running(model, host="0.0.0.0") as place:
        assert len(place.token) >= 32
        assert place.address.endswith(f"#{place.token}")
        for given in ({}, {"Authorization": "Bearer nonsense"}, {"Authorization": place.token}):
            assert ask(place, body=PAIR, **given)[0] == 401
        assert ask(place, body=PAIR, Authorization=f"Bearer {place.token}")[0] == 200
        assert (
            ask(place, body=PAIR, Authorization=f"Bearer {place.token}", Origin="http://evil.example")[0]
            == 403
        )
        assert ask(place, "GET", "/health", Host="any.example")[0] == 200
    with running(model, token="a-token-of-my-own") as place:
        assert ask(place, body=PAIR)[0] == 401
        assert ask(place, body=PAIR, Authorization="Bearer a-token-of-my-own")[0] == 200


@pytest.mark.slow
def test_what_cannot_be_served_is_told(model, place):
    with pytest.raises(DataError, match=f"port {place.port} of 127.0.0.1 cannot be used"):
        jobs.serve(model, port=place.port)
    with pytest.raises(UsageError, match="at least 16"):
        jobs.serve(model, port=0, token="short")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_behind_a_proxy_that_speaks_https_its_own_page_is_answered(model, scheme):
    token = "a-token-of-my-own"
    with running(model, host="0.0.0.0", token=token) as place:
        fields = {"Host": "align.example.org", "Authorization": f"{scheme} {token}"}
        assert ask(place, body=PAIR, Origin="https://align.example.org", **fields)[0] == 200
        assert ask(place, body=PAIR, Origin="https://evil.example.org", **fields)[0] == 403


@pytest.fixture
def other(tmp_path) -> str:
    path = str(tmp_path / "other")
    Aligner(threads=1, rounds=1, ibm1_rounds=1).fit((SOURCE[:50], TARGET[:50])).save(path)
    return path


def replaced(place, before: Any) -> Any:
    """What a server says as soon as it is not what it said before."""
    deadline = time.monotonic() + 30
    while (answer := ask(place, body=BODY)) == before and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer


BODY = {"source": SOURCE[0], "target": TARGET[0]}


@pytest.mark.parametrize("way", [shutil.copyfile, os.replace])
def test_a_model_that_is_replaced_is_loaded_again_and_no_request_is_lost(
    model, other, way, tmp_path, monkeypatch
):
    monkeypatch.setattr("dualign.commands.serve.LOOK", 0.05)
    served = shutil.copyfile(model, str(tmp_path / "served"))
    expected = [
        json.loads(Answerer(Aligner.load(p)).answer(json.dumps(BODY).encode())) for p in (model, other)
    ]
    assert expected[0] != expected[1]
    found, done = [], threading.Event()

    def client(place) -> None:
        while not done.is_set():
            found.append(ask(place, body=BODY))

    with running(served) as place:
        clients = [threading.Thread(target=client, args=(place,)) for _ in range(2)]
        for each in clients:
            each.start()
        try:
            assert ask(place, body=BODY) == (200, expected[0])
            way(other, served)
            assert replaced(place, (200, expected[0])) == (200, expected[1])
        finally:
            done.set()
            for each in clients:
                each.join()
    assert all(code == 200 and answer in expected for code, answer in found)


def test_a_damaged_model_is_not_loaded_and_the_former_one_goes_on(model, other, tmp_path, monkeypatch):
    monkeypatch.setattr("dualign.commands.serve.LOOK", 0.05)
    served = shutil.copyfile(model, str(tmp_path / "served"))
    warned, noted = [], []
    run = jobs.Run(threads=1, warn=warned.append, note=noted.append)
    with running(served, run=run) as place:
        before = ask(place, body=BODY)
        for damage in (lambda file: file.write(b"\x3e" * 50_000), lambda file: file.truncate(4096)):
            with open(served, "r+b") as file:
                file.seek(20_000)
                damage(file)
            assert ask(place, body=BODY) == before
        deadline = time.monotonic() + 20
        while not warned and time.monotonic() < deadline:
            time.sleep(0.02)
        assert ask(place, body=BODY) == before
        assert "the model is not loaded again, the former one goes on: " in warned[0]
        shutil.copyfile(other, served)
        assert replaced(place, before)[0] == 200
    assert noted[-1] == f"{served}: loaded again"


@pytest.fixture(scope="module")
def described(place) -> dict[str, Any]:
    return ask(place, "GET", "/openapi.json")[1]


def schema_of(described: dict[str, Any], path: str, method: str, code: int) -> dict[str, Any]:
    """What an answer must be; a code that is not described is an error."""
    return described["paths"][path][method]["responses"][str(code)]["content"]["application/json"]["schema"]


def closed(body: Any) -> bool:
    """Whether a body has no tags that are not closed, of which a schema knows nothing."""
    pairs = body.get("pairs", [body])
    return not any(pair.get("markup") and "<" in pair["source"] for pair in pairs)


@given(st.data())
def test_what_the_description_allows_is_answered_as_it_says(place, described, data):
    schemas = Schemas(described)
    body = described["paths"]["/align"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    code, answer = ask(place, body=data.draw(schemas.values(body).filter(closed)))
    assert code == 200
    assert schemas.wrong(schema_of(described, "/align", "post", 200), answer) == []


@pytest.mark.parametrize(
    "body",
    [
        PAIR, {"pairs": [PAIR, {"source": "", "target": ""}]}, PAIR | {"source": "<b>a</b>", "markup": True},
        {}, b"",
        b"[]", {"source": [""], "target": ""}, {"source": ["a\n"], "target": ""}, {"pairs": [{}]},
        {"source": ["a"], "target": "b", "markup": True}, PAIR | {"pairs": []}, PAIR | {"markup": 1},
        {"source": ["a"] * 1001, "target": "b"}, {"source": 1, "target": None}, {"pairs": [PAIR], "more": 1},
    ],
)  # fmt: skip
def test_the_description_refuses_what_the_server_refuses(place, described, body):
    schemas = Schemas(described)
    asked = described["paths"]["/align"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    code, answer = ask(place, body=body)
    assert schemas.wrong(schema_of(described, "/align", "post", code), answer) == []
    if not isinstance(body, bytes):
        assert (code == 200) == (schemas.wrong(asked, body) == [])


def test_refusals_and_health_are_as_described(place, described):
    schemas = Schemas(described)
    for fields, code in (({"Host": "evil.example"}, 403), ({"Content_Type": "text/plain"}, 415)):
        found, answer = ask(place, body=PAIR, **fields)
        assert found == code
        assert schemas.wrong(schema_of(described, "/align", "post", code), answer) == []
    code, answer = ask(place, "GET", "/health")
    assert schemas.wrong(schema_of(described, "/health", "get", code), answer) == []


def test_the_application_runs_below_another_server(model):
    """As `uvicorn` calls it: with events, in which a body comes in pieces."""
    application = serving.application(Aligner.load(model, threads=1), serving.Place("0.0.0.0", 80, None))
    body = json.dumps(PAIR).encode()

    async def asked(method: str, path: str, *parts: bytes, **fields: str) -> list[dict[str, Any]]:
        events = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
        events.append({"type": "http.request"} if fields else {"type": "http.disconnect"})
        sent: list[dict[str, Any]] = []
        headers = [(name.encode(), value.encode()) for name, value in {"host": "a", **fields}.items()]

        async def receive() -> dict[str, Any]:
            return events.pop(0)

        async def send(event: dict[str, Any]) -> None:
            sent.append(event)

        kind = "http" if path else method
        scope = {"type": kind, "method": method, "path": path, "headers": headers}
        if kind == "lifespan":
            events[:] = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
        await application(scope, receive, send)
        return sent

    kind = {"content-type": "application/json"}
    start, content = asyncio.run(asked("POST", "/align", body[:5], b"", body[5:], **kind))
    assert start["status"] == 200
    assert (b"content-type", b"application/json") in start["headers"]
    assert set(json.loads(content["body"])) == {"links", "probabilities", "score"}
    assert asyncio.run(asked("HEAD", "/health", **kind))[1]["body"] == b""
    assert asyncio.run(asked("GET", "/nowhere"))[0]["status"] == 404
    assert [event["type"] for event in asyncio.run(asked("websocket", ""))] == ["websocket.close"]
    ends = asyncio.run(asked("lifespan", ""))
    assert [event["type"] for event in ends] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert asyncio.run(asked("POST", "/align", body, **kind))[0]["status"] == 503


def test_the_application_runs_below_uvicorn(model):
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    opened = web_server.listening("127.0.0.1", 0)
    place = serving.Place("127.0.0.1", opened.getsockname()[1])
    application = serving.application(Aligner.load(model, threads=1), place)
    server = uvicorn.Server(uvicorn.Config(application, log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]})
    thread.start()
    try:
        assert ask(place, body=BODY)[0] == 200
        assert ask(place, body=b"{")[0] == 400
        assert ask(place, "GET", "/health", Host="evil.example")[0] == 403
    finally:
        server.should_exit = True
        thread.join(20)
        opened.close()


def test_work_is_stopped_between_pairs(model):
    answerer = Answerer(Aligner.load(model))
    asked = []

    def stopped() -> bool:
        asked.append(None)
        return len(asked) > 1

    pair = {"source": "a " * 900, "target": "b " * 900}
    with pytest.raises(Refused, match="being stopped"):
        answerer.answer(json.dumps({"pairs": [pair] * 3}).encode(), stopped)
    assert len(asked) == 2


def test_many_clients_at_once_get_the_same_answers(place):
    expected = ask(place, body={"source": SOURCE[0], "target": TARGET[0]})
    wrong = []

    def client() -> None:
        for _ in range(20):
            if ask(place, body={"source": SOURCE[0], "target": TARGET[0]}) != expected:
                wrong.append(1)

    clients = [threading.Thread(target=client) for _ in range(8)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    assert not wrong


def test_answers_do_not_depend_on_the_batch(model):
    answerer = Answerer(Aligner.load(model))
    pairs = [{"source": s, "target": t} for s, t in zip(SOURCE[:50], TARGET[:50], strict=True)]
    whole = json.loads(answerer.answer(json.dumps({"pairs": pairs}).encode()))["results"]
    assert [json.loads(answerer.answer(json.dumps(pair).encode())) for pair in pairs] == whole
    with pytest.raises(Refused):
        answerer.answer(b"nonsense")
