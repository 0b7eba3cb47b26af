"""`dualign translate train`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dualign.cli.options import Errors, OnErrors, Quiet, Threads, one_standard_input
from dualign.core.errors import UsageError


def train(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Source text, a sentence a line.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Target text, parallel to it.")],
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder to write; made if it is not there.")],
    dev_source: Annotated[
        str | None,
        typer.Option(
            "--dev-source", metavar="FILE", help="Source text to tune on; else some pairs are kept apart."
        ),
    ] = None,
    dev_target: Annotated[
        str | None, typer.Option("--dev-target", metavar="FILE", help="Target text to tune on.")
    ] = None,
    source_trees: Annotated[
        str | None,
        typer.Option(
            "--source-trees",
            metavar="FILE",
            help="Trees of the source text in Penn Treebank brackets, one a line; for tree-to-string rules.",
        ),
    ] = None,
    dev_source_trees: Annotated[
        str | None,
        typer.Option("--dev-source-trees", metavar="FILE", help="Trees of the source text to tune on."),
    ] = None,
    order: Annotated[
        int, typer.Option("--order", min=1, max=9, metavar="N", help="Longest n-gram of the language model.")
    ] = 3,
    span: Annotated[
        int, typer.Option("--span", min=1, max=30, metavar="N", help="Longest phrase that a rule covers.")
    ] = 10,
    limit: Annotated[
        int, typer.Option("--limit", min=1, metavar="N", help="Most target sides for one source side.")
    ] = 20,
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds", min=0, metavar="N", help="Most rounds of tuning; 0 leaves the weights alone."
        ),
    ] = 8,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Learn to translate from two parallel files: links, rules, language model, weights.

    Rules are those of Hiero, or with --source-trees tree-to-string rules; `decode` then takes trees, too.
    """
    from dualign.cli.exits import say
    from dualign.jobs.warming import compile_kernels
    from dualign.text.brackets import trees_of
    from dualign.text.pairs import read_pairs
    from dualign.translate.rules.hiero_rules import Extraction
    from dualign.translate.rules.tree_rules import TreeExtraction
    from dualign.translate.system import train_system

    if (dev_source is None) != (dev_target is None):
        raise UsageError("--dev-source and --dev-target belong together; give both or none")
    if dev_source_trees is not None and (source_trees is None or dev_source is None):
        raise UsageError("--dev-source-trees belongs to --source-trees and --dev-source; give all three")
    if source_trees is not None and dev_source is not None and dev_source_trees is None:
        raise UsageError("--source-trees with --dev-source needs --dev-source-trees, the trees of that text")
    one_standard_input(source, target, dev_source, dev_target, source_trees, dev_source_trees)
    pairs = list(read_pairs(source, target, errors=errors))
    trees = None
    if source_trees is not None:
        trees = list(trees_of(source_trees, (pair[0] for pair in pairs), errors))
    dev: list[Any] | None = None
    if dev_source is not None:
        dev = list(read_pairs(dev_source, dev_target, errors=errors))
        if dev_source_trees is not None:
            listed = trees_of(dev_source_trees, [pair[0] for pair in dev], errors)
            dev = [(tree, pair[1]) for tree, pair in zip(listed, dev, strict=True)]
        dev = [pair for pair in dev if pair[0] and pair[1]]
    compile_kernels(quiet)
    train_system(
        pairs,
        folder,
        dev=dev,
        trees=trees,
        order=order,
        settings=Extraction(longest=span, limit=limit),
        tree_settings=TreeExtraction(limit=limit),
        rounds=rounds,
        threads=threads,
        report=(lambda message: None) if quiet else say,
    )
