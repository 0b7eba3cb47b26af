"""`dualign figure matrix`."""

from __future__ import annotations

from dualign.cli.figure.options import FigureFile, Line, checked_line, write_figure
from dualign.cli.options import Errors, LinkFormat, OnErrors, Quiet
from dualign.cli.showing import First, Gold, GoldFormat, Links, Probabilities, Source, Target, dataset_of


def matrix(
    output: FigureFile,
    source: Source,
    target: Target = None,
    links: Links = None,
    gold: Gold = None,
    probabilities: Probabilities = None,
    line: Line = 1,
    format: LinkFormat = None,
    gold_format: GoldFormat = None,
    first: First = False,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Draw the links of a sentence pair as a matrix.

    Squares are gold links, with a border if sure; circles are links, as large as they are probable, and
    crossed out where gold does not have them.
    """
    from dualign.show.figures import matrix_figure
    from dualign.text.alignment import Alignment

    dataset = dataset_of(source, target, links, probabilities, None, gold, format, gold_format, first, errors)
    n = checked_line(line, len(dataset))
    found, cells, name = Alignment(), None, ""
    if dataset.systems:
        system = dataset.systems[0]
        found, name = system.links[n], system.name
        cells = None if system.cells is None else system.cells[n]
    reference = None if dataset.gold is None else dataset.gold[n]
    write_figure(matrix_figure(*dataset.pairs[n], found, reference, cells, name), output, quiet)
