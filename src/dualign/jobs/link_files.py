"""Files of links rewritten: `convert`, `symmetrize` and `remap`."""

from __future__ import annotations

from dualign._core.files.streams import open_output
from dualign.jobs.running import SILENT, Run, job, one_standard_input
from dualign.transfer.remapping import Remapping, remapped
from dualign.transfer.remapping import Side as Side


@job
def remap(work: Remapping, output: str = "-", *, skip: bool = False, run: Run = SILENT) -> int:
    """Carry links between words, subwords and character offsets; returns the number of lines skipped.

    Where tokens and text differ, `skip` writes an empty line and a note, and goes on.
    """
    one_standard_input(work.links, work.source.given, work.source.new, work.target.given, work.target.new)
    skipped = 0
    lines = remapped(work, run.warn, run.errors)
    with open_output(output) as stream:
        for line, problem in run.counted(lines, "remap"):
            if problem is not None:
                if not skip:
                    raise problem
                skipped += 1
                run.note(f"skipped: {problem}")
            stream.write(line + "\n")
    if skipped:
        run.note(
            f"{skipped:,} {'line was' if skipped == 1 else 'lines were'} left empty: tokens and text differ"
        )
    return skipped
