"""Jobs from Python: the same bytes as from the command line, callbacks, and nothing printed."""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
import os
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.commands.bitexts import GOLD, LINES, write_bitext, write_lines
from tests.jobs.stubs import stubs

import dualign
from dualign import jobs
from dualign.commands.cli import run as command
from dualign.engines.threads import ThreadsEngine
from dualign.hmm.model import Model, Vocabulary
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel

FEW = {"rounds": 2}


@pytest.fixture(autouse=True)
def silence(capfd):
    """No job prints, on neither stream."""
    yield
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def files(tmp_path):
    """A text with gold links and a glossary."""
    paths = [*write_bitext(tmp_path), write_lines(tmp_path / "gold", GOLD)]
    return [*paths, write_lines(tmp_path / "glossary", ["haus\thouse", "kinder\tchildren"])]


def quietly(*arguments: str) -> None:
    assert command([*arguments, "--quiet"]) == 0


def test_importing_the_room_imports_nothing_heavy():
    script = "import sys, dualign.jobs as j; assert j.Run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"numpy", "numba"} & set(done.stdout.split())


@pytest.mark.parametrize("name", jobs.__all__)
def test_every_public_name_is_there_and_described(name):
    assert inspect.getdoc(getattr(jobs, name))


def test_nothing_is_put_in_lower_case_for_a_model_that_keeps_case(files, tmp_path, monkeypatch):
    model = str(tmp_path / "model")
    quietly("train", *files[:2], model, "--keep-case")
    asked = []
    monkeypatch.setattr(Vocabulary, "is_lower", property(lambda side: asked.append(side.words)))
    quietly("align", *files[:2], "--model", model, "-o", str(tmp_path / "links"))
    assert {*Model.load(model).source.words}.isdisjoint(word for words in asked for word in words)


def test_align_with_everything_is_the_command(files, tmp_path):
    source, target, gold, glossary = files
    names = ("links", "model", "probabilities", "report")
    ours, theirs = ([str(tmp_path / f"{who}.{name}") for name in names] for who in ("job", "command"))
    aligner = jobs.align(
        source,
        target,
        jobs.Outputs(*ours),
        tuning=jobs.Tuning(gold, early_stop=True),
        glossary=glossary,
        decoder="posterior",
        rounds=3,
    )
    quietly(
        "align", source, target, "-o", theirs[0], "--save", theirs[1], "--probabilities", theirs[2],
        "--report", theirs[3], "--tune", gold, "--early-stop", "--glossary", glossary,
        "--decoder", "posterior", "--rounds", "3",
    )  # fmt: skip
    for mine, other in zip(ours[:3], theirs[:3], strict=True):
        assert Path(mine).read_bytes() == Path(other).read_bytes()
    reports = [
        [json.loads(line) for line in Path(path).read_text().splitlines()] for path in (ours[3], theirs[3])
    ]
    for record in [*reports[0], *reports[1]]:
        record.pop("seconds")
    assert reports[0] == reports[1]
    assert dualign.Aligner.load(ours[1]).options == aligner.options
    assert len(aligner.history) > 0


def test_a_glossary_has_an_effect(files, tmp_path):
    without, given = (jobs.Outputs(os.devnull, probabilities=str(tmp_path / name)) for name in "ab")
    jobs.align(*files[:2], without, **FEW)
    jobs.align(*files[:2], given, glossary=files[3], **FEW)
    assert (tmp_path / "a").read_bytes() != (tmp_path / "b").read_bytes()


def test_train_then_align_with_the_model_is_the_command(files, tmp_path):
    source, target, gold, _ = files
    paths = {name: str(tmp_path / name) for name in ("mine", "other", "links", "again")}
    trained = jobs.train(source, target, paths["mine"], tuning=gold, **FEW)
    quietly("train", source, target, paths["other"], "--tune", gold, "--rounds", "2")
    assert Path(paths["mine"]).read_bytes() == Path(paths["other"]).read_bytes()
    loaded = jobs.align(source, target, paths["links"], load=paths["mine"])
    assert loaded.options == trained.options
    quietly("align", source, target, "--model", paths["other"], "-o", paths["again"])
    assert Path(paths["links"]).read_bytes() == Path(paths["again"]).read_bytes()


def test_callbacks_hear_rounds_progress_and_notes(files, tmp_path):
    notes: list[str] = []
    done: list[tuple[int, str]] = []
    rounds = []
    listening = jobs.Run(
        1, note=notes.append, progress=lambda n, what: done.append((n, what)), round=rounds.append
    )
    links = str(tmp_path / "links")
    tuning = jobs.Tuning(files[2], early_stop=True)
    aligner = jobs.align(*files[:2], links, tuning=tuning, run=listening, penalty=-2.0, **FEW)
    assert rounds == aligner.history
    assert done == [(0, "train"), (0, "align"), (LINES, "align")]
    told = "\n".join(notes)
    assert 'note: penalty=-2.0 has no effect with decoder="soft-union"' in told
    assert "early stop: kept round" in told
    assert f"tuned on {len(GOLD)} pairs: threshold " in told


def test_a_page_is_written_about_the_run(files, tmp_path):
    page = tmp_path / "page.html"
    jobs.align(*files[:2], jobs.Outputs(str(tmp_path / "links"), page=str(page)), **FEW)
    assert "Word alignment" in page.read_text(encoding="utf-8")


def test_wrong_use_is_raised_not_exited(files, tmp_path):
    links = str(tmp_path / "links")
    with pytest.raises(dualign.UsageError, match="early_stop=True is for training"):
        jobs.align(*files[:2], links, load="model", tuning=jobs.Tuning(files[2], early_stop=True))
    with pytest.raises(dualign.UsageError, match="without its source text"):
        jobs.Tuning(files[2], target="x")
    begun: list[int] = []
    with pytest.raises(dualign.UsageError, match="would be lost"):
        jobs.align(*files[:2], files[0], run=jobs.Run(progress=lambda done, what: begun.append(done)))
    assert not begun, "refused before the work"
    with pytest.raises(dualign.UsageError, match="unknown option"):
        jobs.align(*files[:2], links, colour="red")
    with pytest.raises(dualign.DataError, match="no folder"):
        jobs.train(*files[:2], str(tmp_path / "no" / "model"))
    assert not Path(links).exists()


def test_links_go_from_job_to_job(files, tmp_path):
    source, target, gold, _ = files
    links, other, both = (str(tmp_path / name) for name in ("links", "links.talp", "both"))
    jobs.align(source, target, links, **FEW)
    jobs.convert(links, other)
    jobs.symmetrize(links, links, both, method="intersection")
    assert Path(both).read_bytes() == Path(links).read_bytes()
    with pytest.raises(dualign.UsageError, match="cannot tell the format"):
        jobs.convert(links, str(tmp_path / "x"))
    words = jobs.Words(source, target)
    first = jobs.evaluate(jobs.LinkFile(other, "talp"), gold, first=True, words=words)
    assert first.evaluation == jobs.evaluate(links, gold, first=True, bootstrap=0).evaluation
    assert first.interval is not None
    assert first.breakdown is not None
    with pytest.raises(dualign.DataError, match=f"{links} has {LINES} sentence pairs but .* has {len(GOLD)}"):
        jobs.evaluate(links, gold)
    page = tmp_path / "page.html"
    jobs.summarize(jobs.ShownFiles(source, target, [links]), str(page))
    assert "links" in page.read_text(encoding="utf-8")


def test_matrices_are_decoded(tmp_path):
    np.savez(tmp_path / "scores.npz", np.eye(3), np.ones((1, 2)))
    out = tmp_path / "links"
    told: list[str] = []
    decoder = jobs.MatrixDecoder("matching", alpha=0.3)
    jobs.decode(str(tmp_path / "scores.npz"), str(out), decoder=decoder, run=jobs.Run(note=told.append))
    assert out.read_text().splitlines()[0] == "0-0 1-1 2-2"
    assert told == ['note: alpha=0.3 has no effect with decoder="matching"']


def test_phrases_are_extracted_aligned_trained_and_scored(tmp_path):
    made = list(generate(30, vocabulary=20, mean_length=5))
    source, target, links = (
        write_lines(tmp_path / name, [" ".join(item[side]) if side < 2 else str(item[2]) for item in made])
        for side, name in enumerate(("s", "t", "links"))
    )
    table, aligned, trained = (str(tmp_path / name) for name in ("table", "aligned", "trained"))
    built = jobs.extract_phrases(jobs.LinkedText(source, target, links), table)
    assert built.sentence_pairs == 30
    text = jobs.TableText(table, source, target)
    counts = jobs.align_phrases(text, aligned)
    assert counts["aligned"] + counts["without"] + counts["empty"] == 30
    rounds = jobs.train_phrases(text, trained, rounds=2)
    assert [reached.number for reached in rounds] == [0, 1, 2]
    answer = jobs.PhraseAnswer(aligned, links, phrases=True)
    assert 0 < jobs.evaluate_phrases(answer, source=source, target=target).precision <= 1


def test_a_language_model_is_counted(files, tmp_path):
    counts = jobs.train_language_model(files[0], str(tmp_path / "lm.arpa"), order=2)
    header = (tmp_path / "lm.arpa").read_text(encoding="utf-8").splitlines()
    assert [f"ngram {n}={count}" for n, count in enumerate(counts, 1)] == header[1:3]


@pytest.mark.parametrize("name", [name for name in jobs.__all__ if name[0].islower()])
def test_every_job_can_be_called_with_public_names(name):
    """Classes of ours that a job takes are in its room, in `dualign` itself, or in `dualign.text`."""
    public = {getattr(room, each) for room in (jobs, dualign, dualign.text) for each in room.__all__}
    function = getattr(jobs, name)
    names = {each: getattr(jobs, each) for each in jobs.__all__ if each[0].isupper()}
    hints = typing.get_type_hints(function, vars(sys.modules[function.__module__]) | names)
    hints.pop("return", None)
    for kind in classes_in(*hints.values()):
        assert not kind.__module__.startswith("dualign") or kind in public, kind


def classes_in(*hints: object) -> Iterator[type]:
    for hint in hints:
        yield from classes_in(*typing.get_args(hint))
        if isinstance(hint, type):
            yield hint


@pytest.mark.parametrize("name", [name for name in jobs.__all__ if name[0].islower() and name != "tune"])
def test_every_job_takes_a_run(name):
    assert inspect.signature(getattr(jobs, name)).parameters["run"].default == jobs.Run()


def test_files_of_types_are_those_that_the_fields_make():
    """After a change of options, `python -m tests.jobs.stubs` writes them anew."""
    for path, text in stubs().items():
        assert path.read_text(encoding="utf-8") == text, path.name


def test_file_names_may_be_paths(files, tmp_path):
    source, target, gold, glossary = map(Path, files)
    links, model, again = (tmp_path / name for name in ("links", "model", "again"))
    begin = write_lines(tmp_path / "s", source.read_text(encoding="utf-8").splitlines()[: len(GOLD)])
    end = write_lines(tmp_path / "t", target.read_text(encoding="utf-8").splitlines()[: len(GOLD)])
    tuning = jobs.Tuning(gold, Path(begin), Path(end))
    jobs.align(source, target, links, tuning=gold, glossary=glossary, **FEW)
    jobs.train(source, target, model, tuning=tuning, **FEW)
    jobs.align(source, target, jobs.Outputs(again, report=tmp_path / "report"), load=model)
    assert jobs.evaluate(links, jobs.LinkFile(gold), first=True).evaluation.pairs == len(GOLD)
    jobs.convert(links, tmp_path / "links.talp")
    jobs.summarize(jobs.ShownFiles(source, target, [links]), tmp_path / "page.html")
    jobs.train_language_model(source, tmp_path / "lm.arpa", order=1)


def test_no_job_overwrites_what_it_reads(files, tmp_path):
    links, work = (
        write_lines(tmp_path / "f1", ["0-0"]),
        jobs.Remapping("", "words", "words", jobs.Side("", "")),
    )
    texts = [write_lines(tmp_path / name, ["a"]) for name in ("s", "t")]
    before = Path(links).read_bytes()
    for wrong in (
        lambda: jobs.symmetrize(links, links, links),
        lambda: jobs.transfer_tags(jobs.AnnotatedFiles(*texts, links), links),
        lambda: jobs.extract_phrases(jobs.LinkedText(*texts, links), links),
        lambda: jobs.summarize(jobs.ShownFiles(*texts, [links]), links),
        lambda: jobs.remap(dataclasses.replace(work, links=links, source=jobs.Side(*texts)), links),
    ):
        with pytest.raises(dualign.UsageError, match="would be lost"):
            wrong()
        assert Path(links).read_bytes() == before
    jobs.convert(links, links, to_format="pharaoh")
    assert Path(links).read_bytes() == before


def test_every_reader_heeds_the_errors_of_its_run(tmp_path):
    (tmp_path / "bad").write_bytes(b"\xff\n")
    good, links = write_lines(tmp_path / "good", ["x"]), write_lines(tmp_path / "links", ["0-0"])
    bad, out = str(tmp_path / "bad"), str(tmp_path / "out")
    remapping = jobs.Remapping(links, "words", "words", jobs.Side(bad, good), jobs.Side(bad, bad))
    readers = (
        lambda run: jobs.transfer_tags(jobs.AnnotatedFiles(bad, good, links), out, run=run),
        lambda run: jobs.transfer_markup(jobs.AnnotatedFiles(bad, good, links), out, run=run),
        lambda run: jobs.summarize(jobs.ShownFiles(bad, good, [links]), out, run=run),
        lambda run: jobs.view(jobs.ShownFiles(bad, good, [links]), out, run=run),
        lambda run: jobs.remap(remapping, out, skip=True, run=run),
    )
    for read in readers:
        with pytest.raises(dualign.DataError, match="invalid UTF-8"):
            read(jobs.Run())
        read(jobs.Run(errors="replace"))


def test_a_text_without_a_usable_pair_is_warned_about(tmp_path, caplog):
    blank, out = write_lines(tmp_path / "blank", ["", ""]), tmp_path / "out"
    with caplog.at_level(logging.WARNING, "dualign"):
        jobs.align(blank, blank, str(out))
    assert "all 2 lines of the output are empty" in caplog.text
    warned: list[str] = []
    other = write_lines(tmp_path / "other", ["", ""])
    jobs.align(blank, other, str(out), run=jobs.Run(warn=warned.append))
    assert len(warned) == 1
    assert out.read_text() == "\n\n"


def test_what_a_side_is_follows_from_its_name_unless_told():
    assert jobs.AnnotatedFiles("a.conllu.gz", "b.txt", "l").conllu() == (True, False)
    assert jobs.AnnotatedFiles("a.conllu", "b", "l", False, True).conllu() == (False, True)


def test_signatures_of_jobs_are_short_and_the_same_on_every_run():
    assert repr(jobs.Run()) == "Run()"
    assert repr(jobs.Run(threads=2)) == "Run(threads=2)"


def test_a_disk_that_is_too_small_for_the_scratch_files_is_noticed_before_the_work(tmp_path, monkeypatch):
    text = [str(tmp_path / name) for name in ("s", "t")]
    for path in text:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("a b c\n" * 1000)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=4096))
    run = jobs.Run(memory=1, scratch=str(tmp_path))
    with pytest.raises(dualign.DataError, match=r"about 23 KiB of scratch files are needed, 4 KiB are free"):
        jobs.train(*text, str(tmp_path / "model"), run=run)


def test_a_budget_limits_the_threads_that_align_and_changes_no_byte(tmp_path, monkeypatch):
    text = [str(tmp_path / name) for name in ("s", "t")]
    for path in text:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("a b c\nc b\n" * 100)
    links, model = [str(tmp_path / f"links{number}") for number in range(3)], str(tmp_path / "model")
    used = []

    decode = ThreadsEngine.decode

    def noted(engine, *arguments, **more):
        used.append(engine.threads)
        return decode(engine, *arguments, **more)

    monkeypatch.setattr(ThreadsEngine, "decode", noted)
    some = jobs.Run(threads=8, memory="400M")  # 240 for the program, 40 for its threads
    jobs.align(*text, jobs.Outputs(links[0], model=model), run=jobs.Run(threads=1))
    assert jobs.align(*text, links[1], run=some).threads == 8
    assert jobs.align(*text, links[2], load=model, run=some).threads == 8
    assert used == [1, 2, 2]
    assert len({Path(path).read_bytes() for path in links}) == 1
