"""What a server answers, and whom: paths with their methods, a `Place`, and threads that compute.

A page elsewhere must not reach a server of this machine by rebinding its own name to 127.0.0.1, so a `Place`
of this machine answers its own names only; and every place answers only pages of its own origin.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

R = TypeVar("R")

LOG = logging.getLogger("dualign")

LOCAL = ("127.0.0.1", "::1", "localhost")

PATIENCE = 10.0
"""Seconds in which the head of a request must come, then its body, and in which a client must take what it is
sent, piece by piece."""

MOST_BYTES = 4 << 20
"""The largest body of a request."""

MOST_DISCARDED = 64 << 20
"""How much of a larger one is read, and thrown away, before the connection is closed."""

STOPPING = "the server is being stopped; ask again"

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s\[\]:/@]*)(?::([0-9]{0,5}))?")
_PORTS = {"http": 80, "https": 443}


class Refused(Exception):  # noqa: N818 - what happened, in words
    """A request that is not answered; `code` is HTTP's, `fields` go along with the answer."""

    def __init__(self, code: int, message: str, fields: Mapping[str, str] = {}) -> None:
        super().__init__(message)
        self.code, self.fields = code, fields


class Place(NamedTuple):
    """Where to listen, and who is let in: `token` is None where nobody is asked for one."""

    host: str
    port: int
    token: str | None = None

    @property
    def address(self) -> str:
        """What to open in a browser; the token stands behind the `#`, which browsers do not send."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + ("" if self.token is None else f"#{self.token}")

    def admit(self, fields: Mapping[str, str]) -> None:
        """Refuse who asks for another host, or from a page of another origin."""
        host = fields.get("host", "")
        names = ("127.0.0.1", "localhost", "[::1]")
        if self.host in LOCAL and _authority(host, "http") not in {(name, self.port) for name in names}:
            raise Refused(403, "this server answers its own machine only")
        if "origin" in fields:
            scheme, _, page = fields["origin"].partition("://")
            # Behind a proxy that speaks HTTPS, only the page knows that it does.
            schemes = ("http",) if self.token is None else ("http", "https")
            authority = _authority(page, scheme)
            if scheme not in schemes or authority is None or authority != _authority(host, scheme):
                raise Refused(403, "this server answers its own page only, no other origin")


def _authority(host: str, scheme: str) -> tuple[str, int] | None:
    """A host and its port, if it is one; browsers leave the usual port out."""
    found = _HOST.fullmatch(host.lower())
    return (found[1], int(found[2] or _PORTS[scheme])) if found and scheme in _PORTS else None


class Request(NamedTuple):
    """What is asked: names of header `fields` are in small letters; `read` gives the next bytes of the body,
    none at its end."""

    method: str
    target: str
    fields: Mapping[str, str]
    read: Callable[[], Awaitable[bytes]]

    async def body(self) -> bytes:
        """Read the body, if it comes in time and is not too large."""
        body, size = bytearray(), 0
        try:
            async with asyncio.timeout(PATIENCE):
                while size <= MOST_DISCARDED and (part := await self.read()):
                    size += len(part)
                    if size <= MOST_BYTES:
                        body += part
        except TimeoutError:
            raise Refused(
                408, f"the request did not come to its end in {PATIENCE:g} seconds", {"Connection": "close"}
            ) from None
        if size > MOST_BYTES:
            # Read to its end, if that is near: who is still sending would not see the answer.
            text = f"a request has at most {MOST_BYTES:,} bytes; send less at a time"
            raise Refused(413, text, {"Connection": "close"})
        return bytes(body)


class Reply(NamedTuple):
    """An answer."""

    code: int
    body: bytes
    kind: str = "application/json"
    more: Mapping[str, str] = {}

    @classmethod
    def of_refusal(cls, refused: Refused) -> Reply:
        """Say what was wrong, as JSON."""
        return cls(refused.code, json.dumps({"error": str(refused)}).encode(), more=refused.fields)

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the head."""
        return {
            "Content-Type": self.kind,
            "Content-Length": str(len(self.body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            **self.more,
        }


Answer = Callable[[Request], Awaitable[Reply]]


def fixed(body: bytes, kind: str = "application/json") -> Answer:
    """Always the same answer."""

    async def answer(_: Request) -> Reply:
        return Reply(200, body, kind)

    return answer


class Site:
    """Answers requests for `paths`: each has the methods that it knows; HEAD goes with GET."""

    nowhere = "nothing here"

    def __init__(self, place: Place, threads: int, paths: Mapping[str, Mapping[str, Answer]]) -> None:
        self.place, self.paths = place, paths
        self.ended = False
        """Whether what takes long shall end now, without a result."""
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="dualign-site")
        self._failed = False

    def methods(self, target: str) -> Mapping[str, Answer]:
        """Return what answers the methods of a target, or refuse one that is not there."""
        path = target.partition("?")[0]
        if path not in self.paths:
            raise Refused(404, self.nowhere)
        return self.paths[path]

    async def answer(self, request: Request) -> Reply:
        """Answer a request; whatever goes wrong is said as JSON."""
        try:
            self.place.admit(request.fields)
            methods = self.methods(request.target)
            method = "GET" if request.method == "HEAD" else request.method
            if method not in methods:
                allowed = ", ".join([*methods, "HEAD"] if "GET" in methods else methods)
                text = f"{request.target:.60} does not answer {request.method:.20}; send {allowed}"
                raise Refused(405, text, {"Allow": allowed})
            return await methods[method](request)
        except Refused as refused:
            return Reply.of_refusal(refused)
        except ConnectionError:
            raise  # whoever asked is gone
        except Exception as error:
            # Once: whoever finds such a request must not fill our terminal.
            if not self._failed:
                LOG.exception("%s %s: a fault of ours; further ones are not shown", *request[:2])
            self._failed = True
            return Reply.of_refusal(Refused(500, f"a fault of the server: {type(error).__name__}"))

    async def compute(self, function: Callable[[], R]) -> R:
        """Call a function on one of the threads."""
        if self.ended:
            raise Refused(503, STOPPING)
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)

    def end(self) -> None:
        """Compute no more, what has not begun yet; what runs may look at `ended`."""
        self.ended = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    def wait(self) -> None:
        """Wait until nothing is computed."""
        self._threads.shutdown(cancel_futures=True)
