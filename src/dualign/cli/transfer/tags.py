"""`dualign transfer tags`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from dualign import jobs
from dualign.cli.options import (
    Cluster,
    Errors,
    LinkFormat,
    OnErrors,
    Output,
    Pairs,
    Quiet,
    Work,
    argument,
    flag,
    option,
)
from dualign.cli.screen import on_screen
from dualign.cli.transfer import options


def tags(
    source: Annotated[str, argument("SOURCE", "CoNLL-U, or lines of tags, one for each word.")],
    target: options.Target,
    links: options.LinksFile,
    output: Output = "-",
    column: Annotated[
        str,
        option("NAME", "CoNLL-U's column: upos, xpos, lemma, feats, or an attribute in MISC such as NER."),
    ] = "upos",
    bio: Annotated[bool, flag("--bio", "Tags are BIO (B-PER I-PER O): carry whole spans.")] = False,
    discontinuous: options.Discontinuous = options.OnDiscontinuous.LARGEST,
    gap: options.Gap = 2,
    default: Annotated[str, option("TAG", "Tag of words that get none (without --bio).")] = "_",
    threshold: options.Threshold = 0.0,
    pos: options.Pos = options.PosFilter.ANY,
    surface: options.Surface = False,
    source_format: Annotated[
        options.FileFormat | None, option(None, "Format of SOURCE, if its name does not tell.")
    ] = None,
    target_format: options.TargetFormat = None,
    report: options.ReportFile = None,
    format: LinkFormat = None,
    pairs: Pairs = None,
    cluster: Cluster = None,
    work: Work = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Carry the tags of words from a source to its translation.

    A word gets the tag that most of its links, by probability, stand for. The output is CoNLL-U if SOURCE or
    TARGET is, otherwise a line of tags for each line.
    """
    is_conllu = options.is_conllu(source_format), options.is_conllu(target_format)
    files = jobs.AnnotatedFiles(source, target, links, *is_conllu, format, pairs)
    how = jobs.TagSettings(column, bio, discontinuous, gap, default)
    settings = jobs.TransferSettings(threshold, pos, surface)
    with on_screen(quiet, output, None, errors) as run:
        run = replace(run, cluster=cluster, work=work)
        jobs.transfer_tags(files, output, tags=how, settings=settings, report=report, run=run)
