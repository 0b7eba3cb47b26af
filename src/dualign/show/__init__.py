"""What people look at: the viewer, figures, pairs on the terminal, the page about a run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
