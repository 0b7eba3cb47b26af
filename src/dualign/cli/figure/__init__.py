"""The verbs of `dualign figure`."""
