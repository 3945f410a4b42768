"""What ``molrec info`` prints of a collection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from molrec.cli.console import human_bytes, print_json, print_tree, progress_bar

if TYPE_CHECKING:
    from rich.tree import Tree

__all__ = ["print_collection"]

_LONGEST_VALUE = 60


def print_collection(path: str, *, as_json: bool) -> None:
    """Print the facts about a collection, as a tree or as JSON."""
    from molrec.datasets.inspection import inspect_collection

    with progress_bar("reading records") as update:
        facts = inspect_collection(path, lambda done, total: update("reading records", done, total))
    if as_json:
        print_json(facts)
    else:
        print_tree(_tree(facts))


def _tree(facts: Mapping[str, Any]) -> Tree:
    from rich.markup import escape
    from rich.tree import Tree

    form = "collection" if facts["form"] == "collection" else f"collection of {len(facts['files'])} shards"
    tree = Tree(f"[bold]{escape(facts['path'])}[/]  [dim]{form}, {human_bytes(facts['bytes'])}[/]")
    line = f"{facts['records']:,} records, {facts['frames']:,} frames, {facts['atoms']:,} atoms"
    tree.add(line + (f", {facts['bytes_per_atom']:.1f} bytes per atom" if facts["atoms"] else ""))
    tree.add("[bold cyan]units[/]  " + escape(", ".join(f"{name} {unit}" for name, unit in facts["units"].items())))
    meta = {key: value for key, value in facts["meta"].items() if key != "units"}
    if meta:
        branch = tree.add("[bold cyan]meta[/]")
        for key, value in meta.items():
            branch.add(f"{escape(key)} = {_value(value)}")
    if facts["system"] is not None:
        branch = tree.add("[bold cyan]system[/]  [dim]of the first record[/]")
        for name, block in facts["system"]["blocks"].items():
            node = branch.add(f"[bold]{escape(name)}[/]  {block['rows']:,} rows")
            for column, entry in block["columns"].items():
                node.add(f"{escape(column)} {entry['dtype']}")
    _add_frames(tree, facts)
    branch = tree.add("[bold cyan]index[/]")
    for name, column in facts["index"].items():
        distinct = f"  {column['distinct']:,} distinct" if "distinct" in column else ""
        nulls = f", {column['nulls']:,} null" if column["nulls"] else ""
        branch.add(f"{escape(name)} {column['dtype']}{distinct}{nulls}")
    if facts["record_meta"]:
        branch = tree.add("[bold cyan]record meta[/]")
        for key, count in facts["record_meta"].items():
            branch.add(f"{escape(key)}  in {_of(count, facts['records'], 'records')}")
    if facts["forcefield"] is not None:
        branch = tree.add(f"[bold cyan]force field[/]  {escape(str(facts['forcefield']['name']))}")
        for name, rows in facts["forcefield"]["tables"].items():
            branch.add(f"{escape(name)}  {rows:,} rows")
    return tree


def _add_frames(tree: Tree, facts: Mapping[str, Any]) -> None:
    from rich.markup import escape

    if facts["blocks"]:
        branch = tree.add("[bold cyan]frames[/]  [dim]as declared[/]")
        for name, block in facts["blocks"].items():
            aligned = f"  aligned with {escape(block['aligned_with'])}" if block["aligned_with"] else ""
            node = branch.add(f"[bold]{escape(name)}[/]{aligned}")
            for column, entry in block["columns"].items():
                node.add(_column(column, entry, block["targets"].get(column)))
    if facts["per_step"]:
        branch = tree.add("[bold cyan]per step[/]")
        for key, entry in facts["per_step"].items():
            between = f"  {_short(entry['least'])} to {_short(entry['most'])}" if "least" in entry else ""
            missing = f", in {_of(entry['present'], facts['frames'], 'frames')}" if entry["absent"] else ""
            branch.add(f"{escape(key)} {entry['tag']}{between}{missing}")


def _column(name: str, entry: Mapping[str, Any], target: str | None) -> str:
    from rich.markup import escape

    trailing = f"\\[{', '.join(map(str, entry['trailing']))}]" if entry["trailing"] else ""
    details = [] if entry["precision"] is None else [f"precision {entry['precision']:g}"]
    if entry["nullable"]:
        details.append(f"null in {entry['null_rows']:,} rows")
    if target is not None:
        details.append(f"rows of {escape(target)}")
    return f"{escape(name)} {entry['dtype']}{trailing}" + (f"  [dim]{', '.join(details)}[/]" if details else "")


def _of(count: int, total: int, what: str) -> str:
    return f"all {what}" if count == total else f"{count:,} of {total:,} {what}"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _value(value: Any) -> str:
    from rich.markup import escape

    from molrec.typedjson import dump_json

    text = dump_json(value)
    return escape(text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}...")
