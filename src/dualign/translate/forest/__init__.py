"""Forests of translations, and what builds them."""
