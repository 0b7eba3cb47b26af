"""`dualign dictionary`, and the priors that come out of it and go in."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from tests.commands.bitexts import SOURCE, TARGET, write_bitext, write_lines

from dualign._core.errors import DataError
from dualign.aligner import Aligner
from dualign.commands.cli import run
from dualign.hmm.constraints import Glossary
from dualign.text.link_formats import read_links


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("dictionary")
    files = write_bitext(place)
    assert run(["align", *files, "-o", str(place / "links"), "--save", str(place / "m"), "--quiet"]) == 0
    return place


def output(capsys, *arguments: str) -> list[str]:
    assert run(["dictionary", *arguments, "--quiet"]) == 0
    return capsys.readouterr().out.splitlines()


def texts(folder: Path) -> list[str]:
    return ["--source", str(folder / "text.de"), "--target", str(folder / "text.en")]


def test_a_glossary_of_links_counts_them_and_shows_the_shortest_example(folder, capsys):
    head, *rows = output(capsys, str(folder / "links"), *texts(folder), "--least-probability", "0")
    assert head.split("\t")[:3] == ["source", "target", "count"]
    counts, sources, targets = Counter(), Counter(), Counter()
    lengths: dict[tuple[str, str], int] = {}
    for s, t, alignment in zip(SOURCE, TARGET, read_links(str(folder / "links")), strict=True):
        source, target = s.split(), t.split()
        for i, j in alignment.links:
            key = source[i].lower(), target[j].lower()
            counts[key] += 1
            lengths[key] = min(lengths.get(key, 10**9), len(source) + len(target))
        for n, word in enumerate(source):
            sources[word.lower()] += max(1, sum(i == n for i, _ in alignment.links))
        for n, word in enumerate(target):
            targets[word.lower()] += max(1, sum(j == n for _, j in alignment.links))
    assert len(rows) == len(counts)
    for row in rows:
        source, target, count, there, back, line, left, right = row.split("\t")
        key = source.lower(), target.lower()
        assert int(count) == counts[key]
        assert float(there) == pytest.approx(counts[key] / sources[key[0]], abs=1e-4)
        assert float(back) == pytest.approx(counts[key] / targets[key[1]], abs=1e-4)
        assert (left, right) == (SOURCE[int(line) - 1], TARGET[int(line) - 1])
        assert len(left.split()) + len(right.split()) == lengths[key]
    assert "Markt\tmarket" in "\n".join(rows)


def test_a_dictionary_is_a_glossary(folder, capsys):
    path = str(folder / "glossary.tsv")
    output(capsys, str(folder / "links"), *texts(folder), "-o", path)
    rows = Path(path).read_text("utf-8").splitlines()[1:]
    glossary = Glossary.read(path)
    entries = {tuple(row.lower().split("\t")[:2]) for row in rows}
    assert {(s, t) for s, known in glossary.translations.items() for t in known} == entries
    assert "source" not in glossary.translations
    with pytest.raises(DataError, match="bad:1: no translation on the line"):
        Glossary.read(write_lines(folder / "bad", ["Markt\t\tmarket"]))
    assert Glossary.read(write_lines(folder / "two", ["source\ttarget"])).translations == {
        "source": {"target": None}
    }


def test_a_model_with_a_text_aligns_it(folder, capsys):
    by_model = output(capsys, str(folder / "m"), *texts(folder))
    assert by_model == output(capsys, str(folder / "links"), *texts(folder))


def test_a_model_alone_has_its_probabilities(folder, capsys):
    rows = [row.split("\t") for row in output(capsys, str(folder / "m"))[1:]]
    aligner = Aligner.load(str(folder / "m"))
    for source, target, _, there, back in rows[:30]:
        found = {word: (p, q) for word, p, q in aligner.translations(source, 1000)}
        assert found[target] == pytest.approx((float(there), float(back)), abs=1e-4)
        other = {word: (p, q) for word, p, q in aligner.translations(target, 1000, of="target")}
        assert other[source] == pytest.approx((float(back), float(there)), abs=1e-4)
        assert min(float(there), float(back)) >= 0.05 - 1e-4


def test_moses_lexica_have_null_and_add_up(folder, tmp_path, capsys):
    for given in ([str(folder / "m")], [str(folder / "links"), *texts(folder)]):
        output(capsys, *given, "--to", "lex", "-o", str(tmp_path / "lex"))
        for name in ("s2t", "t2s"):
            sums: dict[str, float] = defaultdict(float)
            for line in (tmp_path / f"lex.{name}").read_text("utf-8").splitlines():
                _, word, p = line.split(" ")
                assert re.fullmatch(r"[01]\.\d{7}", p)
                sums[word] += float(p)
            assert "NULL" in sums
            assert all(total == pytest.approx(1, abs=1e-3) for w, total in sums.items() if w != "NULL")


def test_cut_offs_are_absolute_and_relative(folder, capsys):
    whole = [line.split(" ") for line in output(capsys, str(folder / "m"), "--to", "shortlist")]
    best: dict[str, float] = defaultdict(float)
    for _, source, p in whole:
        best[source] = max(best[source], float(p))
    cut = output(
        capsys, str(folder / "m"), "--to", "shortlist", "--least-probability", "0.01", "--relative", "0.2"
    )
    expected = [
        " ".join((target, source, p))
        for target, source, p in whole
        if float(p) >= 0.01 and float(p) >= 0.2 * best[source]
    ]
    assert cut == expected
    assert 0 < len(cut) < len(whole)
    assert all("NULL" not in line.split() for line in cut)


def test_priors_for_eflomal_come_back_as_a_prior(folder, tmp_path, capsys):
    path = str(tmp_path / "priors")
    output(capsys, str(folder / "m"), "--to", "eflomal", "-o", path)
    lines = Path(path).read_text("utf-8").splitlines()
    assert all(re.fullmatch(r"LEX\t\S+\t\S+\t[0-9.e+-]+", line) for line in lines)
    files = [str(folder / "text.de"), str(folder / "text.en")]
    few = [write_lines(tmp_path / name, side[:20]) for name, side in (("s", SOURCE), ("t", TARGET))]
    for arguments in (["--prior", path], ["--prior", str(folder / "m"), "--prior-weight", "0.5"]):
        model = str(tmp_path / "with")
        assert run(["train", *few, model, *arguments, "--quiet"]) == 0
        words = Aligner.load(model).model.source.words
        assert {word.lower() for line in SOURCE for word in line.split()} >= {*words}
        assert len(words) > len({word.lower() for line in SOURCE[:20] for word in line.split()})
    assert run(["train", *files, str(tmp_path / "more"), "--continue", str(folder / "m"), "--quiet"]) == 0
    once, twice = (Aligner.load(path).model.seen for path in (str(folder / "m"), str(tmp_path / "more")))
    assert twice.source.sum() == 2 * once.source.sum()


def test_options_of_the_model_that_goes_on_hold_unless_others_are_given(folder, tmp_path):
    files = [str(folder / "text.de"), str(folder / "text.en")]
    assert run(["train", *files, str(tmp_path / "a"), "--rounds", "2", "--set", "null=0.2", "--quiet"]) == 0
    assert (
        run(
            [
                "train",
                *files,
                str(tmp_path / "b"),
                "--continue",
                str(tmp_path / "a"),
                "--rounds",
                "1",
                "--quiet",
            ]
        )
        == 0
    )
    options = Aligner.load(str(tmp_path / "b")).options
    assert (options.rounds, options.null) == (1, 0.2)


def test_going_on_with_a_model_of_other_text_is_told(folder, tmp_path, capsys):
    source, target = str(folder / "text.de"), str(folder / "text.en")

    def notes(*arguments: str) -> str:
        more = ["--continue", str(folder / "m"), "--rounds", "1"]
        assert run(["train", *arguments, str(tmp_path / "more"), *more]) == 0
        return capsys.readouterr().err

    shown = notes(target, source)
    assert re.search(r"does not know \d+ % of the first source words; .* in this order", shown)
    assert re.search(r"does not know \d+ % of the first target words", shown)
    shown = notes(source, target, "--keep-case", "--tokenize", "simple")
    assert "the text is not put in lower case, but that of the model is" in shown
    assert "cut by --tokenize simple, but that of the model was by --tokenize none" in shown
    shown = notes(source, target)
    assert "does not know" not in shown
    assert "that of the model" not in shown


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["dictionary", "links"], 2, "links needs its text"),
        (["dictionary", "m", "--to", "xml"], 2, "not one of tsv"),
        (["dictionary", "m", "--to", "lex"], 2, "two files are written"),
        (["dictionary", "m", "--target", "t"], 2, "--target needs --source"),
        (["dictionary", "links", "--source", "text.de", "--target", "short"], 1, "has 2"),
        (["dictionary", "none"], 1, "none: no such file"),
        (["train", "text.de", "text.en", "x", "--prior", "m", "--continue", "m"], 2, "leave out --prior"),
        (["train", "text.de", "text.en", "x", "--prior-weight", "2"], 2, "--prior-weight 2"),
        (["train", "text.de", "text.en", "x", "--prior", "m", "--prior-weight", "-2"], 2, "must be over 0"),
        (["train", "text.de", "text.en", "x", "--prior", "none"], 1, "none: no such file"),
        (["train", "text.de", "text.en", "x", "--continue", "text.de"], 1, "text.de"),
        (["train", "text.de", "text.en", "m", "--continue", "m"], 2, "m"),
        (["align", "text.de", "text.en", "--model", "m", "--prior", "m"], 2, "a prior is for training"),
    ],
)
def test_wrong_usage_is_told(folder, arguments, code, message, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    write_lines(folder / "short", TARGET[:2])
    assert run([*arguments, "--quiet"]) == code
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown
