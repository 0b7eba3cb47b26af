"""The documentation site: `make docs` builds it from the Markdown of this repository, without network.

Pages stay plain Markdown that a forge can show. What is generated is added while Sphinx reads a page: the
navigation (from the tables of docs/README.md), all options of all commands (docs/commands.md), and the
signature and docstring of each name of docs/api/. Notebooks are shown with the outputs that they hold.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from site_pages import api_page, commands_page, navigation, notebook_page

from dualign import __version__

project, author, release = "dualign", "The dualign authors", __version__
copyright = "The dualign authors; Apache-2.0"
root_doc = "README"
include_patterns = ["*.md", "docs/**", "benchmarks/README.md"]
exclude_patterns = ["docs/*.py", "SECURITY.md"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
extensions = ["myst_parser"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
html_theme = "furo"
html_title = f"dualign {release}"
smartquotes = False  # two hyphens begin an option
html_show_sphinx = html_copy_source = False
suppress_warnings = ["misc.highlighting_failure"]  # output of commands is no language


def add_generated(app: Any, docname: str, source: list[str]) -> None:
    """Complete a page while it is read."""
    here = Path(app.srcdir)
    if docname == root_doc:
        source[0] += navigation(here)
    elif docname == "docs/commands":
        source[0] += commands_page()
    elif docname.startswith("docs/api/"):
        source[0] = api_page(source[0])
    elif docname.startswith("docs/notebooks/"):
        source[0] = notebook_page(source[0])


def add_front_door(app: Any, exception: Exception | None) -> None:
    """A browser that opens the folder finds `index.html`."""
    if exception is None and app.builder.format == "html":
        shutil.copy(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", add_generated)
    app.connect("build-finished", add_front_door)
