"""A strict reader of JSON Schema, as far as the server's description uses it: what is wrong with a value, and
values that are right."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

KINDS: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "null": type(None),
    "number": (int, float),
}  # fmt: skip
KNOWN = {
    "$ref", "oneOf", "if", "then", "not", "pattern", "const", "type", "required", "properties", "default",
    "additionalProperties", "items", "minItems", "maxItems", "minLength", "minimum", "maximum", "description",
}  # fmt: skip


class Schemas:
    """The schemas of a description."""

    def __init__(self, described: dict[str, Any]) -> None:
        self.described = described

    def resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in schema:
            schema = self.described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        assert set(schema) <= KNOWN, set(schema) - KNOWN
        return schema

    def wrong(self, schema: dict[str, Any], value: Any, where: str = "$") -> list[str]:
        """What the schema does not allow."""
        schema = self.resolved(schema)
        found = []
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds and not any(
            isinstance(value, KINDS[kind]) and isinstance(value, bool) == (kind == "boolean")
            for kind in kinds
        ):
            return [f"{where} is no {kinds}"]
        if "oneOf" in schema:
            branches = [not self.wrong(each, value, where) for each in schema["oneOf"]]
            found += [f"{where} is of {sum(branches)} kinds"] * (sum(branches) != 1)
        if "if" in schema and not self.wrong(schema["if"], value, where):
            found += self.wrong(schema["then"], value, where)
        if "not" in schema and not self.wrong(schema["not"], value, where):
            found.append(f"{where} is what it must not be")
        if "const" in schema and value != schema["const"]:
            found.append(f"{where} is not {schema['const']}")
        if isinstance(value, str):
            if "pattern" in schema and not re.search(schema["pattern"], value):
                found.append(f"{where} does not look so")
            found += [f"{where} is short"] * (len(value) < schema.get("minLength", 0))
        elif isinstance(value, dict):
            known = schema.get("properties", {})
            found += [f"{where} lacks {name}" for name in schema.get("required", ()) if name not in value]
            if schema.get("additionalProperties", True) is False:
                found += [f"{where} has {name}" for name in value if name not in known]
            for name in known.keys() & value.keys():
                found += self.wrong(known[name], value[name], f"{where}.{name}")
        elif isinstance(value, list):
            if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
                found.append(f"{where} has {len(value)} items")
            for each in value if "items" in schema else ():
                found += self.wrong(schema["items"], each, f"{where}[]")
        elif isinstance(value, (int, float)):
            fits = schema.get("minimum", value) <= value <= schema.get("maximum", value)
            found += [] if fits else [f"{where} is out of range"]
        return found

    def values(self, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
        """Values that the schema allows."""
        schema = self.resolved(schema)
        made: st.SearchStrategy[Any]
        if "oneOf" in schema:
            made = st.one_of([self.values(each) for each in schema["oneOf"]])
        elif schema["type"] == "object":
            every = {name: self.values(each) for name, each in schema["properties"].items()}
            must = {name: every.pop(name) for name in schema["required"]}
            made = st.fixed_dictionaries(must, optional=every)
        elif schema["type"] == "array":
            made = st.lists(self.values(schema["items"]), max_size=4)
        else:
            made = {"string": st.text(max_size=6), "boolean": st.booleans()}[schema["type"]]
        return made.filter(lambda value: not self.wrong(schema, value))
