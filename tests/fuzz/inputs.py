"""One small healthy file of every kind that dualign reads, and commands of every verb that read them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from dualign.commands.cli import run
from dualign.text.samples import generate

COMMANDS = """
convert links OUT --from pharaoh --to talp
convert links.talp OUT --from talp --to pharaoh
convert links.naacl OUT --to pharaoh
convert forward.A3.final OUT --to naacl
convert links.gz OUT --to talp
convert links.bz2 OUT --to talp
convert links.xz OUT --from pharaoh --to talp
convert links.zst OUT --to naacl
convert probabilities OUT --to naacl --errors replace
evaluate links gold --json --bootstrap 10
evaluate links links.naacl --source source --target target --bootstrap 0
symmetrize links gold -o OUT --method grow-diag-final
symmetrize links.naacl links.naacl -o OUT
symmetrize forward.A3.final backward.A3.final --method union -o OUT
remap links --to bytes --source-from source --source-to source --target-from target --target-to target -o OUT
remap links --to bpe --source-from source --source-to subwords --skip -o OUT
align source target --model model -o OUT --report OUT2 --probabilities OUT3
align bitext.tsv --model model -o OUT --decoder posterior
align bars.txt --model model -o OUT --decoder bidirectional
align source target --model model -o OUT --decoder submodular --set quantile=0.5
align source target --model ibm1 -o OUT
align source target --model ibm2 -o OUT --decoder matching
align source target --model model -o OUT --glossary glossary.tsv
align source target -o OUT --set rounds=1 --set ibm1_rounds=1 --tune gold
train source target OUT --set rounds=1 --set ibm1_rounds=1
train bitext.tsv OUT --set rounds=1 --set ibm1_rounds=1 --sample 9
align table.csv --columns source=de,target=en,id=id --model model -o OUT
align table.jsonl --columns source=de,target=en,id=id --model model -o OUT --scores OUT2
align source.conllu target.conllu --model model -o OUT --posteriors OUT2.npz
align source target --model model -o OUT --tokenize simple --positions characters --tokens OUT2
align source target -o OUT --set rounds=1 --gold corrected
align source target -o OUT --set rounds=1 --prior weights.tsv
align source target -o OUT --set rounds=1 --prior priors
align source target -o OUT --set rounds=1 --similarity scores.npz
align source target -o OUT --set rounds=1 --background source target
train source target -o OUT --continue model --set rounds=1
evaluate links first gold --bootstrap 10
evaluate links corrected --bootstrap 0
dictionary model -o OUT
dictionary links --source source --target target -o OUT
fast-align -i bars.txt -d -o -v
eflomal -s source -t target -f OUT -r OUT2 -p priors --overwrite
decode scores.npz -o OUT --decoder itermax
decode scores.npz -o OUT
decode scores.jsonl -o OUT --decoder matching --report OUT2
decode scores -o OUT --source source --target target
transfer tree source.conllu target.conllu links -o OUT --report OUT2
transfer tree source.conllu target probabilities -o OUT --complete
transfer tags source.conllu target.conllu links -o OUT
transfer tags tagged target links -o OUT --source-format text
transfer spans spans.jsonl target probabilities -o OUT --discontinuous split
transfer markup marked target links -o OUT --report OUT2
transfer evaluate source.conllu target.conllu probabilities --json
phrases extract source target links -o OUT --reordering OUT2 --dictionary OUT3 --scratch HERE
phrases align table source target -o OUT --report OUT2 --time-limit 2
phrases align table.gz bars.txt -o OUT --method greedy --features 1,1,1,1
phrases train table source target -o OUT --rounds 1 --time-limit 2
phrases evaluate phrases gold --phrases --source source --target target
phrases evaluate links gold --json
translate lm target OUT --order 2
translate decode system source -o OUT --time-limit 1 --report OUT2
translate decode system source -o OUT --method cube
translate decode trees_system trees -o OUT --method cube
show source target --links links --gold gold --lines 1-3
show bars.txt --probabilities probabilities
view source target --links links --probabilities probabilities --report report.jsonl --html OUT
view source target --links links --model model --html OUT --posteriors 2
summarize source target --links links --report report.jsonl -o OUT
figure matrix source target --links links --gold gold --probabilities probabilities -o OUT.svg
figure posteriors source target --model model -o OUT.svg
figure curve source target --gold gold --probabilities probabilities -o OUT.svg
figure trace report.jsonl -o OUT.svg
figure trace report.jsonl --pruning -o OUT.svg
figure cost costs.jsonl -o OUT.svg
figure pruning report.jsonl -o OUT.svg
figure calibration source target --gold gold --probabilities probabilities -o OUT.svg
translate train source target -o OUTDIR --order 2 --rounds 0
demo
bench --source source --target target -o OUT
forest forest
forest lm.arpa
"""
"""A word that is the name of a healthy file is an input; OUT… are outputs; `forest` is no verb.

Missing are `serve`, which `python -m benchmarks.service --soak` tries, and `compile`, which reads nothing."""

QUIET = ["-q", "--threads", "2"]

OLD = b"DUALIGN\0 old\n"
"""What outputs are before a command: like a model, because no model replaces anything else."""

LOUD = {
    "forest",
    "fast-align",
    "eflomal",
    "convert",
    "evaluate",
    "symmetrize",
    "remap",
    "transfer",
    "show",
    "summarize",
    "figure",
}
"""Verbs without --threads, some also without --quiet; so neither is given."""


def commands() -> list[list[str]]:
    """The commands, each as a list of words."""
    return [
        [
            *words,
            *(
                QUIET[:1]
                if words[:2] == ["translate", "lm"] or words[:2] == ["phrases", "evaluate"]
                else QUIET
            ),
        ]
        if words[0] not in LOUD
        else words
        for words in map(str.split, COMMANDS.strip().splitlines())
    ]


def make(place: Path, size: int = 12) -> None:
    """Write all files, of so many sentence pairs, into a folder."""
    pairs = list(generate(size, seed=3, vocabulary=30, mean_length=5))
    sides = [[" ".join(pair[side]) for pair in pairs] for side in (0, 1)]

    def write(name: str, lines: list[str]) -> str:
        (place / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return str(place / name)

    def at(*words: str) -> list[str]:
        return [str(place / word) for word in words]

    def do(*words: str) -> None:
        if code := run(words):
            raise RuntimeError(f"{' '.join(words)} ended with {code}")

    source, target = write("source", sides[0]), write("target", sides[1])
    write("bitext.tsv", [f"{s}\t{t}" for s, t in zip(*sides, strict=True)])
    write("bars.txt", [f"{s} ||| {t}" for s, t in zip(*sides, strict=True)])
    links = write("links", [str(pair[2]) for pair in pairs])
    write("gold", [f"{pair[2]} 0?0" for pair in pairs])
    for name in ("links.talp", "links.naacl"):
        do("convert", links, *at(name))
    for suffix in ("gz", "bz2", "xz", "zst"):
        do("convert", links, *at(f"links.{suffix}"), "--to", "pharaoh")
    write("forward.A3.final", [line for n, pair in enumerate(pairs, 1) for line in _giza(n, pair)])
    turned = [(t, s, [(j, i) for i, j in links]) for s, t, links in pairs]
    write("backward.A3.final", [line for n, pair in enumerate(turned, 1) for line in _giza(n, pair)])
    rows = [(f"id{n}", *both) for n, both in enumerate(zip(*sides, strict=True))]
    write("table.csv", ["id,de,en", *(",".join(row) for row in rows)])
    write("table.jsonl", [json.dumps(dict(zip(("id", "de", "en"), row, strict=True))) for row in rows])
    write("corrected", [f"{n}\t{pair[2]}" for n, pair in enumerate(pairs[:4], 1)])
    write("weights.tsv", [f"{pairs[0][0][0]}\t{pairs[0][1][0]}\t2.5"])
    few = ["--set", "ibm1_rounds=2", *QUIET]
    do("train", source, target, *at("model"), "--set", "decoder=submodular", "--set", "rounds=1", *few)
    for name in ("ibm1", "ibm2"):
        do("train", source, target, *at(name), "--model-type", name, "--set", "rounds=1", *few)
    do("align", source, target, "--model", *at("model"), "--decoder", "posterior", "-o", *at("first"),
       "--probabilities", *at("probabilities"), *QUIET)  # fmt: skip
    do("dictionary", *at("model"), "--to", "eflomal", "-o", *at("priors"), "-q")
    write("report.jsonl", [json.dumps(_record(n)) for n in range(1, size + 1)])
    write("glossary.tsv", [f"{pairs[0][0][0]}\t{pairs[0][1][0]}"])
    write("subwords", [line.replace("1", "@@ 1") for line in sides[0]])
    matrices = [np.random.default_rng(n).random((len(s), len(t))) for n, (s, t, _) in enumerate(pairs)]
    np.savez(place / "scores.npz", *matrices)
    write("scores.jsonl", [json.dumps(matrix.tolist()) for matrix in matrices])
    (place / "scores").mkdir()
    for n, matrix in enumerate(matrices):
        np.save(place / "scores" / f"{n}.npy", matrix)
    for side in (0, 1):
        write(
            ("source.conllu", "target.conllu")[side], [line for pair in pairs for line in _conllu(pair[side])]
        )
    write("tagged", [" ".join("ABC"[len(word) % 3] for word in pair[0]) for pair in pairs])
    write("spans.jsonl", [
        json.dumps({"text": line, "spans": [{"start": 0, "end": len(line.split()[0]), "label": "X"}]})
        for line in sides[0]
    ])  # fmt: skip
    write("marked", [f"<b>{line.split()[0]}</b> <br/>{' '.join(line.split()[1:])}" for line in sides[0]])
    do("phrases", "extract", source, target, links, "-o", *at("table"), *QUIET)
    do("phrases", "extract", source, target, links, "-o", *at("table.gz"), *QUIET)
    do("phrases", "align", *at("table"), source, target, "-o", *at("phrases"), *QUIET)
    do("translate", "train", source, target, *at("system"), "--order", "2", "--rounds", "1", *QUIET)
    write("trees", [f"(S {' '.join(f'(X {word})' for word in pair[0])})" for pair in pairs])
    quick = ["--order", "2", "--rounds", "0", *QUIET]
    do("translate", "train", source, target, *at("trees_system"), "--source-trees", *at("trees"), *quick)
    do("translate", "lm", target, *at("lm.arpa"), "--order", "2", "-q")
    write("costs.jsonl", [json.dumps({"pairs": 10 * n, "seconds": n, "system": "a"}) for n in range(1, 5)])
    from dualign.translate import Hypergraph

    leaves = [(word, 0.0) for word in target_words(sides[1])]
    vertices = [*leaves, (None, 0.0), (None, -0.5)]
    n = len(leaves)
    edges = [(n, (0, 1), -1.0), (n, (1, 0), -2.0), (n + 1, (n, 2), 0.0), (n + 1, (2, n), -0.3)]
    Hypergraph(vertices, edges, n + 1).write(str(place / "forest"))


def target_words(lines: list[str]) -> list[str]:
    """Three words of a text."""
    return sorted({word for line in lines for word in line.split()})[:3]


def decode_forest(forest: str, lm: str) -> int:
    """Translate a forest with a language model, both from files."""
    from dualign.translate import Hypergraph, LanguageModel, decode

    graph, model = Hypergraph.read(forest), LanguageModel.read(lm)
    for method in ("exact", "cube"):
        decode(graph, model, method=method, order=2, time_limit=1.0)
    return 0


def _record(n: int) -> dict[str, object]:
    trace = [[5.0 - k, 1.0, 1 / (k + 1)] for k in range(4)]
    return {"line": n, "score": 1.0, "bound": 2.0, "certified": False, "seconds": 0.1, "trace": trace}


def _giza(n: int, pair: tuple[list[str], list[str], object]) -> list[str]:
    source, target, _ = pair
    words = " ".join(
        f"{word} ({{ {i + 1} }})" if i < len(target) else f"{word} ({{ }})" for i, word in enumerate(source)
    )
    lengths = f"source length {len(source)} target length {len(target)}"
    return [
        f"# Sentence pair ({n}) {lengths} alignment score : 0.1",
        " ".join(target),
        f"NULL ({{ }}) {words}",
    ]


def _conllu(words: list[str]) -> list[str]:
    rows = [
        f"{n}\t{word}\t_\tNOUN\t_\t_\t{n - 1}\t{'root' if n == 1 else 'dep'}\t_\t_"
        for n, word in enumerate(words, 1)
    ]
    return [f"# text = {' '.join(words)}", *rows, ""]
