"""Config type and head of a collection's records (``docs/spec/labelled-structures.md``).

A record states them in its meta; where it does not, the index column of that name has what it stands for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from molrec.model.block import Block

__all__ = ["CONFIG_TYPE", "HEAD", "ISOLATED_ATOM", "StatedWords"]

CONFIG_TYPE, HEAD = "config_type", "head"
#: The config type of an isolated atom.
ISOLATED_ATOM = "IsolatedAtom"


class StatedWords:
    """What records state under one key.

    Args:
        key: `config_type` or `head`.
        index: The index of the collection.
    """

    def __init__(self, key: str, index: Block) -> None:
        self._key = key
        self._column: list[Any] = []
        if key in index and index.dtype(key) == "string" and index[key].ndim == 1:
            self._column = index[key].tolist()
            validity = index.validity(key)
            if validity is not None:
                self._column = [
                    word if valid else None for word, valid in zip(self._column, validity.tolist(), strict=True)
                ]

    def of(self, number: int, meta: Mapping[str, Any]) -> Any:
        """Return the word of a record, None where nothing states it.

        Args:
            number: Its number.
            meta: Its meta; a head that its `configuration` states is in force before a label `head`.
        """
        configuration = meta.get("configuration") if self._key == HEAD else None
        word = configuration.get(HEAD) if isinstance(configuration, dict) else None
        if word is None:
            word = meta.get(self._key)
        return self._column[number] if word is None and self._column else word
