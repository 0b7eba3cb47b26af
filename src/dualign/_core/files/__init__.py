"""One layer that opens, replaces and resumes files."""
