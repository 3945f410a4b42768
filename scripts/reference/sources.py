"""Public names and what the sources say of them, found without importing anything.

A name is followed from the module that offers it (a definition, an import, or the table ``_PUBLIC`` of a package that
loads lazily) to the module that defines it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

__all__ = ["Documented", "documented", "module_doc", "public_names"]

_ROOT = Path(__file__).resolve().parents[2]
_SOURCES = (_ROOT / "packages" / "molrec" / "src", _ROOT / "packages" / "mace-core" / "src")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Documented:
    """One public thing.

    Attributes:
        name: The name it is offered under; ``Class.method`` for a member.
        kind: ``class``, ``function``, ``property`` or ``constant``.
        signature: Its signature as source text, or the value of a constant.
        doc: Its docstring, "" where it has none.
        module: The module that defines it.
        parameters: Names of the parameters of a function, or of those that make an instance.
        members: Public methods, properties and documented operators of a class.
    """

    name: str
    kind: str
    signature: str
    doc: str
    module: str
    parameters: tuple[str, ...] = ()
    members: tuple[Documented, ...] = field(default=())


def public_names(module: str) -> list[str]:
    """Return ``__all__`` of a module, in its order."""
    for target, value in _assignments(_tree(module)):
        if target == "__all__":
            return list(ast.literal_eval(value))
    raise LookupError(f"{module} has no __all__")


def module_doc(module: str) -> str:
    """Return the docstring of a module."""
    return ast.get_docstring(_tree(module)) or ""


def documented(module: str, name: str, shown: str | None = None) -> Documented:
    """Return what is said of a name a module offers.

    Args:
        module: The module that offers it.
        name: The name in that module.
        shown: The name it is listed under, where that is another.
    """
    home, inner = _home(module, name)
    tree = _tree(home)
    label = shown or name
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == inner:
            return _class(node, label, home)
        if isinstance(node, _FUNCTIONS) and node.name == inner and not _is_overload(node):
            return _function(node, label, home)
    for number, node in enumerate(tree.body):
        if isinstance(node, ast.TypeAlias) and node.name.id == inner:
            return Documented(label, "constant", source(node), _comment(home, node), home)
        if inner in (target for target, _ in _assignments(ast.Module([node], []))):
            after = tree.body[number + 1] if number + 1 < len(tree.body) else None
            # A constant that is a sentence says itself what it is.
            doc = _string(after) or _comment(home, node) or _string(ast.Expr(getattr(node, "value", ast.Constant(0))))
            return Documented(label, "constant", source(node), doc, home)
    raise LookupError(f"{module} offers {name}, which {home} does not define")


def source(node: ast.AST) -> str:
    """Return source text in the quotes of this code base."""
    return re.sub(r"'([^'\"\\\\]*)'", r'"\1"', ast.unparse(node))


# -- finding -----------------------------------------------------------------------------------------------------------


def _path(module: str) -> Path:
    inside = Path(*module.split("."))
    for folder in _SOURCES:
        for path in (folder / inside / "__init__.py", folder / inside.with_suffix(".py")):
            if path.is_file():
                return path
    raise LookupError(f"no module {module}")


@cache
def _text(module: str) -> str:
    return _path(module).read_text(encoding="utf-8")


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_text(module))


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value


def _home(module: str, name: str) -> tuple[str, str]:
    """Return the module that defines a name, and its name there."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _home(node.module, alias.name)
    return module, name


# -- reading definitions -----------------------------------------------------------------------------------------------


def _class(node: ast.ClassDef, label: str, home: str) -> Documented:
    methods = [item for item in node.body if isinstance(item, _FUNCTIONS) and not _is_overload(item)]
    init = next((item for item in methods if item.name == "__init__"), None)
    if init is not None:
        made, parameters = _arguments(init), _parameters(init)
    else:
        fields = [item for item in node.body if isinstance(item, ast.AnnAssign) and _is_dataclass(node)]
        shown = [item for item in fields if not source(item).startswith("_") and "ClassVar" not in source(item)]
        made = _listed([source(item) for item in shown]) if shown else ""
        parameters = tuple(source(item.target) for item in shown)
    members = [_function(item, f"{label}.{item.name}", home) for item in methods if _is_member(item)]
    bases = f"({', '.join(map(source, node.bases))})" if node.bases and not made else ""
    signature = f"class {label}{bases}{made}"
    return Documented(label, "class", signature, ast.get_docstring(node) or "", home, parameters, tuple(members))


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, label: str, home: str) -> Documented:
    decorators = {source(item).split("(")[0].rpartition(".")[2] for item in node.decorator_list}
    result = f" -> {source(node.returns)}" if node.returns is not None else ""
    is_property = bool(decorators & {"property", "cached_property"})
    short = label.rpartition(".")[2]
    signature = f"{short}{result.replace(' -> ', ': ')}" if is_property else f"{short}{_arguments(node)}{result}"
    for word in ("classmethod", "staticmethod"):
        signature = f"@{word}\n{signature}" if word in decorators else signature
    kind = "property" if is_property else "function"
    return Documented(label, kind, signature, ast.get_docstring(node) or "", home, _parameters(node))


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the parameters as source, without ``self``; one to a line where they are long."""
    arguments = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(arguments, _FUNCTIONS)
    given = arguments.args
    for group in (given.posonlyargs, given.args):
        if group and group[0].arg in {"self", "cls"}:
            del group[0]
    return _listed(_each(given))


def _listed(parts: list[str]) -> str:
    """Return what stands in parentheses, one to a line where it is long."""
    line = ", ".join(parts)
    return f"({line})" if len(line) <= 80 else "(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def _each(given: ast.arguments) -> list[str]:
    lines: list[str] = []
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(given.defaults)), *given.defaults]
    for number, (argument, default) in enumerate(zip(plain, defaults, strict=True), start=1):
        lines.append(_parameter(argument, default))
        if number == len(given.posonlyargs):
            lines.append("/")
    if given.vararg is not None:
        lines.append(f"*{source(given.vararg)}")
    elif given.kwonlyargs:
        lines.append("*")
    lines += [_parameter(*pair) for pair in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg is not None:
        lines.append(f"**{source(given.kwarg)}")
    return lines


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    if default is None:
        return source(argument)
    return f"{source(argument)}{' = ' if argument.annotation else '='}{source(default)}"


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    given = node.args
    rest = [item for item in (given.vararg, given.kwarg) if item is not None]
    return tuple(item.arg for item in [*given.posonlyargs, *given.args, *given.kwonlyargs, *rest])


def _is_member(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method is shown: a public one, or an operator with something to say; setters go with their property."""
    if any(source(item).endswith((".setter", ".deleter")) for item in node.decorator_list):
        return False
    operator = node.name.startswith("__") and node.name != "__init__" and ast.get_docstring(node) is not None
    return operator or not node.name.startswith("_")


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(source(item).endswith("overload") for item in node.decorator_list)


def _is_dataclass(node: ast.ClassDef) -> bool:
    named = any(source(base).endswith("NamedTuple") for base in node.bases)
    return named or any("dataclass" in source(item) for item in node.decorator_list)


def _string(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""


def _comment(module: str, node: ast.stmt) -> str:
    """Return the ``#:`` lines above a statement."""
    lines = _text(module).splitlines()
    found: list[str] = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.startswith("#:"):
            break
        found.insert(0, line.removeprefix("#:").strip())
    return "\n".join(found)
