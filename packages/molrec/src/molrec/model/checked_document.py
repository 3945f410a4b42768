"""Holding a JSON document against its pydantic model, with a rule of this format for each of its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from molrec.errors import SchemaError

__all__ = ["OPEN", "check"]

#: Keys nobody here knows are kept; a value is never converted to the type wanted.
OPEN = ConfigDict(frozen=True, extra="allow", strict=True, use_attribute_docstrings=True)


def check[Document: BaseModel](
    model: type[Document], document: Mapping[str, Any], where: str, rules: Mapping[str, str], otherwise: str
) -> Document:
    """Return a document that keeps the rules of its model.

    Args:
        model: What the document must be.
        document: A JSON object.
        where: What to call it.
        rules: The rule enforced at each key.
        otherwise: The rule enforced everywhere else.

    Raises:
        SchemaError: The document breaks a rule; the message names the key, what was found and what is allowed.
    """
    try:
        return model.model_validate(dict(document))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = [str(part) for part in first["loc"]]
        found = "" if first["type"] == "missing" or not path else f", found {_shortened(first['input'])}"
        message = str(first["msg"]).removeprefix("Value error, ")
        place = ".".join((where, *path))
        raise SchemaError(f"{place}: {message}{found}", rules.get(path[0] if path else "", otherwise)) from error


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
