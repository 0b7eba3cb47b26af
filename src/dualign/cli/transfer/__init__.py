"""`dualign transfer`: one small file for each of its verbs."""
