"""Which texts may be handed to a parser of units: names, products, quotients and small powers, and nothing else.

A parser of units evaluates what it is given. A tower of powers of a few characters would keep it busy for ever, so such
a text is told apart before it gets there.
"""

from __future__ import annotations

import re

__all__ = ["is_plain_unit"]

_LONGEST = 200
_LARGEST_POWER = 64
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*|[°µμ%Å])|(?P<power>\*\*|\^)"
    r"|(?P<sign>[*/+\-]|\()|(?P<close>\)))"
)


def is_plain_unit(text: str) -> bool:
    """Tell whether a text is built like a unit, such as ``kcal/mol/angstrom**2`` or ``1/ps``.

    Numbers are factors or powers; no power is above 64, none is raised again, and no number is raised to one.
    """
    if len(text) > _LONGEST:
        return False
    kinds: list[str] = []
    place = 0
    end = len(text.rstrip())
    has_factor = raises_parenthesis = False
    while place < end:
        token = _TOKEN.match(text, place)
        if token is None:
            return False
        kind = str(token.lastgroup)
        before = _before(kinds)
        if kind == "power":
            if kinds and (kinds[-1] == "number" or kinds[-1] == "power"):
                return False
            raises_parenthesis |= bool(kinds) and kinds[-1] == "close"
        elif kind == "number":
            if before == "power":
                if abs(float(token["number"])) > _LARGEST_POWER:
                    return False
            else:
                has_factor = True
        kinds.append(f"sign{token['sign']}" if kind == "sign" else kind)
        place = token.end()
    return not (has_factor and raises_parenthesis)


def _before(kinds: list[str]) -> str:
    """Return what stands before the signs and parentheses at the end."""
    for kind in reversed(kinds):
        if kind not in ("sign+", "sign-", "sign("):
            return kind
    return ""
