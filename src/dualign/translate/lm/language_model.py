"""`LanguageModel`: an n-gram back-off model, read from ARPA, queried in kernels.

Layout and formula are in `dualign.translate.lm.trie`. Scores are natural logarithms. A sentence begins in
the context `<s>` and ends with `</s>`; both are implicit. Words outside the vocabulary count as `<unk>`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from math import log
from typing import Any

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, ModelError, UsageError, refusing
from dualign._core.fields import check_value
from dualign._core.files.streams import FilePath, open_binary_output, open_input
from dualign.text.arpa import Arpa, Grams, read_arpa
from dualign.text.utf8 import tokenize
from dualign.translate.lm import trie

LOG10 = log(10.0)
_MISSING = -100.0 * LOG10
"""Of `<unk>` in a model that has none: the value that KenLM takes."""

_KENLM = b"mmap lm http://kheafield.com/code"


class LanguageModel:
    """An n-gram model over `words`; `order` is its n. Make one with `read`, `of_arpa` or `train`."""

    def __init__(
        self,
        words: list[str],
        first: Array,
        word: Array,
        logprob: Array,
        backoff: Array,
        suffix: Array,
        level: Array,
    ) -> None:
        self.words = words
        self.index = {w: i for i, w in enumerate(words)}
        self.begin, self.end, self.unknown = (self.index[w] for w in ("<s>", "</s>", "<unk>"))
        self.order = len(level) - 2
        self.first, self.word, self.suffix, self.level = first, word, suffix, level
        self.logprob, self.backoff = logprob, backoff
        self.depth = np.repeat(np.arange(self.order + 1, dtype=np.int8), np.diff(level))

    @classmethod
    def read(cls, path: FilePath, errors: str = "strict") -> LanguageModel:
        """Read an ARPA file, or a binary file of KenLM where its package is installed; log10 becomes the
        natural logarithm. Bytes of an ARPA file that are not UTF-8 are an error, or U+FFFD if `errors` is
        `replace`."""
        path = os.fspath(path)
        with open_input(path) as stream:
            binary = stream.peek(len(_KENLM)).startswith(_KENLM)
        if binary:
            return KenlmModel.read(path)
        try:
            return cls.of_arpa(read_arpa(path, errors))
        except DataError as error:
            message = str(error)
            raise (error if message.startswith(path) else DataError(f"{path}: {message}")) from None

    @classmethod
    def of_arpa(cls, model: Arpa) -> LanguageModel:
        """Build the trie of a model; n-grams that a longer one presupposes are added with the same
        probabilities."""
        words = list(model.words)
        grams = [(g.words, g.logprob * LOG10, g.backoff * LOG10) for g in model.grams]
        if "<unk>" not in words and "<UNK>" in words:
            words[words.index("<UNK>")] = "<unk>"
        for special, value in (("<s>", 0.0), ("</s>", None), ("<unk>", _MISSING)):
            if special not in words:
                if value is None:
                    raise DataError(f"the model has no {special}; train it on whole sentences")
                ids, p, b = grams[0]
                words.append(special)
                grams[0] = (
                    np.append(ids, [[len(words) - 1]], axis=0).astype(np.int32),
                    np.append(p, value),
                    np.append(b, 0.0),
                )
        return cls(words, *_trie(len(words), grams))

    @classmethod
    def train(cls, sentences: Sequence[str | Sequence[str]], order: int = 3) -> LanguageModel:
        """Learn interpolated modified Kneser-Ney estimates from sentences; see `kneser_ney`.

        A sentence is a list of tokens, or a string to be split at white space.
        """
        from dualign.translate.lm.kneser_ney import estimate

        if isinstance(sentences, str):
            raise DataError("sentences is one string; give a list of sentences")
        split = [tokenize(each) if isinstance(each, str) else each for each in sentences]
        return cls.of_arpa(estimate(split, order))

    def save(self, path: FilePath) -> None:
        """Write the arrays to one file, whole or not at all; `load` reads it much faster than ARPA."""
        text = np.frombuffer("\n".join(self.words).encode("utf-8", "surrogatepass"), np.uint8)
        arrays = {name: getattr(self, name) for name in trie.TYPES}
        with open_binary_output(path) as stream:
            np.savez(stream, words=text, **arrays)

    @classmethod
    def load(cls, path: FilePath) -> LanguageModel:
        """Read what `save` wrote; runs no code."""
        path = os.fspath(path)
        try:
            # Opened here: if the content is not an archive, NumPy leaves its own file open.
            with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as content:
                words = content["words"].tobytes().decode("utf-8", "surrogatepass").split("\n")
                arrays = {name: content[name] for name in trie.TYPES}
        except OSError as error:
            raise DataError(f"{path}: cannot read: {error.strerror or error}") from None
        except Exception as error:  # headers are Python: a parser's errors, memory for a shape that it claims
            raise ModelError(
                f"{path}: not a saved language model, or damaged ({error}); train again"
            ) from None
        if (wrong := trie.flaw(words, arrays)) is not None:
            raise ModelError(f"{path}: a damaged language model: {wrong}; train again")
        return cls(words, *arrays.values())

    def scaled(self, weight: float) -> LanguageModel:
        """Return the same model with all logarithms multiplied: its weight in a translation model."""
        check_value("weight", weight, "float")
        weighted = self.logprob * weight, self.backoff * weight
        return LanguageModel(self.words, self.first, self.word, *weighted, self.suffix, self.level)

    def among(self, words: Iterable[str]) -> LanguageModel:
        """Return a model whose n-grams of these words can be listed: this one."""
        return self

    def __len__(self) -> int:
        """Return the number of n-grams of all lengths."""
        return len(self.word) - 1

    def encode(self, sentence: Sequence[str]) -> list[int]:
        """Return word numbers; unknown words get that of `<unk>`."""
        return [self.index.get(word, self.unknown) for word in sentence]

    def score(self, sentence: Sequence[str], *, order: int | None = None) -> float:
        """log p of a whole sentence, `</s>` included."""
        return float(self.scores([sentence], order=order)[0].sum())

    def scores(self, sentences: Sequence[Sequence[str]], *, order: int | None = None) -> list[Array]:
        """Return for each sentence the log-probability of each of its words and of `</s>`; float64."""
        encoded = [[*self.encode(sentence), self.end] for sentence in sentences]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(sentence) for sentence in encoded], out=offsets[1:])
        tokens = np.fromiter((w for sentence in encoded for w in sentence), np.int32, int(offsets[-1]))
        result = np.empty(len(tokens))
        trie.score_sentences(self._trie(self.checked_order(order)), tokens, offsets, 1 + self.begin, result)
        return np.split(result, offsets[1:-1])

    def _trie(self, order: int) -> trie.Trie:
        nothing = np.empty(0, np.int32)
        return trie.Trie(
            self.first, self.word, self.logprob, self.backoff, self.suffix, nothing, self.depth, order
        )

    def checked_order(self, order: int | None) -> int:
        """Return `order`, or the model's own where that is less or none is given."""
        if order is None:
            return self.order
        if isinstance(order, bool) or not isinstance(order, int | np.integer) or order < 1:
            raise UsageError("{order=} must be a whole number of at least 1", order=order)
        return min(int(order), self.order)

    def automaton(self, words: Array, adjacent: Array, order: int) -> trie.Automaton:
        """Return the part of the model over `words`, and bounds for forests.

        `words` int32, ascending, with `<s>` and `</s>`; their positions are the new words. `adjacent[i, j]`:
        whether words[j] can follow words[i].
        """
        place = np.full(len(self.words), -1, np.int32)
        place[words] = np.arange(len(words))
        origin, nodes, level = trie.restrict(self.first, self.word, order, words, place, adjacent)
        parent, label = nodes.T.copy()
        first, suffix = trie.linked(parent, label, level)
        depth = np.repeat(np.arange(order + 1, dtype=np.int8), np.diff(level))
        logprob = self.logprob[origin]
        backoff = np.where(depth < order, self.backoff[origin], 0.0)
        backoff[0] = 0.0
        lm = trie.Trie(first, label, logprob, backoff, suffix, parent, depth, order)
        left = depth == 1
        left[suffix[1 + len(words) :]] = True
        begin, end = np.searchsorted(words, [self.begin, self.end]).tolist()
        state = trie.remembered(lm, adjacent.sum(axis=1))
        return trie.with_bounds(lm, adjacent, left, state, (begin, end))


class KenlmModel(LanguageModel):
    """A model that KenLM holds, through its own package; `weight` multiplies its logarithms.

    A binary file of KenLM answers queries but lists no n-grams. So for the words of one forest, `among` finds
    those that exist: an n-gram exists if its first n − 1 words do and KenLM says that it matched all n, and
    the back-off weight of a context is what separates `p(w | context)` from `p(w | context without its first
    word)` for a word w that does not follow it. With V words and N n-grams among them that is O(N V) queries.
    """

    def __init__(self, model: Any, weight: float = 1.0) -> None:
        self.order = int(model.order)
        self._model, self._weight = model, weight

    @classmethod
    def read(cls, path: FilePath, errors: str = "strict") -> KenlmModel:
        """Read a file that KenLM can read."""
        path = os.fspath(path)
        missing = (
            "a binary model of KenLM; install its package (pip install kenlm), or give the ARPA file that it "
            "was made from"
        )
        with refusing(ImportError, what=missing, place=path):
            import kenlm
        config = kenlm.Config()
        config.show_progress = False
        try:
            return cls(kenlm.Model(path, config))
        except (OSError, RuntimeError) as error:
            reason = str(error).partition("\n")[0]
            raise DataError(f"{path}: KenLM cannot read this binary model: {reason}") from None

    def save(self, path: FilePath) -> None:
        """Refused: there is nothing to save."""
        raise UsageError(f"{path}: a binary model of KenLM cannot be saved in another form; keep its file")

    def scaled(self, weight: float) -> KenlmModel:
        """Return the same model with all logarithms multiplied."""
        check_value("weight", weight, "float")
        return KenlmModel(self._model, self._weight * weight)

    def scores(self, sentences: Sequence[Sequence[str]], *, order: int | None = None) -> list[Array]:
        """Return for each sentence the log-probability of each of its words and of `</s>`; float64."""
        if self.checked_order(order) < self.order:
            return self.among({word for words in sentences for word in words}).scores(sentences, order=order)
        found = ([p for p, *_ in self._model.full_scores(" ".join(words))] for words in sentences)
        return [np.array(log10) * (LOG10 * self._weight) for log10 in found]

    def among(self, words: Iterable[str]) -> LanguageModel:
        """Return the part of the model over these words, `<s>`, `</s>` and `<unk>`, in our own form."""
        import kenlm

        model = self._model
        listed = sorted({word for word in words if word in model} - {"<s>", "</s>", "<unk>"})
        listed = ["<s>", "</s>", "<unk>", *listed]
        nothing, start, after = kenlm.State(), kenlm.State(), kenlm.State()
        model.NullContextWrite(nothing)
        model.BeginSentenceWrite(start)
        states: dict[tuple[int, ...], Any] = {(): nothing}

        def state_of(context: tuple[int, ...]) -> Any:
            if context not in states:  # of an n-gram that the model has not, though it has a longer one
                states[context] = state = kenlm.State()
                model.BaseScore(state_of(context[:-1]), listed[context[-1]], state)
            return states[context]

        contexts: list[tuple[int, ...]] = [()]
        grams: list[Grams] = []
        for n in range(1, self.order + 1):
            rows: list[tuple[int, ...]] = []
            p: list[float] = []
            backoff = np.zeros(len(contexts))
            for at, context in enumerate(contexts):
                state, rest = state_of(context), state_of(context[1:])
                if context and state == rest:
                    continue  # KenLM has dropped the first word: nothing longer begins so
                known = False
                for w, word in enumerate(listed[1:], 1):  # <s> follows nothing
                    full = model.BaseFullScore(state, word, after)
                    if full.ngram_length == n:
                        rows.append((*context, w))
                        p.append(full.log_prob)
                        states[*context, w], after = after, kenlm.State()
                    elif not known:
                        known = True
                        backoff[at] = full.log_prob - model.BaseScore(rest, word, after)
            if n == 1:
                rows.append((0,))
                p.append(-99.0)
                states[0,] = start
            else:
                grams[-1] = Grams(grams[-1].words, grams[-1].logprob, backoff)
            grams.append(Grams(np.array(rows, np.int32).reshape(-1, n), np.array(p), np.zeros(len(rows))))
            contexts = rows
        result = LanguageModel.of_arpa(Arpa(listed, grams))
        return result if self._weight == 1.0 else result.scaled(self._weight)


def _trie(vocabulary: int, grams: list[tuple[Array, Array, Array]]) -> tuple[Array, ...]:
    """Return arrays of `LanguageModel` from n-grams `(words, logprob, backoff)` of each length."""
    grams = _closed(grams)
    words, logprob, backoff = grams[0]
    at = np.argsort(words[:, 0], kind="stable")
    level = [0, 1, 1 + vocabulary]
    keys: list[Array] = [np.empty(0, np.int64), np.empty(0, np.int64)]  # of each depth: parent · V + word
    label = [np.array([-1], np.int32), np.arange(vocabulary, dtype=np.int32)]
    parents = [np.array([-1], np.int32), np.zeros(vocabulary, np.int32)]
    values, weights = [np.zeros(1), logprob[at]], [np.zeros(1), backoff[at]]

    def node_of(rows: Array) -> Array:
        node = 1 + rows[:, 0].astype(np.int64)
        for depth in range(2, rows.shape[1] + 1):
            key = node * vocabulary + rows[:, depth - 1]
            node = level[depth] + np.minimum(np.searchsorted(keys[depth], key), len(keys[depth]) - 1)
        return node

    for depth, (words, logprob, backoff) in enumerate(grams[1:], 2):
        above = node_of(words[:, :-1])
        key = above * vocabulary + words[:, -1]
        at = np.argsort(key, kind="stable")
        key = key[at]
        if len(key) and (np.diff(key) == 0).any():
            twice = words[at[int(np.flatnonzero(np.diff(key) == 0)[0])]]
            raise DataError(f"a {depth}-gram comes twice (words {twice.tolist()}); merge the two")
        keys.append(key)
        label.append(words[at, -1].astype(np.int32))
        parents.append(above[at].astype(np.int32))
        values.append(logprob[at])
        weights.append(backoff[at])
        level.append(level[-1] + len(key))
    parent, word, depths = np.concatenate(parents), np.concatenate(label), np.array(level, np.int64)
    first, suffix = trie.linked(parent, word, depths)
    value, weight = np.concatenate(values), np.concatenate(weights)
    for depth in range(2, len(level) - 1):
        # What was added to close the set: nan so far.
        added = level[depth] + np.flatnonzero(np.isnan(value[level[depth] : level[depth + 1]]))
        value[added] = weight[parent[added]] + value[suffix[added]]
    return first, word, value, weight, suffix, depths


def _closed(grams: list[tuple[Array, Array, Array]]) -> list[tuple[Array, Array, Array]]:
    """Add the missing (n−1)-grams of each n-gram, with probability nan and no back-off weight."""
    factors = np.random.default_rng(1).integers(1, 2**63, len(grams), dtype=np.uint64) | np.uint64(1)

    def hashed(rows: Array) -> Array:
        # 64 random bits tell any two rows of one model apart, but for one case in a million or so.
        code = np.zeros(len(rows), np.uint64)
        for column, factor in zip(rows.T, factors, strict=False):
            code = (code ^ (column.astype(np.uint64) + np.uint64(1))) * factor
            code ^= code >> np.uint64(29)
        return code

    closed = list(grams)
    for n in range(len(grams) - 1, 1, -1):
        rows = closed[n][0]
        wanted = np.concatenate((rows[:, :-1], rows[:, 1:]))
        have, p, b = closed[n - 1]
        missing = wanted[~np.isin(hashed(wanted), hashed(have))]
        if len(missing):
            missing = np.unique(missing, axis=0)
            nothing = np.full(len(missing), np.nan)
            closed[n - 1] = (
                np.concatenate((have, missing)),
                np.concatenate((p, nothing)),
                np.concatenate((b, np.zeros(len(missing)))),
            )
    return closed
