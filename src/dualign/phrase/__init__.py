"""Phrases: extraction, exact bijective alignment, sums and expectations, forced decoding, Viterbi EM."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
