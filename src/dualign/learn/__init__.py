"""What training knows and tells; the documented names, whose home is `dualign.hmm`."""

from dualign.hmm import NothingToLearn, Prior, Progress

__all__ = ["NothingToLearn", "Prior", "Progress"]


def __dir__() -> list[str]:
    return __all__
