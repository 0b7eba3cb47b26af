"""Training and aligning on several machines, with Dask: see docs/cluster.md."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
