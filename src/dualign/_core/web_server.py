"""A small HTTP/1.1 server of a `Site`, on asyncio, for a page of one's own machine and for programs.

It believes nobody. Requests are read strictly, as RFC 9112 has them, and what could be read in two ways is
refused. Heads, bodies and connections are limited in size and number, and each step of a client in time: to
send a head, to send a body, to take a piece of the answer. Whoever is too slow is cut off, and what is sent
at the end of a connection is thrown away for a while, so that a client sees why it ends.

A signal ends it gracefully: no new connections, idle ones closed, `GRACE` for what runs; what has no answer
by then gets a 503. Another signal ends the grace.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from time import sleep
from types import FrameType
from typing import Any, Self

from dualign._core import web_site
from dualign._core.errors import DataError
from dualign._core.web_site import LOG, MOST_DISCARDED, STOPPING, Refused, Reply, Request, Site

GRACE = 5.0
"""Seconds in which requests may come to their end after a signal."""

MOST_CONNECTIONS = 1000
"""At the same time; further clients wait until one of them is closed. Fewer if descriptors are few."""

SPARE = 16
"""Descriptors that are left for other things: a model that is loaded again, a library."""

TICK = 0.1
"""Seconds between two looks at whether it is to stop."""

MOST_HEAD = 32 << 10
PIECE = 64 << 10

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]"
_REQUEST_LINE = re.compile(rb"(%b{1,40}) ([!-~]+) HTTP/1\.([01])" % _TOKEN)
# With the white space around a value: a pattern that leaves it out may take seconds for a line of it.
_FIELD = re.compile(rb"(%b+):([\t -~\x80-\xff]*)" % _TOKEN)
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[\t -~\x80-\xff]*)?\r\n")
_LENGTH = re.compile(r"[0-9]{1,18}")


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens from now on: who is told the address may come at once."""
    opened = None
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        opened = socket.socket(*found[:3])
        if os.name == "posix":  # elsewhere it would let two servers share a port
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Small, or a slow client would seem to take nothing for long: all that is sent goes there first.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * PIECE)
        opened.bind(found[4])
        opened.listen(128)
        opened.settimeout(TICK)
        return opened
    except OSError as error:
        if opened is not None:
            opened.close()
        raise DataError(
            f"port {port} of {host} cannot be used ({error.strerror or error}); choose another port"
        ) from None


class WebServer:
    """Serves a site until it is told to stop; `socket` listens already."""

    def __init__(self, site: Site, opened: socket.socket) -> None:
        self.site, self.socket = site, opened
        self.signals: dict[int, Callable[[], None]] = {}
        """What other signals do while it serves than those that end it."""
        self.stopping = False
        """Whether no connection shall go on after the request that it is at."""
        self._loop, self._serving = asyncio.new_event_loop(), threading.Lock()
        self._deaf, self._hurried = asyncio.Event(), self._loop.create_future()
        self._connections: dict[asyncio.Task[None], _Connection] = {}

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return self.site.place.address

    def stop(self, at_once: bool = False) -> None:
        """Have it end, from any thread; `at_once` without grace."""
        self.stopping = True
        if at_once:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._hurried.cancel)

    def serve_forever(self, ready: Callable[[], object] = bool) -> None:
        """Answer until a signal, which is then raised as without a server, or `stop` on another thread.

        `ready` is called once signals have their meaning, for instance to print the address.
        """
        caught: list[int] = []
        former: dict[int, Any] = {}

        def heed(number: int, _: FrameType | None) -> None:
            if number in self.signals:
                # Not here, in the midst of anything, perhaps of itself.
                self._loop.call_soon_threadsafe(self.signals[number])
            else:
                self.stop(at_once=bool(caught))
                caught.append(number)

        with self._serving:
            if self._loop.is_closed():
                return
            # On a thread of its own: this one may have an event loop already, as in a notebook.
            answering = threading.Thread(target=lambda: self._loop.run_until_complete(self._answer()))
            if threading.current_thread() is threading.main_thread():
                former = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, *self.signals)}
                former = {n: each for n, each in former.items() if each not in (None, signal.SIG_IGN)}
            try:
                for number in former:
                    signal.signal(number, heed)
                answering.start()
                ready()
                self._accept()
            finally:
                self.stop()
                self.socket.close()
                self._loop.call_soon_threadsafe(self._deaf.set)
                if answering.ident is not None:
                    answering.join()
                for number, handler in former.items():
                    signal.signal(number, handler)
                self.site.wait()
                self._close()
        if caught:
            signal.raise_signal(caught[0])

    def _accept(self) -> None:
        room = threading.Semaphore(_most_connections())
        told = False
        while not self.stopping:
            if not room.acquire(timeout=TICK):
                continue
            try:
                client, _ = self.socket.accept()
                self._loop.call_soon_threadsafe(self._begin, client, room)
                continue
            except TimeoutError:
                pass
            except OSError as error:  # no descriptors, perhaps: somebody else has taken them
                if not told:
                    LOG.warning("connections cannot be accepted: %s", error.strerror or error)
                told = True
                sleep(TICK)
            room.release()

    def _begin(self, client: socket.socket, room: threading.Semaphore) -> None:
        """Serve a client, on the loop's thread."""
        connection = _Connection(self)
        task = self._loop.create_task(connection.run(client))
        self._connections[task] = connection

        def closed(task: asyncio.Task[None]) -> None:
            del self._connections[task]
            room.release()

        task.add_done_callback(closed)

    def server_close(self) -> None:
        """Stop; give back the port, also of a server that never served."""
        self.stop()
        with self._serving:
            self._close()

    def _close(self) -> None:
        self.socket.close()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server_close()

    async def _answer(self) -> None:
        await self._deaf.wait()
        await asyncio.sleep(0.05)  # what has arrived is a request, and its connection not idle
        for task, connection in self._connections.items():
            if not connection.busy:
                task.cancel()
        if self._connections:
            all_done = asyncio.gather(*self._connections, return_exceptions=True)
            await asyncio.wait([all_done, self._hurried], timeout=GRACE, return_when=asyncio.FIRST_COMPLETED)
        self.site.end()
        for _ in range(2):  # the first time, they say that they are stopped
            if tasks := [*self._connections]:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks, timeout=1.0)


def _most_connections() -> int:
    try:
        import resource

        allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        left = allowed - len(os.listdir("/dev/fd")) - SPARE
        return MOST_CONNECTIONS if allowed == resource.RLIM_INFINITY else max(1, min(MOST_CONNECTIONS, left))
    except (ImportError, OSError):
        return MOST_CONNECTIONS


class _Connection:
    """A client, request by request; `busy` from the end of a head until its answer is sent."""

    def __init__(self, server: WebServer) -> None:
        self.server, self.busy = server, False

    async def run(self, client: socket.socket) -> None:
        """Answer until one of both sides has enough."""
        try:
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.reader, self.writer = await asyncio.open_connection(sock=client, limit=MOST_HEAD)
        except (OSError, asyncio.CancelledError):
            client.close()
            return
        self.writer.transport.set_write_buffer_limits(0)  # what is drained has been taken
        try:
            while await self._answer_next():
                self.busy = False
        except (OSError, EOFError, TimeoutError, asyncio.CancelledError):
            pass  # gone, too slow, or idle at the end
        finally:
            self.writer.transport.abort()

    async def _answer_next(self) -> bool:
        """Answer a request; whether there may be another."""
        body: _Body | None = None
        method = ""
        try:
            async with asyncio.timeout(web_site.PATIENCE):
                head = await self._head()
            self.busy = True
            method, target, fields, version = _parsed(head)
            body = _Body(self.reader, self.writer, fields, version)
            reply = await self.server.site.answer(Request(method, target, fields, body.read))
        except Refused as refused:
            reply = Reply.of_refusal(refused)
        except asyncio.CancelledError:
            if not self.busy:
                raise
            reply = Reply.of_refusal(Refused(503, STOPPING))
        again = (
            body is not None
            and body.whole
            and version == 1
            and "close" not in fields.get("connection", "").lower()
            and "Connection" not in reply.more
            and not self.server.stopping
        )
        await self._send(reply, again, with_body=method != "HEAD")
        if body is None or not body.whole:
            await self._linger()
        return again

    async def _head(self) -> bytes:
        """Read a head; what cannot begin one is not waited for."""
        try:
            first = await self.reader.readexactly(1)
            if not re.match(rb"[A-Za-z\r]", first):
                raise Refused(400, "not HTTP")
            return (first + await self.reader.readuntil(b"\r\n\r\n")).removeprefix(b"\r\n")
        except asyncio.LimitOverrunError:
            raise Refused(431, f"the head of a request has at most {MOST_HEAD:,} bytes") from None

    async def _send(self, reply: Reply, again: bool, with_body: bool) -> None:
        phrase = HTTPStatus(reply.code).phrase
        fields = {
            "Date": formatdate(usegmt=True),
            **reply.fields,
            **({} if again else {"Connection": "close"}),
        }
        head = "".join([f"HTTP/1.1 {reply.code} {phrase}\r\n", *(f"{k}: {v}\r\n" for k, v in fields.items())])
        body = memoryview(reply.body if with_body else b"")
        self.writer.write(f"{head}\r\n".encode("latin-1", "replace") + body[:PIECE])
        for begin in range(0, max(1, len(body)), PIECE):
            self.writer.write(body[begin : begin + PIECE] if begin else b"")
            async with asyncio.timeout(web_site.PATIENCE):
                await self.writer.drain()

    async def _linger(self) -> None:
        """Throw away what still comes: a client that is answered with a reset does not see the answer."""
        left = MOST_DISCARDED
        if self.writer.can_write_eof():
            self.writer.write_eof()
        async with asyncio.timeout(web_site.PATIENCE):
            while left > 0 and (part := await self.reader.read(PIECE)):
                left -= len(part)


def _parsed(head: bytes) -> tuple[str, str, dict[str, str], int]:
    """Method, target and fields of a head, and the 0 or 1 of its version; fields of one name are joined."""
    first, *lines = head[:-4].split(b"\r\n")
    found = _REQUEST_LINE.fullmatch(first)
    if found is None:
        raise Refused(400, "not HTTP: a request begins with a line such as `GET / HTTP/1.1`")
    fields: dict[str, str] = {}
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise Refused(400, "not HTTP: a header is a line such as `Host: 127.0.0.1`")
        name, value = field[1].decode().lower(), field[2].strip(b" \t").decode("latin-1")
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    if "," in fields.get("host", "," if found[3] == b"1" else ""):
        raise Refused(400, "not HTTP: there is one `Host`")
    return found[1].decode(), found[2].decode(), fields, int(found[3])


class _Body:
    """What follows a head: `left` bytes, of the whole or of a chunk; `whole` at its end."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fields: dict[str, str], version: int
    ) -> None:
        self._reader, self._writer = reader, writer
        coding, length = fields.get("transfer-encoding"), fields.get("content-length", "0")
        if coding is not None and ("content-length" in fields or version == 0):
            raise Refused(400, "not HTTP: a body has either a length or chunks, and these from HTTP/1.1 on")
        if coding is not None and coding.lower() != "chunked":
            raise Refused(501, f"the transfer coding {coding[:40]!r} is not known; send chunks or a length")
        if not _LENGTH.fullmatch(length):
            raise Refused(400, "not HTTP: `Content-Length` is a whole number")
        self._chunked, self._left = coding is not None, int(length)
        self.whole = not self._chunked and self._left == 0
        self._awaited = version == 1 and fields.get("expect", "").lower() == "100-continue"

    async def read(self) -> bytes:
        """Read some bytes; none at the end."""
        try:
            return await self._read()
        except asyncio.LimitOverrunError:
            raise Refused(400, "not HTTP: a line without an end in the body") from None
        except (OSError, EOFError):
            raise ConnectionResetError("the request ends early") from None

    async def _read(self) -> bytes:
        if self._awaited and not self.whole:
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._awaited = False
        if self._chunked and self._left == 0 and not self.whole:
            await self._next_chunk()
        if self.whole:
            return b""
        part = await self._reader.read(min(self._left, PIECE))
        if not part:
            raise EOFError
        self._left -= len(part)
        if self._left == 0 and self._chunked and await self._reader.readexactly(2) != b"\r\n":
            raise Refused(400, "not HTTP: a chunk has another length than it says")
        self.whole = self._left == 0 and not self._chunked
        return part

    async def _next_chunk(self) -> None:
        found = _CHUNK.fullmatch(await self._reader.readuntil(b"\r\n"))
        if found is None:
            raise Refused(400, "not HTTP: a chunk begins with its length, in hexadecimal digits")
        self._left = int(found[1], 16)
        if self._left == 0:  # fields may follow, which nobody needs
            size = 0
            while (line := await self._reader.readuntil(b"\r\n")) != b"\r\n":
                size += len(line)
                if size > MOST_HEAD:
                    raise Refused(431, f"the end of a request has at most {MOST_HEAD:,} bytes")
            self.whole = True
