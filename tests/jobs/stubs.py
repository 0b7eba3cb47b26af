"""Types for editors and type checkers, made of the fields: `python -m tests.jobs.stubs` writes them."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import fields
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from typing import Any

import dualign
from dualign.options import Options

jobs: Any = import_module("dualign.jobs")

_WRITTEN = "# Written by `python -m tests.jobs.stubs`; a test compares it with the fields.\n"


def stub() -> str:
    """`__init__.pyi` of `dualign.jobs`: the types of its functions, and where its other names are."""
    imports, functions = {"from typing import Any"}, []
    for name, (home, there) in jobs._NAMES.items():
        imports.add(f"from {home} import {there} as {name}")
    for name, form in jobs._VERBS.items():
        function = getattr(jobs, name)
        signature = inspect.signature(function)
        parameters, result = signature.parameters, signature.return_annotation
        module = import_module(f"dualign.commands.{form.split()[0].partition('.')[0]}")
        for word in {*re.findall(r"[A-Z]\w+", result)} - {"None", "Any", *jobs._NAMES}:
            imports.add(f"from {_home_of(word, module)} import {word}")
        shown = [
            f"{p.name}: {p.annotation}{'' if p.default is p.empty else ' = ...'}" for p in parameters.values()
        ]
        kinds = [p.kind for p in parameters.values()]
        shown.insert(kinds.index(Parameter.KEYWORD_ONLY), "*")
        text = "".join(f"    {each},\n" for each in shown)
        functions.append(f"def {name}(\n{text}) -> {result}: ...\n")
    every = "".join(f'    "{name}",\n' for name in jobs.__all__)
    return "\n".join([_WRITTEN, *sorted(imports), "", f"__all__ = [\n{every}]\n", *functions]).rstrip() + "\n"


def option_values() -> str:
    """`option_values.pyi`: the keywords of an aligner."""
    lines = "".join(f"    {f.name}: {f.type}\n" for f in fields(Options))
    return f"{_WRITTEN}\nfrom typing import TypedDict\n\nclass OptionValues(TypedDict, total=False):\n{lines}"


def _home_of(name: str, module: Any) -> str:
    """The module from which this one has a name, which it may import for types alone."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and name in (each.name for each in node.names):
            return str(node.module)
    return str(module.__name__)


def stubs() -> dict[Path, str]:
    """The files of types that are made of the fields, and their contents."""
    package = Path(dualign.__file__).parent
    return {package / "jobs" / "__init__.pyi": stub(), package / "option_values.pyi": option_values()}


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
