"""What the documentation site adds to the Markdown pages; each function returns Markdown."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

_NAME = re.compile(r"^## (.*)$", re.MULTILINE)


def navigation(root: Path) -> str:
    """Hidden tables of contents: one for each section of docs/README.md, of the pages that it links to."""
    parts = ["\n```{toctree}\n:hidden:\n\ndocs/README\n```\n"]
    for section in re.split(r"^## ", (root / "docs" / "README.md").read_text("utf-8"), flags=re.MULTILINE)[
        1:
    ]:
        title, _, body = section.partition("\n")
        links = dict.fromkeys(re.findall(r"\]\(([^)#:]+\.(?:md|ipynb))\)", body))
        pages = [str((root / "docs" / link).resolve().relative_to(root.resolve())) for link in links]
        if pages:
            entries = "\n".join(page.rsplit(".", 1)[0] for page in pages)
            parts.append(f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{entries}\n```\n")
    return "\n" + "".join(parts)


def commands_page() -> str:
    """A section for each command: what it does, how it is called, its arguments and options."""
    from dualign.commands import commands
    from dualign.commands.cli import program as whole

    program: Any = whole()
    parts = []
    for words in commands():
        context = program.make_context("dualign", [], resilient_parsing=True)
        command = program
        for word in words:
            command = command.get_command(context, word)
            context = command.make_context(word, [], parent=context, resilient_parsing=True)
        usage = " ".join(command.collect_usage_pieces(context))
        parts.append(f"\n## {' '.join(words)}\n\n```\ndualign {' '.join(words)} {usage}\n```\n")
        parts.append(f"\n{_escaped(inspect.cleandoc(command.help or ''))}\n")
        arguments = [row for each in command.params for row in getattr(each, "rows", ())]
        records = arguments + [row for each in command.params if (row := each.get_help_record(context))]
        parts.append("\n" + "".join(f"- `{name}`: {_escaped(text)}\n" for name, text in records))
    return "\n" + "".join(parts)


def api_page(page: str) -> str:
    """Put signature and docstring of each `## name` behind its heading."""
    title = re.match(r"# `(.*?)`", page)
    if title is None:
        return page
    package = import_module(title[1])
    return _NAME.sub(lambda match: f"{match[0]}\n\n{_described(package, match[1].strip('`'))}", page)


def notebook_page(text: str) -> str:
    """The cells of a notebook, with their outputs."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if html := data.get("text/html") or data.get("image/svg+xml"):
                parts.append(f"````{{raw}} html\n<div>{''.join(html)}</div>\n````")
            else:
                shown = "".join(output.get("text") or data.get("text/plain", ""))
                parts.append(f"```\n{shown.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def _described(package: Any, name: str) -> str:
    """A name with its signature and docstring, and for a class those of its public methods."""
    value = getattr(package, name)
    where = f"{package.__name__}.{name}"
    if not callable(value) or not hasattr(value, "__module__"):
        return f"`````{{py:data}} {where}\n\n{getattr(value, '__doc__', None) or ''}\n`````\n"
    kind = "class" if inspect.isclass(value) else "function"
    if kind == "class" and issubclass(value, Exception):
        kind = "exception"
    signature = "" if kind == "exception" else _signature(value)
    text = [f"`````{{py:{kind}}} {where}{signature}\n\n{_doc(value)}\n"]
    if kind == "class":
        for label, member in vars(value).items():
            if label.startswith("_") or not inspect.getdoc(member):
                continue
            plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if inspect.isfunction(plain):
                text.append(f"````{{py:method}} {label}{_signature(plain)}\n\n{_doc(plain)}\n````\n")
            elif isinstance(member, property):
                text.append(f"````{{py:property}} {label}\n\n{_doc(member)}\n````\n")
    return "\n".join([*text, "`````\n"])


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty, default=_default(parameter.default))
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    return str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))


class _Written:
    """A default that is shown as this text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _default(value: Any) -> Any:
    """The default as it is shown: an ellipsis if its `repr` is not an expression, as with functions."""
    empty = inspect.Parameter.empty
    plain = value is empty or value is None or isinstance(value, bool | int | float | str | bytes)
    plain = plain or (isinstance(value, tuple) and not value)
    return value if plain else _Written("…")


def _doc(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and dataclasses.is_dataclass(value) and text.startswith(f"{value.__name__}("):
        text = ""  # made by `dataclass`, it repeats the signature
    # Indented blocks of a docstring would be code.
    return _escaped(re.sub(r"^ {4,}", "  ", text, flags=re.MULTILINE))


def _escaped(text: str) -> str:
    """Angle brackets and asterisks outside code are text."""
    parts = text.split("`")
    return "`".join(part if k % 2 else re.sub(r"([*<])", r"\\\1", part) for k, part in enumerate(parts))
