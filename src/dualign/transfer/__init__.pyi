from .markup import Markup as Markup
from .markup import Placement as Placement
from .markup import parse_markup as parse_markup
from .markup import place_markup as place_markup
from .remapping import OffsetAlignment as OffsetAlignment
from .remapping import remap as remap
from .remapping import remap_from_offsets as remap_from_offsets
from .remapping import remap_to_offsets as remap_to_offsets
from .sentences import AnnotatedText as AnnotatedText
from .sentences import Settings as Settings
from .sentences import carry_record as carry_record
from .sentences import read_annotated as read_annotated
from .sentences import transfer_tree as transfer_tree
from .spans import Carried as Carried
from .spans import SpanCarrier as SpanCarrier
from .tags import CarriedBio as CarriedBio
from .tags import carry_bio as carry_bio
from .tags import vote as vote
from .tree import Projection as Projection
from .tree import complete as complete
from .tree import project as project
from .weighted_links import weighted as weighted

__all__ = [
    "AnnotatedText",
    "Carried",
    "CarriedBio",
    "Markup",
    "OffsetAlignment",
    "Placement",
    "Projection",
    "Settings",
    "SpanCarrier",
    "carry_bio",
    "carry_record",
    "complete",
    "parse_markup",
    "place_markup",
    "project",
    "read_annotated",
    "remap",
    "remap_from_offsets",
    "remap_to_offsets",
    "transfer_tree",
    "vote",
    "weighted",
]
