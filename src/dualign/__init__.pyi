from . import decode as decode
from . import infer as infer
from . import jobs as jobs
from . import learn as learn
from . import measure as measure
from . import phrase as phrase
from . import show as show
from . import text as text
from . import transfer as transfer
from . import translate as translate
from ._core.certified import Certified as Certified
from ._core.errors import DataError as DataError
from ._core.errors import DualignError as DualignError
from ._core.errors import Infeasible as Infeasible
from ._core.errors import ModelError as ModelError
from ._core.errors import UsageError as UsageError
from .aligner import Aligner as Aligner
from .aligner import align as align
from .decode.decoders import PairScore as PairScore
from .decode.symmetrize import symmetrize as symmetrize
from .measure.links import evaluate as evaluate
from .options import Options as Options
from .text.links import Alignment as Alignment

__version__: str
