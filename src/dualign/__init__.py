"""dualign: aligns bilingual text, with a probability for every link and a proof where there is one.

Names are imported on first use: `import dualign` loads neither NumPy nor Numba.
"""

import lazy_loader

from dualign._core import former_names

former_names.install()
_attribute, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from dualign._core import release

        return release()
    return _attribute(name)


def __dir__() -> list[str]:
    return sorted(__all__)
