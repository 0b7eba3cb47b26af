from __future__ import annotations

import http.client
import socket
import threading

import pytest

from dualign._core.errors import DataError
from dualign.show.viewer import Viewer


@pytest.fixture
def server():
    with Viewer("<p>page é</p>", 2, lambda n: f"line {n}") as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
    thread.join(20)
    assert not thread.is_alive()


def ask(server, path, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.site.place.port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", f"127.0.0.1:{server.site.place.port}" if host is None else host)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers
    finally:
        connection.close()


def test_page_and_posteriors(server):
    status, body, headers = ask(server, "/")
    assert (status, body) == (200, "<p>page é</p>")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert ask(server, "/posteriors/1")[:2] == (200, "line 1")
    assert ask(server, "/", host=f"localhost:{server.site.place.port}")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/posteriors/2", "/posteriors/-1", "/posteriors/1.5", "/posteriors/", "/posteriors/1/", "/index.html",
        "/../etc/passwd", "/..%2f..%2fetc/passwd", "/etc/passwd", "/?x", "/posteriors/99999999999999999999",
    ],
)  # fmt: skip
def test_nothing_else_is_served(server, path):
    assert ask(server, path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_refused(server, method):
    assert ask(server, "/", method)[0] == 405


@pytest.mark.parametrize("host", ["", "example.org", "127.0.0.1", "example.org:80"])
def test_other_hosts_are_refused(server, host):
    status, body, _ = ask(server, "/", host=host)
    assert status == 403
    assert "page" not in body


def test_server_is_bound_to_this_machine_alone(server):
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.site.place.port}/"
    with socket.socket() as other:
        # All of 127/8 is this machine, but only one address was bound.
        assert other.connect_ex(("127.0.0.2", server.site.place.port)) != 0


def test_without_a_model_there_are_no_posteriors():
    with Viewer("x", 1) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        assert ask(made, "/posteriors/0")[0] == 404


def test_port_that_is_taken_is_said(server):
    with pytest.raises(DataError, match=f"port {server.site.place.port} of 127.0.0.1 cannot be used"):
        Viewer("x", 1, None, server.site.place.port)
