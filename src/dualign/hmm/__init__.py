"""The alignment models: parameters, inference and learning, as functions of a model, a block, or counts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
