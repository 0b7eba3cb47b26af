"""A short run of what looks for faults: disturbed commands, and signals at random moments."""

from __future__ import annotations

import signal

import pytest
from benchmarks.interruptions import interrupt
from tests.fuzz.__main__ import run_cases
from tests.fuzz.inputs import commands

pytestmark = pytest.mark.slow


def test_disturbed_commands_end_in_a_message(tmp_path):
    faults = [ended for ended in run_cases(tmp_path, 2, range(500)) if ended.fault]
    assert faults == []


def test_signals_leave_old_outputs_and_nothing_else(tmp_path):
    chosen = [
        words
        for words in commands()
        if words[:2] in (["phrases", "extract"], ["remap", "links"], ["train", "source"])
    ]
    signals = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
    faults = [each for each in interrupt(tmp_path, chosen, signals, 1, 1, 30) if each.fault]
    assert faults == []
