"""Tables in every verb that reads a bitext: the same answers as for two files, with ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands.bitexts import LINES, SOURCE, TARGET, write_bitext, write_lines
from tests.commands.command import dualign

from dualign import jobs
from dualign.commands.cli import run

FAST = ["--rounds", "1", "-q"]
COLUMNS = ["--columns", "source=2,target=3,id=1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    source, target = write_bitext(folder)
    lines = zip(Path(source).read_text().splitlines(), Path(target).read_text().splitlines(), strict=True)
    rows = [f"p{n}\t{s}\t{t}\n" for n, (s, t) in enumerate(lines, 1)]
    (folder / "table.tsv").write_text("".join(rows))
    assert run(["align", source, target, "-o", str(folder / "links"), *FAST]) == 0
    assert run(["align", str(folder / "table.tsv"), *COLUMNS, "-o", str(folder / "named"), *FAST]) == 0
    return folder


def test_ids_come_out_with_the_links(folder):
    named = [line.split("\t") for line in (folder / "named").read_text().splitlines()]
    assert [links for _, links in named] == (folder / "links").read_text().splitlines()
    assert [id for id, _ in named] == [f"p{n}" for n in range(1, LINES + 1)]


def test_scores_and_tokens_have_the_ids(folder):
    written = {name: str(folder / name) for name in ("scores", "tokens")}
    files = [part for name, path in written.items() for part in (f"--{name}", path)]
    table = str(folder / "table.tsv")
    assert run(["align", table, *COLUMNS, "-o", str(folder / "x"), *files, *FAST]) == 0
    scores, tokens = (
        [line.split("\t") for line in Path(path).read_text().splitlines()] for path in written.values()
    )
    assert tokens == [[f"p{n}", s, t] for n, (s, t) in enumerate(zip(SOURCE, TARGET, strict=True), 1)]
    assert [row[0] for row in scores] == [row[0] for row in tokens]
    assert {len(row) for row in scores} == {5}


def test_links_with_ids_are_read_again(folder, capsys):
    assert run(["evaluate", str(folder / "named"), str(folder / "links"), "--bootstrap", "0"]) == 0
    assert "AER          0.00" in capsys.readouterr().out


def test_reports_and_the_viewer_have_the_ids(folder):
    table, report, page = (str(folder / name) for name in ("table.tsv", "report", "page.html"))
    assert run(["align", table, *COLUMNS, "-o", str(folder / "x"), "--report", report, *FAST]) == 0
    assert [json.loads(line)["id"] for line in Path(report).read_text().splitlines()][:2] == ["p1", "p2"]
    assert run(["view", table, *COLUMNS, "--links", str(folder / "named"), "--html", page, "-q"]) == 0
    assert '"ids":"p1\\np2' in Path(page).read_text()


@pytest.mark.parametrize(
    "verb",
    [
        ["phrases", "extract", "TABLE", "LINKS", "-o", "OUT"],
        ["show", "TABLE", "--links", "LINKS"],
        ["dictionary", "LINKS", "--source", "TABLE", "-o", "OUT"],
        ["figure", "curve", "TABLE", "--links", "LINKS", "--gold", "LINKS", "-o", "OUT.svg"],
        ["summarize", "TABLE", "--links", "LINKS", "-o", "OUT"],
        ["train", "TABLE", "-o", "OUT", "--rounds", "0"],
    ],
)
def test_other_verbs_read_tables(folder, verb, tmp_path, capsys):
    names = {"TABLE": str(folder / "table.tsv"), "LINKS": str(folder / "links"), "OUT": str(tmp_path / "out")}
    names["OUT.svg"] = str(tmp_path / "out.svg")
    assert run([names.get(word, word) for word in verb] + ["--columns", "source=2,target=3", "-q"]) == 0


def test_the_one_file_form_is_for_phrases_and_evaluation_too(folder, tmp_path, capsys):
    both = tmp_path / "both"
    both.write_text("".join(f"{s} ||| {t}\n" for s, t in zip(SOURCE, TARGET, strict=True)))
    out = str(tmp_path / "table")
    assert run(["phrases", "extract", str(both), str(folder / "links"), "-o", out, "-q"]) == 0
    assert run(["phrases", "train", out, str(both), "-o", str(tmp_path / "new"), "--rounds", "1", "-q"]) == 0
    assert run(["evaluate", str(folder / "links"), str(folder / "links"), "--source", str(both)]) == 0
    assert "source word rare" in capsys.readouterr().out


def test_a_table_is_not_overwritten(folder, capsys):
    table = str(folder / "table.tsv")
    before = Path(table).read_text()
    assert run(["align", table, *COLUMNS, "-o", table, *FAST]) == 2
    assert "is both read and written" in capsys.readouterr().err
    assert Path(table).read_text() == before


def test_conllu_has_its_words(tmp_path, capsys):
    for name, forms in (("s", ["das", "10 000", "Haus"]), ("t", ["the", "house"])):
        rows = "".join(f"{n}\t{form}" + "\t_" * 8 + "\n" for n, form in enumerate(forms, 1))
        (tmp_path / f"{name}.conllu").write_text(f"# sent_id = 1\n{rows}\n" * 3)
    files = [str(tmp_path / f"{name}.conllu") for name in "st"]
    assert run(["align", *files, "--tokens", str(tmp_path / "tokens"), *FAST]) == 0
    assert (tmp_path / "tokens").read_text() == "das 10_000 Haus\tthe house\n" * 3
    assert run(["align", files[0]]) == 2
    assert "CoNLL-U has one language" in capsys.readouterr().err


def test_texts_beside_the_main_one_may_be_conllu(folder, tmp_path, capsys):
    """To tune on, to learn from, to count rare words in: the same answers as for the lines."""
    lines, trees = write_bitext(tmp_path), (str(tmp_path / "s.conllu"), str(tmp_path / "t.conllu"))
    for path, sentences in zip(trees, (SOURCE, TARGET), strict=True):
        with open(path, "w", encoding="utf-8") as stream:
            for sentence in sentences:
                rows = (f"{n}\t{form}" + "\t_" * 8 + "\n" for n, form in enumerate(sentence.split(), 1))
                stream.write("".join(rows) + "\n")
    links = str(folder / "links")
    for command in (
        ["align", *lines, *FAST, "--background", "SOURCE", "TARGET"],
        ["align", *lines, *FAST, "--tune", links, "--tune-source", "SOURCE", "--tune-target", "TARGET"],
        ["evaluate", links, links, "--source", "SOURCE", "--target", "TARGET"],
        ["phrases", "evaluate", links, links, "--source", "SOURCE", "--target", "TARGET"],
    ):
        shown = []
        for text in (lines, trees):
            named = {"SOURCE": text[0], "TARGET": text[1]}
            assert run([named.get(word, word) for word in command]) == 0
            shown.append(capsys.readouterr())
        assert shown[0].out
        assert shown[0] == shown[1]


def test_an_output_that_is_read_for_tuning_is_refused_before_the_work(folder, tmp_path, capsys):
    lines, tree = write_bitext(tmp_path), tmp_path / "s.conllu"
    tree.write_text("1\tein" + "\t_" * 8 + "\n\n")
    gold, target = write_lines(tmp_path / "gold", ["0-0"]), write_lines(tmp_path / "target", ["a"])
    beside = ["--tune", gold, "--tune-source", str(tree), "--tune-target", target]
    assert run(["align", *lines, *beside, "-o", str(tree)]) == 2
    shown = capsys.readouterr().err
    assert f"{tree} is both read and written, and would be lost" in shown
    assert "round" not in shown


def test_jobs_know_trees_and_tables_by_their_names(folder, tmp_path):
    """Without copies that somebody has to make: for the text, and for that beside it."""
    rows = ("".join(f"{n}\t{w}" + "\t_" * 8 + "\n" for n, w in enumerate(s.split(), 1)) for s in SOURCE)
    (tmp_path / "s.conllu").write_text("".join(f"{row}\n" for row in rows))
    (tmp_path / "t").write_text("".join(f"{line}\n" for line in TARGET))
    (tmp_path / "b.jsonl").write_text(
        "".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in zip(SOURCE, TARGET, strict=True))
    )
    names = str(tmp_path / "s.conllu"), str(tmp_path / "t")
    for text, known in (
        (names, None), ((str(tmp_path / "b.jsonl"), None), None), (names, jobs.Knowledge(background=names))
    ):  # fmt: skip
        jobs.align(*text, str(tmp_path / "links"), glossary=known, rounds=1)
        assert known or (tmp_path / "links").read_text() == (folder / "links").read_text()


def test_jobs_read_the_words_of_trees_too(tmp_path):
    (tmp_path / "s.conllu").write_text("1\tein" + "\t_" * 8 + "\n\n")
    texts = [write_lines(tmp_path / name, ["ein"]) for name in ("s", "t")]
    known = jobs.Knowledge(background=(str(tmp_path / "s.conllu"), texts[1]))
    jobs.align(*texts, str(tmp_path / "plain"), glossary=known)
    jobs.align(str(tmp_path / "s.conllu"), texts[1], str(tmp_path / "links"))
    assert (tmp_path / "links").read_bytes() == b"0-0\n"


def test_errors_name_the_file_and_not_its_copy(tmp_path):
    """And an archive that is not finished says nothing of its own."""
    rows = "1\tein\t_\tDET\t_\t_\t0\troot\t_\t_\n\n"
    source, target, model = str(tmp_path / "s.conllu"), str(tmp_path / "t"), str(tmp_path / "model")
    Path(source).write_text(2 * rows)
    Path(target).write_text("a\na\n")
    assert run(["train", source, target, model, "-q"]) == 0
    Path(target).write_text("a\n")
    ended = dualign("align", source, target, "--model", model, "--posteriors", str(tmp_path / "p.npz"), "-q")
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"dualign: error: {source} has 2 lines but {target} has 1;")
    assert "Exception ignored" not in ended.stderr


@pytest.mark.parametrize(("id", "message"), [("0-1", "looks like a link"), (" ", "the id is empty")])
def test_ids_that_would_be_misread_are_refused(tmp_path, id, message, capsys):
    (tmp_path / "t.tsv").write_text(f"{id}\ta\tb\n")
    assert run(["align", str(tmp_path / "t.tsv"), *COLUMNS]) == 1
    assert message in capsys.readouterr().err


def test_columns_are_for_one_file(folder, capsys):
    files = [str(folder / "table.tsv")] * 2
    assert run(["align", *files, *COLUMNS]) == 2
    assert "is for one file" in capsys.readouterr().err


def test_numbers_serve_as_ids(folder, tmp_path, capsys):
    rows = zip(range(1001, 1001 + len(SOURCE)), SOURCE, TARGET, strict=True)
    (tmp_path / "n.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    table, links = str(tmp_path / "n.tsv"), str(tmp_path / "links")
    assert run(["align", table, *COLUMNS, "-o", links, *FAST]) == 0
    assert Path(links).read_text().startswith("1001\t")
    text = [str(tmp_path / "s"), str(tmp_path / "t")]
    for path, side in zip(text, (SOURCE, TARGET), strict=True):
        Path(path).write_text("".join(f"{line}\n" for line in side))
    assert run(["show", *text, "--links", links]) == 0
    assert (
        run(["view", table, *COLUMNS, "--links", links, "--gold", links, "--html", str(tmp_path / "h")]) == 0
    )
    assert run(["dictionary", links, "--source", text[0], "--target", text[1]]) == 0
    assert run(["symmetrize", links, links]) == 0
    assert run(["convert", links, str(tmp_path / "c"), "--to", "talp"]) == 0
    assert "before the tabs" in capsys.readouterr().err
    assert run(["evaluate", links, links]) == 0
    assert "AER          0.00" in capsys.readouterr().out


@pytest.mark.parametrize("ids", [["a", "b", "c"], ["1", "2", "3"], ["10", "11", "12"]])
def test_ids_in_another_order(tmp_path, ids, capsys):
    lines = [f"{id}\t{n}-0\n" for n, id in enumerate(ids)]
    links, gold = tmp_path / "links", tmp_path / "gold"
    gold.write_text("".join(lines))
    links.write_text("".join(reversed(lines)))
    ambiguous = ids[0] == "1"  # a line, or an id?
    assert run(["evaluate", str(links), str(gold)]) == ambiguous
    assert (ids[0] if ambiguous else "AER          0.00") in "".join(capsys.readouterr())
    assert run(["symmetrize", str(links), str(gold)]) == 1
    assert f"are `{ids[2]}` and `{ids[0]}`" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["1003", "v3"])
def test_gold_links_by_id_are_pinned(tmp_path, key):
    ids = [key if n == 3 else f"{key[:-1]}{n + 100}" for n in range(len(SOURCE))]
    rows = zip(ids, SOURCE, TARGET, strict=True)
    (tmp_path / "n.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    for name, text in (("by_id", f"{key}\t0-0\n"), ("by_line", "4\t0-0\n")):
        (tmp_path / "gold").write_text(text)
        words = ["train", str(tmp_path / "n.tsv"), *COLUMNS, "--gold", str(tmp_path / "gold")]
        assert run([*words, "-o", str(tmp_path / name), *FAST]) == 0
    assert (tmp_path / "by_id").read_bytes() == (tmp_path / "by_line").read_bytes()


def test_text_is_cut_as_that_of_the_model(tmp_path, capsys):
    """Raw text of a model that was learnt from raw text: the figure and the page have its tokens."""
    for name, word in (("s", "Haus"), ("t", "house")):
        (tmp_path / name).write_text(f"{word}, {word}.\n" * 20)
    text = [str(tmp_path / "s"), str(tmp_path / "t")]
    model, page, figure = (str(tmp_path / name) for name in ("m", "page.html", "figure.svg"))
    links = ["-o", str(tmp_path / "links"), "--positions", "tokens"]
    assert run(["align", *text, "--tokenize", "simple", "--save", model, *links, *FAST]) == 0
    assert run(["view", *text, "--model", model, "--links", links[1], "--html", page]) == 0
    assert "cut into tokens" in capsys.readouterr().err
    assert "Haus , Haus ." in Path(page).read_text()
    assert run(["figure", "posteriors", "-o", figure, "--model", model, *text, "-q"]) == 0
    assert "<!-- Haus -->" in Path(figure).read_text()
