"""``molrec info``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from molrec.cli.console import errors_in_one_line, human_bytes, print_json, print_tree
from molrec.cli.info_collection import print_collection

if TYPE_CHECKING:
    from rich.tree import Tree

__all__ = ["info"]

_LONGEST_VALUE = 60
#: Codecs that say nothing about one column: every array has them.
_EVERYWHERE = ("bytes", "vlen-utf8", "crc32c")


@errors_in_one_line
def info(
    path: Annotated[str, typer.Argument(help="Record: folder, packed, or URL; or a collection, or its shards.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show what a record holds: sections, blocks, columns, sizes, cell, steps, meta; or what a collection holds."""
    from molrec.datasets.files import is_collection

    if is_collection(path):
        print_collection(path, as_json=as_json)
        return
    from molrec.inspection import inspect_record

    facts = inspect_record(path)
    if as_json:
        print_json(facts)
    else:
        print_tree(_tree(facts))


def _tree(facts: Mapping[str, Any]) -> Tree:
    from rich.markup import escape
    from rich.tree import Tree

    tree = Tree(f"[bold]{escape(facts['path'])}[/]  [dim]{facts['form']}, {_size(facts['bytes'])}[/]")
    for name, section in facts["sections"].items():
        unknown = ", unknown" if name in facts["unknown"] else ""
        branch = tree.add(f"[bold cyan]{escape(name)}[/]  [dim]{_size(section['bytes'])}{unknown}[/]")
        if name in ("meta", "method", "status"):
            for key, value in facts[name].items():
                branch.add(f"{escape(key)} = {_value(value)}")
        elif name in ("system", "frame"):
            _add_frame(branch, facts[name])
        elif name == "trajectory":
            _add_trajectory(branch, facts["trajectory"])
        elif name == "observables":
            _add_observables(branch, facts["observables"])
        elif name == "metrics":
            _add_metrics(branch, facts["metrics"])
    return tree


def _add_frame(branch: Tree, facts: Mapping[str, Any]) -> None:
    from rich.markup import escape

    for name, block in facts["blocks"].items():
        _add_columns(branch.add(f"[bold]{escape(name)}[/]  {block['rows']:,} rows"), block)
    for key, entry in facts["meta"].items():
        branch.add(f"{escape(key)} [dim]{entry['tag']}[/] = {_value(entry['value'])}")
    if facts["cell"] is not None:
        branch.add(_cell(facts["cell"]))


def _add_trajectory(branch: Tree, facts: Mapping[str, Any]) -> None:
    from rich.markup import escape

    branch.add(f"{facts['frames']:,} frames, steps {_span(facts['steps'])}")
    if facts["times"] is not None:
        branch.add(f"times {_span(facts['times'])}")
    if facts.get("bytes_per_atom_frame") is not None:
        positions = facts.get("position_bytes_per_atom_frame")
        line = f"{facts['bytes_per_atom_frame']:.2f} bytes per atom and frame"
        line += f", positions {positions:.2f}" if positions is not None else ""
        line += f"; columns compressed {facts['compression']:.2f} times" if facts["compression"] else ""
        branch.add(line)
    if facts["cell"] is not None:
        changes = f", {facts['cells']:,} different ones" if facts["cells"] > 1 else ""
        branch.add(f"{_cell(facts['cell'])}{changes}")
    for name, block in facts["blocks"].items():
        least, most = block["rows"]["least"], block["rows"]["most"]
        rows = f"{most:,} rows" if least == most else f"{least:,} to {most:,} rows"
        aligned = f", aligned with {escape(block['aligned_with'])}" if block["aligned_with"] else ""
        node = branch.add(
            f"[bold]{escape(name)}[/]  {rows}, {block['updates']:,} updates{aligned}  [dim]{_size(block['bytes'])}[/]"
        )
        _add_columns(node, block)
    if facts["meta"]:
        node = branch.add("[bold]meta[/]  per step")
        for key, entry in facts["meta"].items():
            between = f"  {entry['least']:.6g} to {entry['most']:.6g}" if _numeric(entry) else ""
            missing = f", none in {entry['missing']:,} frames" if "missing" in entry else ""
            node.add(f"{escape(key)} [dim]{entry['tag']}[/]{between}{missing}")


def _add_observables(branch: Tree, facts: Mapping[str, Any]) -> None:
    from rich.markup import escape

    for name, stated in facts.items():
        shape = "frame" if stated["shape"] is None else f"{stated['dtype']} {stated['shape']}"
        unit = f" ({stated['unit']})" if stated.get("unit") is not None else ""
        over = ", over time" if stated["time_dependent"] else ""
        line = f"[bold]{escape(name)}[/]  {escape(f'{stated["kind"]}, {shape}{unit}{over}')}"
        branch.add(f"{line}  [dim]{escape(stated['description'])}[/]")


def _add_metrics(branch: Tree, facts: Mapping[str, Any]) -> None:
    from rich.markup import escape

    for key, series in facts["series"].items():
        steps = f", steps {series['steps']['least']} to {series['steps']['most']}" if "steps" in series else ""
        between = f"  {series['least']:.6g} to {series['most']:.6g}" if _numeric(series) else ""
        branch.add(f"[bold]{escape(key)}[/]  {series['count']:,} entries{steps}{between}")
    if not facts["closed"]:
        branch.add("[dim]not closed: series are those of the log[/]")


def _add_columns(branch: Tree, block: Mapping[str, Any]) -> None:
    from rich.markup import escape

    for name, column in block["columns"].items():
        trailing = f"\\[{', '.join(map(str, column['trailing']))}]" if column["trailing"] else ""
        details = [_size(column["bytes"])]
        if column["precision"] is not None:
            details.append(f"precision {column['precision']:g}")
        if column["nullable"]:
            details.append("nullable")
        if column["bytes"] and column["raw_bytes"] and "codecs" in column:
            details.append(f"{column['raw_bytes'] / column['bytes']:.2f} times")
        details += [codec for codec in column.get("codecs") or () if codec not in _EVERYWHERE]
        branch.add(f"{escape(name)} {column['dtype']}{trailing}  [dim]{', '.join(details)}[/]")


def _numeric(entry: Mapping[str, Any]) -> bool:
    return all(isinstance(entry.get(bound), (int, float)) for bound in ("least", "most"))


def _cell(cell: Mapping[str, Any]) -> str:
    if not cell["defined"]:
        return "no cell"
    lengths = " ".join(f"{length:.6g}" for length in cell["lengths"])
    angles = " ".join(f"{angle:.6g}" for angle in cell["angles"])
    periodic = "".join(axis for axis, flag in zip("abc", cell["boundary"], strict=True) if flag)
    return f"cell {lengths}, angles {angles}, periodic along {periodic or 'nothing'}"


def _span(span: Mapping[str, Any] | None) -> str:
    if span is None:
        return "(none)"
    first, last, stride = (_short(span[key]) for key in ("first", "last", "stride"))
    return f"{first} to {last}" + (f" by {stride}" if span["stride"] is not None else ", unevenly")


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _value(value: Any) -> str:
    from rich.markup import escape

    from molrec.typedjson import dump_json

    text = dump_json(value)
    return escape(text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}...")


def _size(size: int | None) -> str:
    return "size unknown" if size is None else human_bytes(size)
