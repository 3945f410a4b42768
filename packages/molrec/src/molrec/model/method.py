"""The ``method`` document: how the numbers of a record were obtained (``docs/spec/status-and-method.md``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from molrec.model.checked_document import OPEN, check

__all__ = ["METHOD_TYPES", "WORKFLOW", "MethodDocument", "MethodEngine", "check_method"]

WORKFLOW = "workflow"
#: Types with a meaning of their own; a producer's others are kept.
METHOD_TYPES: tuple[str, ...] = ("classical", "ml", "electronic_structure", WORKFLOW)

_WORKFLOW_RULE = "reject-method-workflow"
_RULES = {
    "type": "reject-method-type",
    "description": "reject-method-description",
    "engine": "reject-method-engine",
}


#: What JSON Schema can say of the rule `MethodDocument` enforces across keys.
_WORKFLOW_IS_WHOLE: dict[str, Any] = {
    "if": {"properties": {"type": {"const": WORKFLOW}}, "required": ["type"]},
    "then": {
        "properties": {
            "order": {"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": True},
            "stages": {"type": "object", "additionalProperties": {"type": "object"}},
        },
        "required": ["order", "stages"],
    },
}


class MethodEngine(BaseModel):
    """The program that did the work."""

    model_config = OPEN
    name: Annotated[str, Field(min_length=1)]
    """Name of the program."""
    version: str | None = None
    """Version of the program."""


class MethodDocument(BaseModel):
    """How numbers were obtained; `order` and `stages` have their meaning in a workflow only."""

    model_config = ConfigDict(**OPEN, json_schema_extra=_WORKFLOW_IS_WHOLE)
    type: Annotated[str, Field(min_length=1, examples=list(METHOD_TYPES))]
    """Kind of method, in one word."""
    description: str
    """What was done, in words."""
    engine: MethodEngine
    """The program that did it."""
    order: Any = None
    """Of a workflow: the names of its stages in the order they run, each once."""
    stages: Any = None
    """Of a workflow: an object with an object for every name in `order`, and no other."""

    @model_validator(mode="after")
    def _workflow_is_whole(self) -> MethodDocument:
        if self.type == WORKFLOW:
            _check_workflow(self.order, self.stages)
        return self


def _check_workflow(order: Any, stages: Any) -> None:
    if not isinstance(order, list) or not all(isinstance(name, str) and name for name in order):
        raise ValueError(f"a workflow has order, a list of names of stages, found {order!r}")
    if not isinstance(stages, dict) or not all(isinstance(stage, dict) for stage in stages.values()):
        raise ValueError("a workflow has stages, an object with an object for each stage")
    if len(set(order)) != len(order) or set(order) != set(stages):
        raise ValueError(
            f"order names every stage of a workflow once, found order {order!r} and the stages {sorted(stages)!r}"
        )


def check_method(document: Mapping[str, Any], where: str = "method") -> MethodDocument:
    """Return a checked method document.

    Raises:
        SchemaError: No type (``reject-method-type``), no description (``reject-method-description``), no engine with a
            name (``reject-method-engine``), a workflow without its order and stages (``reject-method-workflow``).
    """
    return check(MethodDocument, document, where, _RULES, _WORKFLOW_RULE)
