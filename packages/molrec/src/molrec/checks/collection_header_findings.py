"""What a validator finds in headers of frame bytes that a reader copes with (``docs/spec/lmdb.md``, frame bytes)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from molrec.checks.content_findings import Found
from molrec.model.box import Box
from molrec.storage.zarr.frame_group import boundary_is_default, origin_is_default

__all__ = ["box_form_findings", "tag_findings"]


def box_form_findings(where: str, stated: Any, box: Box) -> Iterator[Found]:
    """Yield what a writer leaves out, or puts in, of a stored box.

    Args:
        where: The place of the box.
        stated: The object of the header.
        box: The box it stands for.
    """
    defaults = {
        "origin": origin_is_default(box),
        "boundary": boundary_is_default(box),
        "cell_defined": stated.get("cell_defined") is True,
    }
    needless = [name for name, is_default in defaults.items() if is_default and name in stated]
    if needless:
        yield "default-written", where, "warning", f"{', '.join(needless)} states the default; a writer leaves it out"
    if not box.cell_defined and (stated.get("vectors") != np.eye(3).tolist() or "boundary" not in stated):
        message = "an undefined cell is stored with identity vectors and boundary flags that are all false"
        yield "undefined-cell-form", where, "error", message


def tag_findings(where: str, header: Mapping[str, Any]) -> Iterator[Found]:
    """Yield keys of a stored meta document without a tag.

    Args:
        where: The place of the frame.
        header: Its header, which a reader has taken.
    """
    untagged = [key for key in header.get("meta", {}) if key not in header.get("meta_types", {})]
    if untagged:
        message = f"{', '.join(map(repr, untagged[:6]))} state no tag in meta_types; the type is inferred"
        yield "untyped-meta", where, "error", message
