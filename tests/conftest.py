"""One profile for every property test: the same examples on every run, and no clock. And `--quick`."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# Kernels compile when first called, which no deadline allows for.
settings.register_profile("dualign", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("quick", settings.get_profile("dualign"), max_examples=10)
# What bounds checks look for does not need as many examples.
settings.register_profile("checked", settings.get_profile("dualign"), max_examples=30)
settings.load_profile("checked" if os.environ.get("NUMBA_BOUNDSCHECK") else "dualign")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick",
        action="store_true",
        help="every test once: the first of its cases, ten examples of a property, nothing marked slow",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--quick"):
        settings.load_profile("quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    kept: dict[tuple[str, str], pytest.Item] = {}
    for item in items:
        if item.get_closest_marker("slow") is None:
            kept.setdefault((str(item.path), getattr(item, "originalname", item.name)), item)
    chosen = {id(item) for item in kept.values()}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
    items[:] = kept.values()
