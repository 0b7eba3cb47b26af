"""Options refuse what makes no sense, and say which value that was."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

from dualign._core.errors import UsageError
from dualign._core.fields import idle
from dualign.hmm.training import schedule
from dualign.options import AGREEMENTS, CONSTRAINTS, DECODERS, MODELS, SYMMETRIZATIONS, Options, OptionValues

NAN = float("nan")
BAD = {
    "model": ["ibm5", "", "HMM"],
    "constraint": ["agree", ""],
    "projection": ["agreement", ""],
    "decoder": ["Viterbi", "mbr"],
    "symmetrize": ["grow", "invert"],
    "whitespace": ["blank"],
    "ibm1_rounds": [0, -1],
    "rounds": [-1],
    "max_length": [0, -5],
    "stem_letters": [0],
    "evaluations": [0],
    "null": [0.0, 1.0, -0.1, 2, NAN],
    "floor": [0.0, 1.0, NAN],
    "threshold": [1e-9, 1.0, 1.5, -0.5, NAN],
    "prune": [-1e-9, NAN],
    "stem_weight": [-1.0, NAN],
    "form_weight": [-1.0, NAN],
    "leave_out": [-0.1, 1.1, NAN],
    "jump_words": [-1, 10_001],
    "jump_weight": [0.0, 0.5, NAN],
    "slack": [-0.1, NAN],
    "tolerance": [-0.1, NAN],
    "scores": ["eq5", ""],
    "concave": ["rows", ""],
    "alpha": [0.0, -0.5, 1.1, NAN],
    "source_limit": [-1],
    "target_limit": [-1],
    "quantile": [-0.1, 1.0, NAN],
}


def test_ibm2_has_no_chain_to_project():
    with pytest.raises(UsageError, match='constraint="bijective" is for the hmm'):
        Options(model="ibm2", constraint="bijective")
    assert schedule(Options(model="ibm2", rounds=2)) == ["agreement"] * 2


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD for value in BAD[name]])
def test_bad_values_are_refused_by_name_and_value(name, value):
    shown = f'{name}="{value}"' if isinstance(value, str) else f"{name}={value}"
    with pytest.raises(UsageError, match=f"^{re.escape(shown)} "):
        Options.of({name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", "0.5"),
        ("rounds", 2.5),
        ("rounds", "3"),
        ("null", None),
        ("lowercase", "no"),
        ("prune", None),
    ],
)
def test_values_of_a_wrong_type_are_refused(name, value):
    with pytest.raises(UsageError, match=name):
        Options.of({name: value})


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("model", MODELS),
        ("constraint", CONSTRAINTS),
        ("decoder", DECODERS),
        ("symmetrize", SYMMETRIZATIONS),
        ("projection", ("none", "symmetric")),
    ],
)
def test_every_name_that_is_allowed_is_accepted_and_listed_when_another_is_given(name, allowed):
    for value in allowed:
        assert getattr(Options.of({name: value}), name) == value
    with pytest.raises(UsageError) as caught:
        Options.of({name: "nonsense"})
    for value in allowed:
        assert value in str(caught.value)


def test_an_unknown_option_is_named_with_those_there_are():
    with pytest.raises(UsageError, match=r"unknown option treshold; did you mean threshold\?"):
        Options.of({"treshold": 0.5})


def test_options_survive_json():
    options = Options(threshold=0.3, rounds=0, lowercase=False, decoder="viterbi")
    assert Options.of(json.loads(json.dumps(options.as_dict()))) == options


def test_every_option_has_a_help_text():
    for field in fields(Options):
        assert field.metadata["help"]


def test_options_that_need_another_are_idle_without_it():
    known = {"model": MODELS, "decoder": DECODERS, "agreement": AGREEMENTS}
    for values in (f.metadata.get("used_with", {}) for f in fields(Options)):
        for other, fitting in values.items():
            assert set(fitting) < set(known[other])
    options = Options(decoder="bidirectional", agreement="full")
    assert list(idle(options, ["unsupported", "penalty", "agreement", "threshold", "rounds"])) == [
        ("unsupported", "agreement"),
        ("penalty", "agreement"),
        ("threshold", "decoder"),
    ]


def test_the_documentation_lists_every_option_with_its_default():
    text = (Path(__file__).parents[2] / "docs" / "model.md").read_text(encoding="utf-8")
    for field in fields(Options):
        default = str(field.default).lower() if isinstance(field.default, bool) else field.default
        assert f"| `{field.name}` | {default} | {field.metadata['help']} |\n" in text


def test_type_checkers_see_every_option():
    assert get_type_hints(OptionValues) == get_type_hints(Options)
    assert list(OptionValues.__annotations__) == [f.name for f in fields(Options)]
    assert OptionValues.__required_keys__ == frozenset()
