from .joint.api import bidirectional as bidirectional
from .matchings.api import matching as matching
from .matchings.api import penalized as penalized
from .matchings.api import submodular as submodular
from .similarity import argmax as argmax
from .similarity import itermax as itermax
from .similarity import softmax as softmax
