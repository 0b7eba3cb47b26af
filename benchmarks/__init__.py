"""Measurements of dualign, alone and compared with other aligners; run from the root of the repository."""
