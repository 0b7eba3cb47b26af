"""Run the notebooks of docs/notebooks and store what their cells show.

    python docs/run_notebooks.py            # all of them, in a temporary folder

Cells run in this process, one after the other, without a Jupyter kernel: a cell shows what it prints, then
its last expression if it has a value. The tests run the notebooks in the same way and compare the outputs.
"""

from __future__ import annotations

import ast
import json
import os
import re
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parent / "notebooks"


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with fresh outputs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell = cell | {
                "execution_count": count,
                "outputs": _outputs("".join(cell["source"]), names, count),
            }
        cells.append(cell)
    return notebook | {"cells": cells}


def _outputs(code: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    tree = ast.parse(code)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if last is not None:
            value = eval(compile(last, f"cell {count}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": text.splitlines(True)})
    if value is not None:
        data = {"text/plain": _stable(repr(value)).splitlines(True)}
        for kind, method in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
            if hasattr(value, method):
                data[kind] = getattr(value, method)().splitlines(True)
        result = {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}
        outputs.append(result)
    return outputs


def _stable(text: str) -> str:
    """Without what differs from run to run or in the last digits from processor to processor."""
    text = re.sub(r"seconds=[\d.e-]+", "seconds=…", text)
    return re.sub(r"\d+\.\d{5,}(?:e-\d+)?", lambda number: f"{float(number[0]):.4g}", text)


def main() -> None:
    """Run all notebooks and rewrite them."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = json.loads(path.read_text("utf-8"))
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            fresh = executed(notebook)
            os.chdir(NOTEBOOKS)
        path.write_text(json.dumps(fresh, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
