"""How the speed of training and aligning depends on the number of threads, and where their time goes.

    python -m benchmarks.by_threads --threads 1 2 4 --pairs 10000

Times the commands that `dualign bench` times, on synthetic text, for each number of threads, and compares
the bytes of what they write: they must be the same.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.runs import describe, guarded, keep_to, parser, positive, record
from dualign._core.errors import DataError
from dualign.commands.bench import outputs_in, time_commands, warm_up, write_synthetic
from dualign.measure.timing import Usage, markdown

COMMANDS = {"train": "train", "align": "align, saved model"}
"""The commands that are timed, and what tables call them."""

SHOWN = 0.01
"""Phases with a smaller share of the processor time are not shown one by one."""


class Run(NamedTuple):
    """What training, and aligning with the saved model, took with this number of threads."""

    threads: int
    train: Usage
    align: Usage
    profiles: Mapping[str, Any]
    """What `--profile` wrote, for `train` and for `align`."""
    digest: str = ""
    """Of the bytes of the model and of the links."""

    def usage(self, command: str) -> Usage:
        """Of `train` or of `align`."""
        return self.train if command == "train" else self.align


def digest_of(*paths: str) -> str:
    """A digest of the bytes of some files."""
    digest = sha256()
    for path in paths:
        try:
            with open(path, "rb") as stream:
                while part := stream.read(1 << 20):
                    digest.update(part)
        except OSError as error:
            raise DataError(f"{path}: cannot read: {error.strerror or error}") from None
        digest.update(b"\0")
    return digest.hexdigest()


def table_by_threads(runs: Sequence[Run], pairs: int) -> str:
    """Time, speed-up over the first run, pairs per second and memory, one row per command and run."""
    rows = []
    for command, name in COMMANDS.items():
        alone = runs[0].usage(command).seconds
        for run in runs:
            usage = run.usage(command)
            rows.append(
                (
                    name, str(run.threads), f"{usage.seconds:.2f}", f"{usage.cpu_seconds:.2f}",
                    f"{alone / usage.seconds:.2f}", f"{pairs / usage.seconds:,.0f}",
                    f"{usage.peak_bytes / 1e6:,.0f}",
                )
            )  # fmt: skip
    return markdown(("", "threads", "seconds", "CPU seconds", "speed-up", "pairs/s", "peak MB"), rows)


def phase_table(name: str, profiles: Sequence[Mapping[str, Any]]) -> str:
    """Processor seconds of each phase of a job, and their share of the whole: two columns per profile.

    The phases with most time come first. The rest is what belongs to no phase, or to one that is too short
    to be shown: loading kernels, reading and writing files, waking threads.
    """
    wholes = [profile["processor_seconds"] for profile in profiles]
    times = {
        phase: [profile["phases"].get(phase, {}).get("processor_seconds", 0.0) for profile in profiles]
        for phase in dict.fromkeys(phase for profile in profiles for phase in profile["phases"])
    }
    shown = {
        phase: seconds
        for phase, seconds in sorted(times.items(), key=lambda item: -max(item[1]))
        if any(s >= SHOWN * whole > 0 for s, whole in zip(seconds, wholes, strict=True))
    }
    sums = [sum(column) for column in zip(*shown.values(), strict=True)] or [0.0] * len(profiles)
    shown["the rest"] = [max(0.0, whole - s) for whole, s in zip(wholes, sums, strict=True)]
    head = [name]
    for profile in profiles:
        threads = profile["threads"]
        head += [f"CPU s, {threads} {'thread' if threads == 1 else 'threads'}", "%"]
    rows = []
    for phase, seconds in (shown | {"all": wholes}).items():
        cells = [
            (f"{s:.2f}", f"{100 * s / whole:.0f}" if whole else "")
            for s, whole in zip(seconds, wholes, strict=True)
        ]
        rows.append([phase, *(cell for pair in cells for cell in pair)])
    return markdown(head, rows)


def main() -> None:
    options = parser("Compare numbers of threads.", "by_threads.jsonl", several=True)
    options.add_argument("--pairs", type=positive, default=10_000, help="sentence pairs of synthetic text")
    options.add_argument("--seed", type=int, default=0, help="seed of the synthetic text")
    given = options.parse_args()
    most = max(given.threads)
    keep_to(most)
    print(f"{describe(most)}\nsynthetic text, {given.pairs:,} pairs, seed {given.seed}")
    runs = []
    with TemporaryDirectory(prefix="dualign-threads-") as place:
        *files, _ = write_synthetic(place, given.pairs, given.seed)
        warm_up(place, most)
        for threads in given.threads:
            timed = time_commands(place, files, ["--threads", str(threads)])
            runs.append(Run(threads, *timed, digest_of(*outputs_in(place))))
            usages = {name: runs[-1].usage(name).as_dict() for name in COMMANDS}
            about = {"threads": threads, "pairs": given.pairs, "profiles": dict(timed.profiles)}
            record(given.json, about | usages)
    print("\n" + table_by_threads(runs, given.pairs))
    for command, name in COMMANDS.items():
        print("\n" + phase_table(name, [run.profiles[command] for run in runs]))
    if len({run.digest for run in runs}) > 1:
        sys.exit("MODEL OR LINKS DIFFER between numbers of threads: this is a bug; please report it")


if __name__ == "__main__":
    with guarded():
        main()
