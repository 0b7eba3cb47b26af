"""What is wrong with a CoNLL-U text, from the format's description; shares nothing with the reader.

https://universaldependencies.org/format.html. A head may be unknown (`_`), as the format allows and treebanks
do not, unless `whole`; then relation and head are unknown together.
"""

from __future__ import annotations

import re

UPOS = {
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
}


def problems(text: str, *, whole: bool = False) -> list[str]:
    """One line for each fault; empty for a valid text."""
    found: list[str] = []
    if text == "":
        return found
    if not text.endswith("\n\n") or "\r" in text or "\n\n\n" in text or text.startswith("\n"):
        found.append("sentences are not ended by exactly one blank line each")
    for number, block in enumerate(text.strip("\n").split("\n\n"), 1):
        found += [f"sentence {number}: {fault}" for fault in _sentence(block.split("\n"), whole)]
    return found


def _sentence(lines: list[str], whole: bool) -> list[str]:
    faults = []
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    if lines[len(lines) - len(rows) :] != ["\t".join(row) for row in rows]:
        faults.append("comments among the rows")
    if any(len(row) != 10 or not all(row) or any(field != field.strip() for field in row) for row in rows):
        return [*faults, "not ten filled columns in each row"]
    words = [row for row in rows if row[0].isdigit()]
    count = len(words)
    if not words or [row[0] for row in words] != [str(n + 1) for n in range(count)]:
        return [*faults, "words are not numbered 1, 2, 3"]
    faults += _other_rows(rows, count)
    roots = 0
    for row in words:
        head, relation = row[6], row[7]
        if (head == "_") != (relation == "_"):
            faults.append(f"word {row[0]}: HEAD `{head}` with DEPREL `{relation}`")
        if (head == "0") != (relation == "root"):
            faults.append(f"word {row[0]}: HEAD `{head}` with DEPREL `{relation}`")
        if head == "_" and whole:
            faults.append(f"word {row[0]} has no head")
        if head != "_" and not (re.fullmatch(r"0|[1-9]\d*", head) and int(head) <= count and head != row[0]):
            faults.append(f"word {row[0]}: HEAD `{head}`")
            return faults
        roots += head == "0"
        if row[3] not in UPOS | {"_"}:
            faults.append(f"word {row[0]}: UPOS `{row[3]}`")
        keys = [part.partition("=")[0] for part in row[9].split("|")]
        if len(keys) != len(set(keys)) or (row[9] != "_" and not all(keys)):
            faults.append(f"word {row[0]}: MISC `{row[9]}`")
    if roots > 1 or (whole and roots != 1):
        faults.append(f"{roots} roots")
    heads = {row[0]: row[6] for row in words}
    for word in heads:
        at, steps = word, 0
        while at in heads and steps <= count:
            at, steps = heads[at], steps + 1
        if steps > count:
            faults.append(f"word {word} is below a cycle")
    return faults + _text(lines, rows)


def _other_rows(rows: list[list[str]], count: int) -> list[str]:
    faults = []
    covered: set[int] = set()
    words = 0
    for row in rows:
        if row[0].isdigit():
            words = int(row[0])
        elif match := re.fullmatch(r"([1-9]\d*)-([1-9]\d*)", row[0]):
            first, last = int(match[1]), int(match[2])
            inside = set(range(first, last + 1))
            if first != words + 1 or not inside or last > count or covered & inside:
                faults.append(f"range {row[0]} does not fit")
            covered |= inside
            if row[2:9] != ["_"] * 7:
                faults.append(f"range {row[0]} is annotated")
        elif match := re.fullmatch(r"(\d+)\.([1-9]\d*)", row[0]):
            if int(match[1]) != words or row[6] != "_" or row[7] != "_":
                faults.append(f"empty node {row[0]} does not fit")
        else:
            faults.append(f"ID {row[0]}")
    return faults


def _text(lines: list[str], rows: list[list[str]]) -> list[str]:
    """The comment `text` must be what the forms spell."""
    wanted = [line.partition(" = ")[2] for line in lines if line.startswith("# text = ")]
    spelt, until = "", 0
    for row in rows:
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", row[0])
        if match is None or (match[2] is None and int(match[1]) <= until):
            continue
        until = int(match[2] or match[1])
        spelt += row[1] + ("" if "SpaceAfter=No" in row[9].split("|") else " ")
    return [f"text `{text}` but the forms spell `{spelt}`" for text in wanted if text != spelt.rstrip(" ")]
