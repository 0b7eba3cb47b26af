# Written by `python -m tests.jobs.stubs`; a test compares it with the fields.

from typing import TypedDict

class OptionValues(TypedDict, total=False):
    model: str
    ibm1_rounds: int
    rounds: int
    constraint: str
    projection: str
    tokenize: str
    whitespace: str
    skip_tokens: str
    lowercase: bool
    max_length: int
    null: float
    floor: float
    prune: float
    stem_letters: int
    stem_weight: float
    form_weight: float
    leave_out: float
    jump_words: int
    jump_weight: float
    slack: float
    tolerance: float
    evaluations: int
    mixture: bool
    decoder: str
    symmetrize: str
    threshold: float
    style: str
    agreement: str
    penalty: float
    unsupported: float
    nodes: int
    time_limit: float
    scores: str
    alpha: float
    concave: str
    source_limit: int
    target_limit: int
    quantile: float
