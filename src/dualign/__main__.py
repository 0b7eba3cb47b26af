"""`python -m dualign` is the `dualign` command."""

from __future__ import annotations

from dualign.cli.main import main

if __name__ == "__main__":
    main()
