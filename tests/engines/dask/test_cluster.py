"""A cluster gives the bytes of a single machine, whatever happens to workers, to the driver and to files."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.commands.bitexts import SOURCE, TARGET, write_lines
from tests.commands.command import environment

from dualign import Aligner, jobs
from dualign._core import release
from dualign._core.errors import DataError, DualignError, UsageError
from dualign.commands.cluster_alignment import cut_evenly
from dualign.engines import threads as expectation
from dualign.engines.dask import engine as cluster_engine
from dualign.engines.dask.workers import Task, Workers, connected, perform
from dualign.hmm import posteriors, training
from dualign.hmm.blocks import block_bounds, pairs_of
from dualign.hmm.smoothing import kept_shares
from dualign.text.blocks import Position, TextBlock, TextFiles
from dualign.text.corpus import Bitext, numbered
from dualign.text.links import Alignment

PAIRS = [(s.split(), t.split()) for s, t in zip(SOURCE, TARGET, strict=True)]
KINDS = {
    "defaults": {},
    "none": {"constraint": "none"},
    "warm": {"constraint": "symmetric", "rounds": 5},
    "cased": {"constraint": "bijective", "lowercase": False, "jump_words": 5},
}
SMALL = 3000
"""Cells of a block: the text has a dozen of them."""


def small_blocks(bitext: Bitext, limit: int = SMALL) -> list[tuple[int, int]]:
    return block_bounds(bitext, min(limit, SMALL))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    for module in (expectation, cluster_engine):
        monkeypatch.setattr(module, "block_bounds", small_blocks)
    monkeypatch.setattr("dualign.hmm.encoding.CHUNK", 4)
    monkeypatch.setattr(cluster_engine, "RANGE_ENTRIES", 1 << 10)


def bytes_of(aligner: Aligner, folder: Path) -> bytes:
    aligner.save(folder / "model")
    return (folder / "model").read_bytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> dict[str, bytes]:
    """The models that a single machine learns, in other blocks than the cluster's: counts do not mind."""
    folder = tmp_path_factory.mktemp("expected")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expectation, "block_bounds", small_blocks)
        return {
            kind: bytes_of(Aligner(threads=2, **options).fit(PAIRS), folder)
            for kind, options in KINDS.items()
        }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tasks", [1, 2, 5])
def test_a_cluster_learns_the_same_model(kind, tasks, client, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_engine, "TASKS_PER_WORKER", tasks)
    aligner = Aligner(threads=1, **KINDS[kind]).fit(PAIRS, client=client, work=tmp_path / "work")
    assert bytes_of(aligner, tmp_path) == expected[kind]
    again = Aligner(threads=1, **KINDS[kind]).fit(PAIRS, client=client, work=tmp_path / "work")
    assert bytes_of(again, tmp_path) == expected[kind]


class Alone(Workers):
    """Does all tasks in this process."""

    def __init__(self, work: Path, workers: int) -> None:
        self.work, self._workers = str(work), workers

    workers = property(lambda self: self._workers)

    def run(self, name: str, tasks) -> None:
        for task in tasks:
            perform(task, release())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [1, 2, 3, 8, 40])
def test_a_block_may_be_cut_between_its_jobs(kind, workers, tmp_path, monkeypatch):
    monkeypatch.setattr(posteriors, "JOB_CELLS", 400)
    known = {7: Alignment(((0, 0), (1, 1)))}
    options = {"gold": known} if kind == "none" else {}
    expected = bytes_of(Aligner(threads=2, **KINDS[kind]).fit(PAIRS, **options), tmp_path)
    (tmp_path / "work").mkdir()
    crew = Alone(tmp_path / "work", workers)
    aligner = Aligner(threads=1, **KINDS[kind]).fit(PAIRS, client=crew, **options)
    assert bytes_of(aligner, tmp_path) == expected


def test_a_round_is_made_again_if_other_shares_of_counts_are_kept(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    for share in (1.0, 0.5):
        monkeypatch.setattr(
            training,
            "kept_shares",
            lambda together, leave_out, share=share: kept_shares(together, share * leave_out),
        )
        aligner = Aligner(threads=1).fit(PAIRS, client=Alone(tmp_path / "work", 2))
        assert bytes_of(aligner, tmp_path) == bytes_of(Aligner(threads=1).fit(PAIRS), tmp_path)


@pytest.mark.parametrize("tasks", [1, 2, 5, 13, 1000])
def test_parts_have_all_jobs_of_all_blocks_once(tasks, monkeypatch):
    monkeypatch.setattr(posteriors, "JOB_CELLS", 400)
    text = numbered(PAIRS, True)
    blocks = block_bounds(text, limit=SMALL)
    parts = cluster_engine.cut_at_jobs(text, blocks, tasks)
    assert len(parts) <= tasks
    if tasks == 13:
        assert len(parts) == tasks > len(blocks)
    found = []
    for part in parts:
        bitext, bounds, jobs = part.of(text)
        assert bounds[-1][1] == len(bitext)
        for (begin, end), (a, b), mine in zip(part.blocks, bounds, jobs, strict=True):
            block = text.slice(begin, end)
            whole = posteriors.jobs_of(pairs_of(block))
            here = bitext.slice(a, b)
            for job in whole if mine is None else mine:
                found.append((begin, here.source.lengths[job.pairs].tolist(), job.alone))
    expected = []
    for begin, end in blocks:
        block = text.slice(begin, end)
        for job in posteriors.jobs_of(pairs_of(block)):
            expected.append((begin, block.source.lengths[job.pairs].tolist(), job.alone))
    assert found == expected


def files(folder: Path) -> tuple[str, str]:
    lines = [*SOURCE[:50], "", *SOURCE[50:]], [*TARGET[:50], "", *TARGET[50:]]
    return write_lines(folder / "text.de", lines[0]), write_lines(folder / "text.en", lines[1])


def run_on(cluster, work: Path, **more) -> jobs.Run:
    return jobs.Run(1, cluster=cluster.scheduler_address, work=str(work), **more)


def test_align_writes_the_same_files(cluster, tmp_path):
    text = files(tmp_path)
    written = {}
    for name, run in (("one", jobs.Run(1)), ("many", run_on(cluster, tmp_path / "work"))):
        names = [
            str(tmp_path / f"{name}.{end}") for end in ("links.gz", "model", "probabilities", "scores.zst")
        ]
        links, model, probabilities, scores = names
        outputs = jobs.Outputs(links, model, probabilities=probabilities, scores=scores)
        jobs.align(*text, outputs, run=run)
        again = f"{links[:-3]}.again"
        jobs.align(*text, again, load=model, run=run, decoder="posterior")
        written[name] = [Path(path).read_bytes() for path in (*names, again)]
    assert written["one"] == written["many"]


def test_a_cluster_aligns_with_a_saved_model_of_any_kind(cluster, tmp_path):
    text, model = files(tmp_path), str(tmp_path / "model")
    jobs.train(*text, model, run=jobs.Run(1), model="ibm2", rounds=1)
    for name, run in (("one", jobs.Run(1)), ("many", run_on(cluster, tmp_path / "work"))):
        jobs.align(*text, str(tmp_path / name), load=model, run=run)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes() != b""


@pytest.mark.slow
def test_a_work_folder_may_be_used_for_another_text_and_mended(cluster, tmp_path):
    text, work = files(tmp_path), tmp_path / "work"
    other = write_lines(tmp_path / "other.de", SOURCE[::-1]), write_lines(tmp_path / "other.en", TARGET[::-1])
    jobs.align(*other, str(tmp_path / "other"), run=run_on(cluster, work), rounds=1)
    jobs.align(*text, str(tmp_path / "one"), run=jobs.Run(1), rounds=1)
    for damage in (False, True):
        for path in work.iterdir() if damage else ():
            path.write_bytes(path.read_bytes()[:-1])
        jobs.align(*text, str(tmp_path / "many"), run=run_on(cluster, work), rounds=1)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()


@pytest.mark.slow
def test_align_reads_one_file_with_both_sides(cluster, tmp_path):
    text = write_lines(
        tmp_path / "text", ["", *(f"{s} ||| {t}" for s, t in zip(SOURCE, TARGET, strict=True))]
    )
    jobs.align(text, None, str(tmp_path / "one"), run=jobs.Run(1), tokenize="simple")
    notes: list[str] = []
    run = run_on(cluster, tmp_path / "work", note=notes.append)
    jobs.align(text, None, str(tmp_path / "many"), run=run, tokenize="simple")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()
    assert any("1 of 121 pairs has an empty side" in note for note in notes)


def test_what_is_there_and_whole_is_not_made_again(client, expected, tmp_path):
    written: list[list[int]] = []
    for _ in range(2):
        written.append([])
        crew = Workers(client, str(tmp_path / "work"), lambda *told: written[-1].append(told[3]))
        aligner = Aligner(threads=1).fit(PAIRS, client=crew)
        assert bytes_of(aligner, tmp_path) == expected["defaults"]
    assert max(written[0]) > 0
    assert set(written[1]) == {0}
    assert len(written[1]) < len(written[0])


@pytest.mark.slow
def test_another_text_in_the_same_folder_is_another_training(client, expected, tmp_path):
    work = tmp_path / "work"
    Aligner(threads=1).fit(PAIRS[:60], client=client, work=work)
    aligner = Aligner(threads=1).fit(PAIRS, client=client, work=work)
    assert bytes_of(aligner, tmp_path) == expected["defaults"]
    aligner = Aligner(threads=1, **KINDS["none"]).fit(PAIRS, client=client, work=work)
    assert bytes_of(aligner, tmp_path) == expected["none"]


@pytest.mark.slow
def test_two_commands_may_use_one_folder_at_the_same_time(client, expected, tmp_path):
    work = str(tmp_path / "work")

    def another(what: str, done: int, tasks: int, written: int) -> None:
        if (what, done) == ("round_1_merge", 0):
            Aligner(threads=1).fit(PAIRS[:60], client=Workers(client, work))

    aligner = Aligner(threads=1).fit(PAIRS, client=Workers(client, work, another))
    assert bytes_of(aligner, tmp_path) == expected["defaults"]


WORKER = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads=1", "--no-dashboard"]


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, 10])
def test_killed_workers_change_nothing(kills, cluster, client, expected, tmp_path):
    """`kill -9` of workers at random moments, each replaced by one that joins late."""
    chance, stop, killed = random.Random(kills), threading.Event(), []

    def kill() -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        while len(killed) < kills and not stop.is_set():
            worker = subprocess.Popen([*WORKER, cluster.scheduler_address], env=environment(), **quiet)
            while worker.pid not in client.run(os.getpid, on_error="ignore").values():
                time.sleep(0.05)
            stop.wait(chance.uniform(0, 0.8))
            worker.kill()
            worker.wait()
            killed.append(worker.pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        number = 0
        while killer.is_alive():
            number += 1
            aligner = Aligner(threads=1).fit(PAIRS, client=client, work=tmp_path / f"work{number}")
            assert bytes_of(aligner, tmp_path) == expected["defaults"]
    finally:
        stop.set()
        killer.join()
    assert len(killed) == kills


@pytest.mark.slow
def test_a_worker_may_join_late(cluster, client, expected, tmp_path):
    def join(what: str, done: int, tasks: int, written: int) -> None:
        if what == "round_2_counts" and done == 0:
            cluster.scale(3)

    crew = Workers(client, str(tmp_path / "work"), join)
    aligner = Aligner(threads=1).fit(PAIRS, client=crew)
    assert bytes_of(aligner, tmp_path) == expected["defaults"]
    cluster.scale(2)


DRIVER = """
import os, signal, sys
import dualign.hmm.encoding as encoding
from dualign import jobs
from dualign.engines import threads as expectation
from dualign.engines.dask import engine as cluster_engine
from dualign.hmm.blocks import block_bounds
for module in (expectation, cluster_engine):
    module.block_bounds = lambda bitext, limit=3000: block_bounds(bitext, min(limit, 3000))
encoding.CHUNK, cluster_engine.RANGE_ENTRIES = 4, 1 << 10
address, work, source, target, links, *moments = sys.argv[1:]
def tell(what, done, tasks, written):
    if f"{what}:{done}" in moments:
        os.kill(os.getpid(), signal.SIGKILL)
jobs.align(source, target, links, run=jobs.Run(1, cluster=address, work=work, tasks=tell))
"""


@pytest.mark.slow
def test_a_driver_that_is_killed_in_any_stage_goes_on(cluster, tmp_path):
    text, work = files(tmp_path), tmp_path / "work"
    jobs.align(*text, str(tmp_path / "expected"), run=jobs.Run(1))
    links = str(tmp_path / "links")
    command = [sys.executable, "-c", DRIVER, cluster.scheduler_address, str(work), *text, links]
    for moment in ("first_round:2", "round_1_counts:1", "round_3_merge:1", "align:2"):
        done = subprocess.run(
            [*command, moment], env=environment(), timeout=120, capture_output=True, text=True
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert not os.path.exists(links)
    told: list[str] = []
    run = run_on(cluster, work, tasks=lambda what, *_: told.append(what))
    jobs.align(*text, links, run=run)
    assert Path(links).read_bytes() == (tmp_path / "expected").read_bytes()
    assert set(told) == {"first_round", "align"}  # all rounds of training were there


@pytest.mark.slow
def test_a_damaged_file_is_named_and_made_again(client, expected, tmp_path):
    work = tmp_path / "work"
    Aligner(threads=1).fit(PAIRS, client=client, work=work)
    for path in work.iterdir():
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
    aligner = Aligner(threads=1).fit(PAIRS, client=client, work=work)
    assert bytes_of(aligner, tmp_path) == expected["defaults"]

    def damage(what: str, done: int, tasks: int, written: int) -> None:
        if what == "round_2_merge" and done == 0:
            for path in (tmp_path / "other").glob("round_2-*-counts-*"):
                path.write_bytes(path.read_bytes()[:-9])

    crew = Workers(client, str(tmp_path / "other"), damage)
    with pytest.raises(DataError, match=r"round_2-\w+-counts-\d+: .*truncated.*; repeat the same command"):
        Aligner(threads=1).fit(PAIRS, client=crew)
    aligner = Aligner(threads=1).fit(PAIRS, client=client, work=tmp_path / "other")
    assert bytes_of(aligner, tmp_path) == expected["defaults"]


@pytest.mark.slow
def test_damaged_multipliers_are_made_again(client, expected, tmp_path):
    work = tmp_path / "work"

    def stop(what: str, done: int, tasks: int, written: int) -> None:
        if what == "round_6_counts":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Aligner(threads=1, **KINDS["warm"]).fit(PAIRS, client=Workers(client, str(work), stop))
    kept = list(work.glob("round_5-*-counts-*"))
    assert kept
    for path in kept:
        path.write_bytes(b"")
    aligner = Aligner(threads=1, **KINDS["warm"]).fit(PAIRS, client=client, work=work)
    assert bytes_of(aligner, tmp_path) == expected["warm"]


def test_a_bad_line_is_named_as_on_one_machine(cluster, tmp_path):
    source, target = files(tmp_path)
    model = str(tmp_path / "model")
    jobs.train(source, target, model, run=jobs.Run(1), rounds=1)
    content = Path(source).read_bytes().split(b"\n")
    content[70] += b"\xff"
    Path(source).write_bytes(b"\n".join(content))
    messages = []
    for run in (jobs.Run(1), run_on(cluster, tmp_path / "work")):
        with pytest.raises(DataError) as caught:
            jobs.align(source, target, str(tmp_path / "links"), load=model, run=run)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert f"{source}:71" in messages[0]


@pytest.mark.parametrize(("size", "blocks"), [(4, [3, 3, 3]), (2, [5]), (3, [3, 1, 7, 2]), (9, [2, 2])])
def test_lines_are_cut_evenly(size, blocks):
    def lines(begin: int, count: int) -> TextBlock:
        side = b"".join(b"%d x\n" % n for n in range(begin, begin + count))
        return TextBlock(Position(begin), Position(begin + count), side, side[::1], TextFiles("-"))

    given, line = [], 0
    for count in blocks:
        given.append(lines(line, count))
        line += count
    found = list(cut_evenly(given, size))
    assert [len(block) for block in found] == [size] * (line // size) + [line % size] * (line % size > 0)
    assert all(block.source.count(b"\n") == len(block) for block in found)
    assert b"".join(block.source for block in found) == lines(0, line).source
    assert [block.begin.line for block in found[1:]] == [block.end.line for block in found[:-1]]


@pytest.mark.slow
def test_a_cluster_of_our_own_ends_with_the_work(tmp_path):
    pytest.importorskip("distributed")
    with connected("local:1", None) as crew:
        pids, work = list(crew.client.run(os.getpid).values()), crew.work
        assert crew.workers == 1
    assert not os.path.exists(work)
    for _ in range(100):
        if not any(os.path.exists(f"/proc/{pid}") for pid in pids):
            break
        time.sleep(0.1)
    else:
        raise AssertionError("a worker is still there")


def test_without_dask_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install 'dualign\[cluster\]'"):
        jobs.align(*files(tmp_path), str(tmp_path / "links"), run=jobs.Run(cluster="local:2"))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:9", "no scheduler answers there"),
        ("nobody", "neither the address of a scheduler"),
        ("local:0", "name 1 to"),
        ("strange://x", "no scheduler answers there"),
    ],
)
def test_a_wrong_address_is_said_in_time(address, message, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("dualign.engines.dask.workers.PATIENCE", 1.0)
    begin = time.perf_counter()
    with pytest.raises(DualignError, match=message), connected(address, None):
        pass
    assert time.perf_counter() - begin < 10


class Strange:
    """A client with one worker that is not what it should be."""

    scheduler = None
    status = "running"

    def __init__(self, client, **packages: str) -> None:
        self.client, self.packages, self.blind, self.dying = client, packages, False, False

    def wait_for_workers(self, *_, **__) -> None:
        pass

    def get_versions(self) -> dict:
        found = self.client.get_versions()
        found["scheduler"]["packages"] |= self.packages
        return found

    def run(self, function, **more) -> dict:
        found = self.client.run(function, **more)
        if self.dying:
            found["tcp://elsewhere:2"] = OSError("Stream is closed")
        return found | {"tcp://elsewhere:1": False} if function.__name__ == "sees" and self.blind else found


def test_other_versions_are_refused(client, tmp_path):
    with pytest.raises(DataError, match=r"the scheduler has distributed 2020\.1\.0, .*install the same"):
        Workers(Strange(client, distributed="2020.1.0"), str(tmp_path))
    with pytest.raises(DataError, match=r"the scheduler has Python 3\.6"):
        Workers(Strange(client, python="3.6.2.final.0"), str(tmp_path))


def test_a_worker_that_dies_while_it_is_asked_is_passed_over(client, tmp_path):
    strange = Strange(client)
    strange.dying = True
    assert Workers(strange, str(tmp_path)).place("file").startswith(str(tmp_path))


def test_a_late_worker_of_another_release_is_refused(client, tmp_path, monkeypatch):
    crew = Workers(client, str(tmp_path))
    monkeypatch.setattr("dualign.engines.dask.workers.release", lambda: "0.0.1")
    with pytest.raises(DataError, match=r"a worker has dualign .*, the command 0\.0\.1; install the same"):
        crew.run("late", [Task(crew.place("file"), "mark", dict, ())])


def test_a_glossary_has_the_same_mark_in_every_process():
    words = [("Haus", f"house{n}") for n in range(20)]
    program = f"import pickle\nfrom dualign.infer import Glossary\nprint(pickle.dumps(Glossary({words})))"
    found = {
        subprocess.check_output([sys.executable, "-c", program], env=environment() | {"PYTHONHASHSEED": seed})
        for seed in "123"
    }
    assert len(found) == 1


def test_a_folder_that_workers_do_not_see_is_refused(client, tmp_path):
    strange = Strange(client)
    strange.blind = True
    with pytest.raises(
        DataError, match=r"worker tcp://elsewhere:1 cannot read and write this folder; name one"
    ):
        Workers(strange, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_says_so(client, tmp_path):
    """The work folder is on a device that is always full, for files over a kilobyte."""

    def limit() -> None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, resource.RLIM_INFINITY))

    def lift() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    client.run(limit)
    try:
        with pytest.raises(DataError, match=r"rows-.*: cannot write: File too large"):
            Aligner(threads=1).fit(PAIRS, client=client, work=tmp_path)
    finally:
        client.run(lift)
    Aligner(threads=1).fit(PAIRS, client=client, work=tmp_path)


@pytest.mark.parametrize(
    ("outputs", "more", "message"),
    [
        ({"page": "page.html"}, {}, "does not write page"),
        ({"posteriors": "p.npz"}, {}, "does not write posteriors"),
        ({}, {"resume": True, "load": "model"}, "leave resume=True out"),
        ({}, {"model": "ibm1"}, 'a cluster learns the HMM; train model="ibm1" on one machine, then align'),
        ({}, {"model": "ibm2"}, "a cluster learns the HMM"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused(outputs, more, message, cluster, tmp_path):
    names = {name: str(tmp_path / path) for name, path in outputs.items()}
    with pytest.raises(UsageError, match=message):
        jobs.align(
            *files(tmp_path),
            jobs.Outputs(str(tmp_path / "links"), **names),
            run=run_on(cluster, tmp_path / "work"),
            **more,
        )


def test_other_jobs_do_not_pretend(tmp_path):
    with pytest.raises(UsageError, match="evaluate does not run on a cluster"):
        jobs.evaluate("links", "gold", run=jobs.Run(cluster="local:2"))
    with pytest.raises(UsageError, match="a cluster computes on processors"):
        jobs.train("a", "b", "c", run=jobs.Run(cluster="local:2", device="cuda"))
    with pytest.raises(UsageError, match="name the cluster, too"):
        jobs.train("a", "b", "c", run=jobs.Run(work="folder"))


@pytest.mark.slow
def test_translations_are_those_of_one_machine(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("dualign.commands.translate.SHARD", 2)
    pairs = [("das Haus ist klein", "the house is small"), ("der Hund schläft", "the dog sleeps")]
    text = [write_lines(tmp_path / f"{side}", [pair[side] for pair in pairs * 20]) for side in (0, 1)]
    system = str(tmp_path / "system")
    jobs.train_translation(jobs.ParallelText(*text), system, rounds=1, run=jobs.Run(1))
    new = write_lines(tmp_path / "new", ["der Hund ist klein", "", "das Haus schläft", "ein Zebra", "das"])
    written = {}
    for name, run in (("one", jobs.Run(1)), ("many", run_on(cluster, tmp_path / "work"))):
        output, report = str(tmp_path / f"{name}.out"), str(tmp_path / f"{name}.report")
        counts = jobs.translate(system, new, output, report=report, run=run, k=3)
        records = [json.loads(line) for line in Path(report).read_text().splitlines()]
        written[name] = counts, Path(output).read_bytes(), [{**each, "seconds": 0} for each in records]
    assert written["one"] == written["many"]
    with pytest.raises(UsageError, match="neither reads nor writes forests"):
        jobs.translate(system, new, output, forests=str(tmp_path / "f"), run=run)
