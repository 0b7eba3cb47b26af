"""The files of a text of two sides, and how they are read: what `dualign.text.blocks` makes blocks of.

Nothing here needs NumPy, so that commands can declare their text as a field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

from dualign._core.errors import UsageError
from dualign._core.fields import arg, check, opt
from dualign._core.files.streams import is_regular, text_size
from dualign.text.conllu import is_conllu
from dualign.text.tables import kind_of, parse_columns
from dualign.text.tokenizing import PLAIN, Cutting


@dataclass(frozen=True)
class TextFiles:
    """A text of two sides: in two files, in one with both sides on each line, or in a table.

    Either of two files may be CoNLL-U, whose words are the tokens; a blank in one becomes `_`. A single file
    is a table by its name, or if `columns` are given.
    """

    source: str = arg("Source text, one sentence per line; or both sides: see TARGET.", file="in")
    target: str | None = arg(
        "Target text. Without it, SOURCE has lines `source ||| target` or `source<TAB>target`.",
        None,
        file="in",
    )
    columns: str | None = opt(
        None, "Columns of a table (TSV, CSV, JSON lines, XLSX): source=2,target=3,id=1, by number or title.",
        metavar="NAME=COLUMN,…",
    )  # fmt: skip
    _: KW_ONLY
    errors: str = "strict"
    """Bytes that are not UTF-8: see `dualign.text.utf8`."""
    cutting: Cutting = PLAIN
    """How lines become tokens."""
    tell: Callable[[str], None] | None = None
    """Called with the message about each bad line, which then counts as an empty pair, where somebody waits
    for answers: lines are given as they come. Without it, such a line is an error."""

    def __post_init__(self) -> None:
        check(self)
        if self.target is not None and self.columns is not None:
            raise UsageError("{columns=} is for one file with both sides; name one", columns=self.columns)
        if self.target is None and is_conllu(self.source):
            raise UsageError(f"{self.source}: CoNLL-U has one language; name the file of the other, too")

    @property
    def files(self) -> tuple[str, ...]:
        """The one file, or both."""
        return (self.source,) if self.target is None else (self.source, self.target)

    @property
    def name(self) -> str:
        """The names of the files, for messages."""
        names = dict.fromkeys("standard input" if name == "-" else name for name in self.files)
        return " and ".join(names)

    @property
    def is_table(self) -> bool:
        """Whether one file has cells, not lines."""
        return self.target is None and kind_of(self.source, self.columns) is not None

    @property
    def has_ids(self) -> bool:
        """Whether the columns name one of ids."""
        return self.columns is not None and parse_columns(self.columns).has_id

    @property
    def is_regular(self) -> bool:
        """Whether it can be read again, unlike a pipe or standard input."""
        return all(map(is_regular, self.files))

    @property
    def size(self) -> int:
        """About how many bytes of text there are, up to which the blocks' `end.source` counts; 0 if that is
        not known."""
        return text_size(self.source) // (2 if self.is_table else 5 if is_conllu(self.source) else 1)
