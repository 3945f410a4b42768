"""The conformance suite: the reference passes every case; what a report says; the command; the chapter about it."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from typer.testing import CliRunner

from molrec.cli.app import app
from molrec.conformance import (
    ConformanceSuite,
    FrameAdapter,
    Implementation,
    Report,
    TrajectoryAdapter,
    Verdict,
    first_difference,
    looks,
    reference,
)
from molrec.conformance.catalogue import CASES
from molrec.conformance.content import Frame, Run, Trajectory
from molrec.conformance.making import block, f64, frame, run
from molrec.conformance.suite import group_of

from .conformance_breaking import STORES

ROOT = Path(__file__).resolve().parents[3]
CHAPTER = ROOT / "docs" / "spec" / "conformance.md"

#: The ids that every suite of this format has.
CONTRACT = [
    "precision-rounds-on-write",
    "precision-declaration-survives",
    "precision-edge-values",
    "precision-shuffle-zstd-decodes",
    "reject-precision-on-non-f64",
    "reject-precision-out-of-bounds",
    "typed-meta-every-tag",
    "typed-meta-non-finite",
    "typed-meta-wide-integers",
    "typed-meta-integral-float",
    "untyped-meta-infers",
    "stale-meta-tag-ignored",
    "reject-meta-tag-mismatch",
    "reject-meta-out-of-range",
    "reject-meta-reserved-key",
    "reject-json-meta-non-finite",
    "canonical-topology",
    "targets-declared",
    "reject-target-out-of-range",
    "reject-target-missing-block",
    "reject-target-not-u64",
    "system-typed-meta",
    "targets-absolute",
    "reject-target-into-trajectory",
    "record-with-forcefield",
    "forcefield-only-record",
    "precision-in-sequence-schema",
    "precision-sub-quantum-carries-forward",
    "reject-frame-precision-disagrees",
    "targets-pinned",
    "aligned-carries-forward",
    "aligned-restated-on-growth",
    "aligned-absent-then-present",
    "aligned-empty-target",
    "reject-aligned-not-restated",
    "reject-aligned-count-mismatch",
    "reject-aligned-target-undeclared",
    "reject-aligned-chain",
    "reject-aligned-shared-column",
    "reject-aligned-target-absent",
    "three-states",
    "precision-in-collection",
    "collection-forcefield",
    "system-typed-meta-lmdb",
    "aligned-in-collection",
    "reject-aligned-shares-system-name",
    "no-system",
    "no-trajectory",
    "zero-frame-trajectory",
    "subset-of-declaration",
    "reject-schema-differs",
    "reject-system-row-count",
    "reject-no-units",
    "ff-minimal",
    "ff-round-trip",
    "ff-wildcard-endpoints",
    "ff-absent-params",
    "ff-string-params",
    "ff-style-name-encoding",
    "ff-hybrid-styles",
    "ff-per-instance-style",
    "ff-unknown-style-with-expression",
    "ff-unknown-category",
    "ff-units-preserved",
    "ff-lj-preset",
    "ff-smirks-keyed",
    "ff-without-special-bonds",
    "ff-document-keys-preserved",
    "reject-ff-no-units",
    "reject-ff-units-conflict",
    "reject-ff-duplicate-style",
    "reject-ff-missing-table",
    "reject-ff-null-name",
    "reject-ff-duplicate-type-name",
    "reject-ff-wrong-arity",
    "reject-ff-param-dtype",
    "reject-ff-class-key-without-class",
    "reject-ff-pair-conflict",
]


# -- the cases --------------------------------------------------------------------------------------------------------


def test_ids_are_unique_and_examples_have_names() -> None:
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids)
    for case in CASES:
        names = [example.name for example in case.examples]
        assert len(set(names)) == len(names) >= 1, case.id


def test_every_id_of_the_contract_is_a_case() -> None:
    assert set(CONTRACT) <= {case.id for case in CASES}


def test_a_case_of_refusals_has_the_id_of_a_rule_and_refuses() -> None:
    rules = (ROOT / "docs" / "spec" / "rules.md").read_text()
    for case in CASES:
        if case.id.startswith("reject-"):
            assert f"| `{case.id}` |" in rules
            assert any(example.refused for example in case.examples), case.id


# -- the reference ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_reference_passes(case: object) -> None:
    suite = ConformanceSuite(reference.molrec, folder=STORES)
    assert [str(one) for one in suite.outcomes(case) if one.verdict is not Verdict.PASSED] == []  # type: ignore[arg-type]


def test_the_reference_passes_with_packed_records() -> None:
    report = ConformanceSuite(reference.packed, folder=STORES).run()
    assert report.passed, report.text()
    unsupported = [one for one in report.outcomes if one.verdict is Verdict.NOT_SUPPORTED]
    assert {one.group for one in unsupported} == {"collection", "trajectory"}
    assert {str(one.direction) for one in unsupported if one.group == "trajectory"} == {"append"}


# -- a report ---------------------------------------------------------------------------------------------------------


class Rounded(FrameAdapter):
    """Reads floats with six digits, and refuses what it does not like by a KeyError."""

    refusals = (KeyError,)

    def write(self, path: Path, content: Frame) -> None:
        raise NotImplementedError("this only reads")

    def read(self, path: Path) -> Frame:
        found = reference.Frames().read(path)
        column = found.blocks["atoms"].columns["x"]
        assert isinstance(column.values, np.ndarray)
        rounded = dataclasses.replace(column, values=np.round(column.values, 6))
        atoms = dataclasses.replace(found.blocks["atoms"], columns={**found.blocks["atoms"].columns, "x": rounded})
        return dataclasses.replace(found, blocks={**found.blocks, "atoms": atoms})


@pytest.fixture(scope="module")
def report() -> Report:
    rounded = Implementation("rounded", "1.2", frame=Rounded(), skips={"typed-meta-every-tag": "no meta"})
    chosen = ("precision-rounds-on-write", "reject-target-out-of-range", "typed-meta-every-tag", "no-system")
    return ConformanceSuite(rounded, cases=[case for case in CASES if case.id in chosen], folder=STORES).run()


def test_a_report_names_the_first_difference(report: Report) -> None:
    (failed,) = [one for one in report.failures if one.case == "precision-rounds-on-write" and not one.example]
    assert failed.verdict is Verdict.DIFFERS
    assert failed.difference is not None
    assert failed.difference.path == "atoms/x[0]"
    assert failed.difference.expected == 2.0**-10
    assert failed.difference.found == 0.000977
    assert "expected 0.0009765625, found 0.000977" in str(failed)
    assert not report.passed


def test_a_report_tells_what_is_not_supported(report: Report) -> None:
    reasons = {one.case: one.detail for one in report.outcomes if one.verdict is Verdict.NOT_SUPPORTED}
    assert reasons["typed-meta-every-tag"] == "no meta"
    assert reasons["no-system"] == "no adapter for collection"
    assert reasons["precision-rounds-on-write"] == "this only reads"
    text = report.text()
    assert text.startswith("rounded 1.2, judged against molrec ")
    assert "not supported: no meta\n    typed-meta-every-tag\n" in text
    assert re.search(r"failed precision-rounds-on-write\n    read: differs: atoms/x\[0\]: expected", text)
    assert text.splitlines()[-1].startswith("4 cases, ")


def test_a_refusal_of_another_kind_is_an_error(report: Report) -> None:
    (stored,) = [one for one in report.outcomes if one.case == "reject-target-out-of-range" and one.example == "stored"]
    assert stored.verdict is Verdict.ERROR
    assert "FormatError" in stored.detail


def test_a_report_as_json_and_junit(report: Report) -> None:
    document = json.loads(report.json())
    assert document["implementation"] == "rounded 1.2"
    assert document["passed"] is False
    assert document["counts"] == report.counts
    assert len(document["outcomes"]) == len(report.outcomes)
    found = [one["difference"] for one in document["outcomes"] if one["difference"]]
    assert {"path", "expected", "found"} == set(found[0])
    suite = ET.fromstring(report.junit())
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase")) == len(report.outcomes)
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
    assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error")) == 1
    assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    suite = ConformanceSuite(reference.molrec, folder=STORES).only("ff-m*")
    suite.run(lambda *one: told.append(one))
    assert told == [("ff-minimal", 1, 1)]


def test_a_panic_outside_exception_is_a_verdict() -> None:
    class Panic(BaseException):
        """What extension modules of other languages raise when they give up."""

    class Broken(TrajectoryAdapter):
        def write(self, path: Path, content: Run) -> None:
            raise Panic("gave up")

        def read(self, path: Path) -> Trajectory:
            raise KeyboardInterrupt

    suite = ConformanceSuite(Implementation("broken", "0", trajectory=Broken()), folder=STORES).only("zero-frames")
    outcomes = suite.outcomes(suite.cases[0])
    assert next(outcomes).verdict is Verdict.ERROR
    with pytest.raises(KeyboardInterrupt):
        next(outcomes)


def test_what_is_handed_out_cannot_be_changed_under_the_suite() -> None:
    class InPlace(FrameAdapter):
        """Spoils what it is given, and stores that."""

        refusals = reference.Frames.refusals

        def write(self, path: Path, content: Frame) -> None:
            values = content.blocks["atoms"].columns["x"].values
            assert isinstance(values, np.ndarray)
            values[...] = 1.0
            reference.Frames().write(path, content)

        def read(self, path: Path) -> Frame:
            return reference.Frames().read(path)

    in_place = Implementation("in place", "0", frame=InPlace())
    for _ in range(2):
        report = ConformanceSuite(in_place, folder=STORES).only("precision-edge-values").run()
        assert [str(one.direction) for one in report.failures if not one.example] == ["write"]


def test_not_supported_is_no_refusal() -> None:
    """A `NotImplementedError` is a `RuntimeError`, which an implementation may well refuse with."""

    class Half(FrameAdapter):
        refusals = (RuntimeError,)

        def write(self, path: Path, content: Frame) -> None:
            raise NotImplementedError("this only reads")

        def read(self, path: Path) -> Frame:
            return reference.Frames().read(path)

    report = (
        ConformanceSuite(Implementation("half", "0", frame=Half()), folder=STORES).only("reject-meta-unknown-tag").run()
    )
    assert [(str(one.direction), one.verdict) for one in report.outcomes] == [
        ("write", Verdict.NOT_SUPPORTED),
        ("read", Verdict.ERROR),
    ]


def test_a_store_nobody_can_look_at_is_wrong_and_no_crash() -> None:
    class Scrap(FrameAdapter):
        def write(self, path: Path, content: Frame) -> None:
            (path / "frame" / "atoms" / "x").mkdir(parents=True)
            (path / "frame" / "atoms" / "x" / "zarr.json").write_text("{")

        def read(self, path: Path) -> Frame:
            return reference.Frames().read(path)

    suite = ConformanceSuite(Implementation("scrap", "0", frame=Scrap()), folder=STORES)
    report = suite.only("precision-shuffle-zstd-decodes").run()
    assert report.failures[0].verdict is Verdict.LOOKS_WRONG
    assert "JSONDecodeError" in report.failures[0].detail


def test_a_look_takes_every_spelling_of_a_number_in_json(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    attributes = {"progression": {"start": 0, "stride": 0.5}, "vectors": [[5, 0], [0, 5]], "count": 3.0}
    (tmp_path / "run" / "zarr.json").write_text(json.dumps({"attributes": attributes}))
    assert looks.AttributeIs("run", "progression", {"start": 0.0, "stride": 0.5})(tmp_path) is None
    assert looks.AttributeIs("run", "progression/stride", 0.5)(tmp_path) is None
    assert looks.AttributeIs("run", "vectors", [[5.0, 0.0], [0.0, 5.0]])(tmp_path) is None
    assert looks.AttributeIs("run", "vectors", [[5.0, 0.0], [0.0, 6.0]])(tmp_path)
    # An integer is not spelled as a real.
    assert looks.AttributeIs("run", "count", 3)(tmp_path)
    assert looks.AttributeIs("run", "missing", 3)(tmp_path)
    assert looks.AttributeIs("other", "missing", 3)(tmp_path)


def test_paths_of_differences_are_short() -> None:
    one = run([frame({"atoms": block({"x": f64(1.0, 2.0)})})])
    other = run([frame({"atoms": block({"x": f64(1.0, 2.5)})})])
    difference = first_difference(one, other, "trajectory")
    assert str(difference) == "trajectory/frames[0]/atoms/x[1]: expected 2.0, found 2.5"


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_judges_and_writes_reports(tmp_path: Path) -> None:
    files = [tmp_path / "r.json", tmp_path / "r.xml"]
    command = ["conformance", "--only", "ff-*-preset", "--json", str(files[0]), "--junit", str(files[1]), "--verbose"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "passed ff-lj-preset" in result.output
    assert "1 cases, 2 trials: 2 passed" in result.output
    assert json.loads(files[0].read_text())["passed"] is True
    assert ET.fromstring(files[1].read_text()).attrib["tests"] == "2"


def test_the_command_lists_cases() -> None:
    result = CliRunner().invoke(app, ["conformance", "--list", "--only", "three-*"])
    assert result.exit_code == 0
    assert result.output.split()[0] == "three-states"
    assert "trajectory.md#three-states" in result.output


def test_the_command_finds_an_implementation_in_the_working_folder(tmp_path: Path) -> None:
    program = """
from molrec.conformance import FrameAdapter, Implementation
class Nothing(FrameAdapter):
    def write(self, path, content): path.mkdir()
    def read(self, path): return None
nothing = Implementation("nothing", "0", frame=Nothing())
"""
    (tmp_path / "my_reader.py").write_text(program)
    command = [sys.executable, "-m", "molrec", "conformance", "my_reader:nothing", "--only", "box-parts"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 1, found.stderr
    assert "failed box-parts" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["molrec"], "name one as module:name"),
        (["molrec:nothing"], "an Implementation of molrec.conformance is asked for"),
        (["there_is_no_such_module:x"], "there_is_no_such_module"),
        (["--only", "nothing-fits"], "no case fits"),
    ],
)
def test_the_command_says_what_it_cannot_load(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(app, ["conformance", *arguments])
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


# -- the chapter ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not CHAPTER.is_file(), reason="the documentation is not beside the package")
def test_the_table_of_cases_is_the_cases() -> None:
    table = CHAPTER.read_text().split("<!-- cases-table -->")[1].split("<!-- /cases-table -->")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| \[(.+?)\]\((.+?)\) \| (.+?) \|$", table, flags=re.MULTILINE)
    assert sorted(rows) == sorted(
        (case.id, case.title, case.clause, ", ".join(sorted({group_of(example) for example in case.examples})))
        for case in CASES
    )


@pytest.mark.skipif(not CHAPTER.is_file(), reason="the documentation is not beside the package")
def test_the_adapter_of_the_chapter_is_judged_as_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = CHAPTER.read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    (printed,) = re.findall(r"^```text\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    assert len(program.split("class Frames")[1].splitlines()) <= 32
    exec(compile(program, "conformance.md", "exec"), {"__name__": "my_reader"})
    assert capsys.readouterr().out == printed
