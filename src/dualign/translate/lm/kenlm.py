"""Binary models of KenLM, through its own package.

Such a file answers queries but lists no n-grams. So for the words of one forest, `among` finds those that
exist: an n-gram exists if its first n − 1 words do and KenLM says that it matched all n, and the back-off
weight of a context is what separates `p(w | context)` from `p(w | context without its first word)` for a word
w that does not follow it. With V words and N n-grams among them that is O(N V) queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError
from dualign.text.arpa import Arpa, Grams


class KenlmFile:
    """A model that KenLM holds."""

    def __init__(self, path: str) -> None:
        try:
            import kenlm
        except ImportError:
            raise DataError(
                f"{path}: a binary model of KenLM; install its package (pip install kenlm), or give the ARPA "
                "file that it was made from"
            ) from None
        config = kenlm.Config()
        config.show_progress = False
        try:
            self._model = kenlm.Model(path, config)
        except (OSError, RuntimeError) as error:
            reason = str(error).partition("\n")[0]
            raise DataError(f"{path}: KenLM cannot read this binary model: {reason}") from None
        self.order = int(self._model.order)

    def scores(self, sentence: Sequence[str]) -> Array:
        """Return the log-probability, to base 10, of each word and of `</s>`."""
        return np.array([p for p, *_ in self._model.full_scores(" ".join(sentence))])

    def among(self, words: Iterable[str]) -> Arpa:
        """Return all n-grams of the model over these words, `<s>`, `</s>` and `<unk>`."""
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
        return Arpa(listed, grams)
