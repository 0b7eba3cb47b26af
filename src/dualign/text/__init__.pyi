from .arpa import Arpa as Arpa
from .arpa import read_arpa as read_arpa
from .arpa import write_arpa as write_arpa
from .blocks import read_pairs as read_pairs
from .brackets import Tree as Tree
from .brackets import parse_tree as parse_tree
from .brackets import read_trees as read_trees
from .conllu import Sentence as Sentence
from .conllu import read_conllu as read_conllu
from .conllu import write_conllu as write_conllu
from .corpus import Numbered as Numbered
from .corpus import numbered as numbered
from .formats.pharaoh import parse_pharaoh as parse_pharaoh
from .formats.pharaoh import pharaoh as pharaoh
from .link_formats import read_links as read_links
from .link_formats import write_links as write_links
from .links import Alignment as Alignment
from .phrase_table import read_table as read_table
from .reports import read_records as read_records
from .reports import trace_of as trace_of
from .samples import generate as generate
from .samples import sample as sample
from .samples import sample_path as sample_path
from .samples import write_sample as write_sample
from .score_matrices import read_matrices as read_matrices
from .utf8 import read_lines as read_lines
from .utf8 import tokenize as tokenize

__all__ = [
    "Alignment",
    "Arpa",
    "Numbered",
    "Sentence",
    "Tree",
    "generate",
    "numbered",
    "parse_pharaoh",
    "parse_tree",
    "pharaoh",
    "read_arpa",
    "read_conllu",
    "read_lines",
    "read_links",
    "read_matrices",
    "read_pairs",
    "read_records",
    "read_table",
    "read_trees",
    "sample",
    "sample_path",
    "tokenize",
    "trace_of",
    "write_arpa",
    "write_conllu",
    "write_links",
    "write_sample",
]
