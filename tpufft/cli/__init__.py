"""The command ``tpufft``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit: 0 done, 1 bad input, 2 wrong usage, 3 a wrong plan, 130 interrupted."""
    try:
        from tpufft.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich", "click"):
            raise
        from tpufft.errors import MissingExtraError

        print(f"error: {MissingExtraError('the command tpufft', 'jobs')}", file=sys.stderr)
        sys.exit(1)
    sys.exit(run())
