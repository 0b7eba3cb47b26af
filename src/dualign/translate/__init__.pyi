from .forest.hypergraph import Derivation as Derivation
from .forest.hypergraph import Hypergraph as Hypergraph
from .lm.language_model import LanguageModel as LanguageModel
from .rules.grammar import Grammar as Grammar
from .rules.grammar import Rule as Rule
from .search.decoding import decode as decode
from .system import Translator as Translator
from .system import train_system as train_system
