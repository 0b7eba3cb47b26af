"""What `python -m benchmarks.service --soak` does: clients of all kinds, good and bad, against one server.

Good clients ask for links and compare every answer with those of the two models, of which one is served at a
time: its file is replaced all the while, by renaming, by copying over it, and by damaging it. Bad clients are
silent, write slowly, do not read, leave without a word, send random bytes, or are more than there are
descriptors. Then several servers are ended by SIGTERM at a random moment. What goes wrong is returned as
text. Everything is bounded and stays on 127.0.0.1.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from dualign import Aligner
from dualign.commands.requests import Answerer
from dualign.text.samples import sample

DESCRIPTORS = 128
STARTED = """
import resource, sys
from dualign._core import web_site
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv.pop(1)),) * 2)
web_site.PATIENCE = float(sys.argv.pop(1))
from dualign.__main__ import main
main()
"""
"""Starts the command with so few descriptors, and such patience."""


class Soak:
    """A server, what its clients expect, and what they found."""

    def __init__(self, folder: Path, patience: float) -> None:
        self.patience, self.served = patience, folder / "served"
        self.models = [folder / "one", folder / "other"]
        texts = [[" ".join(words) for words in side] for side in sample()[:2]]
        Aligner(threads=1, rounds=2).fit((texts[0], texts[1])).save(self.models[0])
        Aligner(threads=1, rounds=1).fit((texts[0][:200], texts[1][:200])).save(self.models[1])
        pairs = [{"source": s, "target": t} for s, t in zip(*texts, strict=True)]
        self.bodies = [json.dumps(pair).encode() for pair in pairs[:40]]
        self.bodies.append(json.dumps({"pairs": pairs}).encode())
        answerers = [Answerer(Aligner.load(path)) for path in self.models]
        self.right = [{each.answer(body) for each in answerers} for body in self.bodies]
        self.errors = open(folder / "stderr", "w+b")  # noqa: SIM115
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.over = threading.Event()

    def start(self) -> None:
        """Start a server of the first model."""
        shutil.copyfile(self.models[0], self.served)
        words = [
            str(DESCRIPTORS),
            str(self.patience),
            "serve",
            str(self.served),
            "--port",
            "0",
            "--threads",
            "2",
        ]
        self.server = subprocess.Popen(
            [sys.executable, "-c", STARTED, *words, "--quiet"],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        assert self.server.stdout is not None
        with self.server.stdout as told:
            self.port = urlsplit(told.readline().strip()).port or 0
        self.head = f"HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"

    def connected(self, *options: tuple[int, int, Any]) -> socket.socket:
        client = socket.socket()
        try:
            client.settimeout(10 * self.patience)
            for option in options:
                client.setsockopt(*option)
            client.connect(("127.0.0.1", self.port))
        except OSError:
            client.close()
            raise
        return client

    def good(self, chance: random.Random) -> None:
        """Ask for links for a while, by one connection; all answers must be right."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        number = chance.randrange(len(self.bodies))
        tries = 2  # a connection that is closed as idle while a request is under way may be tried again
        while tries:
            try:
                client.request("POST", "/align", self.bodies[number], {"Content-Type": "application/json"})
                with client.getresponse() as answer:
                    content = answer.read()
            except (OSError, http.client.HTTPException) as error:
                tries -= 1
                if not tries and not self.over.is_set():
                    self.wrong.append(f"a good client got no answer: {error!r}")
                client.close()
                continue
            if answer.status == 200 and content in self.right[number]:
                self.seen["right answers"] += 1
            elif answer.status == 503 and self.over.is_set():
                self.seen["answers 503 while it stops"] += 1
            else:
                self.wrong.append(f"{answer.status}, {content[:200]!r}")
            tries = 0 if chance.random() < 0.1 else 2
            number = chance.randrange(len(self.bodies))
        client.close()

    def silent(self, chance: random.Random) -> None:
        with self.connected() as client:
            client.sendall(b"POST /align"[: chance.randrange(12)])
            client.recv(1000)

    def slow_reader(self, chance: random.Random) -> None:
        with self.connected((socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)) as client:
            client.sendall(f"GET /openapi.json {self.head}\r\n".encode() * chance.randrange(1, 200))
            self.over.wait(1.5 * self.patience)

    def slow_writer(self, chance: random.Random) -> None:
        fields = "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        with self.connected() as client:
            for letter in f"POST /align {self.head}{fields}".ljust(1000):
                client.sendall(letter.encode())
                self.over.wait(chance.random() * self.patience / 100)

    def leaves(self, chance: random.Random) -> None:
        body = chance.choice(self.bodies)
        fields = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        text = f"POST /align {self.head}".encode() + fields + body
        with self.connected((socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))) as client:
            client.sendall(text[: chance.randrange(len(text) + 1)] if chance.random() < 0.5 else text)
            self.over.wait(chance.random() / 50)

    def nonsense(self, chance: random.Random) -> None:
        text = bytearray(f"POST /align {self.head}Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n".encode())
        for _ in range(chance.randrange(1, 20)):
            text[chance.randrange(len(text))] = chance.randrange(256)
        with self.connected() as client:
            client.sendall(bytes(text) if chance.random() < 0.7 else chance.randbytes(chance.randrange(9000)))
            client.shutdown(socket.SHUT_WR)
            while client.recv(1 << 16):
                pass

    def crowd(self, chance: random.Random) -> None:
        clients = []
        with suppress(OSError):
            for _ in range(2 * DESCRIPTORS):
                client = socket.socket()
                client.setblocking(False)
                clients.append(client)
                client.connect_ex(("127.0.0.1", self.port))
        self.over.wait(chance.random() * self.patience)
        for client in clients:
            client.close()
        self.over.wait(2 * self.patience)

    def replacer(self, chance: random.Random) -> None:
        """Put one of the models in the place of what is served, whole or damaged."""
        model = chance.choice(self.models)
        way = chance.randrange(4)
        if way == 0:
            os.replace(shutil.copyfile(model, f"{self.served}.new"), self.served)
        else:
            shutil.copyfile(model, self.served)
        if way == 2:
            with open(self.served, "r+b") as file:
                file.seek(chance.randrange(self.served.stat().st_size))
                file.write(chance.randbytes(100))
        if way == 3:
            os.truncate(self.served, chance.randrange(self.served.stat().st_size))
        self.seen["models put in place"] += 1
        self.over.wait(chance.random() * 4)

    def run(self, seconds: float, kinds: list[Callable[[random.Random], None]], seed: int) -> None:
        """Have clients of these kinds do what they do, again and again, for some time."""
        self.over.clear()

        def repeat(number: int) -> None:
            chance = random.Random(1000 * seed + number)
            while not self.over.is_set():
                with suppress(OSError):
                    kinds[number](chance)
                self.seen[kinds[number].__name__] += 1

        threads = [threading.Thread(target=repeat, args=(number,)) for number in range(len(kinds))]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.over.set()
        for thread in threads:
            thread.join()

    def memory(self) -> float:
        """Megabytes of the server, when nobody asks any more."""
        time.sleep(1.5 * self.patience + 1)
        return 4096e-6 * int(Path(f"/proc/{self.server.pid}/statm").read_text().split()[1])

    def end(self, kinds: list[Callable[[random.Random], None]], seed: int) -> None:
        """Send SIGTERM at a random moment while clients ask; it must end soon, and as it should."""
        chance = random.Random(seed)
        self.over.set()  # from now on a good client may get no answer

        def once(number: int) -> None:
            with suppress(OSError):
                kinds[number](random.Random(seed + number))

        threads = [threading.Thread(target=once, args=(number,)) for number in range(len(kinds))]
        for thread in threads:
            thread.start()
        time.sleep(chance.random())
        began = time.perf_counter()
        self.server.terminate()
        code = self.server.wait(60)
        took = time.perf_counter() - began
        for thread in threads:
            thread.join()
        if code != 143 or took > 12:
            self.wrong.append(f"after SIGTERM it ended with {code} in {took:.1f} s")
        self.seen["ended by SIGTERM"] += 1

    def finish(self) -> None:
        """Look at what the server has told."""
        self.server.kill()
        self.server.wait()
        self.errors.seek(0)
        told = self.errors.read().decode(errors="replace")
        self.errors.close()
        if "Traceback" in told or len(told) > 100_000:
            self.wrong.append(f"{len(told):,} bytes on stderr: {told[:2000]}")
        self.seen["warnings of the server"] = told.count("not loaded again")

    @property
    def clients(self) -> list[Callable[[random.Random], None]]:
        """Three good ones, and two of each bad kind."""
        bad = [self.silent, self.slow_reader, self.slow_writer, self.leaves, self.nonsense, self.crowd]
        return [self.good] * 3 + bad * 2


def soak(seconds: float, ends: int = 5, patience: float = 10.0) -> tuple[Counter[str], list[str]]:
    """Return what happened how often, and what went wrong."""
    with TemporaryDirectory(prefix="dualign-soak-") as folder:
        it = Soak(Path(folder), patience)
        it.start()
        try:
            it.run(seconds / 2, [*it.clients, it.replacer], 0)
            before = it.memory()
            it.run(seconds / 2, [*it.clients, it.replacer], 1)
            after = it.memory()
            if after > 1.1 * before:
                it.wrong.append(f"memory has grown from {before:.0f} to {after:.0f} MB")
            it.seen["MB in memory"] = round(after)
            for number in range(ends):
                if number:
                    it.start()
                it.end(it.clients, number)
        finally:
            it.finish()
    return it.seen, it.wrong
