"""The former place of `dualign.translate.rules.grammar`."""

from __future__ import annotations

from dualign.translate.rules.grammar import Grammar, Rule, parse_rule, read_rules, write_rules

__all__ = ["Grammar", "Rule", "parse_rule", "read_rules", "write_rules"]
