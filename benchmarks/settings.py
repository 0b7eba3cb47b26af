"""What an option does to the links: the defaults beside other settings, on the same texts.

    python -m benchmarks.settings --size 10k style=full
    python -m benchmarks.settings --size 1k null=0.1,floor=1e-5 rounds=5

Each corpus is trained on as in `benchmarks.peers`: gold pairs without their links and N others. Settings that
only concern the choice of links use the model of the defaults.
"""

from __future__ import annotations

from statistics import mean

from benchmarks.corpora import Frequencies, line, size_of
from benchmarks.misses import misses
from benchmarks.runs import add_corpora, each_corpus, guarded, parser, record
from dualign._core.fields import assigned, settings
from dualign.aligner import Aligner
from dualign.commands.align import Align
from dualign.measure.links import evaluate
from dualign.measure.timing import markdown
from dualign.options import DECODING


def main() -> None:
    options = parser("Compare settings with the defaults.", "settings.jsonl")
    add_corpora(options)
    options.add_argument("--size", default="10k", help="training pairs: 10k, all")
    options.add_argument("settings", nargs="+", metavar="NAME=VALUE[,NAME=VALUE…]", help="options to try")
    given = options.parse_args()
    known = settings(Align)
    trials = {"defaults": {}, **{text: assigned(known, text.split(","), {}) for text in given.settings}}
    rows = []
    errors: dict[str, list[float]] = {text: [] for text in trials}
    for corpus in each_corpus(given):
        gold_pairs = [tuple(side.split(" ") for side in line(pair).split("\t")) for pair in corpus.gold_pairs]
        others = [tuple(both.split("\t")) for both in corpus.lines[: size_of(given.size)]]
        usual = Aligner(threads=given.threads).fit([*gold_pairs, *others])
        for text, changed in trials.items():
            if changed.keys() <= set(DECODING):
                aligner = Aligner.of_model(usual.model, given.threads).set_options(**changed)
            else:
                aligner = Aligner(threads=given.threads, **changed).fit([*gold_pairs, *others])
            found = aligner.align(gold_pairs)
            quality = evaluate(found, corpus.gold)
            missed = misses(gold_pairs, found, corpus.gold, Frequencies())
            errors[text].append(quality.aer)
            record(given.json, {"corpus": corpus.name, "settings": changed, "quality": quality.as_dict()})
            shapes = [missed.get(shape, (0, 0)) for shape in ("one to one", "many to one")]
            rates = [f"{100 * value:.2f}" for value in (quality.aer, quality.precision, quality.recall)]
            rows.append((corpus.name, text, *rates, *(f"{lost:,} of {number:,}" for number, lost in shapes)))
    rows += [("mean", text, f"{100 * mean(found):.2f}", "", "", "", "") for text, found in errors.items()]
    head = ("text", "settings", "AER", "P", "R", "missed: one to one", "many to one")
    print("\n" + markdown(head, rows, left=2))


if __name__ == "__main__":
    guarded(main)
