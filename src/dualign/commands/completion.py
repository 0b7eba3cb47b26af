"""Completion of verbs, options and file names by the shell: bash, zsh, fish and PowerShell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, get_completion_class

from dualign._core.errors import UsageError

VARIABLE = "_DUALIGN_COMPLETE"
"""By this variable of the environment the shell asks."""

FILES = {
    "bash": ("~/.bash_completions/dualign.sh", "~/.bashrc", 'source "{script}"'),
    "zsh": ("~/.zfunc/_dualign", "~/.zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": ("~/.config/fish/completions/dualign.fish", None, ""),
    "powershell": ("~/.config/powershell/dualign.ps1", "~/.config/powershell/profile.ps1", '. "{script}"'),
}
"""Where the script of each shell is kept, which file of the shell reads it, and by which line."""


@add_completion_class
class PowerShell(ShellComplete):
    """Completion in PowerShell, which click does not know."""

    name = "powershell"
    source_template = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($word, $tree, $cursor)
    $env:%(complete_var)s = "powershell_complete"
    $env:COMP_WORDS = $tree.ToString()
    $env:COMP_WORD = $word
    %(prog_name)s | ForEach-Object {
        $value, $help = $_ -Split "\\t", 2
        [Management.Automation.CompletionResult]::new($value, $value, "ParameterValue", ($help ?? $value))
    }
    $env:%(complete_var)s = ""
}
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is being written, and that one."""
        words, begun = os.environ["COMP_WORDS"].split()[1:], os.environ.get("COMP_WORD", "")
        return words[:-1] if begun and words else words, begun

    def format_completion(self, item: CompletionItem) -> str:
        """Write a completion and its help."""
        return f"{item.value}\t{item.help or item.value}"


def complete(command: click.Command, asked: str) -> int:
    """Answer the shell, and return an exit code; `asked` is such as `bash_complete` or `zsh_source`."""
    shell, _, what = asked.partition("_")
    kind: Any = get_completion_class(shell)
    if kind is None:
        return 1
    answers = kind(command, {}, "dualign", VARIABLE)
    click.echo(answers.source() if what == "source" else answers.complete())
    return 0


def script() -> str:
    """Return the script for the shell that runs."""
    kind: Any = get_completion_class(shell_that_runs())
    return kind(click.Command("dualign"), {}, "dualign", VARIABLE).source()


def shell_that_runs() -> str:
    """Return the name of the user's shell."""
    name = Path(os.environ.get("SHELL", "")).name or ("powershell" if os.name == "nt" else "")
    name = {"pwsh": "powershell"}.get(name, name)
    if name not in FILES:
        raise UsageError(
            "no completion for the shell {name}; there is one for {names}",
            name=name or "?",
            names=", ".join(FILES),
        )
    return name


def install() -> str:
    """Write the script where the shell reads it, and return what to do next."""
    shell = shell_that_runs()
    place, reader, line = FILES[shell]
    path = Path(place).expanduser()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script(), encoding="utf-8")
    if reader is not None:
        other, line = Path(reader).expanduser(), line.format(script=path)
        text = other.read_text(encoding="utf-8") if other.exists() else ""
        if line not in text:
            other.parent.mkdir(parents=True, exist_ok=True)
            other.write_text(f"{text.rstrip()}\n\n{line}\n".lstrip(), encoding="utf-8")
    return f"{shell} completion installed in {path}; open a new terminal to use it"
