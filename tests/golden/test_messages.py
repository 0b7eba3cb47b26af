"""Help and messages are those of `messages.txt`; `python -m tests.golden.messages` records new ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from tests.golden.messages import recorded, said
from tests.golden.runner import Runner


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    made = Runner(sys.executable, tmp_path_factory.mktemp("messages") / "runs")
    yield made
    made.close()


@pytest.mark.parametrize("line", recorded())
def test_dualign_says_what_it_said(line, runner):
    assert said(runner, line) == recorded()[line]
