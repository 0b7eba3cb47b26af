"""What a fuzzer finds in minutes: disturbed commands, every input as a pipe, full disks, signals."""

from __future__ import annotations

import random
import signal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from benchmarks.interruptions import interrupt
from tests.fuzz.__main__ import run_cases
from tests.fuzz.case import Case, Ended, files_of_at_most, run_case
from tests.fuzz.disturbances import as_pipe
from tests.fuzz.inputs import commands, make

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("healthy")
    make(folder)
    return folder


def ended(case: Case, what: str) -> Ended:
    case.folder.mkdir()
    return run_case(case, 0, what, random.Random(0))


def test_disturbed_commands_end_in_a_message():
    # In a folder that everybody may enter, also those who have no rights in it: pytest's own is closed.
    with TemporaryDirectory(prefix="faults-") as folder:
        faults = [ended for ended in run_cases(Path(folder), 2, range(500)) if ended.fault]
    assert faults == []


def test_an_input_that_can_be_read_once_gives_the_same_or_is_refused(healthy, tmp_path):
    faults = []
    for number, words in enumerate(commands()):
        for name in Case(words, healthy, tmp_path).inputs:
            if (healthy / name).is_file():
                case = Case(words, healthy, tmp_path / f"{number} {name}", same=True)
                as_pipe(case, name)
                faults.append(ended(case, f"{name}: pipe"))
    assert len(faults) > 100
    assert [each for each in faults if each.fault] == []


@pytest.mark.parametrize("size", [0, 50])
def test_on_a_full_disk_outputs_are_as_before(healthy, tmp_path, size):
    faults = []
    for number, words in enumerate(commands()):
        case = Case(words, healthy, tmp_path / str(number))
        if case.outputs:
            case.around.append(partial(files_of_at_most, size))
            faults.append(ended(case, f"no file over {size} bytes"))
    assert sum(each.code == 1 for each in faults) > (50 if size == 0 else 30)
    assert [each for each in faults if each.fault] == []


def test_signals_leave_old_outputs_and_nothing_else(tmp_path):
    chosen = [
        words
        for words in commands()
        if words[:2] in (["phrases", "extract"], ["remap", "links"], ["train", "source"])
    ]
    signals = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
    faults = [each for each in interrupt(tmp_path, chosen, signals, 1, 1, 30) if each.fault]
    assert faults == []
