"""Forests of translations, language models, and decoders that prove their answers.

Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dualign.translate.decoding import decode
    from dualign.translate.grammar import Grammar, Rule
    from dualign.translate.hypergraph import Derivation, Hypergraph
    from dualign.translate.languagemodel import LanguageModel

__all__ = ["Derivation", "Grammar", "Hypergraph", "LanguageModel", "Rule", "decode"]

_HOMES = {
    "Derivation": "dualign.translate.hypergraph",
    "Grammar": "dualign.translate.grammar",
    "Hypergraph": "dualign.translate.hypergraph",
    "LanguageModel": "dualign.translate.languagemodel",
    "Rule": "dualign.translate.grammar",
    "decode": "dualign.translate.decoding",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dualign.translate' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
