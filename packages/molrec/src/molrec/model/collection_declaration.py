"""The one declaration of a collection, as it grows record by record (``docs/spec/collection.md``, one declaration).

Blocks may be added and columns may get nulls; what has been declared otherwise stays. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from molrec import typedjson
from molrec.errors import SchemaError
from molrec.model.block import Block
from molrec.model.frame import Frame
from molrec.model.schema import BlockSchema, MetaSchema, SequenceSchema

__all__ = ["extend_by_declaration", "extend_by_frame", "united_declaration"]

_DIFFERS = "reject-schema-differs"


def extend_by_frame(schema: SequenceSchema, frame: Frame, *, first: bool) -> SequenceSchema:
    """Return a growing declaration that also declares what a frame presents; `schema` itself where it does already.

    Blocks may be added, and nulls to a column; everything that is declared stays as it is. The per-step keys are those
    of the first frame of all.

    Args:
        schema: The declaration so far; never changed.
        frame: A frame of a record that brings no declaration of its own.
        first: Whether no frame has been declared yet.

    Raises:
        SchemaError: The frame disagrees with an earlier record (``reject-schema-differs``), or cannot be declared.
    """
    grown = schema
    for name, block in frame.items():
        declared = schema.blocks.get(name)
        if declared is not None and not _needs(declared, block):
            continue
        if grown is schema:
            grown = schema.copy()
        own = SequenceSchema().include_block(name, block)
        if declared is None:
            grown.blocks[name] = own.blocks[name]
            grown.blocks[name].rows = None
        else:
            _merge_block(name, grown.blocks[name], own.blocks[name], stated=False)
    if first and frame.meta:
        grown = schema.copy() if grown is schema else grown
        for key, tag in frame.meta.tags.items():
            grown.declare_meta(key, tag)
    elif grown.meta.keys() != frame.meta.keys() or any(
        frame.meta.tag(key) != declared.tag for key, declared in grown.meta.items()
    ):
        raise SchemaError(
            f"per-step meta is {_listed(frame.meta.tags)} here and {_listed(_tags(grown))} in earlier records; every "
            "frame of a collection has the same keys",
            _DIFFERS,
        )
    return grown


def _needs(declared: BlockSchema, block: Block) -> bool:
    """Tell whether a block says anything its declaration does not say yet."""
    if block.keys() != declared.columns.keys():
        return True
    if block._validity and any(not declared.columns[name].nullable for name in block._validity):
        return True
    for name, pinned in declared.columns.items():
        if block.dtype(name) != pinned.dtype or block[name].shape[1:] != pinned.trailing:
            return True
    stated = block._precision
    return (
        any(declared.columns[name].precision != precision for name, precision in stated.items())
        or (bool(block._targets) and block._targets != declared.targets)
        or block.structural_shape not in (None, declared.structural_shape)
    )


def extend_by_declaration(schema: SequenceSchema, own: SequenceSchema, *, first: bool, pinned: bool) -> SequenceSchema:
    """Return a declaration that covers that of another record's run as well.

    Args:
        schema: The declaration of the collection so far; never changed.
        own: The declaration the record brings.
        first: Whether nothing has been declared yet: the per-step keys are then the record's.
        pinned: Whether the collection's declaration was given and takes no further block.

    Raises:
        SchemaError: The two disagree (``reject-schema-differs``).
    """
    if not first and own == schema:
        return schema
    grown = schema.copy()
    for name, block in own.blocks.items():
        if name in grown.blocks:
            nullable = {column: entry.nullable for column, entry in grown.blocks[name].columns.items()}
            _merge_block(name, grown.blocks[name], block, stated=True)
            widened = [c for c, entry in grown.blocks[name].columns.items() if entry.nullable != nullable.get(c)]
            if pinned and widened:
                raise SchemaError(
                    f"block {name!r}, column {widened[0]!r}: the record declares nulls, the collection none", _DIFFERS
                )
        elif pinned:
            raise SchemaError(
                f"the record declares block {name!r}, the collection {', '.join(grown.blocks) or 'no block'}", _DIFFERS
            )
        else:
            grown.blocks[name] = own.copy().blocks[name]
            grown.blocks[name].rows = None
    mine, theirs = _meta_texts(schema), _meta_texts(own)
    if first and not pinned:
        grown.meta = own.copy().meta
    elif mine != theirs:
        raise SchemaError(
            f"the record declares the per-step meta {_listed(_tags(own))}, the collection {_listed(_tags(schema))}; "
            "every record has the same keys, tags and fills",
            _DIFFERS,
        )
    return schema if pinned else grown


def united_declaration(schema: SequenceSchema, own: SequenceSchema) -> SequenceSchema:
    """Return what two parts of one collection declare together, `schema` itself where it says everything.

    The two are one declaration but for nulls, which a column may have in either; the order of blocks, columns and keys
    is that of `schema`.

    Raises:
        SchemaError: They differ in anything else (``reject-schema-differs``).
    """
    if typedjson.dump_json(own.to_document()) == typedjson.dump_json(schema.to_document()):
        return schema
    for name in {**schema.blocks, **own.blocks}:
        if name not in own.blocks or name not in schema.blocks:
            side = "earlier records" if name in schema.blocks else "these records"
            raise SchemaError(f"block {name!r} is declared by {side} alone", _DIFFERS)
    united = schema.copy()
    for name, block in own.blocks.items():
        _merge_block(name, united.blocks[name], block, stated=True)
    if _meta_texts(schema) != _meta_texts(own):
        raise SchemaError(
            f"per-step meta is declared {_listed_in_full(own)} here and {_listed_in_full(schema)} in earlier records",
            _DIFFERS,
        )
    mine, theirs = (_without_nulls(declaration) for declaration in (own, schema))
    if mine != theirs:
        raise SchemaError(f"unknown keys differ: {mine} here and {theirs} in earlier records", _DIFFERS)
    return united


def _without_nulls(schema: SequenceSchema) -> dict[str, Any]:
    plain = schema.copy()
    for block in plain.blocks.values():
        for column in block.columns.values():
            column.nullable = False
    return plain.to_document()


def _listed_in_full(schema: SequenceSchema) -> str:
    return ", ".join(f"{key} {text}" for key, text in _meta_texts(schema).items()) or "none"


def _merge_block(name: str, into: BlockSchema, own: BlockSchema, *, stated: bool) -> None:
    """Let a declared block have another record's nulls, after checking that the two agree in everything else.

    Args:
        name: Block name.
        into: The declaration so far, which is changed.
        own: What the other record says.
        stated: Whether it is a declaration; a frame alone leaves unsaid what the schema says already.
    """
    where = f"block {name!r}"
    if into.columns.keys() != own.columns.keys():
        raise SchemaError(
            f"{where} has the columns {', '.join(own.columns) or '(none)'} here and "
            f"{', '.join(into.columns) or '(none)'} in earlier records; a collection has one declaration",
            _DIFFERS,
        )
    for column, mine in own.columns.items():
        theirs = into.columns[column]
        found, declared = (mine.dtype, mine.trailing), (theirs.dtype, theirs.trailing)
        if found != declared:
            raise SchemaError(
                f"{where}, column {column!r} is {found[0]} with row shape {list(found[1])} here and {declared[0]} with "
                f"{list(declared[1])} in earlier records",
                _DIFFERS,
            )
        if mine.precision != theirs.precision and (stated or mine.precision is not None):
            raise SchemaError(
                f"{where}, column {column!r} has precision {mine.precision!r} here and {theirs.precision!r} in earlier "
                "records",
                _DIFFERS,
            )
        theirs.nullable = theirs.nullable or mine.nullable
    for what, here, before in (
        ("targets", own.targets, into.targets),
        ("structural_shape", own.structural_shape, into.structural_shape),
        ("aligned_with", own.aligned_with, into.aligned_with),
    ):
        if here != before and (stated or here):
            raise SchemaError(f"{where} has {what} {here!r} here and {before!r} in earlier records", _DIFFERS)


def _meta_texts(schema: SequenceSchema) -> dict[str, str]:
    # As text, so that 0.0 and -0.0 differ.
    return {key: typedjson.dump_json(_plain(declared)) for key, declared in schema.meta.items()}


def _plain(declared: MetaSchema) -> dict[str, Any]:
    return {key: value for key, value in declared.to_document().items() if key in ("dtype", "fill")}


def _tags(schema: SequenceSchema) -> dict[str, str]:
    return {key: declared.tag for key, declared in schema.meta.items()}


def _listed(tags: Mapping[str, str]) -> str:
    return ", ".join(f"{key} ({tag})" for key, tag in tags.items()) or "none"
