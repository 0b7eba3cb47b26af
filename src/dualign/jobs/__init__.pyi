# Written by `python -m tests.jobs.stubs`; a test compares it with the fields.

from collections import Counter
from dualign.aligner import Aligner
from dualign.commands.bench import Measured as Measured
from dualign.commands.bundles import Evidence as Knowledge
from dualign.commands.bundles import Outputs as Outputs
from dualign.commands.bundles import Tuning as Tuning
from dualign.commands.decode import MatrixDecoder as MatrixDecoder
from dualign.commands.dictionary import USUAL_PROBABILITY as USUAL_PROBABILITY
from dualign.commands.evaluate import LinkFile as LinkFile
from dualign.commands.evaluate import PairedReport as PairedReport
from dualign.commands.evaluate import Report as Report
from dualign.commands.evaluate import Words as Words
from dualign.commands.serve import Server as Server
from dualign.commands.transfer import TagSettings as TagSettings
from dualign.commands.tuning import tune as tune
from dualign.jobs.functions import PlainText as PlainText
from dualign.jobs.functions import plain_text as plain_text
from dualign.jobs.records import AnnotatedFiles as AnnotatedFiles
from dualign.jobs.records import DictionaryText as DictionaryText
from dualign.jobs.records import Directions as Directions
from dualign.jobs.records import LinkedText as LinkedText
from dualign.jobs.records import Own as Own
from dualign.jobs.records import ParallelText as ParallelText
from dualign.jobs.records import PhraseAnswer as PhraseAnswer
from dualign.jobs.records import Run as Run
from dualign.jobs.records import Synthetic as Synthetic
from dualign.jobs.records import TableText as TableText
from dualign.measure.phrases import PhraseEvaluation
from dualign.measure.transfer import SpanReport
from dualign.measure.transfer import TreeReport
from dualign.phrase.forced import PhraseRound
from dualign.phrase.phrase_tables import Built
from dualign.phrase.word_entries import CutOffs as CutOffs
from dualign.show.dataset import Files as ShownFiles
from dualign.show.viewer import Viewer
from dualign.transfer.remapping import Remapping as Remapping
from dualign.transfer.remapping import Side as Side
from dualign.transfer.sentences import Settings as TransferSettings
from dualign.translate.system import SystemSettings
from pathlib import Path
from typing import Any

__all__ = [
    "USUAL_PROBABILITY",
    "AnnotatedFiles",
    "CutOffs",
    "DictionaryText",
    "Directions",
    "Knowledge",
    "LinkFile",
    "LinkedText",
    "MatrixDecoder",
    "Measured",
    "Outputs",
    "Own",
    "PairedReport",
    "ParallelText",
    "PhraseAnswer",
    "PlainText",
    "Remapping",
    "Report",
    "Run",
    "Server",
    "ShownFiles",
    "Side",
    "Synthetic",
    "TableText",
    "TagSettings",
    "TransferSettings",
    "Tuning",
    "Words",
    "align",
    "align_directions",
    "align_phrases",
    "bench",
    "compare",
    "compile_ahead",
    "convert",
    "decode",
    "dictionary",
    "draw_calibration",
    "draw_cost",
    "draw_curve",
    "draw_matrix",
    "draw_posteriors",
    "draw_pruning",
    "draw_trace",
    "evaluate",
    "evaluate_phrases",
    "evaluate_transfer",
    "extract_phrases",
    "plain_text",
    "remap",
    "serve",
    "summarize",
    "symmetrize",
    "train",
    "train_language_model",
    "train_phrases",
    "train_translation",
    "transfer_markup",
    "transfer_spans",
    "transfer_tags",
    "transfer_tree",
    "translate",
    "tune",
    "view",
    "viewer",
]

def align(
    source: str,
    target: str | None = ...,
    output: str | Outputs = ...,
    *,
    tuning: str | None | Tuning = ...,
    columns: str | None = ...,
    load: str | None = ...,
    save: str | None = ...,
    probabilities: str | None = ...,
    report: str | None = ...,
    html_report: str | None = ...,
    pair_scores: str | None = ...,
    posteriors: str | None = ...,
    tokens: str | None = ...,
    line_buffered: bool = ...,
    positions: str = ...,
    resume: bool = ...,
    model: str = ...,
    ibm1_rounds: int = ...,
    rounds: int = ...,
    constraint: str = ...,
    projection: str = ...,
    tokenize: str = ...,
    whitespace: str = ...,
    skip_tokens: str = ...,
    lowercase: bool = ...,
    max_length: int = ...,
    null: float = ...,
    floor: float = ...,
    prune: float = ...,
    stem_letters: int = ...,
    stem_weight: float = ...,
    form_weight: float = ...,
    leave_out: float = ...,
    jump_words: int = ...,
    jump_weight: float = ...,
    slack: float = ...,
    tolerance: float = ...,
    evaluations: int = ...,
    mixture: bool = ...,
    decoder: str = ...,
    symmetrize: str = ...,
    threshold: float = ...,
    style: str = ...,
    agreement: str = ...,
    penalty: float = ...,
    unsupported: float = ...,
    nodes: int = ...,
    time_limit: float = ...,
    scores: str = ...,
    alpha: float = ...,
    concave: str = ...,
    source_limit: int = ...,
    target_limit: int = ...,
    quantile: float = ...,
    tune_source: str | None = ...,
    tune_target: str | None = ...,
    early_stop: bool = ...,
    gold: str | None = ...,
    glossary: str | None | Knowledge = ...,
    prior: str | None = ...,
    prior_weight: float = ...,
    continue_: str | None = ...,
    background: tuple[str, str] | None = ...,
    background_ratio: int | None = ...,
    similarity: str | None = ...,
    similarity_weight: float | None = ...,
    run: Run = ...,
) -> Aligner: ...

def align_directions(
    source: str,
    target: str | None,
    outputs: Directions,
    *,
    columns: str | None = ...,
    load: str | None = ...,
    model: str = ...,
    ibm1_rounds: int = ...,
    rounds: int = ...,
    constraint: str = ...,
    projection: str = ...,
    tokenize: str = ...,
    whitespace: str = ...,
    skip_tokens: str = ...,
    lowercase: bool = ...,
    max_length: int = ...,
    null: float = ...,
    floor: float = ...,
    prune: float = ...,
    stem_letters: int = ...,
    stem_weight: float = ...,
    form_weight: float = ...,
    leave_out: float = ...,
    jump_words: int = ...,
    jump_weight: float = ...,
    slack: float = ...,
    tolerance: float = ...,
    evaluations: int = ...,
    mixture: bool = ...,
    decoder: str = ...,
    symmetrize: str = ...,
    threshold: float = ...,
    style: str = ...,
    agreement: str = ...,
    penalty: float = ...,
    unsupported: float = ...,
    nodes: int = ...,
    time_limit: float = ...,
    scores: str = ...,
    alpha: float = ...,
    concave: str = ...,
    source_limit: int = ...,
    target_limit: int = ...,
    quantile: float = ...,
    glossary: str | None | Knowledge = ...,
    prior: str | None = ...,
    prior_weight: float = ...,
    continue_: str | None = ...,
    background: tuple[str, str] | None = ...,
    background_ratio: int | None = ...,
    similarity: str | None = ...,
    similarity_weight: float | None = ...,
    run: Run = ...,
) -> None: ...

def align_phrases(
    text: TableText,
    output: str = ...,
    *,
    columns: str | None = ...,
    time_limit: float | None = ...,
    report: str | None = ...,
    method: str = ...,
    run: Run = ...,
) -> Counter[str]: ...

def bench(
    text: Synthetic,
    *,
    source: str | None = ...,
    target: str | None = ...,
    gold: str | None = ...,
    by_threads: bool = ...,
    run: Run = ...,
) -> Measured: ...

def compare(
    first: str | Any,
    second: str | Any | None,
    gold: str | Any,
    *,
    only_first: bool = ...,
    format: str | None = ...,
    gold_format: str | None = ...,
    swap: bool = ...,
    bootstrap: int = ...,
    seed: int = ...,
    source: str | None = ...,
    target: str | None = ...,
    rare: int = ...,
    run: Run = ...,
) -> PairedReport: ...

def compile_ahead(
    everything: bool = ...,
    *,
    run: Run = ...,
) -> Path: ...

def convert(
    links: str,
    output: str,
    *,
    from_format: str | None = ...,
    to_format: str | None = ...,
    pairs: int | None = ...,
    swap: bool = ...,
    run: Run = ...,
) -> None: ...

def decode(
    scores: str,
    output: str = ...,
    *,
    decoder: MatrixDecoder | None = ...,
    source: str | None = ...,
    target: str | None = ...,
    report: str | None = ...,
    run: Run = ...,
) -> None: ...

def dictionary(
    given: str,
    output: str = ...,
    *,
    text: DictionaryText | None = ...,
    cut_offs: CutOffs | None = ...,
    columns: str | None = ...,
    form: str = ...,
    run: Run = ...,
) -> int: ...

def draw_calibration(
    files: ShownFiles,
    output: str,
    *,
    models: tuple[str, ...] = ...,
    columns: str | None = ...,
    run: Run = ...,
) -> None: ...

def draw_cost(
    files: tuple[str, ...],
    output: str,
    *,
    x: str = ...,
    y: str = ...,
    by: str | None = ...,
    run: Run = ...,
) -> None: ...

def draw_curve(
    files: ShownFiles,
    output: str,
    *,
    models: tuple[str, ...] = ...,
    columns: str | None = ...,
    run: Run = ...,
) -> None: ...

def draw_matrix(
    files: ShownFiles,
    output: str,
    *,
    columns: str | None = ...,
    line: int = ...,
    run: Run = ...,
) -> None: ...

def draw_posteriors(
    files: ShownFiles,
    model: str,
    output: str,
    *,
    columns: str | None = ...,
    projection: str | None = ...,
    line: int = ...,
    run: Run = ...,
) -> None: ...

def draw_pruning(
    reports: tuple[str, ...],
    output: str,
    *,
    line: tuple[int, ...] = ...,
    run: Run = ...,
) -> None: ...

def draw_trace(
    reports: tuple[str, ...],
    output: str,
    *,
    lines: tuple[int, ...] = ...,
    pruning: bool = ...,
    run: Run = ...,
) -> None: ...

def evaluate(
    links: str | Any,
    gold: str | Any,
    *,
    words: Words | None = ...,
    other: str | Any | None = ...,
    format: str | None = ...,
    gold_format: str | None = ...,
    swap: bool = ...,
    first: bool = ...,
    bootstrap: int = ...,
    seed: int = ...,
    run: Run = ...,
) -> Report: ...

def evaluate_phrases(
    answer: PhraseAnswer,
    *,
    max_length: int = ...,
    tight: bool = ...,
    source: str | None = ...,
    target: str | None = ...,
    run: Run = ...,
) -> PhraseEvaluation: ...

def evaluate_transfer(
    files: AnnotatedFiles,
    *,
    thresholds: tuple[float, ...] = ...,
    settings: TransferSettings | None = ...,
    at: float = ...,
    discontinuous: str = ...,
    gap: int = ...,
    run: Run = ...,
) -> SpanReport | TreeReport: ...

def extract_phrases(
    text: LinkedText,
    table: str = ...,
    *,
    columns: str | None = ...,
    reordering: str | None = ...,
    dictionary: str | None = ...,
    max_length: int = ...,
    run: Run = ...,
) -> Built: ...

def remap(
    work: Remapping,
    output: str = ...,
    *,
    skip: bool = ...,
    run: Run = ...,
) -> int: ...

def serve(
    model: str,
    *,
    host: str = ...,
    port: int = ...,
    token: str | None = ...,
    glossary: str | None = ...,
    ibm1_rounds: int = ...,
    rounds: int = ...,
    constraint: str = ...,
    projection: str = ...,
    tokenize: str = ...,
    whitespace: str = ...,
    skip_tokens: str = ...,
    lowercase: bool = ...,
    max_length: int = ...,
    null: float = ...,
    floor: float = ...,
    prune: float = ...,
    stem_letters: int = ...,
    stem_weight: float = ...,
    form_weight: float = ...,
    leave_out: float = ...,
    jump_words: int = ...,
    jump_weight: float = ...,
    slack: float = ...,
    tolerance: float = ...,
    evaluations: int = ...,
    mixture: bool = ...,
    decoder: str = ...,
    symmetrize: str = ...,
    threshold: float = ...,
    style: str = ...,
    agreement: str = ...,
    penalty: float = ...,
    unsupported: float = ...,
    nodes: int = ...,
    time_limit: float = ...,
    scores: str = ...,
    alpha: float = ...,
    concave: str = ...,
    source_limit: int = ...,
    target_limit: int = ...,
    quantile: float = ...,
    run: Run = ...,
) -> Server: ...

def summarize(
    files: ShownFiles,
    output: str = ...,
    *,
    columns: str | None = ...,
    run: Run = ...,
) -> None: ...

def symmetrize(
    forward: str,
    backward: str,
    output: str = ...,
    *,
    method: str = ...,
    format: str | None = ...,
    pairs: int | None = ...,
    swap: bool = ...,
    run: Run = ...,
) -> None: ...

def train(
    source: str,
    target: str | None,
    output: str,
    *,
    tuning: str | None | Tuning = ...,
    columns: str | None = ...,
    sample: int | str | None = ...,
    seed: int = ...,
    model: str = ...,
    ibm1_rounds: int = ...,
    rounds: int = ...,
    constraint: str = ...,
    projection: str = ...,
    tokenize: str = ...,
    whitespace: str = ...,
    skip_tokens: str = ...,
    lowercase: bool = ...,
    max_length: int = ...,
    null: float = ...,
    floor: float = ...,
    prune: float = ...,
    stem_letters: int = ...,
    stem_weight: float = ...,
    form_weight: float = ...,
    leave_out: float = ...,
    jump_words: int = ...,
    jump_weight: float = ...,
    slack: float = ...,
    tolerance: float = ...,
    evaluations: int = ...,
    mixture: bool = ...,
    decoder: str = ...,
    symmetrize: str = ...,
    threshold: float = ...,
    style: str = ...,
    agreement: str = ...,
    penalty: float = ...,
    unsupported: float = ...,
    nodes: int = ...,
    time_limit: float = ...,
    scores: str = ...,
    alpha: float = ...,
    concave: str = ...,
    source_limit: int = ...,
    target_limit: int = ...,
    quantile: float = ...,
    tune_source: str | None = ...,
    tune_target: str | None = ...,
    early_stop: bool = ...,
    gold: str | None = ...,
    glossary: str | None | Knowledge = ...,
    prior: str | None = ...,
    prior_weight: float = ...,
    continue_: str | None = ...,
    background: tuple[str, str] | None = ...,
    background_ratio: int | None = ...,
    similarity: str | None = ...,
    similarity_weight: float | None = ...,
    run: Run = ...,
) -> Aligner: ...

def train_language_model(
    text: str,
    model: str,
    *,
    order: int = ...,
    run: Run = ...,
) -> list[int]: ...

def train_phrases(
    text: TableText,
    output: str = ...,
    *,
    columns: str | None = ...,
    time_limit: float | None = ...,
    rounds: int = ...,
    model: str = ...,
    pseudo_count: float = ...,
    run: Run = ...,
) -> list[PhraseRound]: ...

def train_translation(
    text: ParallelText,
    folder: str,
    *,
    dev: ParallelText | None = ...,
    columns: str | None = ...,
    lm: str | None = ...,
    order: int = ...,
    span: int = ...,
    limit: int = ...,
    rounds: int = ...,
    tuner: str = ...,
    seed: int = ...,
    resume: bool = ...,
    run: Run = ...,
) -> SystemSettings: ...

def transfer_markup(
    files: AnnotatedFiles,
    output: str = ...,
    *,
    tokens: str | None = ...,
    report: str | None = ...,
    gap: int = ...,
    threshold: float = ...,
    run: Run = ...,
) -> Counter[str]: ...

def transfer_spans(
    files: AnnotatedFiles,
    output: str = ...,
    *,
    report: str | None = ...,
    discontinuous: str = ...,
    gap: int = ...,
    threshold: float = ...,
    run: Run = ...,
) -> Counter[str]: ...

def transfer_tags(
    files: AnnotatedFiles,
    output: str = ...,
    *,
    tags: TagSettings | None = ...,
    settings: TransferSettings | None = ...,
    report: str | None = ...,
    run: Run = ...,
) -> Counter[str]: ...

def transfer_tree(
    files: AnnotatedFiles,
    output: str = ...,
    *,
    settings: TransferSettings | None = ...,
    report: str | None = ...,
    run: Run = ...,
) -> Counter[str]: ...

def translate(
    folder: str,
    text: str,
    output: str = ...,
    *,
    method: str = ...,
    beam: int = ...,
    time_limit: float | None = ...,
    gap: float = ...,
    k: int = ...,
    lm: str | None = ...,
    forests: str | None = ...,
    report: str | None = ...,
    run: Run = ...,
) -> Counter[str]: ...

def view(
    files: ShownFiles,
    output: str | None = ...,
    *,
    columns: str | None = ...,
    model: str | None = ...,
    projection: str | None = ...,
    posteriors: int = ...,
    port: int | None = ...,
    browser: bool = ...,
    run: Run = ...,
) -> Viewer | None: ...

def viewer(
    files: ShownFiles,
    *,
    columns: str | None = ...,
    model: str | None = ...,
    projection: str | None = ...,
    posteriors: int = ...,
    port: int | None = ...,
    browser: bool = ...,
    run: Run = ...,
) -> Viewer: ...
