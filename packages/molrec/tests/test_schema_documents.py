"""The exported JSON Schemas against examples, against what the library refuses, and against real stores."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import molrec as mr
from molrec import schema, typedjson
from molrec.errors import MolrecError, SchemaError
from molrec.json_schemas import forms
from molrec.model.names import check_name
from molrec.model.references import check_target
from molrec.model.timestamps import TIMESTAMP_PATTERN, is_timestamp

from .fixture_documents import FOLDER
from .good_records import write_frame, write_run
from .interop import shared_fixtures
from .schema_stores import LAY
from .schema_walk import documents_of_collection, documents_of_record

SCHEMAS = {
    path.removesuffix(schema.SUFFIX): document
    for path, document in schema.documents().items()
    if path.endswith(schema.SUFFIX)
}
EXAMPLES = FOLDER / "schemas"


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[name])


def examples(kind: str) -> list[tuple[str, str]]:
    """Return schema and file name of every example of a kind."""
    files = sorted(EXAMPLES.glob(f"*/*/{kind}/*.json"))
    return [(file.parent.parent.relative_to(EXAMPLES).as_posix(), file.name) for file in files]


def example(name: str, kind: str, file: str) -> Any:
    return json.loads((EXAMPLES / name / kind / file).read_text(encoding="utf-8"))


# -- the schemas ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_and_stands_alone(name: str) -> None:
    document = SCHEMAS[name]
    Draft202012Validator.check_schema(document)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["title"]
    assert document["description"]
    text = json.dumps(document)
    assert '"$id"' not in text
    references = {part.split('"')[0] for part in text.split('"$ref": "')[1:]}
    assert all(reference.startswith("#/$defs/") for reference in references)
    assert {reference.removeprefix("#/$defs/") for reference in references} <= document.get("$defs", {}).keys()


def test_every_schema_has_examples_a_store_and_a_line_in_the_readme() -> None:
    readme = FOLDER.parent / "schema" / "README.md"
    if not readme.is_file():
        pytest.skip("the schemas are not beside the package")
    assert LAY.keys() == SCHEMAS.keys()
    for kind in ("valid", "invalid"):
        assert {name for name, _ in examples(kind)} == SCHEMAS.keys()
    for name in SCHEMAS:
        assert f"`{name}`" in readme.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "file"), examples("valid"))
def test_a_valid_example_is_valid_and_readable(name: str, file: str, tmp_path: Path) -> None:
    document = example(name, "valid", file)
    validator(name).validate(document)
    LAY[name](tmp_path, document)


@pytest.mark.parametrize(("name", "file"), examples("invalid"))
def test_an_invalid_example_is_invalid_and_refused(name: str, file: str, tmp_path: Path) -> None:
    document = example(name, "invalid", file)
    assert not validator(name).is_valid(document)
    rule = file.split("--", maxsplit=1)[0]
    if rule == "advice":
        LAY[name](tmp_path, document)
        return
    with pytest.raises(MolrecError) as refusal:
        LAY[name](tmp_path, document)
    assert refusal.value.rule == rule, str(refusal.value)


# -- what the schemas share with the code -----------------------------------------------------------------------------


def _accepts(check: Any, value: str) -> bool:
    try:
        check(value, "here")
    except SchemaError:
        return False
    return True


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.text("./_a\\\0é\n", max_size=6)


@given(_TEXT | st.sampled_from(["zarr.json", ".zarr.json.tmp", "__a", "..", "a" * 255, "a" * 256]))
def test_a_name_is_one_to_the_schema_and_to_the_library(name: str) -> None:
    """A schema counts characters where the rule counts bytes: only long names tell them apart."""
    assert Draft202012Validator(forms.names()).is_valid(name) == _accepts(check_name, name)


@given(_TEXT | st.sampled_from(["/system/atoms", "/trajectory/atoms", "a/b", "/a", "", "trajectory"]))
def test_a_target_is_one_to_the_schema_and_to_the_library(target: str) -> None:
    found = Draft202012Validator(forms.TARGETS).is_valid({"column": target})
    assert found == _accepts(check_target, target)


@pytest.mark.parametrize("text", ["2026-01-31T12:00:00Z", "2026-02-30T12:00:00Z", "2026-01-31 12:00:00.5+01:00", "x"])
def test_the_form_of_a_timestamp_is_necessary(text: str) -> None:
    assert Draft202012Validator({"pattern": f"^{TIMESTAMP_PATTERN}$"}).is_valid(text) or not is_timestamp(text)


_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "i32": st.integers(-(2**31), 2**31 - 1),
    "i64": st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1]),
    "u32": st.integers(0, 2**32 - 1),
    "u64": st.integers(0, 2**64 - 1) | st.sampled_from([2**53, 2**53 + 1]),
    "f64": st.floats(),
    "string": st.text(st.characters(exclude_categories=["Cs"])),
    "json": st.none() | st.lists(st.integers()) | st.dictionaries(st.text("ab"), st.booleans()),
}


@pytest.mark.parametrize("tag", typedjson.TAGS)
@given(data=st.data())
def test_what_the_library_encodes_has_the_form_of_its_tag(tag: str, data: st.DataObject) -> None:
    element, width = typedjson.element_and_width(tag)
    one = _VALUES[element]
    value = data.draw(one if width is None else st.tuples(*[one] * width))
    Draft202012Validator(forms.typed_form(tag)).validate(typedjson.encode(tag, value))


_FORMS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("-0123a.")
)


@pytest.mark.parametrize("tag", [tag for tag in typedjson.TAGS if tag != "json"])
@given(form=_FORMS | st.lists(_FORMS, max_size=4))
def test_what_the_library_decodes_has_the_form_of_its_tag(tag: str, form: Any) -> None:
    try:
        typedjson.decode(tag, form)
    except mr.FormatError:
        return
    Draft202012Validator(forms.typed_form(tag)).validate(form)


# -- real stores ------------------------------------------------------------------------------------------------------

RECORDS = sorted(FOLDER.glob("*.mrec.zip"))
COLLECTIONS = sorted(FOLDER.glob("*.mrec.lmdb"))


@pytest.mark.parametrize("path", [*RECORDS, *COLLECTIONS], ids=lambda path: path.name)
def test_every_document_of_a_fixture_is_as_its_schema_says(path: Path) -> None:
    found = documents_of_record(path) if path.suffix == ".zip" else documents_of_collection(path)
    for name, place, document in found:
        errors = [error.message for error in validator(name).iter_errors(document)]
        assert errors == [], f"{name} at {place}"


@pytest.mark.skipif(not RECORDS, reason="the fixtures are not beside the package")
def test_the_fixtures_hold_a_document_of_every_schema() -> None:
    found = {name for path in RECORDS for name, _, _ in documents_of_record(path)}
    found |= {name for path in COLLECTIONS for name, _, _ in documents_of_collection(path)}
    assert found == SCHEMAS.keys()


@pytest.mark.parametrize("cell", ["changing", "fixed", "undefined"])
def test_every_document_of_a_live_record_is_as_its_schema_says(cell: str, tmp_path: Path) -> None:
    records = [write_run(tmp_path / "run.mrec", cell=cell, regular=cell == "fixed"), write_frame(tmp_path / "a.mrec")]
    for path in records:
        for name, place, document in documents_of_record(path):
            errors = [error.message for error in validator(name).iter_errors(document)]
            assert errors == [], f"{name} at {place}"


#: Its producer stamped a version of its own making.
STAMPED_BY_HAND = "record_system_frame"


@pytest.mark.parametrize("name", [name for name in shared_fixtures.names() if name != STAMPED_BY_HAND])
def test_every_document_of_another_implementation_is_as_its_schema_says(name: str) -> None:
    for kind, place, document in documents_of_record(shared_fixtures.packed(name)):
        errors = [error.message for error in validator(kind).iter_errors(document)]
        assert errors == [], f"{kind} at {place}"
