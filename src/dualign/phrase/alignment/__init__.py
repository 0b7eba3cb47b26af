"""Bijective phrase alignment: best, sums, expectations, EM, forced decoding (DeNero & Klein 2008)."""
