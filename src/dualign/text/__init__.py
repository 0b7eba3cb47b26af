"""Files in and out: bitext, vocabulary, link formats, sample data."""
