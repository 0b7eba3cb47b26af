"""The sample that comes with dualign: 400 German-English sentence pairs, 60 of them with gold links.

It serves demonstrations, examples and tests. All sentences were written for dualign, none is taken from a
corpus or a book, and the links of the first 60 pairs were set by hand; sentences and links are under
Apache-2.0 like the code.

Words come back often enough for a model to learn them from so few pairs, and the German has what makes
alignment hard: separable verbs (`fängt … an` = `begins`), compounds (`Haustür` = `front door`), verbs at the
end of a clause. Tokens are separated by blanks. Links are sure (`i-j`) where words correspond, and possible
(`i?j`) where one helps its neighbour only: auxiliaries, do-support, articles and particles without a
counterpart.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from dualign.core.errors import UsageError
from dualign.text.alignment import Alignment
from dualign.text.formats import parse_pharaoh

_NAMES = ("sample.de", "sample.en", "sample.gold")


def sample() -> tuple[list[list[str]], list[list[str]], list[Alignment]]:
    """German sentences, English sentences (400 each, tokenised), and gold links of the first 60 pairs."""
    german, english, gold = (sample_path(name).read_text(encoding="utf-8").splitlines() for name in _NAMES)
    return (
        [line.split() for line in german],
        [line.split() for line in english],
        [parse_pharaoh(line) for line in gold],
    )


def sample_path(name: str) -> Traversable:
    """Where one of the files `sample.de`, `sample.en`, `sample.gold` is installed.

    In an ordinary installation this is a path; inside a zip file `importlib.resources.as_file` makes one of
    it.
    """
    if name not in _NAMES:
        raise UsageError(f"no sample file {name}; there are {', '.join(_NAMES)}")
    return files("dualign.text").joinpath("sample", name)
