"""Synchronous grammars and how they are extracted."""
