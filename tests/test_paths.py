"""Wherever a file or folder is named, it may be named by a `pathlib.Path`, or anything else like it."""

import inspect
import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import dualign
from dualign.show import Files, read_dataset
from dualign.text import (
    Alignment,
    read_arpa,
    read_conllu,
    read_lines,
    read_links,
    read_matrices,
    read_pairs,
    read_records,
    read_table,
    read_trees,
    write_arpa,
    write_conllu,
    write_links,
    write_sample,
)
from dualign.translate import Hypergraph, LanguageModel

ROOMS = ("", ".text", ".infer", ".learn", ".decode", ".phrase", ".translate", ".transfer", ".measure",
         ".show", ".engines.dask")  # fmt: skip
FILES = {"path", "folder", "scratch", "table", "reordering", "dictionary", "work"}


class Place:
    """A path that is neither a string nor shown like one."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def __fspath__(self) -> str:
        return self._path


CONTENTS = {
    "lines": "a b\n",
    "pairs": "a ||| b\n",
    "links": "0-0\n",
    "trees": "(S (A a))\n",
    "matrices.jsonl": "[[1.0]]\n",
    "reports": '{"line": 1}\n',
    "table": "a ||| b ||| 0.5\n",
    "glossary": "a\tb\n",
    "annotated": '{"text": "a"}\n',
    "trees.conllu": "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n",
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path):
    for name, content in CONTENTS.items():
        (tmp_path / name).write_text(content)
    return lambda name: Place(tmp_path / name)


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        (read_lines, "lines"),
        (read_pairs, "pairs"),
        (read_links, "links"),
        (read_trees, "trees"),
        (read_matrices, "matrices.jsonl"),
        (read_records, "reports"),
        (read_table, "table"),
        (read_conllu, "trees.conllu"),
        (dualign.transfer.read_annotated, "annotated"),
    ],
)
def test_a_reader_takes_a_path(reader, name, place):
    found = list(map(repr, reader(place(name))))
    assert len(found) == 1
    assert found == list(map(repr, reader(os.fspath(place(name)))))


def test_glossaries_and_occurrences_are_read_from_a_path(place):
    assert isinstance(dualign.infer.Glossary.read(place("glossary")), dualign.infer.Glossary)
    assert dualign.phrase.Occurrences([(["a"], ["b"])]).read(place("table")).scores.tolist() == [[0.5]]


@pytest.mark.parametrize(
    "reader",
    [read_lines, read_arpa, read_pairs, read_table, Hypergraph.read, LanguageModel.read, LanguageModel.load],
)
def test_messages_have_the_path_as_a_string(reader, place):
    with pytest.raises(dualign.DataError, match=r"/missing: "):
        list(reader(place("missing")))


def test_two_files_of_pairs_are_paths(place):
    assert list(read_pairs(place("lines"), place("lines"))) == [(["a", "b"], ["a", "b"])]
    with pytest.raises(dualign.DataError, match=r"/pairs has 1 line.*/missing|/missing: "):
        list(read_pairs(place("pairs"), place("missing")))


def test_what_is_written_to_a_path_is_read_from_it(place):
    write_links([Alignment(((0, 0),))], place("written.gz"))
    assert [each.links for each in read_links(place("written.gz"))] == [((0, 0),)]
    sentences = list(read_conllu(place("trees.conllu")))
    write_conllu(sentences, place("written.conllu"))
    assert [s.words for s in read_conllu(place("written.conllu"))] == [s.words for s in sentences]
    graph = Hypergraph([(None, 0.0), ("a", -0.5)], [(0, [1], -1.0)], 0)
    graph.write(place("forest"))
    assert Hypergraph.read(place("forest")).edges == graph.edges
    assert Path(write_sample(place("sample"))[0]).parent == Path(os.fspath(place("sample")))


def test_a_language_model_is_read_saved_and_loaded(place):
    from dualign.translate.lm.kneser_ney import estimate

    write_arpa(estimate([["a", "b"], ["b", "a"]], 2), place("model.arpa"))
    assert len(read_arpa(place("model.arpa")).grams) == 2
    model = LanguageModel.read(place("model.arpa"))
    model.save(place("model.npz"))
    assert LanguageModel.load(place("model.npz")).words == model.words


def test_tables_and_data_sets(place, tmp_path):
    pairs = [((["a"], ["b"]), Alignment(((0, 0),)))]
    tables = {name: place(name) for name in ("reordering", "dictionary", "scratch")}
    (tmp_path / "scratch").mkdir()
    dualign.phrase.build_table(pairs, place("built.gz"), **tables)
    assert [line.source for line in read_table(place("built.gz"))] == ["a"]
    assert sorted(path.name for path in tmp_path.glob("dictionary.*")) == ["dictionary.s2t", "dictionary.t2s"]
    data = read_dataset(Files(place("pairs"), links=[place("links")], gold=place("links")))
    assert data.gold[0].links == data.systems[0].links[0].links == ((0, 0),)


def test_a_translation_system_is_a_path(place):
    text = [(["a", "b"], ["x", "y"]), (["b"], ["y"]), (["a"], ["x"])]
    links = [Alignment(tuple((i, i) for i in range(len(source)))) for source, _ in text]
    dualign.translate.train_system(text, place("system"), rounds=0, order=2, links=links)
    found = dualign.translate.Translator.load(place("system")).translate(["a", "b"])
    assert np.isfinite(found.score)


def test_no_public_function_takes_files_by_string_alone():
    alone = []
    for room in ROOMS:
        module = import_module(f"dualign{room}")
        for name in module.__all__:
            public = getattr(module, name)
            members = [public]
            if inspect.isclass(public):
                members += [f for k, f in inspect.getmembers(public, callable) if not k.startswith("_")]
            for function in filter(inspect.isroutine, members):
                if not str(getattr(function, "__module__", "")).startswith("dualign"):
                    continue
                for parameter in inspect.signature(function).parameters.values():
                    if parameter.name in FILES and parameter.annotation in ("str", "str | None"):
                        alone.append(f"{function.__qualname__}({parameter.name})")
    assert alone == []
