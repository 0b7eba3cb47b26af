"""The `dualign` command: a table of verbs, each imported when it is called.

To add a verb, write `cli/<verb>.py` with a function of the verb's name. Its parameters are the options
(shared ones are in `dualign.cli.options`), its docstring begins with a line for the overview, and it calls
one function of `dualign.jobs`. Then add that line to `VERBS` below. For a verb of two words, as in `dualign
phrases align`, write `cli/<group>/<verb>.py` in the same way, add its line to `GROUPS`, and a line for the
group to `VERBS`.
Errors are raised, not printed: `dualign.cli.exits` turns them into messages and exit codes.

`dualign --help` imports no verb. A verb's module imports what its options need; its function imports
everything that needs NumPy or Numba, so that `dualign <verb> --help` is quick.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from dualign._core.errors import UsageError
from dualign.cli.exits import guarded, say
from dualign.cli.flags import flags_of, note_ignored
from dualign.commands.signals import heed

VERBS = {
    "decode": "Choose links from matrices of scores that another program wrote.",
    "dictionary": "Write a dictionary of words, from a model or from links.",
    "transfer": "Carry trees, tags, spans and markup to the other language.",
    "remap": "Carry links between words, subwords and character offsets.",
    "phrases": "Phrase pairs: tables, exact alignment, quality.",
    "translate": "Train a translation system; translate with a proof.",
    "show": "Print sentence pairs with their links, in colour and as a grid.",
    "view": "Look at links in the browser: compare, search, sort, edit gold.",
    "summarize": "Write a page about aligned text: statistics and dictionary.",
    "figure": "Draw figures: matrices, posteriors, curves, traces, costs.",
    "fast-align": "Align as fast_align does, with its options.",
    "eflomal": "Align as eflomal-align does, with its options.",
    "serve": "Serve links over HTTP: sentence pairs as JSON in, links out.",
    "demo": "Train on the bundled sample, and show the result.",
    "bench": "Measure speed, memory and quality of this installation.",
    "compile": "Compile kernels now, so that the first run need not.",
}
"""The first line of each verb's docstring, or what a group's verbs are for, in the order of the overview."""

GROUPS: dict[str, dict[str, str]] = {
    "transfer": {
        "tree": "Carry dependency trees from a source to its translation.",
        "tags": "Carry the tags of words from a source to its translation.",
        "spans": "Carry spans, given by character offsets, to a translation.",
        "markup": "Insert the inline tags of a source into its translation.",
        "evaluate": "Carry annotation across and compare it with the target's own.",
    },
    "phrases": {
        "extract": "Extract phrase pairs from linked text, and write a Moses phrase table.",
        "align": "Find the best way to make each translation from the phrases of a table.",
        "train": "Re-estimate a phrase table by Viterbi EM over a text.",
        "evaluate": "Compare phrase pairs with those of gold links: precision, recall and F1.",
    },
    "translate": {
        "train": "Train a translation system on two parallel files: links, rules, language model, weights.",
        "decode": "Translate text, one output line for each input line.",
        "lm": "Train an n-gram language model on text and write it in ARPA format.",
    },
    "figure": {
        "matrix": "Draw the links of a sentence pair as a matrix.",
        "posteriors": "Draw a model's posteriors of a pair, both directions, before and after projection.",
        "curve": "Draw precision against recall of several systems.",
        "calibration": "Draw how many of the links with a probability of p are right.",
        "trace": "Draw how bound and score of a pair approach each other.",
        "pruning": "Draw how much pruning leaves of the search space, round by round.",
        "cost": "Draw time, memory or another cost against size.",
    },
}
"""The verbs of each group, in the form of `VERBS`."""

# Rich help takes nearly twice as long to appear, and its boxes are in the way of `grep`.
_PLAIN: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}

_COMPLETE = "_DUALIGN_COMPLETE"

# All that Click raises for a wrong command line derives from this; it has no name of its own in Typer.
_CommandLineError: Any = typer.BadParameter.__base__


def commands() -> dict[tuple[str, ...], str]:
    """The words of every command and its line in the overview, those in groups included."""
    return {
        (*words, verb): line
        for words, table in [((), VERBS), *(((group,), table) for group, table in GROUPS.items())]
        for verb, line in table.items()
        if words or verb not in GROUPS
    }


class _Verb(TyperCommand):
    """Its messages name settings by its own flags."""

    def invoke(self, ctx: Any) -> Any:
        with flags_of(self.params):
            note_ignored(self.params, ctx.params)
            return super().invoke(ctx)


class _Verbs(TyperGroup):
    """Knows the verbs by a table, and imports one when it is asked for.

    Contexts and commands are `Any`: recent Typers bring a Click of their own, older ones import Click's.
    """

    group: str | None = None
    """Whose verbs these are; None for those of the program."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self._table())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        table = self._table()
        words = [cmd_name] if self.group is None else [self.group, cmd_name]
        if cmd_name not in table:
            close = get_close_matches(cmd_name, table, n=1)
            remedy = (
                f"did you mean `{' '.join([*words[:-1], *close])}`?"
                if close
                else f"there are {', '.join(table)}"
            )
            raise UsageError(f"no verb `{' '.join(words)}`; {remedy}")
        if self.group is None and cmd_name in GROUPS:
            return _group(cmd_name)
        verb = typer.Typer(**_PLAIN)
        names = [word.replace("-", "_") for word in words]
        verb.command(cmd_name, cls=_Verb)(
            getattr(import_module(".".join(["dualign.cli", *names])), names[-1])
        )
        return typer.main.get_command(verb)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(self._table().items()))

    def _table(self) -> dict[str, str]:
        return VERBS if self.group is None else GROUPS[self.group]


def _group(name: str) -> Any:
    """The command that holds the verbs of a group."""
    verbs = type(f"_{name.title()}", (_Verbs,), {"group": name})
    group = typer.Typer(cls=verbs, subcommand_metavar="VERB ...", **_PLAIN)
    group.callback(invoke_without_command=True, help=VERBS[name])(_overview)
    return typer.main.get_command(group)


def _overview(context: typer.Context) -> None:
    """Show the overview, as an error, where no verb is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


app = typer.Typer(cls=_Verbs, subcommand_metavar="VERB ...", **_PLAIN | {"add_completion": True})


def _print_version(wanted: bool) -> None:
    if wanted:
        from dualign._core.version import release

        typer.echo(f"dualign {release()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _dualign(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Word alignment with a probability on every link, and a proof where one exists.

    A file name may be - for standard input or output. Files whose names end in .gz, .bz2, .xz or .zst are
    compressed.
    """
    _overview(context)


def run(arguments: Sequence[str]) -> int:
    """Run one command line, given without the program's name, and return the exit code."""
    return guarded(lambda: _invoke(list(arguments)))


def main() -> NoReturn:
    """Run the command line of this process."""
    # We never multiply matrices that are worth it, and OpenBLAS keeps its threads busy for a while.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(100_000)  # thousands of objects come with the imports, and all of them stay
    sys.modules.setdefault("scipy", None)  # type: ignore[arg-type] # Numba would load it for its version
    code = 130  # for a signal between the end of the work and our own
    try:
        code = guarded(_heeding)
    finally:
        # Nothing is left to do: files are closed, output is flushed. An orderly shutdown would only take the
        # compiled kernels apart, 0.2 s of it.
        if (kernels := sys.modules.get("dualign._core.jit")) is not None:
            kernels.remove_temporary_kernels()
        os._exit(code)


def _heeding() -> int:
    """The command line of this process, which from now on heeds signals: what they raise is explained."""
    heed()
    return _invoke(sys.argv[1:])


def _invoke(arguments: list[str]) -> int:
    # Not `app()`: Typer would decide on messages and exit codes for Ctrl-C and broken pipes itself.
    command: Any = typer.main.get_command(app)
    for option in command.params:
        option.hidden = str(option.name).endswith("_completion")  # for once in a lifetime: see docs/cli.md
    if _COMPLETE in os.environ:  # the shell asks, after `dualign --install-completion`
        try:
            command.main(arguments, "dualign")
        except SystemExit as end:
            return int(end.code or 0)
    try:
        with command.make_context("dualign", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except _CommandLineError as error:
        path = error.ctx.command_path if error.ctx else "dualign"
        say(f"error: {error.format_message()}\nTry `{path} --help`.")
        return 2
    return 0
