"""Forests of translations, language models, and decoders that prove their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign.translate.forest.hypergraph import Derivation, Hypergraph
    from dualign.translate.lm.language_model import LanguageModel
    from dualign.translate.rules.grammar import Grammar, Rule
    from dualign.translate.search.decoding import decode
    from dualign.translate.system import Translator, train_system

__all__ = [
    "Derivation", "Grammar", "Hypergraph", "LanguageModel", "Rule", "Translator", "decode", "train_system",
]  # fmt: skip

_HOMES = {
    "Derivation": "forest.hypergraph",
    "Grammar": "rules.grammar",
    "Hypergraph": "forest.hypergraph",
    "LanguageModel": "lm.language_model",
    "Rule": "rules.grammar",
    "Translator": "system",
    "decode": "search.decoding",
    "train_system": "system",
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
