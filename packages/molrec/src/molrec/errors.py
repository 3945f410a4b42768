"""The exceptions of molrec, and nothing else.

Two classes, told apart by what a caller does about them:

* `FormatError`: a store on disk is refused; the file is at fault.
* `SchemaError`: a write or a declaration is refused; the call is at fault, and what was committed is untouched.

Every error carries `rule`, the id of the clause it enforces (``docs/spec/rules.md``), and its message says where,
what was found, what is allowed and what to do.
"""

from __future__ import annotations

__all__ = ["FormatError", "MolrecError", "SchemaError"]


class MolrecError(ValueError):
    """Base of every refusal.

    Attributes:
        rule: Id of the clause enforced, such as ``reject-step-not-increasing``; never empty.
    """

    def __init__(self, message: str, rule: str) -> None:
        super().__init__(message)
        self.message = message
        self.rule = rule

    def __str__(self) -> str:
        return f"{self.message} [{self.rule}]"

    def __reduce__(self) -> tuple[type[MolrecError], tuple[str, str]]:
        # ValueError would pickle `args` alone and lose the rule on its way out of a worker process.
        return (type(self), (self.message, self.rule))


class FormatError(MolrecError):
    """A store breaks the format and is refused rather than read wrong."""


class SchemaError(MolrecError):
    """A write or declaration is refused before anything reaches the store."""
