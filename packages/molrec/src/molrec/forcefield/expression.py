"""Energy expressions in Lepton syntax: parsed once, evaluated over whole columns, with their derivative.

The grammar (``docs/spec/forcefield.md``, expressions): numbers, names, ``+ - * / ^``, parentheses, the functions of
`FUNCTIONS`, and intermediate values after semicolons, ``k*d^2; d = r-r0``. ``^`` binds tightest and to the right, a
leading minus binds between ``^`` and ``*``. An expression is compiled to a list of stack operations; nothing in it is
ever handed to the interpreter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.forms import Floats

__all__ = ["FUNCTIONS", "Expression", "parse_expression"]

_RULE = "reject-ff-expression"
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>[-+*/^(),;=]))", re.ASCII
)
#: Deep enough for any formula, shallow enough for the interpreter's own stack.
_DEEPEST = 100
_STRENGTH = {"+": 0, "-": 0, "*": 1, "/": 1, "^": 3}
_MINUS = 2

#: A value and its derivative; None stands for a derivative that is zero everywhere.
type _Dual = tuple[Any, Any]


class _Step(NamedTuple):
    """One stack operation: ``number`` and ``name`` push, ``call`` replaces the top `arity` entries."""

    kind: str
    value: Any
    arity: int = 0


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression.

    Attributes:
        text: As it was given.
        names: Its free names, to be given values.
    """

    text: str
    names: frozenset[str]
    _definitions: tuple[tuple[str, tuple[_Step, ...]], ...]
    _program: tuple[_Step, ...]

    def evaluate(self, values: Mapping[str, Any], by: str) -> tuple[Floats, Floats]:
        """Return values and derivatives.

        Args:
            values: Every free name to an array or a number; they are broadcast together.
            by: Name to derive by.

        Returns:
            Two arrays of the common shape. What the expression does not define there is not finite.

        Raises:
            SchemaError: A free name has no value (``reject-ff-expression``).
        """
        missing = sorted(self.names - values.keys())
        if missing:
            raise SchemaError(
                f"expression {self.text!r} uses {', '.join(missing)}, which are neither variables nor parameters here; "
                f"known are {', '.join(sorted(values))}",
                _RULE,
            )
        shape = np.broadcast_shapes(*(np.shape(value) for value in values.values()))
        known: dict[str, _Dual] = {
            name: (np.asarray(values[name], dtype=np.float64), np.float64(1.0) if name == by else None)
            for name in self.names
        }
        with np.errstate(all="ignore"):
            for name, program in self._definitions:
                known[name] = _run(program, known)
            value, slope = _run(self._program, known)
        slope = 0.0 if slope is None else slope
        return (
            np.array(np.broadcast_to(value, shape), dtype=np.float64),
            np.array(np.broadcast_to(slope, shape), dtype=np.float64),
        )


def _run(program: tuple[_Step, ...], known: Mapping[str, _Dual]) -> _Dual:
    stack: list[_Dual] = []
    for kind, value, arity in program:
        if kind == "number":
            stack.append((value, None))
        elif kind == "name":
            stack.append(known[value])
        else:
            arguments = stack[-arity:]
            del stack[-arity:]
            stack.append(_RULES[value](*arguments))
    (result,) = stack
    return result


# -- derivatives ------------------------------------------------------------------------------------------------------


def _sum(*terms: Any) -> Any:
    """Add derivatives, None being zero."""
    present = [term for term in terms if term is not None]
    return sum(present[1:], start=present[0]) if present else None


def _chain(outer: Callable[[], Any], inner: Any) -> Any:
    """Multiply an outer derivative by an inner one; where the inner one is zero, so is the product, even at a pole."""
    if inner is None:
        return None
    return np.where(inner == 0.0, 0.0, outer() * inner)


def _add(a: _Dual, b: _Dual) -> _Dual:
    return a[0] + b[0], _sum(a[1], b[1])


def _subtract(a: _Dual, b: _Dual) -> _Dual:
    return a[0] - b[0], _sum(a[1], None if b[1] is None else -b[1])


def _multiply(a: _Dual, b: _Dual) -> _Dual:
    return a[0] * b[0], _sum(None if a[1] is None else a[1] * b[0], None if b[1] is None else a[0] * b[1])


def _divide(a: _Dual, b: _Dual) -> _Dual:
    quotient = a[0] / b[0]
    return quotient, _sum(None if a[1] is None else a[1] / b[0], None if b[1] is None else -quotient * b[1] / b[0])


def _negate(a: _Dual) -> _Dual:
    return -a[0], None if a[1] is None else -a[1]


def _raised(base: Any, exponent: Any) -> Any:
    """Return a power; whole exponents up to 16 by squaring, which is faster and exact for negative bases."""
    if np.ndim(exponent) or exponent != int(exponent if np.isfinite(exponent) else 0) or not 0 <= exponent <= 16:
        return np.power(base, exponent)
    count, result, square = int(exponent), None, base
    while count:
        if count & 1:
            result = square if result is None else result * square
        count >>= 1
        square = square * square if count else square
    return np.ones_like(base) if result is None else result


def _power(a: _Dual, b: _Dual) -> _Dual:
    value = _raised(a[0], b[0])
    by_base = _chain(lambda: b[0] * _raised(a[0], b[0] - 1.0), a[1])
    by_exponent = _chain(lambda: np.where(value == 0.0, 0.0, value * np.log(a[0])), b[1])
    return value, _sum(by_base, by_exponent)


def _function(value: Callable[[Any], Any], slope: Callable[[Any, Any], Any]) -> Callable[[_Dual], _Dual]:
    """Make the rule of a function of one argument; `slope` takes the argument and the function's value."""

    def rule(a: _Dual) -> _Dual:
        result = value(a[0])
        return result, _chain(lambda: slope(a[0], result), a[1])

    return rule


def _chosen(condition: Any, a: _Dual, b: _Dual) -> _Dual:
    slope = None
    if a[1] is not None or b[1] is not None:
        slope = np.where(condition, 0.0 if a[1] is None else a[1], 0.0 if b[1] is None else b[1])
    return np.where(condition, a[0], b[0]), slope


_RULES: dict[str, Callable[..., _Dual]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "^": _power,
    "minus": _negate,
    "exp": _function(np.exp, lambda _x, f: f),
    "log": _function(np.log, lambda x, _f: 1.0 / x),
    "sqrt": _function(np.sqrt, lambda _x, f: 0.5 / f),
    "sin": _function(np.sin, lambda x, _f: np.cos(x)),
    "cos": _function(np.cos, lambda x, _f: -np.sin(x)),
    "tan": _function(np.tan, lambda _x, f: 1.0 + f * f),
    "asin": _function(np.arcsin, lambda x, _f: 1.0 / np.sqrt(1.0 - x * x)),
    "acos": _function(np.arccos, lambda x, _f: -1.0 / np.sqrt(1.0 - x * x)),
    "atan": _function(np.arctan, lambda x, _f: 1.0 / (1.0 + x * x)),
    "abs": _function(np.abs, lambda x, _f: np.sign(x)),
    "min": lambda a, b: _chosen(a[0] <= b[0], a, b),
    "max": lambda a, b: _chosen(a[0] >= b[0], a, b),
    "step": lambda a: (np.where(a[0] < 0.0, 0.0, 1.0), None),
    "delta": lambda a: (np.where(a[0] == 0.0, 1.0, 0.0), None),
    "select": lambda a, b, c: _chosen(a[0] != 0.0, b, c),
}

#: Functions an expression may call, with the number of their arguments. ``step(x)`` is 0 below 0 and 1 from there on,
#: ``delta(x)`` is 1 at 0 only, ``select(x, y, z)`` is z where x is 0 and y elsewhere.
FUNCTIONS: dict[str, int] = {
    **dict.fromkeys(("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "abs", "step", "delta"), 1),
    "min": 2,
    "max": 2,
    "select": 3,
}


# -- parsing ----------------------------------------------------------------------------------------------------------


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        self.at = 0
        self.depth = 0
        place = 0
        while place < len(text.rstrip()):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self.refused(f"what stands at {text[place:].strip()[:10]!r} is no part of the syntax")
            kind = str(match.lastgroup)
            self.tokens.append((kind, match[kind], match.start(kind)))
            place = match.end()

    def refused(self, what: str) -> SchemaError:
        return SchemaError(f"expression {self.text!r}: {what}", _RULE)

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at][:2] if self.at < len(self.tokens) else ("end", "")

    def expect(self, sign: str) -> None:
        if self.peek() != ("sign", sign):
            found = self.peek()[1] or "the end"
            place = self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.text)
            raise self.refused(f"{sign!r} is needed at character {place}, found {found!r}")
        self.at += 1

    def whole(self) -> tuple[tuple[_Step, ...], dict[str, tuple[_Step, ...]]]:
        """Parse everything: the formula, then its definitions."""
        program = tuple(self.formula(0))
        definitions: dict[str, tuple[_Step, ...]] = {}
        while self.peek() == ("sign", ";"):
            self.at += 1
            if self.peek()[0] == "end":
                break
            kind, name = self.peek()
            if kind != "name" or name in definitions or name in FUNCTIONS:
                raise self.refused(f"a definition has a new name before its '=', found {name!r}")
            self.at += 1
            self.expect("=")
            definitions[name] = tuple(self.formula(0))
        if self.peek()[0] != "end":
            raise self.refused(f"nothing can follow before {self.peek()[1]!r}, at character {self.tokens[self.at][2]}")
        return program, definitions

    def formula(self, weakest: int) -> list[_Step]:
        """Parse operands joined by operators at least as strong as `weakest`."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.refused(f"it is nested more than {_DEEPEST} deep")
        steps = self.operand()
        while True:
            kind, sign = self.peek()
            strength = _STRENGTH.get(sign, -1) if kind == "sign" else -1
            if strength < weakest:
                break
            self.at += 1
            steps += self.formula(strength if sign == "^" else strength + 1)
            steps.append(_Step("call", sign, 2))
        self.depth -= 1
        return steps

    def operand(self) -> list[_Step]:
        kind, text = self.peek()
        self.at += 1
        if kind == "number":
            return [_Step("number", np.float64(text))]
        if kind == "name" and self.peek() == ("sign", "("):
            return self.call(text)
        if kind == "name":
            return [_Step("name", text)]
        if text == "-":
            return [*self.formula(_MINUS), _Step("call", "minus", 1)]
        if text == "(":
            steps = self.formula(0)
            self.expect(")")
            return steps
        raise self.refused(f"a number, a name or '(' is needed, found {text or 'the end'!r}")

    def call(self, name: str) -> list[_Step]:
        if name not in FUNCTIONS:
            raise self.refused(f"there is no function {name!r}; the functions are {', '.join(FUNCTIONS)}")
        self.at += 1
        steps = self.formula(0)
        for _ in range(FUNCTIONS[name] - 1):
            self.expect(",")
            steps += self.formula(0)
        self.expect(")")
        return [*steps, _Step("call", name, FUNCTIONS[name])]


def _uses(program: tuple[_Step, ...]) -> set[str]:
    return {step.value for step in program if step.kind == "name"}


def _in_order(definitions: dict[str, tuple[_Step, ...]], parser: _Parser) -> list[str]:
    """Return the defined names so that each comes after those it uses."""
    done: list[str] = []
    waiting = dict(definitions)
    while waiting:
        ready = [name for name, program in waiting.items() if not _uses(program) & waiting.keys()]
        if not ready:
            raise parser.refused(f"the definitions of {', '.join(sorted(waiting))} use each other")
        done += ready
        for name in ready:
            del waiting[name]
    return done


@lru_cache(maxsize=256)
def parse_expression(text: str) -> Expression:
    """Parse an expression.

    Raises:
        SchemaError: It is not in the syntax (``reject-ff-expression``).
    """
    parser = _Parser(text)
    program, definitions = parser.whole()
    order = _in_order(definitions, parser)
    used = _uses(program).union(*(_uses(steps) for steps in definitions.values()))
    return Expression(
        text, frozenset(used - definitions.keys()), tuple((name, definitions[name]) for name in order), program
    )
