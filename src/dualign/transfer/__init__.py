"""Annotation carried from one language to the other over links, and links carried to other tokens."""
