"""``python -m molrec``: the command line."""

from __future__ import annotations

from molrec.cli import main

if __name__ == "__main__":
    main()
