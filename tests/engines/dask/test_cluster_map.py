"""Phrase tables and carried annotation of a cluster have the bytes of a single machine."""

from __future__ import annotations

import os
import pickle
import signal
from pathlib import Path

import pytest
from tests.commands.bitexts import SOURCE, TARGET, write_lines

from dualign import jobs
from dualign._core.errors import DataError
from dualign.engines.dask.mapping import Sent, _received, _send
from dualign.engines.dask.workers import connected

LINKS = [
    " ".join(f"{n}-{n}" for n in range(min(len(s.split()), len(t.split()))))
    for s, t in zip(SOURCE, TARGET, strict=True)
]


def told_run(cluster, work: Path, written: dict[str, int], **more) -> jobs.Run:
    def tell(what: str, done: int, tasks: int, size: int) -> None:
        written[what] = size
        if done == 1 and more.get("kill"):
            more["kill"](what)

    return jobs.Run(1, cluster=cluster.scheduler_address, work=str(work), tasks=tell)


def linked_text(folder: Path) -> jobs.LinkedText:
    sides = [write_lines(folder / "text.de", SOURCE), write_lines(folder / "text.en", TARGET)]
    return jobs.LinkedText(*sides, write_lines(folder / "links", LINKS))


def killer(client, kills: list[str]):
    """`kill -9` of one worker in each stage; its nanny starts another."""

    def kill(what: str) -> None:
        if what not in kills:
            kills.append(what)
            os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)

    return kill


@pytest.mark.parametrize("chunk", [7, 50])
def test_a_phrase_table_is_that_of_one_machine(chunk, cluster, client, tmp_path, monkeypatch):
    for name, size in (("_CHUNK", chunk), ("_ROWS", 100 * chunk)):
        monkeypatch.setattr(f"dualign.phrase.phrase_tables.{name}", size)
    text, kills, found = linked_text(tmp_path), list[str](), []
    stages: list[dict[str, int]] = [{}, {}]
    runs = [
        jobs.Run(1),
        told_run(cluster, tmp_path / "work", stages[0], kill=killer(client, kills)),
        told_run(cluster, tmp_path / "work", stages[1]),
    ]
    for number, run in enumerate(runs):
        names = [str(tmp_path / f"{number}.{end}") for end in ("table.gz", "reordering", "words")]
        built = jobs.extract_phrases(text, names[0], reordering=names[1], dictionary=names[2], run=run)
        written = [*names[:2], f"{names[2]}.s2t", f"{names[2]}.t2s"]
        found.append((built, [Path(path).read_bytes() for path in written]))
    assert found[0] == found[1] == found[2]
    assert kills == ["extract", "score"]
    assert all(stages[0].values())
    assert stages[1] == {"extract": 0, "score": 0}  # the second time, all was there


def annotated(folder: Path, kind: str) -> jobs.AnnotatedFiles:
    """Files for one kind of transfer, with some words that have no link."""
    links = write_lines(folder / "links", LINKS)
    target = write_lines(folder / "text.en", TARGET)
    if kind == "markup":
        lines = [" ".join(f"<b>{word}</b>" for word in line.split()) for line in SOURCE]
        return jobs.AnnotatedFiles(write_lines(folder / "text.xml", lines), target, links)
    if kind == "spans":
        lines = [
            f'{{"text": "{line}", "spans": [{{"start": 0, "end": {len(line.split()[0])}, "label": "X"}}]}}'
            for line in SOURCE
        ]
        return jobs.AnnotatedFiles(write_lines(folder / "text.jsonl", lines), target, links)
    rows = []
    for line in SOURCE:
        rows.append("# text")
        for n, word in enumerate(line.split()):
            rows.append(f"{n + 1}\t{word}\t_\tNOUN\t_\t_\t{n}\tdep\t_\tNER=B-{n}")
        rows.append("")
    return jobs.AnnotatedFiles(write_lines(folder / "text.conllu", rows), target, links)


TRANSFERS = {
    "tree": (jobs.transfer_tree, {}),
    "tags": (jobs.transfer_tags, {"tags": jobs.TagSettings("NER", bio=True)}),
    "spans": (jobs.transfer_spans, {}),
    "markup": (jobs.transfer_markup, {}),
}


@pytest.mark.parametrize("kind", TRANSFERS)
def test_transfer_is_that_of_one_machine(kind, cluster, client, tmp_path, monkeypatch):
    monkeypatch.setattr("dualign.commands.transfer.SHARD", 9)
    files, kills, found = annotated(tmp_path, kind), list[str](), []
    stages: list[dict[str, int]] = [{}, {}]
    runs = [
        jobs.Run(1),
        told_run(cluster, tmp_path / "work", stages[0], kill=killer(client, kills)),
        told_run(cluster, tmp_path / "work", stages[1]),
    ]
    function, more = TRANSFERS[kind]
    for number, run in enumerate(runs):
        names = [str(tmp_path / f"{number}.{end}") for end in ("out", "report")]
        counts = function(files, names[0], report=names[1], run=run, **more)
        found.append((counts, [Path(path).read_bytes() for path in names]))
    assert found[0] == found[1] == found[2]
    assert kills == ["transfer"]
    assert stages[0]["transfer"] > 0
    assert stages[1] == {"transfer": 0}


def test_a_bad_pair_is_named_as_on_one_machine(cluster, tmp_path):
    files = annotated(tmp_path, "markup")
    lines = Path(files.source).read_text().split("\n")
    lines[70] = lines[70].replace("</b>", "</i>", 1)
    Path(files.source).write_text("\n".join(lines))
    Path(tmp_path / "links").write_text("\n".join([*LINKS[:90], "0-0 99-0", *LINKS[91:]]) + "\n")
    for function, given, place in (
        (jobs.transfer_markup, files, f"{files.source}:71"),
        (jobs.extract_phrases, linked_text(tmp_path), ""),
    ):
        if function is jobs.extract_phrases:
            Path(given.links).write_text("\n".join([*LINKS[:90], "0-0 99-0", *LINKS[91:]]) + "\n")
            place = f"{given.links}, line 91"
        messages = []
        for run in (jobs.Run(1), told_run(cluster, tmp_path / "work", {})):
            with pytest.raises(DataError) as caught:
                function(given, str(tmp_path / "out"), run=run)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
        assert place in messages[0]


def test_an_empty_text_has_an_empty_table(cluster, tmp_path):
    text = jobs.LinkedText(*(write_lines(tmp_path / name, []) for name in ("a", "b", "links")))
    jobs.extract_phrases(text, str(tmp_path / "table"), run=told_run(cluster, tmp_path / "work", {}))
    assert (tmp_path / "table").read_bytes() == b""


def test_workers_load_nothing_that_the_command_has_not_written(client, tmp_path):
    with connected(client.scheduler.address, str(tmp_path)) as crew:
        sent = _send(crew, "item", [1, 2])
        other = _send(crew, "item", [3])
    assert _received(*sent) == [1, 2]
    with pytest.raises(DataError, match="another file than the command has written"):
        _received(*Sent(other.path, sent.mark))
    Path(sent.path).write_bytes(pickle.dumps([1]))
    with pytest.raises(DataError, match="repeat the same command"):
        _received(*sent)
