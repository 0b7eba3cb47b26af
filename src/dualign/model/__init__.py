"""Parameters of the alignment models, and their storage."""
