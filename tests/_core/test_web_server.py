"""The server under the pages and the service: strict about bytes, patient with nobody, no tracebacks."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import struct
import threading
import time
from contextlib import contextmanager
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dualign._core import web_server, web_site
from dualign._core.web_server import WebServer, listening
from dualign._core.web_site import Place, Refused, Reply, Request, Site, fixed

LARGE = bytes(range(256)) * 40_000


class Trial(Site):
    """Fixed pages, an echo, a fault, and what computes until it is let go."""

    def __init__(self, place: Place) -> None:
        self.gate = threading.Event()
        echo, slow, fault = {"POST": self.echo}, {"GET": self.slow}, {"GET": self.fault}
        page = {"GET": fixed(LARGE, "application/octet-stream")}
        super().__init__(place, 1, {"/": page, "/echo": echo, "/slow": slow, "/fault": fault})

    async def echo(self, request: Request) -> Reply:
        return Reply(200, await request.body(), "text/plain")

    async def slow(self, _: Request) -> Reply:
        return Reply(200, await self.compute(self.computed))

    def computed(self) -> bytes:
        while not (self.gate.wait(0.02) or self.ended):
            pass
        if self.ended:
            raise Refused(503, "stopped")
        return b'"done"'

    async def fault(self, _: Request) -> Reply:
        raise KeyError("a fault")


@contextmanager
def running():
    opened = listening("127.0.0.1", 0)
    server = WebServer(Trial(Place("127.0.0.1", opened.getsockname()[1])), opened)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.stop(at_once=True)
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def server():
    with running() as server:
        yield server


def connect(server, room: int | None = None) -> socket.socket:
    client = socket.socket()
    client.settimeout(20)
    if room is not None:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    client.connect(("127.0.0.1", server.site.place.port))
    return client


def host_of(server) -> str:
    return f"Host: 127.0.0.1:{server.site.place.port}"


def received(client: socket.socket) -> bytes:
    """What comes until the other side has no more to say."""
    parts = []
    while part := client.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def exchanged(server, content: bytes | str) -> bytes:
    """What a server says to this, and nothing more."""
    with connect(server) as client:
        client.sendall(content.encode("latin-1") if isinstance(content, str) else content)
        client.shutdown(socket.SHUT_WR)
        return received(client)


def asked(server, line: str, *fields: str, body: str = "") -> tuple[int, bytes]:
    head = "\r\n".join([line, host_of(server), "Connection: close", *fields])
    head, _, content = exchanged(server, f"{head}\r\n\r\n{body}").partition(b"\r\n\r\n")
    return int(head.split()[1]), content


def test_a_page_comes_whole_and_without_its_body_for_head(server):
    assert asked(server, "GET / HTTP/1.1") == (200, LARGE)
    assert asked(server, "HEAD / HTTP/1.1") == (200, b"")
    assert asked(server, "PUT / HTTP/1.1")[0] == 405
    assert asked(server, "GET /nowhere HTTP/1.1")[0] == 404


def test_requests_on_one_connection_are_answered_in_turn(server):
    host = host_of(server)
    chunks = "Transfer-Encoding: chunked\r\n\r\n2\r\n12\r\n1;name=value\r\n3\r\n0\r\nMore: x\r\n\r\n"
    text = f"POST /echo HTTP/1.1\r\n{host}\r\nContent-Length: 3\r\n\r\nabc"
    text += f"\r\nPOST /echo HTTP/1.1\r\n{host}\r\n{chunks}HEAD /echo HTTP/1.0\r\n{host}\r\n\r\n"
    answer = exchanged(server, text)
    assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"405"]
    assert b"\r\n\r\nabcHTTP" in answer
    assert b"\r\n\r\n123HTTP" in answer


def test_who_asks_whether_to_go_on_is_told(server):
    with connect(server) as client:
        fields = f"{host_of(server)}\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close"
        client.sendall(f"POST /echo HTTP/1.1\r\n{fields}\r\n\r\n".encode())
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"ok")
        assert received(client).endswith(b"\r\n\r\nok")


POST = "POST /echo HTTP/1.1\r\nHost: HERE\r\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("\x16\x03\x01\x02", 400),
        ("GET\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: HERE\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: HERE\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: HERE\r\nHost: HERE\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : HERE\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: HERE\r\nA: b\r\n c\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: HERE\r\nA: b\x00\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: HERE\r\n\r\n", 400),
        (f"GET / HTTP/1.1\r\nHost: HERE\r\nA: {'b' * 40_000}\r\n\r\n", 431),
        (POST + "Content-Length: -1\r\n\r\n", 400),
        (POST + "Content-Length: 1_0\r\n\r\n", 400),
        (POST + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab", 400),
        (POST + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", 400),
        (POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        (POST + "Transfer-Encoding: chunked\r\n\r\n0x2\r\nab\r\n0\r\n\r\n", 400),
        (POST + "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", 400),
        (POST + f"Transfer-Encoding: chunked\r\n\r\n{'1' * 90_000}", 400),
        (POST + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + "A: b\r\n" * 9000 + "\r\n", 431),
        ("POST /echo HTTP/1.0\r\nHost: HERE\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (POST + "Content-Length: 5000000\r\n\r\n" + " " * 5_000_000, 413),
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused_as_json_and_nothing_after_it_is_read(server, text, code):
    here = host_of(server).removeprefix("Host: ")
    answer = exchanged(server, text.replace("HERE", here) + f"GET / HTTP/1.1\r\nHost: {here}\r\n\r\n")
    head, _, content = answer.partition(b"\r\n\r\n")
    assert int(head.split()[1]) == code
    assert b"\r\nConnection: close" in head
    assert set(json.loads(content)) == {"error"}


def test_white_space_in_a_head_takes_no_time(server):
    field = f"A:{' ' * 30_000}"
    began = time.monotonic()
    assert asked(server, "GET /nowhere HTTP/1.1", f"{field}\x01")[0] == 400
    assert asked(server, "GET /nowhere HTTP/1.1", f"{field}b")[0] == 404
    assert time.monotonic() - began < 1.0


TEXT = st.text("GET /HTP.1\r\n:abX0\x00\x7fé ", max_size=60)
CHANGED = st.tuples(st.integers(0, 60), st.integers(0, 3), TEXT.map(lambda text: text[:3]))
HEAD = "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nX-Y: z\r\n\r\n"


@given(st.lists(CHANGED, max_size=3))
@example([(3, 1, "\t")])
def test_no_head_is_accepted_that_h11_would_refuse_or_read_otherwise(changes):
    h11 = pytest.importorskip("h11", reason="h11 is not installed")
    text = HEAD
    for place, length, put in changes:
        text = text[:place] + put + text[place + length :]
    head = text.encode("latin-1").partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    try:
        method, target, fields, version = web_server._parsed(head)
        body = web_server._Body(None, None, fields, version)
    except Refused:
        return
    other = h11.Connection(h11.SERVER)
    other.receive_data(head)
    request = other.next_event()
    assert (request.method.decode(), request.target.decode()) == (method, target)
    assert {name.decode() for name, _ in request.headers} == set(fields)
    assert body.whole == isinstance(other.next_event(), h11.EndOfMessage)


@pytest.mark.parametrize("half", ["", "G", "GET / HTTP/1.1\r\nHost:", "POST /echo HTTP/1.1\r\nHERE\r\n"])
def test_who_is_silent_is_not_waited_for(server, half, monkeypatch):
    monkeypatch.setattr(web_site, "PATIENCE", 0.1)
    if half.endswith("\r\n"):
        half = f"{half.replace('HERE', host_of(server))}Content-Length: 3\r\n\r\n1"
    with connect(server) as client:
        client.sendall(half.encode())
        answer = received(client)
    assert (b" 408 " in answer) == ("Length" in half)


def test_who_takes_nothing_is_cut_off(server, monkeypatch):
    monkeypatch.setattr(web_site, "PATIENCE", 0.2)
    with connect(server, room=4096) as client:
        client.sendall(f"GET / HTTP/1.1\r\n{host_of(server)}\r\n\r\n".encode() * 20)
        assert client.recv(1) == b"H"
        deadline = time.monotonic() + 20
        while server._connections and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not server._connections
    assert asked(server, "GET / HTTP/1.1") == (200, LARGE)


def test_who_leaves_in_the_middle_of_an_answer_is_not_told_of(server, caplog, capfd):
    for _ in range(5):
        with connect(server, room=4096) as client:
            client.sendall(f"GET / HTTP/1.1\r\n{host_of(server)}\r\n\r\n".encode())
            client.recv(1000)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert asked(server, "GET / HTTP/1.1") == (200, LARGE)
    assert (caplog.records, capfd.readouterr().err) == ([], "")


def test_connections_take_no_threads(server):
    before = threading.active_count()
    silent = [connect(server) for _ in range(50)]
    assert asked(server, "HEAD / HTTP/1.1")[0] == 200
    assert threading.active_count() <= before
    for client in silent:
        client.close()


def test_only_so_many_connections_are_taken_and_others_wait(monkeypatch):
    monkeypatch.setattr(web_server, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(web_site, "PATIENCE", 0.1)
    with running() as server:
        silent = [connect(server) for _ in range(20)]
        assert asked(server, "HEAD / HTTP/1.1")[0] == 200
        for client in silent:
            client.close()


def test_there_are_fewer_connections_than_descriptors(monkeypatch):
    resource = pytest.importorskip("resource")
    for limit, least, most in (
        (64, 1, 64 - web_server.SPARE),
        (10, 1, 1),
        (resource.RLIM_INFINITY, 1000, 1000),
    ):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, limit))
        assert least <= web_server._most_connections() <= most


def test_without_descriptors_one_line_is_told(server, monkeypatch, caplog):
    left = [OSError(24, "Too many open files")] * 3

    class Opened:
        def accept(self):
            if left:
                raise left.pop()
            return opened.accept()

    opened = server.socket
    monkeypatch.setattr(server, "socket", Opened())
    for _ in range(2):  # the first may be taken by the call that began before
        assert asked(server, "HEAD / HTTP/1.1")[0] == 200
    assert not left
    assert [record.message for record in caplog.records] == [
        "connections cannot be accepted: Too many open files"
    ]


def test_a_fault_is_told_once_and_answered_as_json(server, caplog):
    for _ in range(3):
        code, content = asked(server, "GET /fault HTTP/1.1")
        assert (code, json.loads(content)) == (500, {"error": "a fault of the server: KeyError"})
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def slow(server, found: list[tuple[int, bytes]]) -> None:
    found.append(asked(server, "GET /slow HTTP/1.1"))


def started(server, count: int, found: list[tuple[int, bytes]]) -> list[threading.Thread]:
    """Clients that ask for what takes long; all requests have arrived."""
    clients = [threading.Thread(target=slow, args=(server, found)) for _ in range(count)]
    for client in clients:
        client.start()
    deadline = time.monotonic() + 20
    while sum(each.busy for each in list(server._connections.values())) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return clients


def test_what_runs_when_it_is_stopped_is_finished():
    found: list[tuple[int, bytes]] = []
    with running() as server:
        clients = started(server, 2, found)
        with connect(server) as idle:
            server.stop()
            assert idle.recv(10) == b""
        server.site.gate.set()
        for client in clients:
            client.join(20)
    assert found == [(200, b'"done"')] * 2


def test_what_takes_longer_than_the_grace_is_answered_with_503(monkeypatch):
    monkeypatch.setattr(web_server, "GRACE", 0.2)
    found: list[tuple[int, bytes]] = []
    with running() as server:
        clients = started(server, 3, found)
        server.stop()
        for client in clients:
            client.join(20)
    assert [(code, json.loads(content)) for code, content in found] == [
        (503, {"error": web_site.STOPPING})
    ] * 3


def test_stopping_at_once_leaves_no_grace():
    found: list[tuple[int, bytes]] = []
    with running() as server:
        started(server, 1, found)
        began = time.monotonic()
    assert time.monotonic() - began < web_server.GRACE
    assert found[0][0] == 503


@pytest.mark.parametrize("end", ["stop", "server_close"])
def test_a_server_that_never_served_is_closed(end):
    opened = listening("127.0.0.1", 0)
    server = WebServer(Trial(Place("127.0.0.1", opened.getsockname()[1])), opened)
    getattr(server, end)()
    if end == "stop":
        server.serve_forever()
    assert opened.fileno() == -1


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no SIGUSR1")
def test_a_signal_that_comes_as_soon_as_it_is_ready_is_heeded_and_waits_for_no_other():
    free, found = threading.Lock(), []

    def heeded() -> None:
        found.append(free.acquire(timeout=5))
        if len(found) == 1:
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.1)
        else:
            server.stop()
        free.release()

    opened = listening("127.0.0.1", 0)
    server = WebServer(Trial(Place("127.0.0.1", opened.getsockname()[1])), opened)
    server.signals[signal.SIGUSR1] = heeded
    former = signal.getsignal(signal.SIGUSR1)
    server.serve_forever(lambda: os.kill(os.getpid(), signal.SIGUSR1))
    assert found == [True, True]
    assert signal.getsignal(signal.SIGUSR1) == former


def admitted(place: Place, **fields: str) -> bool:
    try:
        place.admit(fields)
    except Refused:
        return False
    return True


def test_names_of_this_machine_are_known_in_any_spelling():
    here, usual = partial(admitted, Place("127.0.0.1", 8018)), partial(admitted, Place("localhost", 80))
    assert all(here(host=f"{name}:8018") for name in ("127.0.0.1", "LOCALHOST", "[::1]"))
    assert all(usual(host=name) for name in ("127.0.0.1", "localhost:80", "localhost:"))
    for name in (
        "127.0.0.1",
        "",
        "evil.example:8018",
        "127.0.0.1.evil.example:8018",
        "localhost:8018, x",
        "::1",
    ):
        assert not here(host=name)


def test_pages_of_other_origins_are_refused():
    here = partial(admitted, Place("127.0.0.1", 80), host="127.0.0.1")
    assert here(origin="http://127.0.0.1")
    assert not any(
        here(origin=o) for o in ("https://127.0.0.1", "null", "http://127.0.0.1:81", "http://a", "")
    )


def test_a_proxy_may_speak_https_for_a_server_with_a_token():
    place = partial(admitted, Place("0.0.0.0", 8018, "t" * 16))
    for origin, host, may in (
        ("https://name.example", "name.example", True),
        ("https://NAME.example:443", "name.example", True),
        ("https://name.example:8443", "name.example:8443", True),
        ("http://name.example", "name.example:80", True),
        ("https://other.example", "name.example", False),
        ("https://name.example", "127.0.0.1:8018", False),
        ("ftp://name.example", "name.example", False),
    ):
        assert place(origin=origin, host=host) == may
