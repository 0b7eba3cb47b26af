"""`python -m benchmarks.service MODEL SOURCE TARGET`: how fast the server answers, and whether it keeps up.

One client asks for single pairs of about 20 words, then for batches; then several clients ask for single
pairs at the same time, for a while. The server is a process of its own, with one thread to align.

`--soak`, without files, is a trial instead: see `benchmarks.service_soak`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit

from benchmarks.service_soak import soak

Pair = dict[str, str]


class Client:
    """One connection, kept open."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, body: bytes) -> float:
        """Seconds until the answer is there."""
        begin = time.perf_counter()
        self.connection.request("POST", "/align", body, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"status {answer.status}")
        return time.perf_counter() - begin


def memory(process: int) -> int:
    """Bytes that a process has in memory."""
    return 4096 * int(Path(f"/proc/{process}/statm").read_text().split()[1])


def processor(process: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def crowd(port: int, bodies: list[bytes], clients: int, seconds: float) -> list[float]:
    """Times of all answers to several clients."""
    end = time.perf_counter() + seconds
    times: list[float] = []

    def run(first: int) -> None:
        client, number = Client(port), first
        while time.perf_counter() < end:
            times.append(client.ask(bodies[number % len(bodies)]))
            number += clients

    threads = [threading.Thread(target=run, args=(n,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("model", "source", "target"):
        options.add_argument(name, nargs="?")
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--clients", type=int, default=8)
    options.add_argument("--soak", action="store_true", help="bad clients, models replaced, SIGTERM")
    given = options.parse_args()
    if given.soak:
        seen, wrong = soak(max(given.seconds, 60))
        print(*(f"{name}: {count:,}" for name, count in sorted(seen.items())), *wrong, sep="\n")
        sys.exit(1 if wrong else 0)
    if given.target is None:
        options.error("name a model and two texts, or give --soak")
    texts = (Path(path).read_text("utf-8").splitlines() for path in (given.source, given.target))
    pairs: list[Pair] = [{"source": s, "target": t} for s, t in zip(*texts, strict=True)]
    single = [json.dumps(p).encode() for p in pairs if 18 <= len(p["source"].split()) <= 22][:500]
    command = ["-m", "dualign", "serve", given.model, "--port", "0", "--threads", "1", "--quiet"]
    server = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = urlsplit(server.stdout.readline().strip()).port or 0
        client = Client(port)
        for body in single[:50]:
            client.ask(body)
        used = processor(server.pid)
        times = [client.ask(body) for body in single]
        used = (processor(server.pid) - used) / len(single)
        print(
            f"one pair   p50 {1e3 * median(times):.2f} ms, p95 {1e3 * quantiles(times, n=20)[-1]:.2f} ms,",
            end=" ",
        )
        print(f"{1e3 * used:.2f} ms of processor time")
        for size in (100, 1000):
            batches = [json.dumps({"pairs": pairs[k : k + size]}).encode() for k in range(0, 5 * size, size)]
            client.ask(batches[0])
            used = processor(server.pid)
            rate = 5 * size / sum(map(client.ask, batches))
            rates = rate, 5 * size / (processor(server.pid) - used)
            print(
                "batches    of {}: {:,.0f} pairs/s, {:,.0f} per second of processor time".format(size, *rates)
            )
        before = memory(server.pid)
        answered = crowd(port, single, given.clients, given.seconds)
        grown = (memory(server.pid) - before) / 2**20
        rate, longest = len(answered) / given.seconds, 1e3 * max(answered)
        print(f"{given.clients} clients  {rate:,.0f} answers/s for {given.seconds:g} s,", end=" ")
        print(f"p50 {1e3 * median(answered):.2f} ms, longest {longest:.0f} ms; grown by {grown:.1f} MB")
    finally:
        server.terminate()
        print(f"exit code {server.wait(20)}")


if __name__ == "__main__":
    main()
