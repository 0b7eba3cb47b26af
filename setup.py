"""The long description on the package index: the README, whose links must be absolute there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]


def absolute(text: str) -> str:
    """Links and images of this repository by their addresses at this version."""
    home, tag = PROJECT["urls"]["Homepage"], f"v{PROJECT['version']}"
    raw = home.replace("https://github.com", "https://raw.githubusercontent.com")
    relative = r"\((?!\w+:|#)([^)\s]+)\)"
    text = re.sub(rf"(!\[[^\]]*\]){relative}", rf"\1({raw}/{tag}/\2)", text)
    return re.sub(rf"(\[[^\]]*\](?:\([^)]*\)\])?){relative}", rf"\1({home}/blob/{tag}/\2)", text)


if __name__ == "__main__":
    from setuptools import setup

    setup(
        long_description=absolute((HERE / "README.md").read_text("utf-8")),
        long_description_content_type="text/markdown",
    )
