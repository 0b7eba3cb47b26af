"""A server of one model: sentence pairs as JSON in, links out; with Starlette and uvicorn (dualign[serve]).

It reads and writes no files on request. It answers its own host name only (a page elsewhere could otherwise
reach it by rebinding its own name to 127.0.0.1), pages of its own origin only, and, where it does not listen
on this machine alone, only who has the token. Bodies, pairs and waiting times have limits.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import arg, bundle, opt
from dualign.commands.bundles import Computing, Evidence
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.options import Options

if TYPE_CHECKING:
    from dualign.aligner import Aligner

PORT = 8018
"""Unlike that of the page for one's own machine, `dualign view`."""

MOST_BYTES = 4 << 20
"""The largest body of a request."""

MOST_DISCARDED = 64 << 20
"""How much of a larger one is read, and thrown away, before the connection is closed."""

PATIENCE = 10.0
"""Seconds in which the head of a request must come, and then its body."""

MOST_CONNECTIONS = 1000

LOCAL = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Serve(Command):
    """Serve links over HTTP: sentence pairs as JSON in, links out.

    POST /align takes a pair or a batch; /health, /openapi.json; a page at / draws the links of two
    sentences. It answers this machine only, unless --host says otherwise; then a token is needed.
    """

    load: str = arg("A saved model.", metavar="MODEL", file="in")
    host: str = opt(LOCAL[0], "Where to listen.", metavar="ADDRESS")
    port: int = opt(PORT, "Port; 0: any free one.", metavar="N", least=0, most=65535)
    token: str | None = opt(
        None,
        "Token that clients must send (or DUALIGN_TOKEN); with --host, one is made if not given.",
        metavar="TEXT",
    )
    glossary: str | None = opt(
        None, "Known translations, source<TAB>target on a line, linked where both occur.",
        metavar="FILE", file="in",
    )  # fmt: skip
    options: dict[str, Any] = bundle(Options, "decoder threshold", assignable=True, deferred=True)
    computing: Computing = bundle(Computing, "threads")

    @property
    def main_output(self) -> str:
        """Return nothing: no result is shown in a terminal."""
        return ""

    def run(self, tell: Reporter) -> Server:
        """Return a server, whose `serve_forever` is still to be called."""
        from dualign.aligner import Aligner
        from dualign.commands.warming import DECODERS, WORD_ALIGNER, compile_kernels
        from dualign.text.tokenizing import PLAIN

        _uvicorn()
        aligner = Aligner.load(self.load, threads=self.computing.threads).set_options(**self.options)
        cutting = () if aligner.cutting == PLAIN else ("cutting",)
        names = DECODERS.get(aligner.options.decoder, WORD_ALIGNER)
        compile_kernels(tell.note, *names, "lines", *cutting)
        aligner.constraints = Evidence(self.glossary).read_glossary(self.computing.errors, aligner.cutting)
        token = self.token or os.environ.get("DUALIGN_TOKEN") or None
        return Server(aligner, self.host, self.port, token, self.computing.threads)

    def show(self, result: Server, tell: Reporter) -> None:
        """Serve until somebody ends it."""
        # The address is the result, not a note: it is shown even when quiet.
        print(result.place.address, flush=True)
        tell.note("{model} at {address}; Ctrl-C ends it", model=self.load, address=result.place.address)
        result.serve_forever()


class Place(NamedTuple):
    """Where to listen, and who is let in: `token` is None where nobody is asked for one."""

    host: str
    port: int
    token: str | None

    @property
    def address(self) -> str:
        """What to open in a browser; the token stands behind the `#`, which browsers do not send."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + ("" if self.token is None else f"#{self.token}")


class Server:
    """Serves an aligner until it is told to stop; the socket is open from the start."""

    def __init__(
        self, aligner: Aligner, host: str, port: int, token: str | None, threads: int | None = None
    ) -> None:
        uvicorn = _uvicorn()
        if token is not None and (not token.isascii() or not token.isprintable() or len(token) < 16):
            raise UsageError("a token has at least 16 printable ASCII characters; leave it out to get one")
        if token is None and host not in LOCAL:
            token = secrets.token_urlsafe(24)
        self._socket = _listening(host, port)
        self.place = Place(host, self._socket.getsockname()[1], token)
        self._server = uvicorn.Server(
            uvicorn.Config(
                application(aligner, self.place, threads),
                http=_patient(),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",  # whoever sends nonsense must not fill our terminal
                access_log=False,
                server_header=False,
                timeout_keep_alive=int(PATIENCE),
                timeout_graceful_shutdown=5,
                limit_concurrency=MOST_CONNECTIONS,
            )
        )

    def serve_forever(self) -> None:
        """Answer until a signal, which is then raised as without a server, or `stop` on another thread."""
        with self._socket:
            self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """End it."""
        self._server.should_exit = True


def _uvicorn() -> Any:
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise UsageError(
            f"the server needs Starlette and uvicorn ({error.name} is missing); "
            "install them with: pip install 'dualign[serve]'"
        ) from None
    return uvicorn


def _listening(host: str, port: int) -> socket.socket:
    listening = None
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.socket(*found[:3])  # named as TCP, or asyncio would not send at once
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(found[4])
        listening.listen(128)  # from now on: who is told the address may come at once
        return listening
    except OSError as error:
        if listening is not None:
            listening.close()
        raise DataError(
            f"port {port} of {host} cannot be used ({error.strerror or error}); choose another"
        ) from None


def _patient() -> type:
    """Uvicorn's protocol, which waits for the head of a request only for so long."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Patient(H11Protocol):  # type: ignore[misc]
        _deadline: Any = None

        def _between_requests(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _hurry(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
            self._deadline = self.loop.call_later(PATIENCE, self._give_up)

        def _give_up(self) -> None:
            if self._between_requests() and not self.transport.is_closing():
                self.transport.close()

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._hurry()

        def data_received(self, data: bytes) -> None:
            begins = self._between_requests()
            super().data_received(data)
            if begins and self._between_requests():
                return  # still no whole head: the clock goes on
            self._hurry()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._hurry()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
            super().connection_lost(exc)

    return Patient


def _turned_away(place: Place, headers: Mapping[str, str]) -> str | None:
    """What to tell who must not be answered; None for everybody else."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if place.host in LOCAL and host not in {
        f"{name}:{place.port}" for name in ("127.0.0.1", "localhost", "[::1]")
    }:
        return "this server answers its own machine only"
    if origin is not None and origin != f"http://{host}":
        return "this server answers its own page only, no other origin"
    return None


async def _body(request: Any) -> bytes:
    """The body of a request, if it comes in time and is not too large."""
    from dualign.commands.requests import Refused

    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                size += len(part)
                if size <= MOST_BYTES:
                    body += part
                elif size > MOST_DISCARDED:
                    break
    except TimeoutError:
        raise Refused(408, f"the request did not come to its end in {PATIENCE:g} seconds") from None
    if size > MOST_BYTES:
        # Read to its end, if that is near: who is still sending would not see the answer.
        raise Refused(413, f"a request has at most {MOST_BYTES:,} bytes; send fewer pairs at a time")
    return bytes(body)


def application(aligner: Aligner, place: Place, threads: int | None = None) -> Any:
    """The ASGI application of an aligner, which is used on several threads at once, each pair on one."""
    from anyio import CapacityLimiter, to_thread
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route

    from dualign._core import release
    from dualign.commands.requests import Answerer, Refused, description
    from dualign.show.viewer import alignment_page

    answerer = Answerer(aligner)
    limiter = CapacityLimiter(aligner.threads if threads is None else threads)
    page, described = alignment_page().encode(), json.dumps(description(), indent=1).encode()
    health = json.dumps({"status": "ok", "dualign": release()}).encode()

    def reply(code: int, body: bytes, kind: str = "application/json") -> Response:
        headers = {
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }
        return Response(body, code, headers, media_type=kind)

    def refusal(code: int, message: str) -> Response:
        response = reply(code, json.dumps({"error": message}).encode())
        if code in (408, 413):
            response.headers["Connection"] = "close"  # what is left of the body is not read
        if code == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response

    async def align(request: Request) -> Response:
        if place.token is not None:
            given = request.headers.get("authorization", "").encode("latin-1", "replace")
            if not hmac.compare_digest(given, f"Bearer {place.token}".encode()):
                return refusal(401, "send the header `Authorization: Bearer TOKEN`")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return refusal(415, "send JSON, with `Content-Type: application/json`")
        try:
            body = await _body(request)
            return reply(200, await to_thread.run_sync(answerer.answer, body, limiter=limiter))
        except Refused as error:
            return refusal(error.code, str(error))
        except ClientDisconnect:
            return refusal(400, "gone")

    def guarded(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def checked(request: Request) -> Response:
            turned_away = _turned_away(place, request.headers)
            return await answer(request) if turned_away is None else refusal(403, turned_away)

        return checked

    def fixed(body: bytes, kind: str = "application/json") -> Callable[[Request], Awaitable[Response]]:
        async def answer(_: Request) -> Response:
            return reply(200, body, kind)

        return guarded(answer)

    async def nothing(_: Request, __: Exception) -> Response:
        return refusal(404, "nothing here; see /openapi.json")

    async def another_method(request: Request, error: Exception) -> Response:
        allowed = ", ".join(sorted(error.headers["Allow"].split(", ")))  # type: ignore[attr-defined]
        response = refusal(405, f"{request.url.path} does not answer {request.method:.20}; send {allowed}")
        response.headers["Allow"] = allowed
        return response

    routes = [
        Route("/", fixed(page, "text/html; charset=utf-8"), methods=["GET"]),
        Route("/health", fixed(health), methods=["GET"]),
        Route("/openapi.json", fixed(described), methods=["GET"]),
        Route("/align", guarded(align), methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={404: nothing, 405: another_method})
