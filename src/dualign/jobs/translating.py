"""What `translate decode` does between its files."""

from __future__ import annotations

import json
from contextlib import ExitStack
from time import perf_counter
from typing import Any

from dualign.cli.options import separate_outputs
from dualign.cli.progress import counted
from dualign.core.errors import UsageError
from dualign.core.threads import available, ordered_map
from dualign.text.brackets import Tree, read_trees
from dualign.text.lines import read_lines, tokenize
from dualign.text.streams import open_output
from dualign.translate.search.decoding import METHODS
from dualign.translate.system import Translator, read_settings


def run(
    folder: str,
    text: str,
    output: str,
    method: str,
    beam: int,
    time_limit: float,
    report: str | None,
    threads: int | None,
    errors: str,
    quiet: bool,
) -> None:
    """Translate a file; nothing appears under a final name before everything is written."""
    if method not in METHODS:
        raise UsageError(f"--method {method} is not one of {', '.join(METHODS)}")
    separate_outputs(output, report)
    sentences: list[Any] = (
        list(read_trees(text, errors))
        if read_settings(folder).trees
        else [tokenize(line) for line in read_lines(text, errors)]
    )
    translator = Translator.load(folder, filter(None, sentences))

    def translate(sentence: Any) -> tuple[str, dict[str, Any]]:
        if not sentence:
            record = {"score": 0.0, "bound": 0.0, "certified": True, "seconds": 0.0}
            return "", {**record, "partitions": 1} if method == "tighten" else record
        began = perf_counter()
        result = translator.translate(sentence, method=method, beam=beam, time_limit=time_limit)
        record = {
            "score": result.score,
            "bound": result.bound,
            "certified": result.certified,
            "seconds": round(perf_counter() - began, 6),
        }
        if method == "tighten":
            from dualign.translate.search.baselines.partitions import partitions

            record["partitions"] = partitions(result.trace)
        return str(result.solution), record

    if shortest := min(filter(None, sentences), key=_length, default=None):
        # Kernels are compiled, or loaded, now: they shall cost no sentence its time.
        translator.translate(shortest, method=method, beam=beam, time_limit=time_limit)
    with ExitStack() as stack:
        out = stack.enter_context(open_output(output))
        records = stack.enter_context(open_output(report)) if report is not None else None
        results = ordered_map(translate, sentences, available(threads))
        for number, (words, record) in enumerate(
            counted(results, "translate", output=output, quiet=quiet), 1
        ):
            out.write(words + "\n")
            if records is not None:
                records.write(json.dumps({"line": number, **record}) + "\n")


def _length(sentence: Any) -> int:
    return len(sentence.tokens if isinstance(sentence, Tree) else sentence)
