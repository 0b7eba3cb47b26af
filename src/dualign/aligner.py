"""`Aligner`: learn from a bitext, align, save, load. The Python face of the word-alignment rooms."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from inspect import Parameter, Signature
from typing import Any, Unpack, get_type_hints

from dualign._core.arrays import Array
from dualign._core.certified import html_table, html_text
from dualign._core.errors import DataError, UsageError
from dualign._core.memory import Workspace
from dualign._core.threads import available
from dualign.decode.decoders import (
    DecodedLinks,
    PairScore,
    alignable,
    check_constraints,
    decode_block,
    scores_of,
    spread_out,
    without_skipped,
)
from dualign.engines import ClusterValues, DecodedPart, Engine, R
from dualign.engines.threads import ThreadsEngine, posteriors_of_part, usable
from dualign.hmm.blocks import Block
from dualign.hmm.constraints import ConstraintSet
from dualign.hmm.encoding import CHUNK, FEW, EncodedText, UnreadPart, parts_of
from dualign.hmm.model import Model, Translation, translations
from dualign.hmm.posteriors import link_probabilities, matrices_of
from dualign.hmm.priors import Prior
from dualign.hmm.training import NothingToLearn, Progress, train
from dualign.options import DECODING, Options, OptionValues
from dualign.text.blocks import BEGINNING, Pair, Position, TextFiles
from dualign.text.checks import is_list, links_inside, number_of, same_length
from dualign.text.corpus import Numbered, Pins, numbered
from dualign.text.links import Alignment, Links
from dualign.text.tokenizing import PLAIN, Cutting, cutting_of

Sentence = str | Sequence[str]
Pairs = Iterable[tuple[Sentence, Sentence]]
Columns = tuple[list[Sentence], list[Sentence]]
Text = Pairs | Columns | Numbered


def align(
    source: Text | Sequence[Sentence],
    target: Sequence[Sentence] | None = None,
    *,
    threads: int | None = None,
    device: str = "cpu",
    device_memory: int | str | None = None,
    **options: Unpack[OptionValues],
) -> list[Alignment]:
    """Train on a text and align it; returns one `Alignment` per pair.

    The text is given as to `Aligner.fit`, usually as two parallel lists of sentences. A sentence is a list of
    tokens, or a string to be split at white space, or as `tokenize` says. `Aligner` describes the keywords.
    Where no pair has words on both sides, there is nothing to learn from, and no pair has links.
    """
    aligner = Aligner(threads=threads, device=device, device_memory=device_memory, **options)
    pairs = as_text(source, target, aligner.cutting)
    text = pairs if isinstance(pairs, Numbered) else numbered(pairs, aligner.options.lowercase)
    try:
        found = aligner.fit(text).align(text)
    except NothingToLearn as error:
        logging.getLogger("dualign").warning(f"{error.what}, so there are no links")
        found = [Alignment(probabilities=()) for _ in range(len(text))]
    return found if isinstance(pairs, Numbered) else with_words(found, pairs)


class Aligner:
    """A word aligner: `fit` it, or `load` one; then `align` any text, all at once or in pieces.

    A text is given in one of four forms:

    - two arguments, all source sentences and all target sentences: two parallel columns of any type;
    - one tuple of two lists, `(sources, targets)`: the same two columns;
    - any other iterable of pairs `(source, target)`. A list always holds pairs, even a list of two lists;
      a tuple of two tuples, which could be pairs or sides, is refused;
    - a `dualign.text.Numbered`, made by `dualign.text.numbered(pairs, lowercase)`: its words are numbered
      only once for `fit` and `align`.

    A sentence is a list of tokens, or a string to be split at white space, or as `tokenize` says.

    `threads` defaults to the number of processors. `device` is where the chains are computed: `cpu`, `cuda`
    for a graphics card, of whose memory at most `device_memory` is used, or `auto` for one if it can be used
    (see `docs/gpu.md`). The other keywords, all from `dualign.Options`:

    """

    def __init__(
        self,
        *,
        threads: int | None = None,
        device: str = "cpu",
        device_memory: int | str | None = None,
        **options: Unpack[OptionValues],
    ) -> None:
        self.options = Options.of(options)
        self.threads = threads
        self.device, self.device_memory = device, device_memory
        self.card = card_of(device, device_memory)
        self.constraints: ConstraintSet | None = None
        self.history: list[Progress] = []
        """The rounds of training, in order; empty for a loaded model."""
        self._model: Model | None = None

    def __repr__(self) -> str:
        changed = [] if self._threads is None else [f"threads={self._threads!r}"]
        changed += [] if self.device == "cpu" else [f"device={self.device!r}"]
        changed += [
            f"{f.name}={value!r}"
            for f in fields(Options)
            if (value := getattr(self.options, f.name)) != f.default
        ]
        return f"<Aligner({', '.join(changed)}): {'not ' * (self._model is None)}fitted>"

    def _repr_html_(self) -> str:
        if self._model is None:
            return html_text(repr(self))
        rows = [
            ("source words", f"{len(self._model.source):,}"),
            ("target words", f"{len(self._model.target):,}"),
        ]
        rows += [
            (f"{done.stage} round {done.number}/{done.rounds}", f"{done.bits:.3f} bits per word")
            for done in self.history
        ]
        return html_text(repr(self)) + html_table(rows)

    @property
    def threads(self) -> int:
        """The number of threads to use: as given, else the number of processors."""
        return available(self._threads)

    @threads.setter
    def threads(self, threads: int | None) -> None:
        available(threads)
        self._threads = threads

    @property
    def model(self) -> Model:
        """The parameters, with the options they were trained with and the present ones for aligning."""
        if self._model is None:
            raise UsageError("this aligner has no model yet; call fit(bitext), or Aligner.load(path)")
        present = {name: getattr(self.options, name) for name in DECODING}
        if all(getattr(self._model.options, name) == value for name, value in present.items()):
            return self._model  # as for every part of a text but the first
        try:
            options = replace(self._model.options, **present)
        except UsageError as error:
            raise UsageError(f"{error}; the model was trained with other options, fit it again") from None
        self._model = self._model.with_options(options)
        return self._model

    def fit(
        self,
        bitext: Text | Sequence[Sentence],
        target: Sequence[Sentence] | None = None,
        *,
        report: Callable[[Progress], None] = lambda progress: None,
        judge: Callable[[Model], float] | None = None,
        constraints: ConstraintSet | None = None,
        workspace: Workspace | None = None,
        gold: Mapping[int, Alignment] | None = None,
        prior: Prior | None = None,
        **cluster: Unpack[ClusterValues],
    ) -> Aligner:
        """Learn from a text; `report` is called after each round.

        `gold` has the known links of some pairs, by the pair's number from 0: training keeps to them. `prior`
        has pseudo-counts of word pairs (`dualign.learn.Prior`).
        For `judge` and `constraints` see `dualign.hmm.training.train`; constraints, such as a `Glossary`,
        hold when aligning, too. `workspace` has the room for large arrays, in memory or in scratch files.
        With `client`, a `distributed.Client`, the rounds run on a Dask cluster; `work` is a folder that all
        its machines share.
        """
        text = self._text(bitext, target)
        if not isinstance(text, Numbered):
            text = numbered(text, self.options.lowercase)
        elif self.options.lowercase:
            text = text.lowered()
        if gold is not None:
            text = replace(text, pins=_pins(text, gold))
        if self.options.skipped:
            if gold is not None or len(text.similar.begin):
                what = "similarities are those of" if gold is None else "gold links are pinned on"
                raise UsageError(f"{what} all tokens; leave skip_tokens out")
            text = text.without_words(self.options.skipped)
        self.constraints, self.history = constraints, []
        engine = self._learner(text, workspace or Workspace(threads=self.threads), **cluster)
        try:
            self._model = train(text, self.options, engine, report, judge, constraints, prior, self.history)
        finally:
            engine.close()
        return self

    def _learner(self, text: Numbered, workspace: Workspace, client: Any = None, work: Any = None) -> Engine:
        """What goes over the text in training."""
        if client is None:
            return self._engine(workspace)
        from dualign.engines.dask.engine import DaskEngine, check_learnable

        check_learnable(self.options.model, similarities=len(text.similar.begin) > 0)
        if self.device == "cuda":
            raise UsageError("a cluster computes on processors; leave device='cuda' or client= out")
        return DaskEngine(client, work, self.threads, workspace)

    def _engine(self, workspace: Workspace | None = None) -> Engine:
        """Where a text is worked on, if not on a cluster."""
        if self.card is None or self.card.lost:
            return ThreadsEngine(self.threads, workspace)
        from dualign.engines.cuda.engine import CudaEngine

        return CudaEngine(self.card, self.threads, workspace)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The keywords that make an aligner like this one, as scikit-learn asks for them."""
        del deep
        device = {"device": self.device, "device_memory": self.device_memory}
        return {"threads": self._threads, **device, **self.options.as_dict()}

    def set_params(self, **changes: Any) -> Aligner:
        """Change `threads` and options, as scikit-learn does; those for training count at the next `fit`."""
        threads = changes.pop("threads", self._threads)
        device = changes.pop("device", self.device), changes.pop("device_memory", self.device_memory)
        options = Options.of(self.options.as_dict() | changes)
        if device != (self.device, self.device_memory):
            self.card = card_of(*device)
            self.device, self.device_memory = device
        self.threads = threads
        self.options = options
        return self

    def set_options(self, **changes: Unpack[OptionValues]) -> Aligner:
        """Change options; once there is a model, only those for aligning, such as threshold and decoder."""
        now = self.options.as_dict()
        options = Options.of({**now, **changes})
        fixed: dict[str, Any] = {
            name: value for name, value in changes.items() if name not in DECODING and now.get(name) != value
        }
        if fixed and self._model is not None:
            names = ", ".join(f"{{{name}=}}" for name in fixed)
            raise UsageError(f"{names}: for training, but there is a model already; train again", **fixed)
        self.options = options
        return self

    def align(
        self, bitext: Text | Sequence[Sentence], target: Sequence[Sentence] | None = None
    ) -> list[Alignment]:
        """The links of each pair, with their probabilities."""
        text = self._text(bitext, target)
        found = [alignment for links in self.align_stream(text) for alignment in alignments(links)]
        return found if isinstance(text, Numbered) else with_words(found, text)

    def score(
        self, bitext: Text | Sequence[Sentence], target: Sequence[Sentence] | None = None
    ) -> list[PairScore]:
        """How well the sides of each pair fit: a `PairScore`. Takes as long as aligning."""
        text = self._text(bitext, target)
        return [score for links in self.align_stream(text) for score in scores_of(links)]

    def align_stream(self, text: Numbered | Iterable[Pair]) -> Iterator[DecodedLinks]:
        """Links of a text chunk by chunk; of a stream of token-list pairs a few chunks are in memory."""
        return self.decode(self.parts(text), lambda _, decoded: decoded.links)

    def parts(
        self, text: TextFiles | Numbered | Iterable[Pair], begin: Position = BEGINNING, *, keep: bool = False
    ) -> Iterator[UnreadPart]:
        """The parts of a text that are aligned together; of files, from a place on, `keep` the lines, too."""
        return parts_of(self.model, text, self._engine().chunk_size(self.model), begin, keep=keep)

    def decode(
        self,
        parts: Iterable[UnreadPart],
        finish: Callable[[UnreadPart, DecodedPart], R],
        *,
        threads: int | None = None,
        **more: Any,
    ) -> Iterator[R]:
        """What `finish` makes of the links of each part of a text (see `dualign.engines.Engine.decode`)."""
        engine = self._engine()
        engine.threads = threads or engine.threads
        return engine.decode(self.model, parts, finish, self.constraints, **more)

    def align_part(self, part: EncodedText) -> DecodedLinks:
        """Links of a part of a text."""
        return self._engine().links_of(self.model, part, self.constraints)

    def usable(self, text: Numbered) -> Array:
        """Which pairs of a text take part in training, bool."""
        return usable(text, self.options.max_length)

    @property
    def cutting(self) -> Cutting:
        """How the options split text into tokens."""
        how = self.options.tokenize, self.options.whitespace
        return PLAIN if how == ("none", "unicode") else cutting_of(*how)

    def _text(
        self, bitext: Text | Sequence[Sentence], target: Sequence[Sentence] | None = None
    ) -> Numbered | list[Pair]:
        return as_text(bitext, target, self.cutting)

    def decoder_of(
        self, bitext: Text | Sequence[Sentence], target: Sequence[Sentence] | None = None
    ) -> Callable[[Options], list[Alignment]]:
        """A function that aligns this text by any decoder and its parameters.

        The posteriors are computed once, projected as the options in force now say.
        """
        if self.options.skipped:
            # Tokens come and go: each time from the beginning.
            text = self._text(bitext, target)

            def decode(options: Options) -> list[Alignment]:
                other = Aligner.of_model(self.model.with_options(options), self.threads)
                other.constraints = self.constraints
                return other.align(text)

            return decode
        engine, model, constraints = self._engine(), self.model, self.constraints

        def expect(part: UnreadPart) -> list[tuple[Array, Block]]:
            text = alignable(model, part.encode(model), constraints, False).text
            return [*posteriors_of_part(model, text, constraints)]

        # What a warning of constraints has as an example is the worst pair of a part.
        parts = parts_of(model, self._text(bitext, target), FEW if constraints is None else CHUNK)
        blocks = [block for found in engine.map("posteriors", expect, parts) for block in found]

        def choose(block: tuple[Array, Block], options: Options) -> list[Alignment]:
            return list(alignments(decode_block(options, block[1], block[0], model.fertilities)))

        def decode_again(options: Options) -> list[Alignment]:
            check_constraints(options, constraints)
            return [each for found in engine.map("decode", choose, blocks, options) for each in found]

        return decode_again

    def posteriors(
        self,
        bitext: Text | Sequence[Sentence],
        target: Sequence[Sentence] | None = None,
        *,
        directions: bool = False,
    ) -> list[Array]:
        """The probability of every link: for each pair a float32 array (source words, target words).

        With `directions`, an array (2, source words, target words): first the posteriors of the direction
        in which target words choose, then those in which source words do; their mean is the probability.
        """
        model, constraints, skips = self.model, self.constraints, bool(self.options.skipped)

        def expect(part: UnreadPart) -> list[Array]:
            text = part.encode(model)
            kept, *moves = without_skipped(model, text) if skips else (text,)
            blocks = posteriors_of_part(model, kept, constraints)
            found = [matrix for block in blocks for matrix in matrices_of(*block)]
            return spread_out(found, text, *moves) if skips else found

        parts = parts_of(model, self._text(bitext, target), CHUNK)
        matrices = [each for found in self._engine().map("posteriors", expect, parts) for each in found]
        return matrices if directions else [link_probabilities(matrix) for matrix in matrices]

    def translations(self, word: str, most: int = 10, *, of: str = "source") -> list[Translation]:
        """The most probable translations of a word, the best first; none of a word that the model lacks.

        `of` is the side that the word belongs to.
        """
        return translations(self.model, word, most, of)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all."""
        self.model.save(path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        threads: int | None = None,
        device: str = "cpu",
        device_memory: int | str | None = None,
    ) -> Aligner:
        """Read a model that `save` wrote."""
        return cls.of_model(Model.load(path), threads, device, device_memory)

    @classmethod
    def of_model(
        cls,
        model: Model,
        threads: int | None = None,
        device: str = "cpu",
        device_memory: int | str | None = None,
    ) -> Aligner:
        """An aligner with the given parameters."""
        aligner = cls(threads=threads, device=device, device_memory=device_memory)
        aligner._model = model
        aligner.options = model.options
        return aligner


def _document_options() -> None:
    """Put the options, which have their home in `Options`, into both signatures and `Aligner`'s docstring."""
    types = get_type_hints(Options)
    keyword = Parameter.KEYWORD_ONLY
    keywords = [
        Parameter("threads", keyword, default=None, annotation=int | None),
        Parameter("device", keyword, default="cpu", annotation=str),
        Parameter("device_memory", keyword, default=None, annotation=int | str | None),
    ]
    for f in fields(Options):
        keywords.append(Parameter(f.name, keyword, default=f.default, annotation=types[f.name]))
        Aligner.__doc__ = (
            f"{Aligner.__doc__}- `{f.name}` ({f.type}, default {f.default!r}): {f.metadata['help']}\n    "
        )
    sides = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=Sequence[Sentence])
        for name in ("source", "target")
    ]
    Aligner.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
    align.__signature__ = Signature([*sides, *keywords], return_annotation=list[Alignment])  # type: ignore[attr-defined]


_document_options()


def card_of(device: str, memory: int | str | None) -> Any:
    """The card to compute on, if any; what belongs to cards is loaded only if one is asked for."""
    if device == "cpu" and memory is None:
        return None
    from dualign.engines.cuda import device as cards

    return cards.card_of(device, memory)


def alignments(links: Links) -> Iterator[Alignment]:
    """The links of each pair as an `Alignment` with probabilities, none for a pair without links."""
    return (each if each.links else Alignment(probabilities=()) for each in links)


def with_words(found: Iterable[Alignment], pairs: Iterable[Pair]) -> list[Alignment]:
    """Alignments that know the words of their pairs."""
    return [replace(alignment, words=pair) for alignment, pair in zip(found, pairs, strict=True)]


def _pins(text: Numbered, gold: Mapping[int, Alignment]) -> Pins:
    """Known links of a text's pairs, checked."""
    for pair, links in gold.items():
        if not 0 <= pair < len(text):
            raise DataError(
                f"gold links of pair {pair}, but the text has {number_of(len(text), 'pairs')}, counted from 0"
            )
        I, J = (int(side.offsets[pair + 1] - side.offsets[pair]) for side in (text.source, text.target))
        links_inside(links.links + links.possible, I, J, f"gold links of pair {pair}")
    return Pins.of(len(text), gold)


def as_text(
    bitext: Text | Sequence[Sentence], target: Sequence[Sentence] | None = None, cutting: Cutting = PLAIN
) -> Numbered | list[Pair]:
    """A text in any form that `Aligner` describes, checked and split into tokens."""
    if target is not None:
        return as_pairs(bitext, target, cutting)  # type: ignore[arg-type]
    if isinstance(bitext, Numbered):
        return bitext
    if isinstance(bitext, tuple) and len(bitext) == 2:
        if all(isinstance(side, list) for side in bitext):
            return as_pairs(bitext[0], bitext[1], cutting)
        if all(isinstance(side, tuple) for side in bitext):
            raise UsageError(
                "a tuple of two tuples can be two pairs or two sides; give pairs in a list, "
                "[(source, target), …], and sides as lists, ([source, …], [target, …])"
            )
    if isinstance(bitext, str):
        raise DataError("a bitext is an iterable of (source, target) pairs, not one string")
    if not isinstance(bitext, Iterable):
        raise DataError(f"a bitext is an iterable of (source, target) pairs, not {bitext!r:.60}")
    pairs = []
    for n, pair in enumerate(bitext):
        if not is_list(pair) or len(pair) != 2:
            raise DataError(f"item {n} of the bitext is not a pair (source, target): {pair!r:.60}")
        pairs.append((as_tokens(pair[0], 0, n, cutting), as_tokens(pair[1], 1, n, cutting)))
    return pairs


def as_pairs(source: Iterable[Any], target: Iterable[Any], cutting: Cutting = PLAIN) -> list[Pair]:
    """The pairs of two parallel lists, checked and split into tokens."""
    for side, name in ((source, "source"), (target, "target")):
        if isinstance(side, Numbered):
            raise UsageError(f"{name} is a numbered text, which has both sides; give it as the only argument")
        if isinstance(side, str) or not isinstance(side, Iterable):
            found = "one string" if isinstance(side, str) else f"{side!r:.60}"
            raise DataError(f"{name} is {found}; give a list of sentences")
    sources, targets = list(source), list(target)
    same_length(("source", len(sources)), ("target", len(targets)), unit="sentences")
    return [
        (as_tokens(left, 0, n, cutting), as_tokens(right, 1, n, cutting))
        for n, (left, right) in enumerate(zip(sources, targets, strict=True))
    ]


def as_tokens(sentence: Sentence, at: int, number: int, cutting: Cutting = PLAIN) -> Sequence[str]:
    """A sentence of the source (`at` 0) or the target (1) as a list of tokens."""
    if isinstance(sentence, str):
        return cutting.tokens(at, sentence)
    side = ("source", "target")[at]
    if not is_list(sentence):
        raise DataError(
            f"{side} sentence {number} is neither a string nor a list of tokens: {sentence!r:.60}"
        )
    for token in sentence:
        if not isinstance(token, str) or "\n" in token:
            raise DataError(f"{side} sentence {number} has a token that is not a word: {token!r:.60}")
    # The strings of an array are of its own kind.
    return sentence if isinstance(sentence, Sequence) else list(map(str, sentence))
