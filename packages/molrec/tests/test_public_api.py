"""The names the package promises, and that importing it stays quiet and quick."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import molrec as mr
from molrec import errors

#: The promise. A name that is added or goes away is a decision, made here first.
FROZEN = [
    "CANONICAL_COLUMNS",
    "Block",
    "Box",
    "CollectionWriter",
    "Finding",
    "ForceField",
    "ForceFieldSection",
    "FormatError",
    "Frame",
    "Meta",
    "MetricsWriter",
    "MolrecError",
    "Observable",
    "Record",
    "SchemaError",
    "SequenceSchema",
    "TrajectoryReader",
    "TrajectoryWriter",
    "coarse_grain",
    "on_grid",
    "open",
    "open_collection",
    "pack",
    "parse_style_block_name",
    "style_block_name",
    "quantize",
    "quantum",
    "repair",
    "unpack",
    "validate",
    "write",
]

#: Each takes a noticeable time to import or is optional; a user who needs none should wait for none.
HEAVY = ["ase", "lmdb", "matplotlib", "molrs", "numcodecs", "obstore", "pint", "pydantic", "rich", "typer", "zarr"]


def modules_after(program: str) -> set[str]:
    """Return the top-level modules a fresh interpreter has loaded after a program."""
    report = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    code = f"{textwrap.dedent(program)}\n{report}"
    found = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert not found.stderr
    *said, listing = found.stdout.splitlines()
    assert not said
    return set(json.loads(listing))


def test_the_public_names_are_the_frozen_ones() -> None:
    assert sorted(mr.__all__) == sorted(FROZEN)
    assert len(set(mr.__all__)) == len(mr.__all__)
    assert set(mr._PUBLIC) == set(FROZEN)


@pytest.mark.parametrize("name", FROZEN)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    found = getattr(mr, name)
    module, attribute = mr._PUBLIC[name]
    assert found is getattr(sys.modules[module], attribute)
    assert name in dir(mr)
    if name != "CANONICAL_COLUMNS":
        assert found.__doc__


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_like_it"):
        mr.nothing_like_it  # noqa: B018
    assert mr.__version__


def test_a_star_import_brings_the_public_names() -> None:
    namespace: dict[str, Any] = {}
    exec("from molrec import *", namespace)
    assert set(FROZEN) <= set(namespace)


def test_importing_loads_nothing_heavy() -> None:
    loaded = modules_after("import molrec")
    assert "molrec" in loaded
    assert not loaded & {*HEAVY, "numpy"}


def test_making_a_frame_loads_nothing_heavy() -> None:
    program = """
        import molrec as mr
        block = mr.Block({"x": [0.1, 0.2]})
        block.set_precision("x", 1e-3)
        frame = mr.Frame({"atoms": block}, meta={"pe": 1.0}, box=mr.Box([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]))
        mr.SequenceSchema.from_frames([frame])
    """
    assert not modules_after(program) & set(HEAVY)


def test_importing_changes_nothing_in_the_process() -> None:
    program = """
        import logging, os, signal, sys, warnings
        import numpy
        before = (
            dict(os.environ), list(warnings.filters), list(logging.getLogger().handlers), os.getcwd(),
            {number: signal.getsignal(number) for number in signal.valid_signals()}, sys.getrecursionlimit(),
            numpy.geterr(), numpy.get_printoptions(),
        )
        import molrec
        for name in molrec.__all__:
            getattr(molrec, name)
        after = (
            dict(os.environ), list(warnings.filters), list(logging.getLogger().handlers), os.getcwd(),
            {number: signal.getsignal(number) for number in signal.valid_signals()}, sys.getrecursionlimit(),
            numpy.geterr(), numpy.get_printoptions(),
        )
        assert before == after
    """
    modules_after(program)


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [mr.MolrecError, mr.FormatError, mr.SchemaError])
def test_an_error_keeps_message_and_rule_through_pickling(kind: type[mr.MolrecError]) -> None:
    error = kind("trajectory/atoms, frame 3: what was found", "reject-undeclared")
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is kind
    assert twin.rule == "reject-undeclared"
    assert twin.message == "trajectory/atoms, frame 3: what was found"
    assert str(twin) == str(error) == "trajectory/atoms, frame 3: what was found [reject-undeclared]"


def test_every_error_class_is_a_value_error_with_a_rule() -> None:
    kinds = [getattr(errors, name) for name in errors.__all__]
    assert set(kinds) == {mr.MolrecError, mr.FormatError, mr.SchemaError}
    assert all(issubclass(kind, mr.MolrecError) and issubclass(kind, ValueError) for kind in kinds)
    assert not issubclass(mr.FormatError, mr.SchemaError)
    assert not issubclass(mr.SchemaError, mr.FormatError)


def test_an_error_raised_in_earnest_survives_pickling() -> None:
    with pytest.raises(mr.SchemaError) as caught:
        mr.Frame({"box": mr.Block()})
    twin = pickle.loads(pickle.dumps(caught.value))
    assert (twin.rule, twin.message) == (caught.value.rule, caught.value.message)
