"""`dualign serve` as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request

import pytest
from tests.commands.bitexts import write_bitext
from tests.commands.command import INTERRUPTIBLE, environment

from dualign.commands.cli import run


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_it_prints_its_address_answers_and_ends(number, code, tmp_path):
    model = str(tmp_path / "model")
    assert run(["train", *write_bitext(tmp_path), model, "--rounds", "1", "--quiet"]) == 0
    command = [*INTERRUPTIBLE, "serve", model, "--port", "0", "--threads", "1", "--quiet"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().strip()
            body = json.dumps({"source": "Der Markt", "target": "The market"}).encode()
            request = urllib.request.Request(f"{address}align", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert json.load(answer)["links"] == [[0, 0], [1, 1]]
        finally:
            server.send_signal(number)
        assert server.wait(30) == code


def test_what_is_not_a_model_is_told(tmp_path, capsys):
    path = tmp_path / "model"
    path.write_text("nothing")
    assert run(["serve", str(path), "--port", "0"]) in (1, 2)
    assert "Traceback" not in capsys.readouterr().err
