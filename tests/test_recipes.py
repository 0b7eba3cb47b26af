"""Recipes of the documents for other people's programs, run where these are installed."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from ast import literal_eval
from importlib.util import find_spec
from pathlib import Path
from shutil import copy

import pytest

from dualign import Aligner, jobs
from dualign.text.samples import sample, sample_path

PAGES = "".join(
    (Path(__file__).parents[1] / "docs" / f"{name}.md").read_text("utf-8")
    for name in ("pipelines", "recipes")
)


def blocks(kind: str, word: str) -> list[str]:
    """The blocks of a kind that mention a word."""
    return [b for b in re.findall(rf"^```{kind}\n(.*?)^```", PAGES, re.MULTILINE | re.DOTALL) if word in b]


@pytest.fixture
def folder(tmp_path):
    for name in ("sample.de", "sample.en"):
        copy(sample_path(name), tmp_path)
    source, target, _ = sample()
    Aligner().fit((source, target)).save(tmp_path / "sample.model")
    return tmp_path


def run_python(folder: Path, code: str) -> str:
    """Run a program in a process of its own, as its users do: warnings of other packages are not ours."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(find_spec("opusfilter") is None, reason="opusfilter is not installed")
def test_opusfilter_filters_by_our_scores(folder):
    (recipe,) = blocks("py", "opusfilter")
    (configuration,) = blocks("yaml", "DualignFilter")
    (folder / "dualign_filter.py").write_text(recipe)
    (folder / "steps.yaml").write_text(configuration)
    lines = [(folder / name).read_text("utf-8").splitlines() for name in ("sample.de", "sample.en")]
    lines[1][:10] = lines[1][20:30]
    lines[1][10] = ""
    for name, side in zip(("sample.de", "sample.en"), lines, strict=True):
        (folder / name).write_text("".join(f"{line}\n" for line in side), "utf-8")
    run_python(
        folder,
        "from ruamel.yaml import YAML; from opusfilter.opusfilter import OpusFilter\n"
        "OpusFilter(YAML(typ='safe').load(open('steps.yaml'))).execute_steps()",
    )
    kept = (folder / "clean.de").read_text("utf-8").splitlines()
    assert len(kept) > 0.9 * len(lines[0])
    assert not set(lines[0][:11]) & set(kept)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("eflomal") is None, reason="eflomal is not installed")
def test_eflomal_reads_our_priors_and_aligns_with_them(folder):
    jobs.dictionary(folder / "sample.model", folder / "sample.priors", form="eflomal")
    code = (
        "import eflomal\n"
        "priors = eflomal.read_priors(open('sample.priors', encoding='utf-8'))\n"
        "print(len(priors[0]), [len(each) for each in priors[1:]])\n"
        "files = [open(name, encoding='utf-8') for name in ('sample.de', 'sample.en', 'sample.priors')]\n"
        "eflomal.Aligner().align(files[0], files[1], links_filename_fwd='fwd', links_filename_rev='rev',\n"
        "    priors_input=files[2])"
    )
    lines = (folder / "sample.priors").read_text("utf-8").splitlines()
    assert run_python(folder, code) == f"{len(lines)} [0, 0, 0, 0]\n"
    assert len((folder / "fwd").read_text().splitlines()) == len(sample()[0])


@pytest.mark.slow
@pytest.mark.skipif(find_spec("bicleaner") is None, reason="bicleaner is not installed")
def test_bicleaner_reads_our_dictionaries(folder):
    (recipe,) = blocks("py", "ProbabilisticDictionary")
    text = jobs.DictionaryText(str(folder / "sample.de"), str(folder / "sample.en"))
    jobs.align(text.source, text.target, str(folder / "sample.links"))
    jobs.dictionary(str(folder / "sample.links"), str(folder / "dict"), text=text, form="lex")
    for name in ("dict.s2t", "dict.t2s"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    assert run_python(folder, recipe) == "True True\n"


TINY = """
import os
from transformers import BertConfig, BertModel, BertTokenizerFast
import torch
torch.manual_seed(1)
text = open("sample.de", encoding="utf-8").read() + open("sample.en", encoding="utf-8").read()
words = sorted({*text.lower().split()})
os.mkdir("tiny")
with open("tiny/vocab.txt", "w", encoding="utf-8") as f:
    f.write("\\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
BertTokenizerFast("tiny/vocab.txt").save_pretrained("tiny")
size = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
BertModel(BertConfig(vocab_size=len(words) + 5, **size)).save_pretrained("tiny")
MODEL, LAYER = "tiny", 1
"""
"""A network that knows nothing, which is enough for matrices of its similarities."""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("simalign") is None, reason="simalign is not installed")
def test_our_decoders_give_the_links_of_simalign(folder):
    (recipe,) = blocks("py", "simalign")
    code = TINY + recipe.replace('"ai"', '"mai"').replace(
        "aligner.get_word_aligns", "print(aligner.get_word_aligns"
    )
    code = code.replace("pair))", "pair)))")
    found = [literal_eval(line) for line in run_python(folder, code).splitlines()]
    assert len(found) == 20
    for decoder, name in (("argmax", "inter"), ("itermax", "itermax"), ("matching", "mwmf")):
        jobs.decode(str(folder / "simalign.npz"), str(folder / "links"), decoder=jobs.MatrixDecoder(decoder))
        ours = [line.split() for line in (folder / "links").read_text().splitlines()]
        assert ours == [[f"{i}-{j}" for i, j in sorted(links[name])] for links in found], decoder


@pytest.mark.slow
@pytest.mark.skipif(find_spec("machine") is None, reason="sil-machine is not installed")
def test_machine_trains_and_aligns(folder):
    (recipe,) = blocks("py", "DualignModel")
    lines = run_python(folder, recipe).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("0-0:")
