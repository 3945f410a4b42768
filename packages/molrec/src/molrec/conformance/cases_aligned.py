"""Cases of aligned blocks (``docs/spec/trajectory.md``, aligned blocks)."""

from __future__ import annotations

from molrec.conformance import looks, tamper
from molrec.conformance.case import Case, Example
from molrec.conformance.content import Block, BlockDeclaration, ColumnDeclaration, Frame, Run, Schema
from molrec.conformance.making import aligned, block, declared, f64, frame, run, strings

__all__ = ["CASES"]


def _both(atoms: int | None, types: str | None, shift: float = 0.0) -> Frame:
    """Return a frame of some atoms and types; None leaves a block out, one letter of `types` is one row."""
    blocks: dict[str, Block] = {}
    if atoms is not None:
        blocks["atoms"] = block({"x": f64(*(shift + row for row in range(atoms)))})
    if types is not None:
        blocks["types"] = block({"type": strings(*types)})
    return frame(blocks)


_SCHEMA = aligned(declared([_both(1, "a")]), "types", "atoms")


def _run(*frames: Frame, schema: Schema = _SCHEMA, continued_at: int | None = None) -> Run:
    return run(frames, schema, continued_at=continued_at)


_GROWN = _run(_both(3, "abc"), _both(4, "abcd", 0.5))


def _stored(name: str, content: Run, *edits: tamper.Edit) -> Example:
    return Example(name, content, edits=edits, refused=True)


def _declaration(name: str, block_name: str, target: str) -> Example:
    pointer = f"/attributes/sequence_schema/blocks/{block_name}/aligned_with"
    return _stored(name, _GROWN, tamper.field("trajectory", pointer, target))


def _wrong(name: str, schema: Schema) -> Example:
    return Example(name, run([], schema), refused=True)


_PLAIN = declared([_both(1, "a")])
_THIRD = {**_PLAIN.blocks, "more": BlockDeclaration({"q": ColumnDeclaration("f64")})}
_SHARED = declared([frame({"atoms": block({"x": f64(1.0)}), "types": block({"x": f64(1.0)})})])

CASES: tuple[Case, ...] = (
    Case(
        "aligned-carries-forward",
        "trajectory.md#aligned-blocks",
        "an aligned block may stand as it was while its target moves",
        (
            Example(
                "",
                _run(_both(3, "abc"), _both(3, None, 1.0), _both(3, None, 2.0), _both(3, "abd", 3.0), continued_at=2),
                looks=(
                    looks.UpdatesAre(
                        "types",
                        (
                            0,
                            3,
                        ),
                    ),
                    looks.UpdatesAre(
                        "atoms",
                        (
                            0,
                            1,
                            2,
                            3,
                        ),
                    ),
                ),
            ),
        ),
    ),
    Case(
        "aligned-restated-on-growth",
        "trajectory.md#aligned-blocks",
        "a target that takes another row count brings its aligned block along",
        (Example("", _run(_both(3, "abc"), _both(3, None, 1.0), _both(4, "abcd"), _both(4, None, 2.0))),),
    ),
    Case(
        "aligned-absent-then-present",
        "trajectory.md#aligned-blocks",
        "an aligned block may come later than its target",
        (Example("", _run(_both(3, None), _both(3, "abc", 1.0), _both(3, None, 2.0))),),
    ),
    Case(
        "aligned-empty-target",
        "trajectory.md#aligned-blocks",
        "a target that empties has its aligned block restated empty",
        (Example("", _run(_both(2, "ab"), _both(2, None, 1.0), _both(0, ""), _both(1, "c"))),),
    ),
    Case(
        "reject-aligned-not-restated",
        "trajectory.md#aligned-blocks",
        "a target does not change its row count while the aligned block stands",
        (
            Example("grown", _run(_both(3, "abc"), _both(4, None)), refused=True),
            Example("emptied", _run(_both(3, "abc"), _both(0, None)), refused=True),
            _stored(
                "stored",
                _GROWN,
                tamper.array("trajectory/types/step_index", "u8", [0]),
                tamper.array("trajectory/types/offset", "u8", [0, 3]),
            ),
        ),
    ),
    Case(
        "reject-aligned-count-mismatch",
        "trajectory.md#aligned-blocks",
        "an aligned block has the row count of its target",
        (
            Example("", _run(_both(3, "ab")), refused=True),
            Example("target carried", _run(_both(3, "abc"), _both(None, "ab")), refused=True),
            _stored("stored", _GROWN, tamper.array("trajectory/types/offset", "u8", [0, 3, 6])),
        ),
    ),
    Case(
        "reject-aligned-target-undeclared",
        "trajectory.md#alignment-declared",
        "a block is aligned with one that is declared",
        (
            _wrong("", aligned(_PLAIN, "types", "nothing")),
            _declaration("stored", "types", "nothing"),
        ),
    ),
    Case(
        "reject-aligned-chain",
        "trajectory.md#alignment-declared",
        "an alignment names another block and does not chain",
        (
            _wrong("itself", aligned(_PLAIN, "types", "types")),
            _wrong("chain", aligned(aligned(Schema(_THIRD, {}), "types", "atoms"), "more", "types")),
            _wrong("circle", aligned(aligned(_PLAIN, "types", "atoms"), "atoms", "types")),
            _declaration("stored itself", "types", "types"),
            _declaration("stored circle", "atoms", "types"),
        ),
    ),
    Case(
        "reject-aligned-shared-column",
        "trajectory.md#alignment-declared",
        "aligned blocks have no column name in common",
        (_wrong("", aligned(_SHARED, "types", "atoms")),),
    ),
    Case(
        "reject-aligned-shape",
        "trajectory.md#alignment-declared",
        "an aligned block is no grid",
        (
            _wrong(
                "",
                aligned(
                    declared(
                        [
                            frame(
                                {"atoms": block({"x": f64(1.0, 2.0)}), "types": block({"q": f64(1.0, 2.0)}, shape=(2,))}
                            )
                        ]
                    ),
                    "types",
                    "atoms",
                ),
            ),
        ),
    ),
    Case(
        "reject-aligned-target-absent",
        "trajectory.md#aligned-blocks",
        "an aligned block is never there where its target is absent",
        (
            Example("", _run(_both(None, "abc")), refused=True),
            _stored(
                "stored",
                _run(_both(3, None), _both(3, "abc", 1.0), _both(4, "abcd")),
                tamper.array("trajectory/atoms/step_index", "u8", [1, 2]),
                tamper.array("trajectory/atoms/offset", "u8", [0, 3, 7]),
                tamper.array("trajectory/types/step_index", "u8", [0, 2]),
            ),
        ),
    ),
)
