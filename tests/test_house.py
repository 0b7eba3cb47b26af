"""The shape of the house: who imports whom, how large functions are, and that each idea is written once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "dualign"

ROOMS = (
    "_core",
    "option_values",
    "options",
    "text",
    "_search",
    "hmm",
    "decode",
    "engines",
    "aligner",
    "phrase",
    "transfer",
    "measure",
    "translate",
    "show",
    "commands",
    "jobs",
)
"""Left to right: a room imports only from itself and from rooms to its left."""


FACES = ("", "__init__", "__main__", "infer", "learn")
"""The package itself, whose names are imported lazily; and documented names of `hmm`."""

LONGEST_KERNEL, DEEPEST_KERNEL, MOST_PARAMETERS = 80, 5, 8

FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def room_of(module: str) -> str:
    return [*module.split("."), ""][1]


@cache
def typing_lines(path: Path) -> set[int]:
    """Lines under `if TYPE_CHECKING:`, which never run."""
    blocks = (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.If))
    return {
        line
        for node in blocks
        if ast.unparse(node.test) == "TYPE_CHECKING"
        for line in range(node.lineno, (node.body[-1].end_lineno or 0) + 1)
    }


MODULES = {module_of(path) for path in FILES}


def imports_of(path: Path) -> Iterator[tuple[str, int]]:
    """Modules of dualign that a file imports, wherever in it, and the line."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dualign":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner if inner in MODULES else str(node.module)), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "dualign":
                    yield alias.name, node.lineno


def functions_of(path: Path) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef))


def is_kernel(function: ast.FunctionDef) -> bool:
    """Whether it is compiled: a kernel, a part of kernels, or one for the card."""
    return any(re.search(r"kernel|^part\b", ast.unparse(each)) for each in function.decorator_list)


def is_part(function: ast.stmt) -> bool:
    return isinstance(function, ast.FunctionDef) and any(
        ast.unparse(each).startswith("part") for each in function.decorator_list
    )


def depth_of(node: ast.AST, depth: int = 0) -> int:
    """How deeply loops and conditions are nested; `elif` goes no deeper than its `if`."""
    deepest = depth
    for child in ast.iter_child_nodes(node):
        nested = isinstance(child, (ast.For, ast.While, ast.If, ast.With, ast.Try))
        if isinstance(child, ast.If) and isinstance(node, ast.If) and node.orelse == [child]:
            nested = False
        deepest = max(deepest, depth_of(child, depth + nested))
    return deepest


def parameters_of(function: ast.FunctionDef) -> int:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return len(every) - (bool(every) and every[0].arg in ("self", "cls"))


def test_every_module_stands_in_a_room():
    assert {room_of(module_of(path)) for path in FILES} <= {*ROOMS, *FACES}


@pytest.mark.parametrize("room", ROOMS)
def test_no_import_goes_upwards(room):
    order = {name: k for k, name in enumerate(ROOMS)}
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line} imports {module}"
        for path in FILES
        if room_of(module_of(path)) == room
        for module, line in imports_of(path)
        if order.get(room_of(module), len(order)) > order[room]
    ]
    assert wrong == []


def test_no_two_modules_import_each_other():
    """Not even late, inside a function: that hides a cycle, it does not break it. Imports for types may."""
    graph = {
        module_of(path): {module for module, line in imports_of(path) if line not in typing_lines(path)}
        for path in FILES
    }
    graph = {module: found - {"dualign"} for module, found in graph.items() if module not in ("dualign",)}
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way[way.index(module) :], module))
        if module not in done:
            for other in sorted(graph.get(module, ())):
                visit(other, (*way, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_kernels_are_short_and_shallow():
    wrong = []
    for path in FILES:
        for function in filter(is_kernel, functions_of(path)):
            lines, depth = (function.end_lineno or 0) - function.lineno + 1, depth_of(function)
            if lines > LONGEST_KERNEL or depth > DEEPEST_KERNEL:
                wrong.append(f"{path.relative_to(PACKAGE)}: {function.name} {lines} lines, {depth} deep")
    assert wrong == []


def test_python_calls_no_part_of_a_kernel():
    """It could, and would wait: to Python, a part is a plain function. `compiled_f = kernel(f)` is not."""
    parts = {(module_of(path), each.name) for path in FILES for each in tree_of(path).body if is_part(each)}
    wrong = []
    for path in FILES:
        tree, module = tree_of(path), module_of(path)
        found = {(module, each.name) for each in tree.body if is_part(each)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                found |= {(str(node.module), alias.name) for alias in node.names} & parts
        names = {name for _, name in found}
        # A function inside another is made a kernel by that: `kernel(descend)`.
        for function in (each for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)):
            inner = {
                n for each in functions_in(function) if is_made_kernel(each, tree) for n in ast.walk(each)
            }
            wrong += [
                f"{path.relative_to(PACKAGE)}:{node.lineno} {node.func.id}"
                for node in ast.walk(function)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
                if node not in inner
            ]
    assert wrong == []


def functions_in(node: ast.AST) -> Iterator[ast.FunctionDef]:
    return (each for each in ast.walk(node) if isinstance(each, ast.FunctionDef))


def is_made_kernel(function: ast.FunctionDef, tree: ast.Module) -> bool:
    """Whether it is compiled, or given to `kernel` as it is."""
    return is_kernel(function) or any(
        ast.unparse(node) == f"kernel({function.name})"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    )


def test_what_travels_together_is_grouped():
    wrong = [
        f"{path.relative_to(PACKAGE)}: {function.name} has {parameters_of(function)} parameters"
        for path in FILES
        for function in functions_of(path)
        if parameters_of(function) > MOST_PARAMETERS
    ]
    assert wrong == []


def test_the_cache_of_kernels_sees_every_import():
    """Its key follows `from dualign… import` at the start of a line: kernels' files use nothing else.

    Numba's name for a NamedTuple has no field names, so a kernel's file must import the classes of its
    arguments where the cache sees it, not under TYPE_CHECKING.
    """
    wrong = []
    for path in FILES:
        kernels = list(filter(is_kernel, functions_of(path)))
        named = {n.id for function in kernels for n in ast.walk(function.args) if isinstance(n, ast.Name)}
        for node in tree_of(path).body if kernels else ():
            if isinstance(node, ast.Import) and any(each.name.startswith("dualign") for each in node.names):
                wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
            for each in ast.walk(node) if isinstance(node, ast.If) else ():
                if isinstance(each, ast.ImportFrom) and named & {name.name for name in each.names}:
                    wrong.append(f"{path.relative_to(PACKAGE)}:{each.lineno}")
    assert wrong == []


ONCE = {
    "HiGHS": (r"import highspy|_highs\b|\"highspy\"", "_search/highs.py"),
    "clock": (r"\bperf_counter\b|\bmonotonic\b", "_core/progress.py"),
    "numba": (r"\bimport numba\b|import_module\(\"numba|from numba", ("_core/", "engines/cuda/")),
    "timers": (r"\b(timed|phase)\(", ("_core/", "engines/", "commands/", "text/numbering.py")),
    "threads of models": (
        r"\bThreadPoolExecutor\b|\bin_stages\b",
        ("_core/", "engines/", "text/numbering.py"),
    ),
}
"""Ideas that are written in one place: what gives them away, and where they are."""


@pytest.mark.parametrize("idea", ONCE)
def test_an_idea_is_written_once(idea):
    sign, home = ONCE[idea]
    found = [str(path.relative_to(PACKAGE)) for path in FILES if re.search(sign, path.read_text("utf-8"))]
    assert [path for path in found if not path.startswith(home)] == []


def test_a_class_name_occurs_once():
    """A class name means one thing in the whole package."""
    names = [
        node.name for path in FILES for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)
    ]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_public_names_are_listed_by_packages_alone_and_sorted():
    """A room's `__init__` says what is public; what else its modules hold is our own affair."""
    for path in (*FILES, *PACKAGE.rglob("*.pyi")):
        for node in tree_of(path).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                assert path.stem == "__init__", path
                written = path.suffix == ".pyi"
                every = ast.literal_eval(node.value) if written else import_module(module_of(path)).__all__
                names = [name for name in every if not name.startswith("__")]
                kinds = [(not name.isupper(), not name[0].isupper(), name) for name in names]
                assert all(a < b for a, b in pairwise(kinds)), path


def test_public_names_exist_and_no_module_hides_them():
    """Importing a module sets its name in its package: a public function must not share that name."""
    for path in FILES:
        package = import_module(module_of(path)) if path.name == "__init__.py" else None
        for name in getattr(package, "__all__", ()):
            hidden = (path.parent / f"{name}.py").exists() or (path.parent / name / "__init__.py").exists()
            assert not hidden or isinstance(getattr(package, name), ModuleType), f"{path}: {name}"
            assert hasattr(package, name), f"{path}: {name}"
