"""Annotation transferred to another language over links, and links carried to other tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign.transfer.annotated import AnnotatedText, carry_record, read_annotated
    from dualign.transfer.markup import Markup, Placement, parse_markup, place_markup
    from dualign.transfer.remapping import OffsetAlignment, remap, remap_from_offsets, remap_to_offsets
    from dualign.transfer.sentences import Settings, transfer_tree
    from dualign.transfer.spans import Carried, SpanCarrier
    from dualign.transfer.tags import CarriedBio, carry_bio, vote
    from dualign.transfer.tree import Projection, complete, project
    from dualign.transfer.weighted_links import weighted

__all__ = [
    "AnnotatedText", "Carried", "CarriedBio", "Markup", "OffsetAlignment", "Placement", "Projection",
    "Settings", "SpanCarrier", "carry_bio", "carry_record", "complete", "parse_markup", "place_markup",
    "project", "read_annotated", "remap", "remap_from_offsets", "remap_to_offsets", "transfer_tree",
    "vote", "weighted",
]  # fmt: skip

_HOMES = {
    name: module
    for module, names in {
        "annotated": "AnnotatedText carry_record read_annotated",
        "markup": "Markup Placement parse_markup place_markup",
        "remapping": "OffsetAlignment remap remap_from_offsets remap_to_offsets",
        "sentences": "Settings transfer_tree",
        "spans": "Carried SpanCarrier",
        "tags": "CarriedBio carry_bio vote",
        "tree": "Projection complete project",
        "weighted_links": "weighted",
    }.items()
    for name in names.split()
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
