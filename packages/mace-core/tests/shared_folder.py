"""Where golden cases and shared data lie: `MOLREC_SHARED`, or `shared` beside the repository. They may be absent."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("MOLREC_SHARED") or REPOSITORY.parent / "shared")
