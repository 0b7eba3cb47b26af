"""The card against the processor, in a process in which numba simulates a card."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dualign._core.errors import UsageError
from dualign.engines.cuda import device
from dualign.engines.cuda.device import DeviceError, card_of, failure

CASES = Path(__file__).with_name("card_cases.py")


@pytest.fixture(scope="module")
def found():
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, str(CASES), "symmetric", "agreement", "bijective", "none"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) | {"told": done.stderr}


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["symmetric", "agreement", "bijective", "none"])
def test_the_card_learns_the_model_of_the_processor(found, constraint):
    apart = found[constraint]["difference"]
    assert apart["likelihood"] < 1e-6
    assert apart["evaluations"] < 0.05
    assert apart["table"] < 1e-4
    assert apart["null"] < 1e-5
    assert apart["jumps"] < 1e-2
    assert apart["factors"] < 1e-2
    assert apart["chosen"] < 1e-4
    assert apart["weights"] < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["symmetric", "agreement", "bijective", "none"])
def test_another_run_in_pieces_that_fit_gives_the_same_bits(found, constraint):
    apart = found[constraint]["in pieces"]
    assert set(apart.values()) == {0.0}


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["symmetric", "agreement", "bijective", "none"])
def test_the_card_finds_the_links_of_the_processor(found, constraint):
    assert found[constraint]["links"]
    assert found[constraint]["links in pieces"]


@pytest.mark.slow
@pytest.mark.parametrize("constraint", ["symmetric", "agreement", "bijective", "none"])
def test_the_text_does_not_stay_on_the_card(found, constraint):
    assert found[constraint]["kept"] == ["model"]


@pytest.mark.slow
@pytest.mark.parametrize("launches", ["0", "1", "3"])
def test_a_card_that_fails_in_between_is_an_error_or_the_processor(found, launches):
    needed, wished_for, without = found["lost"][launches]
    assert re.fullmatch(
        r"the card failed .*ILLEGAL_ADDRESS.*; check nvidia-smi and run .* cpu as the device", needed
    )
    assert wished_for == without
    assert found["told"].count("going on with the processor: the card failed") == 3


def test_why_numba_cuda_cannot_be_loaded_is_told(monkeypatch):
    def fail(name: str) -> None:
        raise AttributeError("module 'numpy' has no attribute 'row_stack'")

    monkeypatch.setattr("dualign.engines.cuda.device.import_module", fail)
    told = (
        r"numba-cuda .* beside numpy \d.*row_stack.*; numba-cuda 0.30 with NumPy .* pip install .* choose cpu"
    )
    with pytest.raises(DeviceError, match=told):
        card_of("cuda")
    assert card_of("auto") is None


def test_numpy_has_the_name_that_it_dropped_while_numba_cuda_is_imported(monkeypatch):
    monkeypatch.delattr(np, "row_stack", raising=False)
    seen = []
    monkeypatch.setattr("dualign.engines.cuda.device.import_module", lambda name: seen.append(np.row_stack))
    assert device._cuda() is None
    assert seen
    assert set(seen) == {np.vstack}
    assert not hasattr(np, "row_stack")


def test_a_device_that_is_none_is_refused():
    with pytest.raises(UsageError, match='device="gpu" is not one of cpu, cuda, auto'):
        card_of("gpu")


@pytest.mark.parametrize("memory", ["much", 0, -5, True])
def test_a_budget_that_is_none_is_refused(memory):
    with pytest.raises(UsageError, match="device_memory="):
        card_of("cpu", memory)


def test_the_processor_needs_no_card():
    assert card_of("cpu") is None


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        ("CudaSupportError", "CUDA driver library cannot be found.", "driver was not found"),
        ("CudaSupportError", "[100] Call to cuInit results in CUDA_ERROR_NO_DEVICE", "no NVIDIA card"),
        ("CudaAPIError", "[35] CUDA_ERROR_INSUFFICIENT_DRIVER", "too old"),
        ("CudaAPIError", "[222] CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "too old"),
        ("CudaAPIError", "[2] cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY", "smaller budget"),
        ("CudaAPIError", "[46] CUDA_ERROR_DEVICES_UNAVAILABLE", "the card failed"),
        ("CudaAPIError", "[719] CUDA_ERROR_LAUNCH_FAILED", "run the command again"),
        ("NvvmSupportError", "libNVVM cannot be found", "dualign\\[gpu\\]"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_card_is_told_with_a_remedy(kind, text, told):
    assert re.search(told, str(failure(kind, text)))
    assert failure("ValueError", text) is None


def test_without_a_card_cuda_is_an_error_and_auto_the_processor(caplog):
    if card_of("auto") is not None:
        pytest.skip("this machine has a card")
    assert "computing on the processor" in caplog.text
    with pytest.raises(DeviceError, match="or choose cpu as the device"):
        card_of("cuda")


@pytest.mark.slow
def test_with_too_little_memory_auto_is_the_processor(found):
    assert found["little memory"]
    assert "going on with the processor: device_memory=" in found["told"]
