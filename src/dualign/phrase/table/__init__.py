"""Phrase tables: extraction, scoring, look-up."""
