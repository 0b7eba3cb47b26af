"""Matching decoders: links from any matrix of scores, under limits on the links of a word."""
