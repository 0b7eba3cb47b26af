"""`dualign transfer tags`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli import options
from dualign.cli.options import argument, flag, option
from dualign.cli.screen import on_screen
from dualign.cli.transfer import options as shared


def tags(
    source: Annotated[str, argument("SOURCE", "CoNLL-U, or lines of tags, one for each word.")],
    target: shared.Target,
    links: shared.LinksFile,
    output: options.Output = "-",
    column: Annotated[
        str,
        option("NAME", "CoNLL-U's column: upos, xpos, lemma, feats, or an attribute in MISC such as NER."),
    ] = "upos",
    bio: Annotated[bool, flag("--bio", "Tags are BIO (B-PER I-PER O): carry whole spans.")] = False,
    discontinuous: shared.Discontinuous = shared.OnDiscontinuous.LARGEST,
    gap: shared.Gap = 2,
    default: Annotated[str, option("TAG", "Tag of words that get none (without --bio).")] = "_",
    threshold: shared.Threshold = 0.0,
    pos: shared.Pos = shared.PosFilter.ANY,
    surface: shared.Surface = False,
    source_format: Annotated[
        shared.FileFormat | None, option(None, "Format of SOURCE, if its name does not tell.")
    ] = None,
    target_format: shared.TargetFormat = None,
    report: shared.ReportFile = None,
    format: options.LinkFormat = None,
    pairs: options.Pairs = None,
    cluster: options.Cluster = None,
    work: options.Work = None,
    errors: options.Errors = options.OnErrors.STRICT,
    quiet: options.Quiet = False,
) -> None:
    """Carry the tags of words from a source to its translation.

    A word gets the tag that most of its links, by probability, stand for. The output is CoNLL-U if SOURCE or
    TARGET is, otherwise a line of tags for each line.
    """
    is_conllu = shared.is_conllu(source_format), shared.is_conllu(target_format)
    files = jobs.AnnotatedFiles(source, target, links, *is_conllu, format, pairs)
    how = jobs.TagSettings(column, bio, discontinuous, gap, default)
    settings = jobs.TransferSettings(threshold, pos, surface)
    with on_screen(quiet, output, None, errors, cluster=cluster, work=work) as run:
        jobs.transfer_tags(files, output, tags=how, settings=settings, report=report, run=run)
