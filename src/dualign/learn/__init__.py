"""Learning the parameters from unlabelled bitext."""
