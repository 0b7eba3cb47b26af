"""Files in and out: sentence pairs, links, trees, tables; sample data and synthetic text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign.text.alignment import Alignment
    from dualign.text.arpa import Arpa, read_arpa, write_arpa
    from dualign.text.bitext import Numbered, numbered
    from dualign.text.brackets import Tree, parse_tree, read_trees
    from dualign.text.conllu import Sentence, read_conllu, write_conllu
    from dualign.text.formats import parse_pharaoh, pharaoh, read_links, write_links
    from dualign.text.lines import read_lines, tokenize
    from dualign.text.matrices import read_matrices
    from dualign.text.pairs import read_pairs
    from dualign.text.phrase_table import read_table
    from dualign.text.reports import read_records, trace_of
    from dualign.text.samples import sample, sample_path, write_sample
    from dualign.text.synthetic import generate

__all__ = [
    "Alignment", "Arpa", "Numbered", "Sentence", "Tree", "generate", "numbered", "parse_pharaoh",
    "parse_tree", "pharaoh", "read_arpa", "read_conllu", "read_lines", "read_links", "read_matrices",
    "read_pairs", "read_records", "read_table", "read_trees", "sample", "sample_path", "tokenize", "trace_of",
    "write_arpa", "write_conllu", "write_links", "write_sample",
]  # fmt: skip

_HOMES = {
    name: module
    for module, names in {
        "alignment": "Alignment",
        "arpa": "Arpa read_arpa write_arpa",
        "bitext": "Numbered numbered",
        "brackets": "Tree parse_tree read_trees",
        "conllu": "Sentence read_conllu write_conllu",
        "formats": "parse_pharaoh pharaoh read_links write_links",
        "lines": "read_lines tokenize",
        "matrices": "read_matrices",
        "pairs": "read_pairs",
        "phrase_table": "read_table",
        "reports": "read_records trace_of",
        "samples": "sample sample_path write_sample",
        "synthetic": "generate",
    }.items()
    for name in names.split()
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
