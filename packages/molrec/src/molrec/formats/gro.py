"""Stub, being written."""
from __future__ import annotations
from pathlib import Path
from collections.abc import Sequence
from molrec.formats.registry import Format
class GroFamily:
    def names(self) -> Sequence[str]:
        return []
    def get(self, name: str) -> Format | None:
        return None
    def by_content(self, head: bytes) -> str | None:
        return None
    def by_name(self, path: Path) -> str | None:
        return None
    def always_recognized(self, name: str) -> bool:
        return False
