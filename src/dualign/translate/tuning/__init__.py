"""Tuning the feature weights of a translation system."""
