"""How good links are, and how fast they came."""
