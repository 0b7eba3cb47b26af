"""Measurements of dualign, alone and beside its peers; run from the repository's root, not installed."""
