"""Ways to disturb a command: what its files hold, what they are, how they are named, options, the disk."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path

from tests.fuzz.case import Case, fed, files_of_at_most, nobody
from tests.fuzz.damage import NUMBERS, damage

from dualign._core.fields import LARGEST, Setting, settings
from dualign.commands import GROUPS, VERBS


def disturb(case: Case, draw: random.Random) -> str:
    """Disturb a command in one way, or in none if its files allow none; what was done."""
    ways = [(_contents, 12), (_option, 8)]
    if case.inputs:
        ways += [
            (_pipe, 3), (_stdin, 2), (_input_is, 3), (_input_name, 2), (_packed, 2), (_encoded, 2),
            (_spreadsheet, 1), (_unreadable, 1),
        ]  # fmt: skip
    if case.outputs:
        ways += [(_full_disk, 3), (_output_is, 3), (_output_name, 1), (_input_as_output, 1), (_unwritable, 1)]
    how = draw.choices([way for way, _ in ways], [weight for _, weight in ways])[0]
    return how(case, draw) or "nothing"


def _contents(case: Case, draw: random.Random) -> str:
    return damage(case.copy(draw.choice(case.inputs)), draw) if case.inputs else ""


def _file(case: Case, draw: random.Random) -> str:
    """An input that is a file, not a folder; or none."""
    names = [name for name in case.inputs if (case.healthy / name).is_file()]
    return draw.choice(names) if names else ""


def _pipe(case: Case, draw: random.Random) -> str:
    if not (name := _file(case, draw)):
        return ""
    as_pipe(case, name)
    case.same = True
    return f"{name}: pipe"


def as_pipe(case: Case, name: str) -> None:
    """`<(cat FILE)`: can be read once, from the beginning."""
    content = (case.healthy / name).read_bytes()

    @contextmanager
    def piped() -> Iterator[None]:
        with fed(content) as path:
            case.paths[name] = path
            yield

    case.around.append(piped)


def _stdin(case: Case, draw: random.Random) -> str:
    if not (name := _file(case, draw)):
        return ""
    case.paths[name] = "-"
    case.around.append(partial(fed, (case.healthy / name).read_bytes(), True))
    case.same = True
    return f"{name}: standard input"


def _input_is(case: Case, draw: random.Random) -> str:
    """Something else in place of an input: a folder, a device, a link to itself, nothing, another file."""
    name, folder = draw.choice(case.inputs), case.folder
    what = draw.choice(
        ("a folder", "an empty folder", "/dev/null", "a loop", "missing", "empty", "another", "")
    )
    path = folder / name
    match what:
        case "a folder":
            path = case.healthy
        case "an empty folder":
            path.mkdir()
        case "/dev/null":
            path = Path(what)
        case "a loop":
            path.symlink_to(path)
        case "empty":
            path.touch()
        case "another":
            path = case.healthy / draw.choice(sorted(os.listdir(case.healthy)))
    case.paths[name] = str(path) if what else ""
    return f"{name}: {what or 'no name'}"


def _input_name(case: Case, draw: random.Random) -> str:
    """A healthy file with a name that no terminal can show."""
    name = draw.choice(case.inputs)
    odd = os.fsdecode(draw.choice((b"a\nb", b"\xff", b" ", b"\x1b[31m", b"-", b"\xf0\x9f\x98\x80", b"%s{}")))
    case.copy(name, odd + name)
    case.same = True
    return f"{name}: named {odd + name!r}"


def _packed(case: Case, draw: random.Random) -> str:
    """A compressed file whose name does not say so, or the other way round."""
    if not (name := _file(case, draw)):
        return ""
    pack = draw.choice((gzip.compress, bz2.compress, lzma.compress, None))
    if pack is None:
        suffix = draw.choice((".gz", ".bz2", ".xz", ".zst"))
        case.copy(name, name + suffix)
        return f"{name}: named {name + suffix}"
    path = case.copy(name)
    path.write_bytes(pack(path.read_bytes()))
    return f"{name}: {pack.__module__}"


def _encoded(case: Case, draw: random.Random) -> str:
    if not (name := _file(case, draw)):
        return ""
    path, encoding = (
        case.copy(name),
        draw.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "crlf")),
    )
    content = path.read_bytes()
    if encoding == "crlf":
        path.write_bytes(content.replace(b"\n", b"\r\n"))
    else:
        path.write_bytes(content.decode("utf-8", "replace").encode(encoding, "replace"))
    return f"{name}: {encoding}"


def _spreadsheet(case: Case, draw: random.Random) -> str:
    if not (name := _file(case, draw)):
        return ""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    case.copy(name).write_bytes(buffer.getvalue())
    return f"{name}: a spreadsheet"


def _unreadable(case: Case, draw: random.Random) -> str:
    name = draw.choice(case.inputs)
    case.copy(name).chmod(0)
    case.folder.chmod(0o777)
    case.around.append(nobody)
    return f"{name}: no permission"


def _unwritable(case: Case, draw: random.Random) -> str:
    case.folder.chmod(0o555)
    case.around.append(nobody)
    return "folder of outputs: no permission"


def _full_disk(case: Case, draw: random.Random) -> str:
    size = draw.choice((0, 1, 10, 100, 1000, 4096, 20_000))
    case.around.append(partial(files_of_at_most, size))
    return f"no file over {size} bytes"


def _output_is(case: Case, draw: random.Random) -> str:
    name = draw.choice(case.outputs)
    what = draw.choice(("a folder", "/dev/full", "/dev/null", "a loop", "in a missing folder", "no name"))
    path = case.folder / name
    match what:
        case "a folder":
            path.mkdir()
        case "/dev/full" | "/dev/null":
            path = Path(what)
        case "a loop":
            path.symlink_to(path)
        case "in a missing folder":
            path = case.folder / "missing" / name
    case.paths[name] = "" if what == "no name" else str(path)
    return f"{name}: {what}"


def _output_name(case: Case, draw: random.Random) -> str:
    name = draw.choice(case.outputs)
    odd = os.fsdecode(draw.choice((b"a\nb", b"\xff", b" ", b"\x1b[31m")))
    case.paths[name] = str(case.folder / f"OUT{odd}{Path(name).suffix}")
    return f"{name}: named {odd!r}"


def _input_as_output(case: Case, draw: random.Random) -> str:
    """An output that is an input, by its own name or by a link."""
    if not (name := _file(case, draw)):
        return ""
    path, output = case.copy(name), draw.choice(case.outputs)
    if draw.random() < 0.5:
        link = case.folder / f"link-{output}"
        (os.symlink if draw.random() < 0.5 else os.link)(path, link)
        path = link
    case.paths[output] = str(path)
    return f"{output}: is {name}"


def _option(case: Case, draw: random.Random) -> str:
    """An option with a value at a border of what is allowed, or beyond."""
    if case.words[0] == "forest":
        return ""
    chosen = draw.choice(_options(case.words))
    value = draw.choice(values_of(chosen))
    if chosen.rules.get("file") == "in" and draw.random() < 0.7:
        value = str(case.healthy / draw.choice(sorted(os.listdir(case.healthy))))
    elif chosen.rules.get("file") == "out" or chosen.rules.get("metavar") == "DIR":
        value = case.paths["OUT9"] = value if value and draw.random() < 0.3 else str(case.folder / "OUT9")
    if chosen.has_flag:
        case.more += [chosen.flag] if chosen.kind == "bool" else [chosen.flag, value]
    else:
        case.more += ["--set", f"{chosen.name}={value}"]
    return " ".join(case.more)


def _options(words: list[str]) -> list[Setting]:
    table = GROUPS.get(words[0], VERBS)
    home, _ = table[words[1] if words[0] in GROUPS else words[0]]
    module, _, name = home.partition(".")
    known = settings(getattr(import_module(f"dualign.commands.{module}"), name)).values()
    return [each for each in known if not each.is_argument and (each.has_flag or each.assignable)]


def values_of(option: Setting) -> list[str]:
    """Values at the borders that are declared, just beyond them, and nonsense."""
    rules, odd = (
        option.rules,
        ["", "x", "nan", "inf", "-inf", "1e400", str(LARGEST + 1), "-1", "٣", "1_0", "\udcff"],
    )
    if option.kind == "bool":
        return ["true", "false", "x", ""]
    if "choices" in rules:
        return [*rules["choices"], "", "x", "X Y"]
    if option.kind not in ("int", "float") and "int" not in option.kind and "float" not in option.kind:
        return [*odd, *NUMBERS, "a=b", "a,b", ",", "0-1", "1-", "=", "a" * 5000]
    borders = [rules[rule] for rule in ("least", "over", "most", "below") if rule in rules]
    step = 1 if option.kind == "int" else 1e-9
    near = [format(border + by, "g") for border in borders for by in (-step, 0, step)]
    return [*odd, *near, "0", "1", "2", "0.5", "1e-300"]
