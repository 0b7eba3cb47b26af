"""The bundled sample: 400 German-English sentence pairs, 60 of them with gold links, five with trees.

It is for demonstrations, examples and tests. All sentences were written for dualign, none is taken from a
corpus or a book. The links of the first 60 pairs and the dependency trees of the first five (both languages,
CoNLL-U) were made by hand. Everything is under Apache-2.0 like the code.

Words recur often enough for a model to learn them from so few pairs, and the German has what makes
alignment hard: separable verbs (`fängt … an` = `begins`), compounds (`Haustür` = `front door`), verbs at the
end of a clause. Tokens are separated by blanks. Links are sure (`i-j`) where words correspond, and possible
(`i?j`) where one helps its neighbour only: auxiliaries, do-support, articles and particles without a
counterpart.
"""

from __future__ import annotations

import os
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from dualign.core.errors import DataError, UsageError
from dualign.text.alignment import Alignment
from dualign.text.formats import parse_pharaoh
from dualign.text.streams import FilePath, explaining

_NAMES = ("sample.de", "sample.en", "sample.gold", "sample.de.conllu", "sample.en.conllu")


def sample() -> tuple[list[list[str]], list[list[str]], list[Alignment]]:
    """German sentences, English sentences (400 each, tokenised), and gold links of the first 60 pairs."""
    german, english, gold = (
        sample_path(name).read_text(encoding="utf-8").splitlines() for name in _NAMES[:3]
    )
    return (
        [line.split() for line in german],
        [line.split() for line in english],
        [parse_pharaoh(line) for line in gold],
    )


def sample_path(name: str) -> Traversable:
    """Where one of the sample's files, such as `sample.de` or `sample.gold`, is installed.

    In an ordinary installation this is a path; inside a zip file, `importlib.resources.as_file` makes one of
    it.
    """
    if name not in _NAMES:
        raise UsageError(f"no sample file {name}; there are {', '.join(_NAMES)}")
    return files("dualign.text").joinpath("sample", name)


def write_sample(folder: FilePath) -> list[str]:
    """Copy the sample's files into `folder`, which is created if necessary, and return their paths.

    Raises `DataError` if there is a file of the same name with other content: it would be lost.
    """
    folder = os.fspath(folder)
    place = Path(folder)
    contents = {place / name: sample_path(name).read_bytes() for name in _NAMES}
    with explaining(folder, "write"):
        place.mkdir(parents=True, exist_ok=True)
        for path, content in contents.items():
            if path.exists() and path.read_bytes() != content:
                raise DataError(f"{path} exists and is not the sample; choose another folder")
        for path, content in contents.items():
            path.write_bytes(content)
    return [str(path) for path in contents]
