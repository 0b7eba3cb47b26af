"""dualign: word alignment with probabilities and proofs."""
