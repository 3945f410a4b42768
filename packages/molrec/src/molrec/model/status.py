"""The ``status`` document: how the job behind a record stands (``docs/spec/status-and-method.md``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from molrec.model.checked_document import OPEN, check
from molrec.model.timestamps import TIMESTAMP_PATTERN, is_timestamp

__all__ = ["STATES", "StatusDocument", "StatusError", "check_status"]

#: States with a meaning of their own; a producer's others are kept.
STATES: tuple[str, ...] = ("pending", "running", "succeeded", "failed", "cancelled", "skipped")

_ERROR = "reject-status-error"
_COUNTER = "reject-status-counter"
_TIMESTAMP = "reject-status-timestamp"
_RULES = {
    "state": "reject-status-state",
    "epoch": _COUNTER,
    "global_step": _COUNTER,
    "started_at": _TIMESTAMP,
    "updated_at": _TIMESTAMP,
    "finished_at": _TIMESTAMP,
    "error": _ERROR,
}


def _stated_moment(text: str) -> str:
    if not is_timestamp(text):
        raise ValueError(
            "a point in time is RFC 3339 with its offset from UTC, such as '2026-01-31T12:00:00Z' or "
            "'2026-01-31T13:00:00+01:00'"
        )
    return text


type Moment = Annotated[
    str, AfterValidator(_stated_moment), Field(json_schema_extra={"pattern": f"^{TIMESTAMP_PATTERN}$"})
]
type Counter = Annotated[int, Field(ge=0)]


#: The rule `StatusDocument` enforces across keys, as JSON Schema has it.
_FAILED_STATES_ERROR: dict[str, Any] = {
    "if": {"properties": {"state": {"const": "failed"}}, "required": ["state"]},
    "then": {"properties": {"error": {"type": "object"}}, "required": ["error"]},
}


class StatusError(BaseModel):
    """What went wrong."""

    model_config = OPEN
    message: str
    """What happened, for people."""
    type: str | None = None
    """Class of the error."""
    traceback: str | None = None
    """Where it was raised."""


class StatusDocument(BaseModel):
    """How a job stands: its state, how far it is, since when, and what stopped it."""

    model_config = ConfigDict(**OPEN, json_schema_extra=_FAILED_STATES_ERROR)
    state: Annotated[str, Field(min_length=1, examples=list(STATES))]
    """How the job stands, in one word."""
    stage: str | None = None
    """Which part of the work is at hand."""
    epoch: Counter | None = None
    """Counter of epochs."""
    global_step: Counter | None = None
    """Counter of steps."""
    message: str | None = None
    """A word to people."""
    started_at: Moment | None = None
    """When the job began."""
    updated_at: Moment | None = None
    """When this document was written."""
    finished_at: Moment | None = None
    """When the job ended."""
    error: StatusError | None = None
    """What went wrong; required where the state is `failed`."""
    progress: dict[str, Any] | None = None
    """How far the job is, in the producer's terms."""

    @model_validator(mode="after")
    def _failed_with_a_reason(self) -> StatusDocument:
        if self.state == "failed" and self.error is None:
            raise ValueError("state is 'failed' but no error is stated; give error with at least its message")
        return self


def check_status(document: Mapping[str, Any], where: str = "status") -> StatusDocument:
    """Return a checked status document.

    Raises:
        SchemaError: No state (``reject-status-state``), a counter that is no non-negative integer
            (``reject-status-counter``), a time without its offset (``reject-status-timestamp``), an error without a
            message or a failure without an error (``reject-status-error``), another key out of form
            (``reject-status-malformed``).
    """
    rules = _RULES | {"": _ERROR}  # the one rule about the whole document
    return check(StatusDocument, document, where, rules, "reject-status-malformed")
