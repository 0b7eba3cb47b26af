"""The viewer's server: one page, and posteriors on demand, for this machine only.

It is bound to 127.0.0.1, answers GET for `/` and `/posteriors/N` and nothing else, reads no file on request,
and refuses requests for any other host name (a page elsewhere could otherwise reach it by rebinding its own
name to 127.0.0.1).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dualign.core.errors import DataError

LOCAL = "127.0.0.1"

_POSTERIORS = re.compile(r"/posteriors/([0-9]{1,9})")


class Viewer(ThreadingHTTPServer):
    """Serves `page`, and what `posteriors(n)` says of pair n of `pairs` where there is such a function.

    `port` 0 takes any that is free.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(
        self, page: str, pairs: int, posteriors: Callable[[int], str] | None = None, port: int = 0
    ) -> None:
        self.page = page.encode("utf-8", "replace")
        self.pairs = pairs
        self.posteriors = posteriors
        try:
            super().__init__((LOCAL, port), _Handler)
        except OSError as error:
            raise DataError(
                f"port {port} of {LOCAL} cannot be used ({error.strerror}); choose another port"
            ) from None

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{LOCAL}:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: Viewer
    server_version = "dualign"
    sys_version = ""

    def do_GET(self) -> None:
        ours = {f"{name}:{self.server.server_port}" for name in (LOCAL, "localhost")}
        if self.headers.get("Host", "") not in ours:
            self._answer(403, "text/plain", b"this server answers its own machine only\n")
        elif self.path == "/":
            self._answer(200, "text/html", self.server.page)
        elif (found := _POSTERIORS.fullmatch(self.path)) and self.server.posteriors is not None:
            n = int(found[1])
            if n < self.server.pairs:
                self._answer(200, "text/plain", self.server.posteriors(n).encode())
            else:
                self._answer(404, "text/plain", b"no such sentence pair\n")
        else:
            self._answer(404, "text/plain", b"nothing here\n")

    def _answer(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal belongs to the command."""
