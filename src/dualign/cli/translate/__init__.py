"""The verbs of `dualign translate`."""
