"""Exact search in forests with a language model."""
