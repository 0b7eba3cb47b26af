from __future__ import annotations

import http.client
import re
import signal
import subprocess

import pytest
from tests.commands.command import INTERRUPTIBLE, environment
from tests.show import samples

from dualign.commands.cli import run


@pytest.fixture
def text(tmp_path):
    return samples.write(tmp_path / "s", samples.SOURCE), samples.write(tmp_path / "t", samples.TARGET)


def test_html_is_one_file_with_everything(text, tmp_path, capsys):
    links, gold = samples.write(tmp_path / "l", samples.TWO), samples.write(tmp_path / "g", samples.GOLD)
    page = tmp_path / "page.html"
    assert run(["view", *text, "-l", f"mine={links}", "--gold", gold, "--html", str(page)]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"8 pairs: {page}" in shown.err
    content = page.read_text(encoding="utf-8")
    assert '"name":"mine"' in content
    assert samples.SCRIPT not in content
    assert run(["view", *text, "-l", f"mine={links}", "--gold", gold, "--html", "-"]) == 0
    assert capsys.readouterr().out == content


def test_html_can_be_compressed(text, tmp_path):
    import gzip

    page = tmp_path / "page.html.gz"
    assert run(["view", *text, "--html", str(page)]) == 0
    assert gzip.decompress(page.read_bytes()).startswith(b"<!DOCTYPE html>")


@pytest.mark.kernel
def test_model_goes_along_with_posteriors_of_the_first_pairs(tmp_path, capsys):
    import json

    from dualign.aligner import Aligner

    pairs = [
        (line.split(), other.split()) for line, other in zip(samples.SOURCE, samples.TARGET, strict=True)
    ]
    Aligner(threads=1, rounds=1, ibm1_rounds=1).fit(pairs[:2]).save(tmp_path / "m")
    files = [
        samples.write(tmp_path / name, lines)
        for name, lines in (("s", samples.SOURCE), ("t", samples.TARGET))
    ]
    more = [
        "--model",
        str(tmp_path / "m"),
        "--projection",
        "bijective",
        "--html",
        "-",
        "--posteriors",
        "2",
        "-q",
    ]
    assert run(["view", *files, *more]) == 0
    data = json.loads(re.search(r'id="data">(.*)</script>', capsys.readouterr().out)[1])
    assert data["projection"] == "bijective"
    assert len(data["posteriors"].split("\n")) == 2
    assert data["candidates"][0].startswith("das\t")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_server_serves_this_machine_until_interrupted(text, number, code):
    command = [*INTERRUPTIBLE, "view", *text, "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    try:
        address = process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", address)
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=20)
        connection.request("GET", "/")
        assert connection.getresponse().read().startswith(b"<!DOCTYPE html>")
        connection.close()
        process.send_signal(number)
        rest, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, rest) == (code, "")
    assert "8 pairs at" in errors
    assert "Traceback" not in errors


def test_port_that_is_taken_is_an_error_only_if_it_was_asked_for(text, capsys):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert run(["view", *text, "--port", str(taken.getsockname()[1])]) == 1
    assert "choose another port" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--html", "x", "--port", "1"], 2, "leave them out with --html"),
        (["--html", "x", "--open"], 2, "leave them out with --html"),
        (["--gold", "-", "--links", "-"], 2, "only one file can be standard input"),
        (["--links", "missing"], 1, "missing: no such file"),
        (["--model", "missing"], 1, "missing"),
        (["--model", "missing", "--projection", "x"], 2, "--projection x is not one of"),
        (["--html", "no/folder/x"], 1, "there is no folder"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_served(text, more, code, message, capsys):
    assert run(["view", *text, *more]) == code
    assert message in capsys.readouterr().err
