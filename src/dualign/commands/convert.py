"""`dualign convert`: links in another format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualign._core.errors import UsageError
from dualign._core.fields import arg, bundle, opt
from dualign._core.files.streams import plain_name
from dualign.commands.bundles import Computing, link_format, pairs
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.text.link_formats import FORMATS, WRITABLE


@dataclass(frozen=True)
class Convert(Command):
    """Rewrite a file of links in another format.

    Pharaoh counts words from 0, the other formats from 1. Only NAACL files are written with probabilities.
    """

    overwrites: ClassVar[bool] = True  # nothing is lost, the links are the same

    links: str = arg("File of links.", metavar="IN", file="in")
    output: str = arg(
        "File to write, - for standard output; or name it with -o.",
        metavar="OUT", flag="--output", short="-o", file="out",
    )  # fmt: skip
    from_format: str | None = link_format("Format of IN", flag="--from")
    to_format: str | None = opt(
        None, f"Format of OUT: {', '.join(WRITABLE)}. Not needed if it is OUT's suffix, as in a.talp.gz.",
        metavar="FORMAT", flag="--to",
    )  # fmt: skip
    pairs: int | None = pairs()
    swap: bool = opt(False, "Exchange source and target.")
    computing: Computing = bundle(Computing, "errors")

    def run(self, tell: Reporter) -> None:
        """Read and write links, pair by pair."""
        from dualign.text.link_formats import link_blocks, link_writer

        to_format = self.to_format or self._format_by_suffix()
        found = link_blocks(self.links, self.from_format, self.computing.errors, count=self.pairs)
        done = linked = 0
        with link_writer(self.output, to_format) as write:
            tell.progress(done, "convert")
            for links in found:
                if done == 0 and links.ids is not None and links.ids[0] is not None:
                    tell.note(
                        "note: the ids, or line numbers, before the tabs of {file} are left out",
                        file=self.links,
                    )
                write(links.transposed() if self.swap else links)
                pairs = links.counts.nonzero()[0]
                linked = done + 1 + int(pairs[-1]) if len(pairs) else linked
                done += len(links)
                tell.progress(done, "convert")
        if to_format == "naacl" and linked < done:
            have = "the last pair has" if done == linked + 1 else f"the last {done - linked:,} pairs have"
            tell.note(
                "note: {have} no links, so the NAACL file does not mention them; where it is read, say "
                "{pairs=}", have=have, pairs=done,
            )  # fmt: skip

    def _format_by_suffix(self) -> str:
        name, _, suffix = plain_name(self.output).rpartition(".")
        if not name or suffix not in FORMATS:
            raise UsageError(
                "cannot tell the format to write from the name {path}; say it, as in {to_format=}",
                path=self.output, to_format="pharaoh",
            )  # fmt: skip
        return suffix
