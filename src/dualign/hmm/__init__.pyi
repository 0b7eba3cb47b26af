from .constraints import ConstraintSet as ConstraintSet
from .constraints import Glossary as Glossary
from .constraints import Rule as Rule
from .priors import Prior as Prior
from .training import NothingToLearn as NothingToLearn
from .training import Progress as Progress
