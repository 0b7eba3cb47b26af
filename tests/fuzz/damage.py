"""Ways to damage a file: its bytes, its lines, its numbers, its JSON, its arrays."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import re
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from dualign._core.errors import ModelError
from dualign._core.files.container import read_container, write_container

NUMBERS = (
    "0", "-1", "1", "2147483647", "-2147483649", "999999999", "4294967296", "9223372036854775808", "+1",
    "1" * 400, "1e309", "-1e308", "1e-320", "nan", "inf", "-inf", "0.5", "-0.0", "1_000", "٣", "0x10", "",
    "1.5.2",
)  # fmt: skip

WORDS = (
    "\x00", "\x1b[31m", "\r", "\r\n", "\t", "\u2028", "\ufeff", "\x85", "|||", " ||| ", "<s>", "<unk>",
    "NULL", "({", "-", ":", "0-0", "\\", '"', "<b>", "</b>", "<!--", "é" * 50, "a" * 5000, "\u202e",
    "\U0001f600",
)  # fmt: skip

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 10**9, 10**30, int("9" * 400), 1e308, -1e308, 0.5, "", "x", "9" * 400,
    [], {}, [[]], [0], [[0, 0]], [None], {"a": 1}, [1e308, -1e308], "\ud800", float("nan"), float("inf"),
    [[[1]]],
)  # fmt: skip

LONGEST = 50_000
"""Bytes of a line that was repeated; a longer one takes its time in honest work, as many short ones do."""

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?")


def damage(path: Path, draw: random.Random) -> str:
    """Damage a file, or a file of a folder, in place; the name of what was done."""
    if path.is_dir():
        path = draw.choice(sorted(path.iterdir()))
    kinds = [_bytes, _bytes]
    content = path.read_bytes()
    if content[:2] == b"PK" or content[:6] == b"\x93NUMPY":
        kinds += [_arrays] * 4 + [_header] * 2
    elif path.suffix in (".gz", ".bz2", ".xz", ".zst"):
        kinds += [_packed] * 4
    elif _is_model(path):
        kinds += [_model] * 8
    else:
        kinds += [_lines, _numbers, _numbers, _words]
        if content[:1] in b"{[":
            kinds += [_json] * 4
    how = draw.choice(kinds)
    how(path, draw)
    return f"{path.name}: {how.__name__[1:]}"


def _is_model(path: Path) -> bool:
    try:
        read_container(path)
    except ModelError:
        return False
    return True


def _bytes(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 1, 2, 5))):
        at, end = sorted(draw.randrange(len(data) + 1) for _ in range(2))
        match draw.randrange(7):
            case 0 if data:
                data[min(at, len(data) - 1)] ^= 1 << draw.randrange(8)
            case 1:
                del data[at:]
            case 2:
                del data[at : min(end, at + 20)]
            case 3:
                data[at:at] = draw.randbytes(draw.randrange(1, 9))
            case 4:
                data[at:at] = data[at:end]
            case 5:
                data[at:at] = draw.choice((b"\x00", b"\xff", b"\xed\xa0\x80", b"\n", b"\n\n", b" ", b"\xf8"))
            case _:
                data[at:end] = bytes(end - at) if draw.random() < 0.5 else b""
    path.write_bytes(bytes(data))


def _lines(path: Path, draw: random.Random) -> None:
    lines = path.read_bytes().split(b"\n")
    for _ in range(draw.choice((1, 1, 3))):
        at, other = (draw.randrange(len(lines)) for _ in range(2))
        match draw.randrange(6):
            case 0:
                lines.insert(at, lines[other])
            case 1:
                del lines[at]
                lines = lines or [b""]
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] = b" ".join([lines[other]] * draw.choice((2, 50, 1000)))[:LONGEST]
            case 4:
                lines.insert(at, b"")
            case _:
                lines[at] = lines[at] + b" " + lines[other]
    path.write_bytes(b"\n".join(lines))


def _replaced(text: str, found: list[re.Match[str]], new: str, draw: random.Random) -> str:
    if not found:
        return text + new
    match = draw.choice(found)
    return text[: match.start()] + new + text[match.end() :]


def _numbers(path: Path, draw: random.Random) -> None:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    for _ in range(draw.choice((1, 1, 2))):
        text = _replaced(text, list(_NUMBER.finditer(text)), draw.choice(NUMBERS), draw)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def _words(path: Path, draw: random.Random) -> None:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    text = _replaced(text, list(re.finditer(r"\S+|\s", text)), draw.choice(WORDS), draw)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def _json(path: Path, draw: random.Random) -> None:
    lines = path.read_text("utf-8").splitlines()
    at = draw.randrange(len(lines))
    try:
        value: Any = json.loads(lines[at])
    except ValueError:
        path.write_text(json.dumps(draw.choice(VALUES)), encoding="utf-8")
        return
    box: list[Any] = [value]
    place: Any = box
    key: Any = 0
    while isinstance(place[key], (list, dict)) and place[key] and draw.random() < 0.8:
        place = place[key]
        key = draw.choice(list(place)) if isinstance(place, dict) else draw.randrange(len(place))
    if draw.random() < 0.15 and isinstance(place, dict):
        del place[key]
    else:
        place[key] = draw.choice(VALUES)
    lines[at] = json.dumps(box[0])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _packed(path: Path, draw: random.Random) -> None:
    """Damage what is inside of a compressed file."""
    import zstandard

    packers: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
        ".gz": (gzip.decompress, gzip.compress),
        ".bz2": (bz2.decompress, bz2.compress),
        ".xz": (lzma.decompress, lzma.compress),
        ".zst": (
            lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
            zstandard.compress,
        ),
    }
    unpack, pack = packers[path.suffix]
    inside = path.with_suffix("")
    inside.write_bytes(unpack(path.read_bytes()))
    draw.choice((_lines, _numbers, _words, _bytes))(inside, draw)
    path.write_bytes(pack(inside.read_bytes()))
    inside.unlink()


def _forged(array: Any, draw: random.Random) -> Any:
    """Another array in place of this one."""
    flat = np.array(array)
    kind = flat.dtype.kind
    match draw.randrange(9):
        case 0:
            return flat.astype(draw.choice(("<i4", "<i8", "<f4", "<f8", "<u1", "<u8", "<f2", "<i2")))
        case 1:
            return flat[: draw.randrange(len(flat) + 1)] if flat.ndim else flat
        case 2:
            return np.concatenate((flat, flat)) if flat.ndim else flat
        case 3:
            return flat.reshape(-1) if draw.random() < 0.5 else flat.reshape(-1, 1)
        case 4:
            return flat.T.copy() if flat.ndim > 1 else flat[::-1].copy()
        case 5:
            return np.zeros(draw.choice(((), (0,), (0, 2), (1, 1, 1), (5,))), flat.dtype)
        case _ if flat.size == 0:
            return np.ones(3, flat.dtype)
        case 6:
            odd = (np.nan, np.inf, -np.inf, -1, 1e30, 1e-40) if kind == "f" else (-1, 2**31 - 1, 2**62, 0, 7)
            with np.errstate(all="ignore"):
                flat.reshape(-1)[draw.randrange(flat.size)] = np.array(draw.choice(odd)).astype(flat.dtype)
            return flat
        case 7:
            odd = (np.nan, np.inf, -1, 0, 1e30, 1e38) if kind == "f" else (-1, 2**31 - 1, 0, 1)
            with np.errstate(all="ignore"):
                flat[...] = np.array(draw.choice(odd)).astype(flat.dtype)
            return flat
        case _:
            np.random.default_rng(draw.randrange(2**32)).shuffle(flat.reshape(-1))
            return flat


def _arrays(path: Path, draw: random.Random) -> None:
    if path.suffix != ".npz":
        np.save(path, _forged(np.load(path), draw))
        return
    with np.load(path) as stored:
        arrays = dict(stored)
    name = draw.choice(sorted(arrays))
    match draw.randrange(8):
        case 0:
            del arrays[name]
        case 1:
            arrays[f"{name}9"] = arrays[name]
        case _:
            arrays[name] = _forged(arrays[name], draw)
    np.savez(path, **arrays)


def _header(path: Path, draw: random.Random) -> None:
    """An array whose header is damaged, or claims what is not there."""
    buffer = BytesIO()
    np.save(buffer, np.ones((2, 3)))
    content = buffer.getvalue()
    shape = draw.choice(
        ("(2, 3", "(9999999999, 9999999)", "(-2, 3)", "(2, 3, 1)", "(1e9,)", "()", "(200000, 200000)")
    )
    old, new = draw.choice(
        ((b"(2, 3)", shape.encode()), (b"<f8", b"|O8"), (b"False", b"Fal"), (b"{", b"((("))
    )
    content = content.replace(old, new, 1)
    if path.suffix != ".npz":
        path.write_bytes(content)
        return
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[draw.choice(sorted(members))] = content
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def _model(path: Path, draw: random.Random) -> None:
    """A word model with right checksums and wrong content."""
    header, arrays = read_container(path)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    name = draw.choice(sorted(arrays))
    match draw.randrange(10):
        case 0:
            del arrays[name]
        case 1:
            header["options"][draw.choice(sorted(header["options"]))] = draw.choice(VALUES[:15])
        case 2:
            header["options"]["model"] = draw.choice(("hmm", "ibm1", "ibm2"))
        case _:
            arrays[name] = _forged(arrays[name], draw)
    write_container(path, header, arrays)
