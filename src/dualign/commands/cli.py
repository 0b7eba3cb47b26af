"""The `dualign` command: click commands from the fields of the verbs, and how the program ends.

| code | what happened | message |
|---|---|---|
| 0 | all went well | none |
| 1 | bad data, or the machine refused: disk full, out of memory | what is wrong, and a remedy |
| 2 | wrong usage | what is wrong, and where to read on |
| 70 | a bug in dualign (`EX_SOFTWARE` in sysexits.h) | please report it; the traceback if DUALIGN_DEBUG=1 |
| 130 | Ctrl-C | one line |
| 143 | told to end (SIGTERM), as by `timeout` or a batch system | one line |
| 141 | the reader of our output went away, as in `dualign … | head -1` | none |

141 (128 + SIGPIPE) is what the shell reports for `cat` and similar programs in that place, so scripts with
`pipefail` can treat them the same way. Errors are raised, not printed; here they become messages and exit
codes.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.shell_completion import CompletionItem

from dualign._core.errors import DualignError, Spell, Terminated, UsageError, shown
from dualign._core.fields import Setting, assigned
from dualign.commands import GROUPS, VERBS
from dualign.commands.console import Console, say
from dualign.text.checks import number_of

if TYPE_CHECKING:
    from dualign.commands.command import Command

_COMPLETE = "_DUALIGN_COMPLETE"
_HELP = {"help_option_names": ["-h", "--help"]}
_TYPES: dict[str, Any] = {
    "int": int,
    "float": float,
    "tuple[int, ...]": int,
    "tuple[float, ...]": float,
    "tuple[str, str]": (str, str),
}
_NOTHING = (None, False, ())
"""What click has for options that were not given."""

_INTERRUPTED: list[BaseException] = []
"""Interruptions, kept with their tracebacks: what they hit may be half built; taking it apart may crash."""


class Verbs(click.Group):
    """Knows verbs by a table, and imports one when it is asked for."""

    def __init__(self, name: str, table: dict[str, tuple[str, str]], help: str, **more: Any) -> None:
        super().__init__(
            name, help=help, invoke_without_command=True, subcommand_metavar="VERB ...",
            context_settings=_HELP, callback=click.pass_context(_overview), **more,
        )  # fmt: skip
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the overview."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb, or refuse a name that is none."""
        words = [] if ctx.parent is None else [self.name or ""]
        if cmd_name not in self.table:
            if ctx.resilient_parsing:  # completing
                return None
            close = " ".join([*words, *get_close_matches(cmd_name, self.table, n=1)])
            others = ", ".join(self.table)
            hint = f"there are {others}" if close == " ".join(words) else f"did you mean `{close}`?"
            raise UsageError("no verb `{name}`; {hint}", name=" ".join([*words, cmd_name]), hint=hint)
        home, line = self.table[cmd_name]
        if not words and cmd_name in GROUPS:
            return Verbs(cmd_name, GROUPS[cmd_name], line)
        module, _, name = home.partition(".")
        return click_command(cmd_name, getattr(import_module(f"dualign.commands.{module}"), name))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return verbs and options that begin so, without importing any verb."""
        options = click.Command.shell_complete(self, ctx, incomplete)
        verbs = [(verb, line) for verb, (_, line) in self.table.items() if verb.startswith(incomplete)]
        return [CompletionItem(verb, help=line) for verb, line in verbs] + options

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview."""
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, line) for verb, (_, line) in self.table.items()])


def _overview(context: click.Context, **_: Any) -> None:
    """Show the overview, as an error, where no verb is given."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from dualign._core import release

        click.echo(f"dualign {release()}")
        context.exit()


def _complete(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from dualign.commands.completion import install, script

        click.echo(install() if option.name == "install_completion" else script())
        context.exit()


def program() -> Verbs:
    """Return the command of this program."""
    eager: Any = {"is_flag": True, "is_eager": True, "expose_value": False}
    return Verbs(
        "dualign",
        VERBS,
        "Word alignment with a probability on every link, and a proof where one exists.\n\nA file name may "
        "be - for standard input or output. Files whose names end in .gz, .bz2, .xz or .zst are compressed.",
        params=[
            click.Option(["--version"], callback=_print_version, help="Show the version.", **eager),
            # For once in a lifetime: see docs/cli.md.
            click.Option(["--install-completion"], callback=_complete, hidden=True, **eager),
            click.Option(["--show-completion"], callback=_complete, hidden=True, **eager),
        ],
    )


class Verb(click.Command):
    """A verb, whose help has its arguments, and its options under their headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments and options."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if isinstance(each, Argument):
                panels.setdefault("Arguments", []).extend(each.rows)
            elif (record := each.get_help_record(ctx)) is not None:
                panels.setdefault(getattr(each, "panel", "") or "Options", []).append(record)
        for name in sorted(
            panels, key=lambda name: {"Arguments": 0, "Options": 1, "Computing": 3}.get(name, 2)
        ):
            with formatter.section(name):
                formatter.write_dl(panels[name])


class Argument(click.Argument):
    """An argument, or several, with a line of help for each."""

    def __init__(self, *words: Any, rows: list[tuple[str, str]], **more: Any) -> None:
        super().__init__(*words, **more)
        self.rows = rows


class Option(click.Option):
    """An option that stands under a heading."""

    panel = ""


def click_command(name: str, verb: type[Command]) -> Verb:
    """Make click's command of a verb."""
    known = {each.name: each for each in verb.declared().values() if each.has_flag or each.assignable}
    spell = _speller(known)
    arguments = [each for each in known.values() if each.is_argument]
    variable = _is_variable(arguments)

    def call(words: Sequence[str] = (), set_: Sequence[str] = (), quiet: bool = False, **given: Any) -> None:
        given = {
            name: value
            for name, value in given.items()
            if value is not None and value is not False and value != ()
        }
        given |= {name: False for name in given if "off" in known[name].rules}
        if variable:
            given |= _named(verb, arguments, words, given)
        try:
            command = verb.of(**given | (assigned(known, set_, given) if set_ else {}))
            if not quiet:
                _note_ignored(known[name] for name in given)
            is_quiet = quiet or command.is_silent
            console = Console(spell, quiet=is_quiet, output=command.main_output, rate=verb.shows_rate)
            with console.watching():
                command.show(command.execute(console), console)
        except DualignError as error:
            error.args = (error.spelled(spell),)
            raise

    params: list[click.Parameter] = []
    if variable:
        rows = [(_metavar(each), each.rules["help"]) for each in arguments]
        usage = " ".join(_metavar(each, brackets=True) for each in arguments)
        params.append(Argument(["words"], nargs=-1, metavar=usage, type=click.Path(), rows=rows))
    params += [
        _parameter(each) for each in known.values() if not (variable and _is_plain(each)) and each.has_flag
    ]
    if any(each.assignable for each in known.values()):
        others = ", ".join(sorted(each.name for each in known.values() if each.assignable))
        params.append(
            Option(
                ["--set", "set_"], multiple=True, metavar="NAME=VALUE", help=f"Any other option: {others}."
            )
        )
    quiet = Option([*verb.quiet, "quiet"], is_flag=True, help="Show no progress and no notes on stderr.")
    quiet.panel = "Computing" if any(getattr(each, "panel", "") == "Computing" for each in params) else ""
    params.append(quiet)
    return Verb(name, params=params, callback=call, help=verb.__doc__, context_settings=_HELP)


def _note_ignored(given: Iterable[Setting]) -> None:
    """Tell which options of another program were given without effect."""
    names = [each.rules["short"] or each.flag for each in given if each.rules.get("ignored")]
    if names:
        *others, last = names
        have = f"{', '.join(others)} and {last} have" if others else f"{last} has"
        say(f"note: {have} no effect here")


def _is_plain(each: Setting) -> bool:
    """Whether an argument cannot be given by a flag."""
    return each.is_argument and "flag" not in each.rules


def _is_variable(arguments: Sequence[Setting]) -> bool:
    """Whether which argument a word is depends on their number."""
    required = [each.is_required for each in arguments]
    return any("flag" in each.rules for each in arguments) or required != sorted(required, reverse=True)


def _metavar(each: Setting, *, brackets: bool = False) -> str:
    name = each.rules.get("metavar") or each.name.upper().rstrip("_")
    return name if each.is_required and not (brackets and "flag" in each.rules) else f"[{name}]"


def _named(
    verb: type[Command], arguments: Sequence[Setting], words: Sequence[str], given: dict[str, Any]
) -> dict[str, Any]:
    """Return which argument each word is; some may be given by their flags instead."""
    places = [each for each in arguments if each.name not in given]
    required = sum(each.is_required for each in places)
    if not required <= len(words) <= len(places):
        count = len(words) + len(arguments) - len(places)
        last = arguments[-1]
        if verb.usage:
            raise UsageError(
                "{files} named; write {usage}", files=number_of(count, "files"), usage=verb.usage
            )
        if len(words) < required:
            raise UsageError(
                "no {name}; name it with {flag} {name}", name=places[-1].rules.get("metavar"), flag="-o"
            )
        both: dict[str, Any] = {
            "one": words[-1],
            "other": given.get(last.name),
            "name": last.rules.get("metavar"),
        }
        raise UsageError("{name} is named twice, {one} and -o {other}; name it once", **both)
    optional, found, rest = len(words) - required, {}, list(words)
    for each in places:
        if not each.is_required:
            if not optional:
                continue
            optional -= 1
        found[each.name] = rest.pop(0)
    return found


def _parameter(each: Setting) -> click.Parameter:
    """Make click's parameter of an option or an argument."""
    rules, many = each.rules, each.kind in ("tuple[str, ...]", "tuple[int, ...]", "tuple[float, ...]")
    kind = _TYPES.get(each.kind, click.Path() if "file" in rules else str)
    if _is_plain(each):
        rows = [(_metavar(each), rules["help"])]
        more: dict[str, Any] = {"nargs": -1 if many else 1, "required": each.is_required, "rows": rows}
        return Argument([each.name], metavar=_metavar(each), type=kind, **more)
    flags = [*rules.get("also", "").split(), *rules.get("short", "").split(), each.flag, each.name]
    text = _help(each)
    if each.kind == "bool":
        option = Option(flags, is_flag=True, help=text)
    else:
        choices = rules.get("choices", ())
        more = {"multiple": many, "required": each.is_required and not each.is_argument}
        if choices:
            more["shell_complete"] = lambda _, __, begun: [each for each in choices if each.startswith(begun)]
        option = Option(
            flags, type=kind, metavar=rules.get("metavar") or "|".join(choices), help=text, **more
        )
    option.panel = rules.get("panel", "")
    return option


def _help(each: Setting) -> str:
    """Return the line of help of an option: a sentence, its default and its bounds."""
    rules, default = each.rules, each.field.default
    text = rules.get("off") or rules["help"]
    if not text.endswith((".", "]")):
        text = f"{text[0].upper()}{text[1:]}."
    bounds = {"least": "at least", "over": "over", "most": "at most", "below": "below"}
    usual = f"{default:g}" if isinstance(default, float) else default
    facts = [] if default in (None, "", ()) or each.is_required else [f"default: {usual}"]
    facts += [f"{words} {rules[rule]:g}" for rule, words in bounds.items() if rule in rules]
    return text if text.endswith("]") or not facts or each.kind == "bool" else f"{text} [{'; '.join(facts)}]"


def _speller(known: dict[str, Setting]) -> Spell:
    """Return how a shell spells the options of a verb."""

    def spell(name: str, value: Any) -> str:
        each = known.get(name)
        if each is None:
            return name if value is ... else f"{name}={shown(value)}"
        if _is_plain(each):
            return str(each.rules.get("metavar") or name.upper())
        if each.has_flag:
            return each.flag if value is ... or isinstance(value, bool) else f"{each.flag} {shown(value)}"
        return f"--set {name}" + ("" if value is ... else f"={shown(value)}")

    return spell


def run(arguments: Sequence[str]) -> int:
    """Run one command line, given without the program's name, and return the exit code."""
    return guarded(lambda: _invoke(list(arguments)))


def main() -> NoReturn:
    """Run the command line of this process."""
    # We never multiply matrices that are worth it, and OpenBLAS keeps its threads busy for a while.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(100_000)  # thousands of objects come with the imports, and all of them stay
    sys.modules.setdefault("scipy", None)  # type: ignore[arg-type] # Numba would load it for its version
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows fewer signs than our texts have
    code = 130  # for a signal between the end of the work and our own
    try:
        code = guarded(lambda: _invoke(sys.argv[1:]))
    finally:
        # Nothing is left to do: files are closed, output is flushed. An orderly shutdown would only take the
        # compiled kernels apart, 0.2 s of it.
        if (kernels := sys.modules.get("dualign._core.jit")) is not None and kernels.temporary_folders:
            kernels.remove_temporary_kernels()
        os._exit(code)


def _invoke(arguments: list[str]) -> int:
    command = program()
    if (asked := os.environ.get(_COMPLETE)) is not None:  # by the shell, after `dualign --install-completion`
        from dualign.commands.completion import complete

        return complete(command, asked)
    try:
        # Not `command()`: click would decide on messages and exit codes for Ctrl-C and broken pipes itself.
        with command.make_context("dualign", arguments) as context:
            command.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        where = getattr(error, "ctx", None)
        path = where.command_path if where else "dualign"
        say(f"error: {error.format_message()}\nTry `{path} --help`.")
        return 2
    return 0


def guarded(action: Callable[[], int]) -> int:
    """Run `action` and return its exit code, or the one for the exception it raised, explained on stderr."""
    try:
        code = action()
    except (Exception, KeyboardInterrupt) as error:
        if _interruption(error) is not None:
            _INTERRUPTED.append(error)
        code = _explain(error)
    try:
        # Now, because what goes wrong when the interpreter does it at exit cannot be caught.
        if sys.stdout is not None:
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        _discard_output()
        code = code or _explain(error)
    return code


def _explain(error: BaseException) -> int:
    error = _interruption(error) or error
    match error:
        case DualignError():
            say(f"error: {error}")
            return error.exit_code
        case Terminated():
            say("terminated")
            return 143
        case KeyboardInterrupt():
            say("interrupted")
            return 130
        case BrokenPipeError():
            return 141
        case MemoryError():
            say("error: out of memory; use fewer or shorter lines at a time, or a machine with more of it")
            return 1
        case OSError():
            place = f"{error.filename}: " if error.filename is not None else ""
            say(f"error: {place}{error.strerror or error}; check the disk and the rights on the files")
            return 1
        case _:
            debug = os.environ.get("DUALIGN_DEBUG") == "1"
            if debug:
                from traceback import format_exception

                say("".join(format_exception(error)).rstrip())
            advice = "" if debug else " with what DUALIGN_DEBUG=1 in the environment adds to it"
            say(
                f"internal error: {type(error).__name__}: {error}\n"
                f"This is a bug in dualign. Please report this message{advice}, and the command."
            )
            return 70


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """Ctrl-C, if it is at the bottom of it: compiled code that it hits may report something else."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return error
        error = error.__cause__ or error.__context__
    return None


def _discard_output() -> None:
    """Give what is left in stdout's buffer somewhere to go: the interpreter flushes it again at exit."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
