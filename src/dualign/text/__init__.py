"""Files in and out: sentence pairs, links, trees, tables; sample data and synthetic text."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
