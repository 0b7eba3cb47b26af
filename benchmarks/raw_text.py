"""Raw text compared with tokenised text: AER of each tokeniser on detokenised corpora.

    python -m benchmarks.raw_text --size 10k

Blanks are removed from tokenised text as in print: before closing punctuation, after opening brackets, at
apostrophes; in Japanese, all of them. Case stays as it is in the corpus. The gold pairs are placed in front
of the training text. A tokeniser cuts the raw text, and the gold links are carried to its tokens through the
offsets of characters: a gold link of a word becomes one of each token that shares a character with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpora import Corpus, Pair, present, size_of
from benchmarks.runs import add_data, describe, guarded, keep_to, parser, record
from dualign import jobs
from dualign.measure.links import evaluate
from dualign.measure.timing import markdown
from dualign.text.blocks import read_pairs
from dualign.text.link_formats import read_links
from dualign.text.utf8 import tokenize
from dualign.transfer.remapping import remap
from dualign.transfer.tokens import covering, overlaps

HEAD = ("corpus", "pairs", "text", "tokeniser", "AER %", "difference")
TOKENIZERS = ("none", "simple", "moses", "icu")
CORPORA = ("europarl-de-en", "czenali-cs-en", "kftt-ja-en")
SPACELESS = ("kftt-ja-en",)
LANGUAGES = {"europarl-de-en": "de", "czenali-cs-en": "cs", "kftt-ja-en": "ja"}
_CLOSING = frozenset(".,;:!?)]}%”’»“…、。")
_OPENING = frozenset("([{¿¡„«")


def main() -> None:
    options = parser("Compare tokenisers of raw text.", "raw_text.jsonl")
    add_data(options)
    options.add_argument("--corpora", nargs="+", default=list(CORPORA), choices=CORPORA)
    options.add_argument("--tokenizers", nargs="+", default=list(TOKENIZERS))
    options.add_argument("--size", default="10k", help="training pairs beside the gold pairs: 10k, all")
    given = options.parse_args()
    keep_to(given.threads)
    print(describe(given.threads))
    rows = []
    for name in present(given.data, given.corpora):
        corpus = Corpus(given.data, name, given.seed)
        files = [str(given.data / name / f"train.{side}.gz") for side in ("source", "target")]
        pairs = [*corpus.gold_pairs, *islice(filter(all, read_pairs(*files)), size_of(given.size))]
        best = None
        for tokenizer in ("tokenised", *given.tokenizers):
            aer = measured(corpus, pairs, tokenizer, given.threads)
            best = aer if best is None else best
            text = "tokenised" if tokenizer == "tokenised" else "raw"
            shown = "" if tokenizer == "tokenised" else tokenizer
            rows.append(
                (name, str(len(pairs)), text, shown, f"{100 * aer:.2f}", f"{100 * (aer - best):+.2f}")
            )
            result = {"corpus": name, "pairs": len(pairs), "tokenizer": tokenizer, "aer": aer}
            record(given.json, result)
            print(*rows[-1], flush=True)
    print(markdown(HEAD, rows))


def measured(corpus: Corpus, pairs: Sequence[Pair], tokenizer: str, threads: int) -> float:
    """AER on the gold pairs, with the gold links on the tokens that were aligned."""
    with TemporaryDirectory(prefix="dualign-raw-") as folder:
        place = Path(folder)
        spaceless = corpus.name in SPACELESS
        for side, name in enumerate(("source", "target")):
            raw = (
                " ".join(pair[side]) if tokenizer == "tokenised"
                else "".join(pair[side]) if spaceless and side == 0
                else detokenized(pair[side])
                for pair in pairs
            )  # fmt: skip
            (place / name).write_text("".join(f"{line}\n" for line in raw), encoding="utf-8")
        chosen = "none" if tokenizer == "tokenised" else tokenizer
        if chosen == "moses":
            chosen = f"moses:{LANGUAGES[corpus.name]},moses:en"
        outputs = jobs.Outputs(str(place / "links"), tokens=str(place / "tokens"))
        jobs.align(
            place / "source", place / "target", outputs, tokenize=chosen, run=jobs.Run(threads=threads)
        )
        count = len(corpus.gold)
        cut = list(islice(read_pairs(str(place / "tokens")), count))
        links = list(islice(read_links(str(place / "links")), count))
    gold = []
    for old, new, alignment in zip(corpus.gold_pairs, cut, corpus.gold, strict=True):
        sides = [
            overlaps(*covering(tokenize(" ".join(a)), b, ("gold", "tokens")))
            for a, b in zip(old, new, strict=True)
        ]
        gold.append(remap(alignment, sides[0], sides[1]))
    return evaluate(links, gold).aer


def detokenized(tokens: Sequence[str]) -> str:
    """Tokens as they would be printed: the same letters with fewer blanks."""
    text = ""
    quoted = glued = False
    for token in tokens:
        closing = all(letter in _CLOSING for letter in token)
        ending = token[0] in "'’" and token[1:].isalpha()
        if token == '"':
            closing, quoted = quoted, not quoted
        if not (glued or closing or ending or not text):
            text += " "
        text += token
        glued = token in _OPENING or (token == '"' and quoted) or (token[-1] in "'’" and token[:-1].isalpha())
    return text


if __name__ == "__main__":
    guarded(main)
