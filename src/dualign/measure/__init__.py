"""How good links, phrases, translations and transferred annotation are, and what commands cost."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
