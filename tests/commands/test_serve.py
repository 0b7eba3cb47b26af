"""`dualign serve` as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request

import pytest
from benchmarks.service_soak import Soak
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


def health(address: str) -> None:
    with urllib.request.urlopen(f"{address}health", timeout=60) as answer:
        assert answer.status == 200


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_on_sighup_the_model_is_loaded_again_at_once_or_the_former_one_goes_on(tmp_path):
    model = tmp_path / "model"
    assert run(["train", *write_bitext(tmp_path), str(model), "--rounds", "1", "--quiet"]) == 0
    command = [*INTERRUPTIBLE, "serve", str(model), "--port", "0", "--threads", "1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment(), text=True, **pipes) as server:
        try:
            address = server.stdout.readline().strip()
            server.send_signal(signal.SIGHUP)  # at once
            told = iter(server.stderr.readline, "")
            assert any(f"{model} at {address}" in line for line in told)
            assert "loaded again" in next(told)
            for damage, message in (
                (False, "loaded again"),
                (True, "not loaded again, the former one goes on"),
            ):
                if damage:
                    model.write_bytes(b"")
                server.send_signal(signal.SIGHUP)
                assert message in next(told)
            health(address)
        finally:
            server.terminate()
        assert server.wait(30) == 143


@pytest.mark.slow
def test_good_clients_are_answered_rightly_whatever_others_do_until_it_is_terminated(tmp_path):
    """A few seconds of `python -m benchmarks.service --soak`, which also looks at the memory."""
    it = Soak(tmp_path, patience=2.0)
    it.start()
    try:
        it.run(1.5, [*it.clients, it.replacer], 0)
        it.end(it.clients, 0)
    finally:
        it.finish()
    assert it.wrong == []
    assert it.seen["right answers"] > 10


def test_what_is_not_a_model_is_told(tmp_path, capsys):
    path = tmp_path / "model"
    path.write_text("nothing")
    assert run(["serve", str(path), "--port", "0"]) in (1, 2)
    assert "Traceback" not in capsys.readouterr().err
