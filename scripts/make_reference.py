"""Make the pages of docs/reference from the docstrings: ``python -m scripts.make_reference [FOLDER]``.

The pages are not kept in the repository; ``make docs`` makes them before the site. ``docs/reference/index.md`` is
written by hand.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from scripts.reference.rendering import Links, markdown, member_anchor, rendered
from scripts.reference.sources import Documented, documented, module_doc, public_names

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"


@dataclass(frozen=True, slots=True)
class Page:
    """One page.

    Attributes:
        name: File name.
        title: Heading.
        module: The module whose names it lists; its docstring introduces the page, but for `molrec` itself.
        names: Names of that module, all of them when empty.
        introduction: What stands below the heading, in Markdown, where it is not the module's docstring.
        further: Classes that functions of the page return and that are not offered by name: module and name.
    """

    name: str
    title: str
    module: str
    names: tuple[str, ...] = ()
    introduction: str = ""
    further: tuple[tuple[str, str], ...] = ()


PAGES = (
    Page(
        "frames.md",
        "Frames and declarations",
        "molrec",
        ("Block", "Box", "Frame", "Meta", "SequenceSchema", "coarse_grain", "quantum", "quantize", "on_grid",
         "CANONICAL_COLUMNS"),
        "What a record holds, in memory. [Frame](../spec/frame.md) and [Trajectory](../spec/trajectory.md) say what it"
        " means.",
        (("molrec.model.schema", "ColumnSchema"), ("molrec.model.schema", "BlockSchema"),
         ("molrec.model.schema", "MetaSchema")),
    ),
    Page(
        "records.md",
        "Records",
        "molrec",
        ("open", "write", "Record", "TrajectoryWriter", "TrajectoryReader", "Observable", "MetricsWriter", "pack",
         "unpack", "repair", "validate", "Finding"),
        "Writing, reading, packing and checking records: folders, packed files, and any Zarr store for reading.",
        (("molrec.storage.zarr.trajectory_reader", "TrajectoryView"), ("molrec.model.metrics", "MetricSeries")),
    ),
    Page(
        "collections.md",
        "Collections",
        "molrec",
        ("CollectionWriter", "open_collection"),
        "Many records in one LMDB file, or in shards read as one: a [collection](../spec/collection.md).",
        (("molrec.storage.lmdb.collection_reader", "Collection"),
         ("molrec.storage.lmdb.collection_reader", "CollectionRecord")),
    ),
    Page(
        "forcefield.md",
        "Force fields",
        "molrec",
        ("ForceField", "ForceFieldSection", "style_block_name", "parse_style_block_name"),
        "The section [`forcefield`](../spec/forcefield.md), as objects and as it is stored.",
        (("molrec.model.forcefield", "Style"), ("molrec.model.forcefield", "StyleRow")),
    ),
    Page(
        "errors.md",
        "Errors",
        "molrec",
        ("MolrecError", "FormatError", "SchemaError"),
        "Every error carries the id of the [rule](../spec/rules.md) it enforces.",
    ),
    Page("energies.md", "Linking and energies", "molrec.forcefield"),
    Page("collection-conversion.md", "Conversion to collections", "molrec.datasets.conversion"),
    Page("conformance.md", "Conformance suite", "molrec.conformance"),
    Page("interop-ase.md", "ASE", "molrec.interop.ase"),
    Page("interop-openmm.md", "OpenMM", "molrec.interop.openmm"),
    Page("interop-torch.md", "PyTorch", "molrec.interop.torch"),
    Page("interop-mace.md", "Configurations of collections", "molrec.interop.mace"),
    Page("interop-dask-shards.md", "Shards with Dask", "molrec.interop.dask_shards"),
    Page("mace-core-data.md", "mace_core.data", "mace_core.data"),
    Page("mace-core-units.md", "mace_core.units", "mace_core.units"),
)  # fmt: skip


def things(page: Page) -> list[Documented]:
    """Return what a page lists, in its order."""
    names = page.names or tuple(public_names(page.module))
    return [
        *(documented(page.module, name) for name in names),
        *(documented(module, name) for module, name in page.further),
    ]


def anchor(page: Page, thing: Documented) -> str:
    """Return the anchor of a thing: the name it is imported by."""
    offered = page.module if thing.name in (page.names or public_names(page.module)) else thing.module
    return f"{offered}.{thing.name}"


def text_of(page: Page, links: Links) -> str:
    """Return a page as Markdown."""
    parts = [f"# {page.title}", page.introduction or markdown(module_doc(page.module), "", links)]
    if page.module != "molrec":
        parts.insert(1, f"```python\nimport {page.module}\n```")
    parts += [rendered(thing, anchor(page, thing), links) for thing in things(page)]
    return "\n\n".join(parts) + "\n"


def places() -> dict[str, str]:
    """Return where each name and each member is explained: ``page.md#anchor``; the first page that has a name wins."""
    found: dict[str, str] = {}
    for page in PAGES:
        for thing in things(page):
            place = f"{page.name}#{anchor(page, thing)}"
            for name in (thing.name, f"{page.module}.{thing.name}", f"{thing.module}.{thing.name}"):
                found.setdefault(name, place)
            for member in thing.members:
                found.setdefault(member.name, member_anchor(place, member))
    return found


def make(folder: Path) -> None:
    """Write every page into a folder, in place of those that were made before."""
    for old in folder.glob("*.md"):
        if old.name != "index.md":
            old.unlink()
    where = places()
    for page in PAGES:
        (folder / page.name).write_text(text_of(page, Links(where, page.name)), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
