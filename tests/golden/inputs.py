"""Small files of every kind that dualign reads, made from the sample, without any help from dualign.

The same sample gives the same bytes (XLSX aside, whose archive has the date in it; its cells are the same).
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import zstandard
from openpyxl import Workbook

PAIRS, GOLD, BEGIN, END = 120, 60, 200, 400
Links = list[tuple[int, int]]

SPECIAL = [
    ("Ein Satz , der fehlt .", ""),
    ("", ""),
    ("Ko\u0308nig\u00a0Otto \ufeffkam  an .", "King Otto arrived\u3000."),
    ("ein\u200bWort ΣΊΣΥΦΟΣ İstanbul 日本語", "oneword Sisyphus Istanbul Japanese"),
]
"""Pairs that follow the first ones: empty sides, decomposed letters, blanks and marks of all kinds."""


def make(folder: Path) -> None:
    """Write all files into a folder that has the files of `dualign demo --files`."""
    sample = [(folder / f"sample.{side}").read_text("utf-8").split("\n")[:-1] for side in ("de", "en")]
    pairs = [*list(zip(*sample, strict=True))[:PAIRS], *SPECIAL]
    write_text(folder, pairs)
    write_lines(folder / "new.de", sample[0][PAIRS:BEGIN])
    write_lines(folder / "new.en", sample[1][PAIRS:BEGIN])
    write_lines(folder / "more.de", sample[0][BEGIN:END])
    write_lines(folder / "more.en", sample[1][BEGIN:END])
    write_links(folder, pairs[:GOLD])
    write_evidence(folder, pairs[:GOLD])
    write_annotation(folder, pairs[:GOLD])
    points = [
        {"pairs": 10 * n, "seconds": n * k, "system": name}
        for k, name in enumerate("ab", 1)
        for n in range(1, 5)
    ]
    write_lines(folder / "traces", [json.dumps({"line": n, "trace": trace(n)}) for n in range(1, 4)])
    write_lines(folder / "costs.jsonl", map(json.dumps, points))


def trace(n: int) -> list[list[float]]:
    """Bound, score, and the share that pruning leaves, round by round."""
    return [[5.0 - k, 1.0 + k / n, 1 / (k + n)] for k in range(2 * n)]


def write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


def write_text(folder: Path, pairs: list[tuple[str, str]]) -> None:
    """The same text in all forms; raw text and bad bytes."""
    rows = [(f"s{n}", *pair) for n, pair in enumerate(pairs, 1)]
    for k, side in enumerate(("de", "en")):
        write_lines(folder / side, [pair[k] for pair in pairs])
        write_lines(folder / f"first.{side}", [pair[k] for pair in pairs[:GOLD]])
        write_lines(folder / f"few.{side}", [pair[k] for pair in pairs[:12]])
        write_lines(folder / f"tiny.{side}", [" ".join(pair[k].split()[:4]) for pair in pairs[:10]])
        write_lines(folder / f"raw.{side}", [together(pair[k]) for pair in pairs])
        write_lines(
            folder / f"long.{side}", [" ".join(pair[k] for pair in pairs[n : n + 20]) for n in (0, 20, 40)]
        )
        write_lines(folder / f"empty.{side}", [])
        subwords = [pair[k] for pair in pairs[:GOLD]]
        write_lines(folder / f"bpe.{side}", map(bpe, subwords))
        write_lines(folder / f"wordpiece.{side}", map(wordpiece, subwords))
        write_lines(folder / f"sentencepiece.{side}", map(sentencepiece, subwords))
        data = (folder / side).read_bytes()
        (folder / f"{side}.gz").write_bytes(gzip.compress(data, mtime=0))
        (folder / f"{side}.bz2").write_bytes(bz2.compress(data))
        (folder / f"{side}.xz").write_bytes(lzma.compress(data))
        (folder / f"{side}.zst").write_bytes(zstandard.compress(data))
        (folder / f"damaged.{side}").write_bytes(data.replace(b"r", b"\xff", 3).replace(b"t", b"\0", 2))
    write_lines(folder / "two.words", [" ".join(source.split()[:3]) for source, _ in pairs[:4]])
    bars = [f"{source} ||| {target}" for source, target in pairs]
    write_lines(folder / "bars", bars)
    (folder / "bars.gz").write_bytes(gzip.compress((folder / "bars").read_bytes(), mtime=0))
    write_lines(folder / "bars.new", [f"{source} ||| {target}" for source, target in pairs[40:]])
    bad = [*bars[:3], "no separator", "a ||| b ||| c", *bars[3:6]]
    (folder / "bad.bars").write_bytes("\n".join(bad).encode() + b"\n\xff ||| c\n" + f"{bars[7]}\n".encode())
    write_lines(folder / "two.tsv", [f"{source}\t{target}" for source, target in pairs])
    write_lines(folder / "table.tsv", ["\t".join(row) for row in [("id", "source", "target"), *rows]])
    quoted = ['"' + '","'.join(cell.replace('"', '""') for cell in row) + '"' for row in rows]
    write_lines(folder / "table.csv", ["id,de,en", *quoted])
    nested = [{"id": name, "text": {"de": source, "en": target}} for name, source, target in rows]
    write_lines(
        folder / "table.jsonl", [json.dumps(row, ensure_ascii=n % 2 == 0) for n, row in enumerate(nested)]
    )
    book = Workbook()
    for row in [("id", "source", "target"), *rows]:
        book.active.append(row)
    book.save(folder / "table.xlsx")


def together(line: str) -> str:
    """Raw text: punctuation at its word, no blanks around apostrophes."""
    for sign in ",.?!":
        line = line.replace(f" {sign}", sign)
    return line.replace(" 's", "'s")


def bpe(line: str) -> str:
    return " ".join(f"{word[:4]}@@ {word[4:]}" if len(word) > 4 else word for word in line.split())


def wordpiece(line: str) -> str:
    return " ".join(f"{word[:4]} ##{word[4:]}" if len(word) > 4 else word for word in line.split())


def sentencepiece(line: str) -> str:
    return " ".join(f"▁{word[:4]} {word[4:]}" if len(word) > 4 else f"▁{word}" for word in line.split())


def links_of(line: str) -> Links:
    """The sure and possible links of a line of gold links."""
    pairs = [link.replace("?", "-").split("-") for link in line.split()]
    return [(int(i), int(j)) for i, j in pairs]


def one_per_target(links: Links) -> Links:
    return sorted({j: (i, j) for i, j in reversed(links)}.values())


def one_per_source(links: Links) -> Links:
    return sorted({i: (i, j) for i, j in links}.values())


def write_links(folder: Path, pairs: list[tuple[str, str]]) -> None:
    """Links made of the gold links, in all formats, and of each direction; some wrong, some missing."""
    gold = (folder / "sample.gold").read_text("utf-8").split("\n")[:-1]
    texts = [(source.split(), target.split()) for source, target in pairs]
    given: list[Links] = []
    for n, (line, (source, target)) in enumerate(zip(gold, texts, strict=True)):
        links = [link for k, link in enumerate(links_of(line)) if (n + k) % 7]
        extra = (n % len(source), (2 * n) % len(target))
        given.append(sorted({*links, extra}) if n % 3 == 0 else links)
    given[5] = []
    forward, backward = list(map(one_per_target, given)), list(map(one_per_source, given))
    for name, every in (("links", given), ("forward", forward), ("backward", backward)):
        write_lines(folder / name, [" ".join(f"{i}-{j}" for i, j in links) for links in every])
    turned = [" ".join(f"{j}-{i}" for i, j in links) for links in backward]
    write_lines(folder / "backward.turned", turned)
    write_lines(
        folder / "links.ids", [f"s{n}\t" + " ".join(f"{i}-{j}" for i, j in x) for n, x in enumerate(given, 1)]
    )
    few = [[(i, j) for i, j in links if max(i, j) < 4] for links in given]
    write_lines(folder / "links.surface", [" ".join(f"{i}-{j}" for i, j in links) for links in few])
    write_lines(folder / "few.gold", gold[:12])
    write_lines(folder / "links.wrong", [*gold[:3], "0-0 99-1", "1-x"])
    write_lines(folder / "links.talp", [" ".join(f"{i + 1}-{j + 1}" for i, j in links) for links in given])
    (folder / "links.zst").write_bytes(zstandard.compress((folder / "links").read_bytes()))
    for name, every in (("links", given), ("forward", forward), ("backward", backward)):
        rows = [
            f"{n} {i + 1} {j + 1} {'P' if (i + j) % 5 == 0 else 'S'} {probability(n, i, j):.6f}"
            for n, links in enumerate(every, 1)
            for i, j in links
        ]
        write_lines(folder / f"{name}.naacl", rows)
    scored = [
        " ".join(f"{i}-{j}:{probability(n, i, j):.6f}" for i, j in links) for n, links in enumerate(given, 1)
    ]
    write_lines(folder / "probabilities", scored)
    write_lines(folder / "corrected", [f"{n + 1}\t{gold[n]}" for n in range(0, GOLD, 2)])
    write_giza(folder / "forward.A3.final", texts, forward)
    write_giza(
        folder / "backward.A3.final",
        [(target, source) for source, target in texts],
        [[(j, i) for i, j in links] for links in backward],
    )


def probability(n: int, i: int, j: int) -> float:
    return ((n * 31 + i * 7 + j * 13) % 97 + 2) / 100


def write_giza(path: Path, texts: list[tuple[list[str], list[str]]], every: list[Links]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for n, ((source, target), links) in enumerate(zip(texts, every, strict=True), 1):
            ends = [" ".join(str(j + 1) for i, j in links if i == k) for k in range(len(source))]
            linked = {j for _, j in links}
            null = " ".join(str(j + 1) for j in range(len(target)) if j not in linked)
            words = [
                f"{word} ({{ {end} }})" for word, end in zip(["NULL", *source], [null, *ends], strict=True)
            ]
            file.write(f"# Sentence pair ({n}) source length {len(source)} target length {len(target)} ")
            file.write(f"alignment score : 0.1\n{' '.join(target)}\n{' '.join(words)}\n")


def write_evidence(folder: Path, pairs: list[tuple[str, str]]) -> None:
    """Glossary, priors, and matrices of scores in all forms."""
    write_lines(
        folder / "glossary", ["Markt\tmarket", "acht Uhr\teight o'clock", "Zug\ttrain", "Brot\tbread"]
    )
    write_lines(
        folder / "weights", ["Markt\tmarket\t5", "Uhr\to'clock", "der\tthe\t2.5", "niemals\tnever\t1"]
    )
    texts = [(source.split(), target.split()) for source, target in pairs]
    every = [
        np.array([[score(n, i, j) for j in range(len(target))] for i in range(len(source))])
        for n, (source, target) in enumerate(texts)
    ]
    np.savez(folder / "scores.npz", *every)
    np.savez(folder / "cosines.npz", *[(matrix - 0.3).astype(np.float32) for matrix in every])
    write_lines(folder / "scores.jsonl", [json.dumps(matrix.tolist()) for matrix in every])
    (folder / "scores").mkdir()
    for n, matrix in enumerate(every):
        np.save(folder / "scores" / f"{n:03}.npy", matrix)


def score(n: int, i: int, j: int) -> float:
    return ((n * 29 + i * 17 + j * 53 + i * j * 7) % 89) / 89 * (0.3 if abs(i - j) > 2 else 1.0)


def write_annotation(folder: Path, pairs: list[tuple[str, str]]) -> None:
    """Trees in brackets and in CoNLL-U, tags, spans and markup."""
    write_lines(folder / "trees", [tree(source.split()) for source, _ in pairs])
    for k, side in enumerate(("de", "en")):
        (folder / f"{side}.conllu").write_text(
            "".join(conllu(n, pair[k].split()) for n, pair in enumerate(pairs)), "utf-8"
        )
    write_lines(folder / "tags", [" ".join(tag(word) for word in source.split()) for source, _ in pairs])
    write_lines(folder / "bio", [" ".join(bio(source.split())) for source, _ in pairs])
    for k, name in enumerate(("spans.jsonl", "spans.en.jsonl")):
        write_lines(folder / name, [json.dumps(spans(pair[k]), ensure_ascii=False) for pair in pairs])
    write_lines(folder / "marked", [marked(source.split(), n) for n, (source, _) in enumerate(pairs)])


def tag(word: str) -> str:
    return (
        "PUNCT"
        if not word[0].isalnum()
        else "NOUN"
        if word[0].isupper()
        else "VERB"
        if word.endswith("t")
        else "DET"
    )


def bio(words: list[str]) -> list[str]:
    inside = [word[0].isupper() and n > 0 for n, word in enumerate(words)]
    return [
        "I-X" if n and inside[n - 1] and this else "B-X" if this else "O" for n, this in enumerate(inside)
    ]


def tree(words: list[str]) -> str:
    """A right-branching tree."""
    leaves = [f"({tag(word)} {word.replace('(', '-LRB-').replace(')', '-RRB-')})" for word in words]
    made = leaves[-1]
    for leaf in reversed(leaves[:-1]):
        made = f"(X {leaf} {made})"
    return f"(S {made})"


def conllu(number: int, words: list[str]) -> str:
    """A tree whose words depend on the next but one, or on the first; some have a token of two words."""
    size, rows = len(words), []
    for n, word in enumerate(words, 1):
        head = 0 if n == 1 else n + 2 if n + 2 <= size and n % 3 else 1
        if n == 2 and number % 4 == 0 and size > 3:
            rows.append(f"2-3\t{words[1]}{words[2]}" + 8 * "\t_")
        misc = "NER=B-X" if word[0].isupper() else "_"
        relation = "root" if head == 0 else f"dep{n % 3}"
        rows.append(f"{n}\t{word}\t{word.lower()}\t{tag(word)}\t_\tCase=Nom\t{head}\t{relation}\t_\t{misc}")
    return "\n".join([f"# sent_id = {number + 1}", f"# text = {' '.join(words)}", *rows, "", ""])


def spans(line: str) -> dict[str, object]:
    """Spans of the first word, of the second and third, and of the whole."""
    words = line.split()
    ends = [len(" ".join(words[: n + 1])) for n in range(len(words))]
    text, found = " ".join(words), [(0, ends[0], "A")]
    if len(words) > 3:
        found.append((ends[0] + 1, ends[2], "B"))
        found.append((0, ends[-1], "ALL"))
    return {"text": text, "spans": [{"start": a, "end": b, "label": label} for a, b, label in found]}


def marked(words: list[str], n: int) -> str:
    rest = " ".join(words[3:])
    return f'<b id="{n}">{words[0]} <i>{" ".join(words[1:3])}</i></b> <br/>{rest}'
