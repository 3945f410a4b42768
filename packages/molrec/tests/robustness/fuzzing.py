"""The test's end of a fuzz: children that run batches of cases, and what they report."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from .processes import ForkServer

__all__ = ["SEED", "cases_from_environment", "run_batch", "span_of"]

#: Chooses the cases; the same ones each time, unless the environment says otherwise.
SEED = int(os.environ.get("MOLREC_FUZZ_SEED", "0"))


def cases_from_environment(usual: int) -> int:
    """Return how many cases to run."""
    return int(os.environ.get("MOLREC_FUZZ_CASES", usual))


def span_of(batch: int, batches: int, cases: int) -> tuple[int, int]:
    """Return the first case of a batch and how many it has."""
    first = batch * cases // batches
    return first, (batch + 1) * cases // batches - first


def run_batch(server: ForkServer, folder: Path, call: str, first: int, count: int, **arguments: Any) -> Counter[str]:
    """Run a batch of cases in a child and return what became of them; any breach fails.

    Args:
        server: Where children come from.
        folder: Holds ``bases``.
        call: Function of `children`.
        first: Number of the first case.
        count: How many.
        **arguments: What else the function takes.
    """
    child = server.start(call, folder=str(folder), seed=SEED, first=first, count=count, **arguments)
    code = child.wait()
    lines = [json.loads(line) for line in child.lines() if line.startswith("{")]
    breaches = [line["breach"] for line in lines if "breach" in line]
    if code:
        case = (folder / f"cases-{first}" / "progress").read_text() if (folder / f"cases-{first}").is_dir() else "none"
        breaches.append(f"the process ended with {code} in case {case} of seed {SEED}: {child.errors()[-2000:]}")
    assert not breaches, "\n".join([f"{len(breaches)} breaches", *breaches[:20]])
    counts: Counter[str] = Counter(lines[-1]["counts"])
    assert counts.pop("cases") == count
    return counts
