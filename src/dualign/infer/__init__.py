"""What learning and decoding both ask of a model: blocks and cells, chains, Viterbi, posteriors."""
