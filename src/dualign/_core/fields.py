"""Options are fields: the one declaration of each file, flag, keyword, check and line of help.

    @dataclass(frozen=True)
    class Links(OptionRecord):
        links: str = arg("File of links.", file="in")
        threshold: float = opt(0.0, "Minimum probability.", metavar="P", least=0, below=1)

A record of such fields may be a field of another, by `bundle(Links)`; a caller then gives its options by
name, `threshold=0.3` or `--threshold 0.3`, as if they were the other's own. The rules of a field:

| rule | meaning |
|---|---|
| `name` | what it is called in such a call, if not like the field |
| `flag`, `short`, `also` | `--threshold`, if not made of the name; a letter, as in `-o`; other names |
| `metavar` | what stands for the value in the help |
| `choices`, `least`, `over`, `most`, `below` | what a value must be |
| `needs` | another option without which this one is refused |
| `used_with` | values of other options without which this one has no effect |
| `file` | `in` or `out`: read or written; `-` is standard input or output |
| `named` | files may be written `NAME=FILE` |
| `ignored` | an option that another program has; a shell is told that it has no effect |
| `off` | a flag that sets False, and its line of help |
| `model` | the file is looked at by who opens it, who knows what it must be |
| `shell` | an option that Python does not have |
| `panel` | the heading of the help under which it stands |
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, field, fields
from math import isfinite
from typing import Any, NamedTuple, NoReturn

from dualign._core.errors import UsageError, refusing

LARGEST = 2**31 - 1
"""Kernels take no larger whole numbers."""

KINDS: dict[str, tuple[Any, str]] = {
    "bool": (bool, "true or false"),
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "str": (str, "a name"),
}
"""The types of values, by their annotation, and what messages call them."""

BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "least": ("at least", lambda value, bound: value >= bound),
    "over": ("over", lambda value, bound: value > bound),
    "most": ("at most", lambda value, bound: value <= bound),
    "below": ("below", lambda value, bound: value < bound),
}


def opt(default: Any, help: str, **rules: Any) -> Any:
    """Declare an option; one that is required has no default, `MISSING`, and is given by name."""
    return field(default=default, kw_only=default is MISSING, metadata={"help": help, **rules})


def arg(help: str, default: Any = MISSING, *, kw_only: bool = False, **rules: Any) -> Any:
    """Declare a positional argument; if it has a flag, too, it may be given by either."""
    return field(default=default, kw_only=kw_only, metadata={"help": help, "argument": True, **rules})


def bundle(
    kind: type[Any], only: str | None = None, *, assignable: bool = False, deferred: bool = False
) -> Any:
    """Declare a record of options. Flags are made for `only` these names, if not for all.

    Options without a flag are keywords in Python; if they are `assignable`, a shell has `--set NAME=VALUE`.
    The value of a `deferred` one is not the record, but a dictionary of the options that were given: for a
    record whose defaults are not those that count, as where a saved model has its own.
    """
    required = any(_is_required(f) for f in fields(kind))
    shown = None if only is None else frozenset(only.split())
    rules = {"bundle": kind, "only": shown, "assignable": assignable, "deferred": deferred}
    if deferred:
        return field(default_factory=dict, kw_only=True, metadata=rules)
    return field(default_factory=MISSING if required else kind, kw_only=True, metadata=rules)


def _is_required(f: Field[Any]) -> bool:
    return f.default is MISSING and f.default_factory is MISSING


class Setting(NamedTuple):
    """An option of a record or of its bundles, as a caller knows it."""

    name: str
    field: Field[Any]
    path: tuple[str, ...]
    """The attributes that lead to its value."""
    rules: Mapping[str, Any]
    """What was declared."""
    flag: str
    """The long name in a shell."""
    is_argument: bool
    """Whether it is given by its position."""
    is_required: bool
    """Whether it has no default."""
    kind: str
    """Its type without `None`; text if it may be text, too."""
    has_flag: bool = True
    assignable: bool = False

    def of(self, record: Any) -> Any:
        """Return its value."""
        for name in self.path:
            record = record.get(name) if isinstance(record, dict) else getattr(record, name)
        return record


_known: dict[type, dict[str, Setting]] = {}


def settings(record: type) -> dict[str, Setting]:
    """Return all options of a record, those of its bundles included, by name and in order."""
    if record in _known:
        return _known[record]
    found = _known[record] = {}
    for f in fields(record):
        if (inner := f.metadata.get("bundle")) is None:
            if f.init and "help" in f.metadata:
                found[name_of(f)] = _setting(f)
            continue
        only, assignable = f.metadata["only"], f.metadata["assignable"]
        for name, each in settings(inner).items():
            has_flag = each.has_flag and (only is None or name in only)
            found[name] = each._replace(
                path=(f.name, *each.path), has_flag=has_flag, assignable=assignable or each.assignable
            )
    return found


def _setting(f: Field[Any]) -> Setting:
    name, kinds = name_of(f), str(f.type).split(" | ")
    flag = f.metadata.get("flag") or f"--{name.replace('_', '-').rstrip('-')}"
    kind = "str" if "str" in kinds else kinds[0]
    return Setting(name, f, (f.name,), f.metadata, flag, "argument" in f.metadata, _is_required(f), kind)


def name_of(f: Field[Any]) -> str:
    """Return what callers call a field."""
    return f.metadata.get("name", f.name)


def refuse_unknown(names: Iterable[str], known: Collection[str]) -> None:
    """Refuse options that there are not, and suggest another."""
    if unknown := sorted(set(names) - set(known)):
        raise UsageError(
            "unknown option {names}; {others}", names=", ".join(unknown), others=suggestion(unknown[0], known)
        )


def suggestion(name: str, known: Collection[str]) -> str:
    """Say what to write instead of an unknown option: one of a similar name, or any of those there are."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(known))}"


def check(record: Any) -> None:
    """Refuse what the rules of single fields forbid; paths become strings.

    What relates several fields is checked by their class, after this.
    """
    for f in fields(record):
        value, rules = getattr(record, f.name), f.metadata
        if "help" not in rules:
            continue
        if isinstance(value, os.PathLike) or type(value) in (list, tuple):
            value = _plain(value)
            object.__setattr__(record, f.name, value)
        if value is f.default or (value is None and "None" in str(f.type)):
            continue
        name = name_of(f)
        own = {rule: rules[rule] for rule in ("choices", *BOUNDS) if rule in rules}
        check_value(name, value, str(f.type), **own)
        other = rules.get("needs")
        if other is not None and getattr(record, other) in (None, (), False):
            needed = next(each for each in fields(record) if each.name == other)
            metavar = needed.metadata.get("metavar", "")
            what = f"{{{name}=}} needs {{{name_of(needed)}=}} {metavar}".rstrip()
            values: dict[str, Any] = {name: ... if "file" in rules else value, name_of(needed): ...}
            raise UsageError(what, **values)


def check_value(name: str, value: Any, kind: str = "", **rules: Any) -> None:
    """Refuse a value of another type, by its name in `KINDS`, or what its `choices` or bounds forbid."""
    _check_kind(name, value, kind)
    choices = rules.pop("choices", (value,))
    if value not in choices:
        _refuse(name, value, f"is not one of {', '.join(choices)}")
    for item in value if type(value) is tuple else (value,):
        if not all(BOUNDS[rule][1](item, bound) for rule, bound in rules.items()):
            limits = " and ".join(f"{BOUNDS[rule][0]} {bound:g}" for rule, bound in rules.items())
            _refuse(name, item, f"must be {limits}")


def _check_kind(name: str, value: Any, annotation: str) -> None:
    """Refuse a value of the wrong type. A whole number fits for any number; True and False are no numbers."""
    kinds = [KINDS.get(each) for each in annotation.removesuffix(" | None").split(" | ")]
    if len(kinds) != 1 or kinds[0] is None:
        return
    kind, words = kinds[0]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UsageError(f"{name}={{value!r}} must be {words}", value=value)
    if isinstance(value, int) and abs(value) > LARGEST:
        _refuse(name, value, f"must be at most {LARGEST}")
    if isinstance(value, float) and not isfinite(value):
        _refuse(name, value, "must be finite")


def _refuse(name: str, value: Any, reason: str) -> NoReturn:
    raise UsageError(f"{{{name}=}} {reason}", **{name: value})


def _plain(value: Any) -> Any:
    if type(value) in (list, tuple):
        return tuple(map(_plain, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else value


class OptionRecord:
    """Base of dataclasses whose fields are options: they are checked when one is made."""

    def __post_init__(self) -> None:
        check(self)


def idle(record: Any, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Return those of the named options that have no effect, each with the option that is the reason."""
    rules: dict[str, Any] = {name_of(f): f.metadata for f in fields(record)}
    for name in names:
        for other, values in rules.get(name, {}).get("used_with", {}).items():
            if getattr(record, other) not in values:
                yield name, other
                break


def assigned(
    known: Mapping[str, Setting], assignments: Iterable[str], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values of `NAME=VALUE`, as `--set` takes them; `given` has what flags say."""
    names = [name for name, each in known.items() if each.assignable]
    found: dict[str, Any] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if name not in names:
            what = "--set {text}: write NAME=VALUE with an option; {others}"
            raise UsageError(what, text=text, others=suggestion(name, names))
        if not equals:
            raise UsageError("--set {text}: no value; write --set {name}=VALUE", text=text, name=name)
        found[name] = _value(name, value.strip(), known[name].kind)
        if name in given and given[name] != found[name]:  # a NaN is not even equal to itself
            what = f"{{{name}=}} and --set {{text}} contradict each other; give one of them"
            raise UsageError(what, **{name: given[name], "text": text})
    return found


def _value(name: str, text: str, kind: str) -> Any:
    truth = {"true": True, "false": False}
    read: Any = {"bool": lambda text: truth[text.lower()], "int": int, "float": float}.get(kind, str)
    what = "--set {name}={text}: " + ("write true or false" if kind == "bool" else f"not {KINDS[kind][1]}")
    with refusing(KeyError, ValueError, by=UsageError, what=what, name=name, text=text):
        return read(text)
