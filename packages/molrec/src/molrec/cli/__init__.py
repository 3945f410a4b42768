"""The command ``molrec``: thin commands over the public functions, one module per group.

Importing this package imports nothing heavy; the commands load what they use.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line; the entry point of the ``molrec`` script."""
    from molrec.cli.app import app

    app()
