"""A server of one model: sentence pairs as JSON in, links out.

It reads and writes no files on request, and answers whom `dualign._core.web_site` lets in. Where it does not
listen on this machine alone, only who has the token may ask for links. A model whose file is replaced is
loaded again; requests go on being answered by the former one until the new one is verified and ready.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from dualign._core.errors import DualignError, UsageError
from dualign._core.fields import arg, bundle, opt
from dualign._core.web_server import GRACE, WebServer, listening
from dualign._core.web_site import LOCAL, Answer, Place, Refused, Reply, Request, Site, fixed
from dualign.commands.bundles import Computing, Evidence
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.options import Options

if TYPE_CHECKING:
    from dualign.aligner import Aligner

PORT = 8018
"""Unlike that of the page for one's own machine, `dualign view`."""

LOOK = 1.0
"""Seconds between two looks at the model's file."""


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
        from dualign.commands.warming import DECODERS, WORD_ALIGNER, compile_kernels
        from dualign.text.tokenizing import PLAIN

        # As it is before it is read: what changes from now on is noticed.
        stamp = _stamp(self.load)
        aligner = self._aligner()
        cutting = () if aligner.cutting == PLAIN else ("cutting",)
        names = DECODERS.get(aligner.options.decoder, WORD_ALIGNER)
        compile_kernels(tell.note, *names, "lines", *cutting)
        token = self.token or os.environ.get("DUALIGN_TOKEN") or None
        model = ModelFile(self.load, self._aligner, stamp, tell)
        return Server(aligner, self.host, self.port, token, self.computing.threads, model)

    def _aligner(self) -> Aligner:
        from dualign.aligner import Aligner

        aligner = Aligner.load(self.load, threads=self.computing.threads).set_options(**self.options)
        aligner.constraints = Evidence(self.glossary).read_glossary(self.computing.errors, aligner.cutting)
        return aligner

    def show(self, result: Server, tell: Reporter) -> None:
        """Serve until somebody ends it."""

        def ready() -> None:
            # The address is the result, not a note: it is shown even when quiet.
            print(result.address, flush=True)
            tell.note("{model} at {address}; Ctrl-C ends it", model=self.load, address=result.address)

        result.serve_forever(ready)


class ModelFile(NamedTuple):
    """The file of a model that is served: how to load it again, and whom to tell."""

    path: str
    load: Callable[[], Aligner]
    stamp: tuple[int, ...] | None
    tell: Reporter


def _stamp(path: str) -> tuple[int, ...] | None:
    """What tells a file from the one that replaces it; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


class Server(WebServer):
    """Serves an aligner until it is told to stop; the socket is open from the start.

    With a `model`, its file is looked at every second, and loaded again when it is another one, or on SIGHUP.
    """

    def __init__(
        self,
        aligner: Aligner,
        host: str,
        port: int,
        token: str | None,
        threads: int | None = None,
        model: ModelFile | None = None,
    ) -> None:
        if token is not None and (not token.isascii() or not token.isprintable() or len(token) < 16):
            raise UsageError("a token has at least 16 printable ASCII characters; leave it out to get one")
        if token is None and host not in LOCAL:
            token = secrets.token_urlsafe(24)
        opened = listening(host, port)
        self.place = Place(host, opened.getsockname()[1], token)
        self.service = application(aligner, self.place, threads)
        super().__init__(self.service, opened)
        self.model = model
        self._look = threading.Event()
        if hasattr(signal, "SIGHUP") and model is not None:
            self.signals[signal.SIGHUP] = self._look.set

    def serve_forever(self, ready: Callable[[], object] = bool) -> None:
        """Answer until a signal, which is then raised as without a server, or `stop` on another thread.

        `ready` is called once signals have their meaning, for instance to print the address.
        """
        watching = threading.Thread(target=self._watch, name="dualign-model", daemon=True)
        watching.start()
        try:
            super().serve_forever(ready)
        finally:
            self.stop()
            self._look.set()
            watching.join(GRACE)

    def _watch(self) -> None:
        """Load the model again when its file has been replaced and is written no more, or when asked to."""
        if self.model is None:
            return
        path, load, known, tell = self.model
        last = known
        while not self.stopping:
            if asked := self._look.wait(LOOK):
                self._look.clear()
            now = _stamp(path)
            settled, last = now == last, now
            if self.stopping or not (asked or (settled and now not in (known, None))):
                continue
            known = now
            try:
                self.service.switch(load())
            except Exception as error:
                why = error.spelled(tell.spell) if isinstance(error, DualignError) else repr(error)
                tell.warn("the model is not loaded again, the former one goes on: {why}", why=why)
            else:
                tell.note("{model}: loaded again", model=path)


class Service(Site):
    """An ASGI application that aligns what it is asked to, each request on one thread."""

    nowhere = "nothing here; see /openapi.json"

    def __init__(self, aligner: Aligner, place: Place, threads: int | None = None) -> None:
        from dualign._core import release
        from dualign.commands.requests import Answerer, description
        from dualign.show.viewer import alignment_page

        described = json.dumps(description(token=place.token is not None), indent=1).encode()
        health = json.dumps({"status": "ok", "dualign": release()}).encode()
        paths: dict[str, dict[str, Answer]] = {
            "/": {"GET": fixed(alignment_page().encode(), "text/html; charset=utf-8")},
            "/health": {"GET": fixed(health)},
            "/openapi.json": {"GET": fixed(described)},
            "/align": {"POST": self._align},
        }
        super().__init__(place, aligner.threads if threads is None else threads, paths)
        self._answerer = Answerer(aligner)

    def switch(self, aligner: Aligner) -> None:
        """Answer by another aligner from now on; requests that have begun go on with the former one."""
        from dualign.commands.requests import Answerer

        self._answerer = Answerer(aligner)

    async def _align(self, request: Request) -> Reply:
        if self.place.token is not None:
            scheme, _, given = request.fields.get("authorization", "").partition(" ")
            same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self.place.token.encode())
            if scheme.lower() != "bearer" or not same:
                text = "send the header `Authorization: Bearer TOKEN`"
                raise Refused(401, text, {"WWW-Authenticate": "Bearer"})
        kind = request.fields.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "send JSON, with `Content-Type: application/json`")
        body = await request.body()
        return Reply(200, await self.compute(partial(self._answerer.answer, body, lambda: self.ended)))

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer as an ASGI application, below another server."""
        if scope["type"] == "lifespan":
            for event in ("startup", "shutdown"):
                await receive()
                if event == "shutdown":
                    self.end()
                await send({"type": f"lifespan.{event}.complete"})
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        fields: dict[str, str] = {}
        for key, value in scope["headers"]:
            name, text = key.decode("latin-1").lower(), value.decode("latin-1")
            fields[name] = f"{fields[name]}, {text}" if name in fields else text
        ended = False

        async def read() -> bytes:
            nonlocal ended
            part = b""
            while not part and not ended:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ConnectionResetError("the client is gone")
                part, ended = message.get("body", b""), not message.get("more_body", False)
            return part

        try:
            reply = await self.answer(Request(scope["method"], scope["path"], fields, read))
        except ConnectionError:
            return
        head = [(name.lower().encode(), value.encode("latin-1")) for name, value in reply.fields.items()]
        await send({"type": "http.response.start", "status": reply.code, "headers": head})
        body = b"" if scope["method"] == "HEAD" else reply.body
        await send({"type": "http.response.body", "body": body})


def application(aligner: Aligner, place: Place, threads: int | None = None) -> Service:
    """Return the ASGI application of an aligner, which answers on several threads, each request on one."""
    return Service(aligner, place, threads)
