"""The ``forcefield`` section beside ``molcrafts-molrs`` 0.19: each shows the other's document and tables verbatim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr

from .interop import shared_fixtures
from .refusals import refused
from .test_forcefield_section import complete

molrs = pytest.importorskip("molrs")

_FIXTURES = [name for name in shared_fixtures.names() if name.startswith("forcefield")]


@pytest.mark.parametrize("name", _FIXTURES)
def test_a_section_of_molrs_is_shown_as_it_is_and_not_priced(name: str, tmp_path: Path) -> None:
    expected: dict[str, Any] = json.loads(shared_fixtures.document(name).read_text())["forcefield"]
    with mr.open(shared_fixtures.unpack(name, tmp_path)) as record:
        section, field = record.forcefield_section, record.forcefield
    assert section is not None
    assert field is not None
    assert section.document == expected["document"]
    assert section.tables.keys() == expected["tables"].keys()
    for block, stated in expected["tables"].items():
        table = section.tables[block]
        assert set(table.columns) == set(stated["columns"])
        assert table.rows == stated["rows"]
        for column, values in stated["columns"].items():
            assert (table.dtype(column), list(table[column].shape)) == (values["dtype"], values["shape"])
            numbers = [float("nan") if value == "NaN" else value for value in values["values"]]
            assert np.array_equal(table[column].reshape(-1), np.array(numbers, dtype=table[column].dtype)) or (
                values["dtype"] == "f64" and np.array_equal(table[column].reshape(-1), numbers, equal_nan=True)
            )
            mask = table.validity(column)
            assert (None if mask is None else mask.tolist()) == values["validity"]
    assert field.to_section() == section
    with refused("reject-ff-other-meaning", "no version"):
        field.require_understood()


def test_molrs_shows_our_section_as_it_is(tmp_path: Path) -> None:
    section = complete().to_section()
    mr.write(tmp_path / "a.mrec", forcefield=section)
    theirs = molrs.io.mrec.MrecFile(tmp_path / "a.mrec").forcefield()
    assert theirs.document == section.document
    assert set(theirs.tables) == set(section.tables)
    for name, table in section.tables.items():
        other = theirs.tables[name]
        assert set(other.keys()) == set(table.columns)
        for column in table.columns:
            assert list(other[column]) == list(table[column])
            mask = table.validity(column)
            assert [*(other.validity(column) if mask is not None else [])] == [*(() if mask is None else mask)]
