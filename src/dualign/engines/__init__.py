"""Where a text is worked on: the threads of this process, a graphics card, or a cluster.

Each is an `Engine`; all give the same result, but for the card's rounding.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypedDict, TypeVar

from dualign._core.arrays import Array
from dualign._core.progress import Clock
from dualign.decode.decoders import DecodedLinks
from dualign.hmm.constraints import ConstraintSet
from dualign.hmm.encoding import EncodedText, UnreadPart
from dualign.hmm.model import Model
from dualign.hmm.training import Learner


class ClusterValues(TypedDict, total=False):
    """Where to train, if not in this process."""

    client: Any
    """A `distributed.Client`, or a `Workers`; None for this process."""
    work: str | os.PathLike[str] | None
    """A folder that all machines of the cluster share."""


class DecodedPart(NamedTuple):
    """A part of a text with its links; and, if they were asked for, the link probabilities of each pair.

    `clock` runs since the work on this part began.
    """

    text: EncodedText
    links: DecodedLinks
    matrices: list[Array] | None
    clock: Clock


R = TypeVar("R")


class Engine(Learner, Protocol):
    """What trains on a text, and decodes it."""

    def chunk_size(self, model: Model) -> int:
        """How many pairs to decode together."""

    def decode(
        self,
        model: Model,
        parts: Iterable[UnreadPart],
        finish: Callable[[UnreadPart, DecodedPart], R],
        constraints: ConstraintSet | None = None,
        *,
        matrices: bool = False,
        look: Callable[[Model, UnreadPart, EncodedText], None] | None = None,
    ) -> Iterator[R]:
        """What `finish` makes of each part and its links, in the order of the text.

        It is called where the part was decoded: on one of several threads. `look` is shown each part before,
        once it is encoded. A set of `constraints` joins the projection that the model's options name. With
        `matrices`, the probabilities of all links are kept for `finish`, too.
        """

    def links_of(
        self, model: Model, text: EncodedText, constraints: ConstraintSet | None = None
    ) -> DecodedLinks:
        """Links of one part, on the calling thread."""

    def map(self, name: str, function: Callable[..., R], items: Iterable[Any], *settings: Any) -> Iterator[R]:
        """What `function(item, *settings)` returns for each item, in order; `name` says what is done."""
