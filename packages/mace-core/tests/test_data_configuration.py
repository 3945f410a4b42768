"""What a configuration is and what a file becomes: keys, weights, config types, isolated atoms, splits."""

from __future__ import annotations

import copy
import dataclasses
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mace_core.data import (
    AtomicNumberTable,
    Configuration,
    ConfigurationList,
    DataError,
    DefaultKeys,
    KeySpecification,
    get_atomic_number_table_from_zs,
    random_train_valid_split,
    read_configurations,
    test_config_types,  # collected as a test if it were not marked; pytest would then miss its fixture
    update_keyspec_from_kwargs,
)

pytestmark = pytest.mark.usefixtures("reader")

_DEFAULTS = {
    "energy": "REF_energy",
    "forces": "REF_forces",
    "stress": "REF_stress",
    "virials": "REF_virials",
    "dipole": "dipole",
    "polarizability": "polarizability",
    "head": "head",
    "charges": "REF_charges",
    "total_charge": "total_charge",
    "total_spin": "total_spin",
    "elec_temp": "elec_temp",
    "magmom": "REF_magmom",
    "magforces": "REF_magforces",
}
_PER_ATOM = {"forces", "charges", "magmom", "magforces"}
_LITERAL: dict[str, dict[str, str]] = {"graph_keys": {"energy": "energy"}, "atom_keys": {"forces": "forces"}}
_PLAIN = "2\nProperties=species:S:1:pos:R:3:REF_forces:R:3 REF_energy=-1.5 {}\nH 0 0 0 1 2 3\nO 0 0 1 4 5 6\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "train.xyz"


def _read(path: Path, text: str, key_spec: KeySpecification | None = None, **options: Any) -> ConfigurationList:
    path.write_text(text, encoding="utf-8")
    return read_configurations(path, key_spec or KeySpecification.from_defaults(), **options)


def _keys(**changes: dict[str, str]) -> KeySpecification:
    return KeySpecification.from_defaults().update(**changes)


def _atom(entries: str, symbol: str = "H", columns: str = "", values: str = "") -> str:
    return f"1\nProperties=species:S:1:pos:R:3{columns} {entries}\n{symbol} 0 0 0 {values}\n"


class TestConfiguration:
    def test_fields_order_and_defaults(self) -> None:
        fields = {field.name: field.default for field in dataclasses.fields(Configuration)}
        required = dataclasses.MISSING
        assert list(fields.items()) == [
            ("atomic_numbers", required),
            ("positions", required),
            ("properties", required),
            ("property_weights", required),
            ("cell", None),
            ("pbc", None),
            ("weight", 1.0),
            ("config_type", "Default"),
            ("head", "Default"),
        ]

    def test_arrays_are_of_fixed_type_and_shape(self, path: Path) -> None:
        (configuration,) = _read(path, _PLAIN.format('Lattice="4 0 0 0 5 0 0 0 6" pbc="T F T"'))
        assert configuration.atomic_numbers.dtype == np.int64
        assert configuration.atomic_numbers.tolist() == [1, 8]
        assert configuration.positions.dtype == np.float64
        assert configuration.positions.tolist() == [[0, 0, 0], [0, 0, 1]]
        assert configuration.pbc == (True, False, True)

    @pytest.mark.parametrize("entries", ["", 'pbc="T F F"'])
    def test_no_box_is_made_up_where_the_file_has_none(self, path: Path, entries: str) -> None:
        (configuration,) = _read(path, _PLAIN.format(entries))
        assert configuration.cell is not None
        assert not configuration.cell.any()

    def test_rows_of_the_cell_are_vectors(self, path: Path) -> None:
        (configuration,) = _read(path, _PLAIN.format('Lattice="1 2 3 4 5 6 7 8 10"'))
        assert configuration.cell is not None
        assert configuration.cell.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 10]]


class TestDefaultKeys:
    def test_are_the_thirteen_of_the_table(self) -> None:
        assert {member.name.lower(): member.value for member in DefaultKeys} == _DEFAULTS
        assert len(DefaultKeys) == 13
        assert DefaultKeys.keydict() == {f"{name}_key": key for name, key in _DEFAULTS.items()}


class TestKeySpecification:
    def test_defaults_fall_into_their_halves(self) -> None:
        spec = KeySpecification.from_defaults()
        assert spec.atom_keys == {name: key for name, key in _DEFAULTS.items() if name in _PER_ATOM}
        assert spec.graph_keys == {name: key for name, key in _DEFAULTS.items() if name not in _PER_ATOM}

    def test_two_specifications_share_nothing(self) -> None:
        mine, given = {"energy": "E"}, {"forces": "F"}
        spec = KeySpecification(mine, given)
        spec.update(graph_keys={"energy": "other"}, atom_keys={"forces": "other"})
        KeySpecification().update(graph_keys={"x": "y"})
        assert (mine, given) == ({"energy": "E"}, {"forces": "F"})
        assert KeySpecification().graph_keys == {}

    def test_update_works_in_place_and_returns_the_specification(self) -> None:
        spec = KeySpecification.from_defaults()
        assert spec.update(graph_keys={"pbe_energy": "E_pbe"}, atom_keys={"pbe_forces": "F_pbe"}) is spec
        assert spec.graph_keys["pbe_energy"] == "E_pbe"
        assert spec.atom_keys["pbe_forces"] == "F_pbe"

    @pytest.mark.parametrize("change", [{"atom_keys": {"energy": "E"}}, {"graph_keys": {"ok": "k", "forces": "F"}}])
    def test_a_name_in_both_halves_is_refused_and_nothing_changes(self, change: dict[str, dict[str, str]]) -> None:
        spec = KeySpecification.from_defaults()
        with pytest.raises(ValueError, match=r"'(energy|forces)' is both a graph key and an atom key"):
            spec.update(**change)
        assert spec == KeySpecification.from_defaults()

    def test_a_name_in_both_halves_is_refused_when_made_and_when_read(self, path: Path) -> None:
        with pytest.raises(ValueError, match="'q' is both"):
            KeySpecification({"q": "a"}, {"q": "b"})
        spec = KeySpecification.from_defaults()
        spec.atom_keys["energy"] = "E"
        with pytest.raises(ValueError, match="'energy' is both"):
            _read(path, _PLAIN.format(""), spec)

    @pytest.mark.parametrize("key", [None, 3, ""])
    def test_a_key_that_is_no_text_is_refused(self, key: Any) -> None:
        with pytest.raises(ValueError, match="name and key are text and not empty"):
            KeySpecification({"energy": key})

    def test_command_line_options(self) -> None:
        spec = KeySpecification.from_defaults()
        options = {"energy_key": "E", "forces_key": "F", "stress_key": None, "batch_size": 4, "embedding_specs": None}
        assert update_keyspec_from_kwargs(spec, options) is spec
        assert spec == _keys(graph_keys={"energy": "E"}, atom_keys={"forces": "F"})

    def test_the_defaults_as_options_change_nothing(self) -> None:
        spec = update_keyspec_from_kwargs(KeySpecification.from_defaults(), DefaultKeys.keydict())
        assert spec == KeySpecification.from_defaults()
        assert update_keyspec_from_kwargs(KeySpecification(), DefaultKeys.keydict()) == spec

    def test_options_may_name_what_the_specification_has_and_carry_features(self) -> None:
        spec = _keys(atom_keys={"pbe_forces": "F"})
        specs = {"temperature": {"per": "graph"}}
        update_keyspec_from_kwargs(spec, {"pbe_forces_key": "G", "embedding_specs": specs})
        assert spec.atom_keys["pbe_forces"] == "G"
        assert spec.graph_keys["temperature"] == "temperature"

    @pytest.mark.parametrize(
        "options",
        [{"energi_key": "E"}, {"energy_key": 3}, {"energy_key": "E", "embedding_specs": {"x": {"per": "edge"}}}],
    )
    def test_bad_options_are_refused_and_nothing_changes(self, options: dict[str, Any]) -> None:
        spec = KeySpecification.from_defaults()
        with pytest.raises(ValueError, match=r"energi_key|energy|edge"):
            update_keyspec_from_kwargs(spec, options)
        assert spec == KeySpecification.from_defaults()


class TestEmbeddingSpecs:
    def test_per_says_which_half(self) -> None:
        spec = KeySpecification.from_defaults()
        specs: dict[str, dict[str, Any]] = {
            "temperature": {"per": "graph", "in_dim": 1},
            "medium": {"per": "graph", "key": "solvent"},
            "site": {"per": "atom", "key": "oxidation"},
            "molID": {"per": "atom"},
        }
        given = copy.deepcopy(specs)
        assert spec.add_embedding_specs(specs) is spec
        assert specs == given
        assert spec == _keys(
            graph_keys={"temperature": "temperature", "medium": "solvent"},
            atom_keys={"site": "oxidation", "molID": "molID"},
        )

    @pytest.mark.parametrize("feature", [{"per": "edge"}, {"per": None}, {"per": ["atom"]}, {}, "graph"])
    def test_any_other_per_is_refused_and_nothing_changes(self, feature: Any) -> None:
        spec = KeySpecification.from_defaults()
        with pytest.raises(ValueError, match="'bond': `per` is 'atom' or 'graph'"):
            spec.add_embedding_specs({"temperature": {"per": "graph"}, "bond": feature})
        assert spec == KeySpecification.from_defaults()

    def test_no_feature_hides_a_default_property_silently(self, caplog: pytest.LogCaptureFixture) -> None:
        spec = KeySpecification.from_defaults()
        with pytest.raises(ValueError, match="'energy' would hide the property of that name"):
            spec.add_embedding_specs({"energy": {"per": "graph"}})
        with pytest.raises(ValueError, match="'forces' is both a graph key and an atom key"):
            spec.add_embedding_specs({"forces": {"per": "graph", "key": "x"}})
        assert spec == KeySpecification.from_defaults()
        spec.add_embedding_specs({"total_spin": {"per": "graph"}})
        assert not caplog.records
        spec.add_embedding_specs({"total_charge": {"per": "graph", "key": "net_charge"}})
        assert spec.graph_keys["total_charge"] == "net_charge"
        assert "now read from 'net_charge' instead of 'total_charge'" in caplog.text


class TestAtomicNumberTable:
    def test_keeps_the_order_it_is_given(self) -> None:
        zs = [8, 1, 6]
        table = AtomicNumberTable(zs)
        zs.append(7)
        assert table.zs == [8, 1, 6]
        assert len(table) == 3
        assert [table.index_to_z(index) for index in range(3)] == [8, 1, 6]
        assert [table.z_to_index(z) for z in (8, 1, 6)] == [0, 1, 2]
        assert str(table) == "AtomicNumberTable: (8, 1, 6)"

    def test_neither_sorts_nor_drops(self) -> None:
        assert AtomicNumberTable([6, 1, 6]).zs == [6, 1, 6]
        assert AtomicNumberTable([6, 1, 6]).z_to_index(6) == 0

    def test_the_factory_sorts_and_drops(self) -> None:
        assert get_atomic_number_table_from_zs(np.array([8, 1, 1, 6, 8])).zs == [1, 6, 8]
        assert get_atomic_number_table_from_zs(z for z in (3, 3)).zs == [3]

    def test_says_what_it_does_not_hold(self) -> None:
        with pytest.raises(ValueError, match=r"atomic number 7 is not in AtomicNumberTable: \(1, 8\)"):
            AtomicNumberTable([1, 8]).z_to_index(7)
        for index in (2, -1):
            with pytest.raises(IndexError, match=f"index {index} is outside"):
                AtomicNumberTable([1, 8]).index_to_z(index)


class TestKeys:
    def test_all_thirteen_defaults_are_read(self, path: Path) -> None:
        text = (
            "1\nProperties=species:S:1:pos:R:3:REF_forces:R:3:REF_charges:R:1:REF_magmom:R:3:REF_magforces:R:3 "
            'REF_energy=-2.5 REF_stress="1 2 3 4 5 6.5" REF_virials="1 2 3 4 5 6 7 8 9.5" dipole="1 2 3" '
            'polarizability="1.5 0 0" head=x total_charge=-1 total_spin=2 elec_temp=0.025\n'
            "H 0 0 0 1 2 3 0.5 4 5 6 7 8 9\n"
        )
        (configuration,) = _read(path, text)
        found = {name: np.asarray(value).tolist() for name, value in configuration.properties.items()}
        assert found == {
            "energy": -2.5,
            "stress": [1, 2, 3, 4, 5, 6.5],
            "virials": [1, 2, 3, 4, 5, 6, 7, 8, 9.5],
            "dipole": [1, 2, 3],
            "polarizability": [1.5, 0, 0],
            "head": "Default",
            "total_charge": -1,
            "total_spin": 2,
            "elec_temp": 0.025,
            "forces": [[1, 2, 3]],
            "charges": [0.5],
            "magmom": [[4, 5, 6]],
            "magforces": [[7, 8, 9]],
        }
        assert configuration.property_weights == dict.fromkeys(_DEFAULTS, 1.0)

    def test_what_is_absent_is_none_and_weighs_nothing(self, path: Path) -> None:
        (configuration,) = _read(path, _PLAIN.format("config_stress_weight=3 config_energy_weight=2"))
        absent = set(_DEFAULTS) - {"energy", "forces", "head"}
        assert {name for name, value in configuration.properties.items() if value is None} == absent
        assert {name for name, weight in configuration.property_weights.items() if weight == 0.0} == absent
        assert configuration.property_weights["energy"] == 2.0

    def test_names_not_keys_are_in_properties(self, path: Path) -> None:
        spec = _keys(graph_keys={"pbe_energy": "E_pbe"}, atom_keys={"pbe_forces": "F_pbe"})
        text = _atom("E_pbe=-3.5 REF_energy=1.5 config_pbe_energy_weight=0.5", "O", ":F_pbe:R:3", "1 2 3")
        (configuration,) = _read(path, text, spec)
        assert configuration.properties["pbe_energy"] == -3.5
        assert configuration.properties["energy"] == 1.5
        assert configuration.properties["pbe_forces"].tolist() == [[1, 2, 3]]
        assert configuration.property_weights["pbe_energy"] == 0.5
        assert set(configuration.properties) == {*_DEFAULTS, "pbe_energy", "pbe_forces"}

    def test_values_keep_the_type_they_were_written_with(self, path: Path) -> None:
        text = _atom("REF_energy=-5 total_charge=T total_spin=3.0 elec_temp=hot", "H", ":REF_charges:I:1", "1")
        properties = _read(path, text)[0].properties
        types = {name: np.asarray(value).dtype.name for name, value in properties.items() if value is not None}
        assert types["energy"] == "int64"
        assert types["total_charge"] == "bool"
        assert types["total_spin"] == "float64"
        assert types["charges"] == "int32"
        assert properties["elec_temp"] == "hot"


class TestKeysThatAseMoves:
    def test_a_dipole_under_its_default_key_is_recovered(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        (configuration,) = _read(path, _atom('dipole="0 0 -2" config_dipole_weight=0.5'))
        dipole = configuration.properties["dipole"]
        assert (dipole.dtype, dipole.tolist()) == (np.float64, [0.0, 0.0, -2.0])
        assert configuration.property_weights["dipole"] == 0.5
        assert "no energies found" in caplog.text

    @pytest.mark.parametrize("column", ["charge", "charges"])
    @pytest.mark.parametrize("key", ["charge", "charges"])
    def test_charges_are_recovered_under_either_name(self, path: Path, column: str, key: str) -> None:
        text = _atom("REF_energy=1", "N", f":{column}:I:1:magmoms:R:1", "-2 0.5")
        (configuration,) = _read(path, text, _keys(atom_keys={"charges": key, "magmom": "magmoms"}))
        charges = configuration.properties["charges"]
        assert (charges.dtype, charges.tolist()) == (np.float64, [-2.0])
        assert configuration.properties["magmom"].tolist() == [0.5]

    def test_free_energy_keeps_its_type(self, path: Path) -> None:
        (configuration,) = _read(path, _atom("free_energy=-540"), _keys(graph_keys={"energy": "free_energy"}))
        assert np.asarray(configuration.properties["energy"]).dtype == np.int64

    def test_a_graph_key_does_not_take_a_column_nor_an_atom_key_an_entry(self, path: Path) -> None:
        text = _atom("REF_energy=1 magmom=1.5", "N", ":dipole:R:3", "1 2 3")
        (configuration,) = _read(path, text, _keys(atom_keys={"magmom": "magmom"}))
        assert configuration.properties["dipole"] is None
        assert configuration.properties["magmom"] is None

    def test_the_three_literal_keys_are_for_their_own_properties(self, path: Path) -> None:
        spec = _keys(graph_keys={"other": "energy"}, atom_keys={"gradient": "forces"})
        (configuration,) = _read(path, _atom("energy=-1.5 REF_energy=2", "N", ":forces:R:3", "1 2 3"), spec)
        assert configuration.properties["other"] is None
        assert configuration.properties["gradient"] is None


class TestLiteralKeys:
    def test_values_come_from_the_calculator_and_the_callers_keys_stay(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        spec = _keys(graph_keys={"energy": "energy", "stress": "stress"}, atom_keys={"forces": "forces"})
        before = copy.deepcopy(spec)
        text = _atom('energy=-1.5 stress="1 2 3 4 5 6 7 8 9" REF_energy=99 REF_stress=9', "N", ":forces:I:3", "1 2 3")
        (configuration,) = _read(path, text, spec)
        properties = configuration.properties
        assert properties["energy"] == -1.5
        assert (properties["forces"].dtype, properties["forces"].tolist()) == (np.float64, [[1, 2, 3]])
        assert (properties["stress"].dtype, properties["stress"].tolist()) == (np.float64, [1, 5, 9, 8, 7, 4])
        assert spec == before
        for name in ("energy", "forces", "stress"):
            assert f"ASE keeps what a file has under '{name}'" in caplog.text
            assert f"'REF_{name}'" in caplog.text

    def test_each_of_the_three_stands_alone(self, path: Path) -> None:
        text = _atom("energy=-1.5 REF_energy=2.5", "N", ":forces:R:3:REF_forces:R:3", "1 2 3 4 5 6")
        (energy_only,) = _read(path, text, _keys(graph_keys={"energy": "energy"}))
        assert energy_only.properties["energy"] == -1.5
        assert energy_only.properties["forces"].tolist() == [[4, 5, 6]]
        (forces_only,) = _read(path, text, _keys(atom_keys={"forces": "forces"}))
        assert forces_only.properties["energy"] == 2.5
        assert forces_only.properties["forces"].tolist() == [[1, 2, 3]]

    def test_a_missing_value_is_none_weighs_nothing_and_is_reported(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        text = _atom("energy=-1.5") + _atom("REF_energy=-3 config_energy_weight=3 config_forces_weight=2")
        spec = _keys(graph_keys={"energy": "energy", "stress": "stress"}, atom_keys={"forces": "forces"})
        first, second = _read(path, text, spec)
        assert first.property_weights["energy"] == 1.0
        assert second.properties["energy"] is None
        assert second.property_weights["energy"] == second.property_weights["forces"] == 0.0
        assert "taking energy from the calculator failed in 1 of 2 frames, first in frame 1" in caplog.text
        assert "taking forces from the calculator failed in 2 of 2 frames, first in frame 0" in caplog.text
        assert "taking stress" not in caplog.text
        assert "no forces found, no frame has a value under 'forces' (REF_forces)" in caplog.text

    def test_keys_stay_when_reading_raises(self, path: Path) -> None:
        spec = _keys(**_LITERAL)
        before = copy.deepcopy(spec)
        with pytest.raises(DataError):
            _read(path, _atom("REF_energy=1"), spec)
        with pytest.raises(DataError):
            _read(path, _atom("energy=1", "Xx"), spec)
        assert spec == before

    def test_constraints_do_not_touch_forces(self, path: Path) -> None:
        text = _atom("energy=1", "N", ":move_mask:L:1:forces:R:3", "F 1 2 3")
        text += _atom("energy=1", "N", ":forces:R:3:move_mask:L:3", "1 2 3 F T F")
        for configuration in _read(path, text, _keys(**_LITERAL)):
            assert configuration.properties["forces"].tolist() == [[1, 2, 3]]


class TestPresence:
    def test_a_file_without_labels_is_refused_by_all_three_keys_and_the_path(self, path: Path) -> None:
        spec = _keys(graph_keys={"energy": "E", "dipole": "mu"}, atom_keys={"forces": "F"})
        with pytest.raises(DataError) as caught:
            _read(path, _PLAIN.format(""), spec)
        for mention in ("'E'", "'F'", "'mu'", str(path), "no_data_ok"):
            assert mention in str(caught.value)
        assert caught.value.path == str(path)

    def test_literal_keys_do_not_hide_the_absence(self, path: Path) -> None:
        with pytest.raises(DataError, match=r"'energy' \(REF_energy\), 'forces' \(REF_forces\) or 'dipole'"):
            _read(path, _PLAIN.format(""), _keys(**_LITERAL))

    def test_it_is_accepted_on_request_with_a_warning(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        spec = _keys(graph_keys={"energy": "E"}, atom_keys={"forces": "F"})
        assert len(_read(path, _PLAIN.format(""), spec, no_data_ok=True)) == 1
        assert "no frame has a value under 'E', 'F' or 'dipole'; accepted because of no_data_ok" in caplog.text
        assert f"{path}: no energies found, no frame has a value under 'E'" in caplog.text
        assert f"{path}: no forces found, no frame has a value under 'F'" in caplog.text

    @pytest.mark.parametrize("entries", ["REF_energy=1", 'dipole="1 2 3"'])
    def test_one_label_in_one_frame_is_enough_even_of_an_isolated_atom(self, path: Path, entries: str) -> None:
        text = _atom("note=nothing") + _atom(f"config_type=IsolatedAtom {entries}")
        assert len(_read(path, text, extract_isolated_atoms=True)) == 1

    def test_all_there_is_no_warning(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        _read(path, _PLAIN.format(""))
        assert not caplog.records

    def test_a_specification_without_dipole_falls_back_to_ref_dipole(self, path: Path) -> None:
        spec = KeySpecification({"energy": "E", "head": "head"}, {"forces": "F"})
        assert len(_read(path, _atom('REF_dipole="1 2 3"'), spec)) == 1
        with pytest.raises(DataError, match="'E', 'F' or 'REF_dipole'"):
            _read(path, _atom('dipole="1 2 3"'), spec)


class TestWeights:
    def test_config_weight_and_type_weight_multiply(self, path: Path) -> None:
        type_weights = {"bulk": 0.1, "off": 0.0}
        text = "".join(
            _PLAIN.format(entries)
            for entries in (
                "",
                "config_weight=3 config_type=bulk",
                "config_weight=T",
                "config_weight=5 config_type=off",
            )
        )
        configurations = _read(path, text, config_type_weights=type_weights)
        assert [configuration.weight for configuration in configurations] == [1.0, 3 * 0.1, 1.0, 0.0]
        assert type_weights == {"bulk": 0.1, "off": 0.0}

    def test_property_weights_go_by_name_for_both_halves(self, path: Path) -> None:
        spec = _keys(graph_keys={"energy": "REF_energy"}, atom_keys={"forces": "REF_forces"})
        entries = "config_energy_weight=2 config_forces_weight=0.25 config_REF_energy_weight=9 config_head_weight=0.5"
        weights = _read(path, _PLAIN.format(entries), spec)[0].property_weights
        assert (weights["energy"], weights["forces"], weights["head"]) == (2.0, 0.25, 0.5)


class TestConfigType:
    @pytest.mark.parametrize(
        ("written", "read"),
        [
            ("bulk", "bulk"),
            ("größe", "größe"),
            ('"two words"', "two words"),
            ("'a=b c'", "a=b c"),
            ("{curly one}", "curly one"),
            ("12", "12"),
            ("007", "7"),
            ("3.50", "3.5"),
            ("1e3", "1000.0"),
            ("T", "T"),
            ("true", "true"),
            ('"1 2"', "[1 2]"),
        ],
    )
    def test_is_always_text(self, path: Path, written: str, read: str) -> None:
        text = _PLAIN.format(f"config_type={written}")
        (configuration,) = _read(path, text, config_type_weights={read: 7.0})
        assert configuration.config_type == read
        assert configuration.weight == 7.0

    def test_default(self, path: Path) -> None:
        assert _read(path, _PLAIN.format(""))[0].config_type == "Default"


class TestHead:
    def test_is_stamped_on_every_frame_over_what_the_file_says(self, path: Path) -> None:
        text = _PLAIN.format("origin=lab head=file") + _atom("REF_energy=1 config_type=IsolatedAtom origin=17")
        spec = _keys(graph_keys={"head": "origin"})
        configurations = _read(path, text, spec, head_name="dft", extract_isolated_atoms=True, keep_isolated_atoms=True)
        assert [configuration.head for configuration in configurations] == ["dft", "dft"]
        assert [configuration.properties["head"] for configuration in configurations] == ["dft", "dft"]


class TestIsolatedAtoms:
    _TEXT = (
        _atom("REF_energy=-13.5 config_type=IsolatedAtom")
        + _PLAIN.format("config_type=IsolatedAtom")
        + _atom("REF_energy=-7.5 config_type=isolatedatom", "S")
        + _atom("config_type=IsolatedAtom", "O")
    )

    def test_are_ordinary_frames_unless_asked_for(self, path: Path) -> None:
        configurations = _read(path, self._TEXT)
        assert len(configurations) == 4
        assert configurations.atomic_energies == {}

    def test_are_taken_out(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        configurations = _read(path, self._TEXT, extract_isolated_atoms=True)
        assert [len(configuration.atomic_numbers) for configuration in configurations] == [2, 1]
        assert configurations.atomic_energies == {1: -13.5, 8: 0.0}
        assert all(type(energy) is float for energy in configurations.atomic_energies.values())
        assert "frame 3: the atom marked IsolatedAtom (O) has no energy under 'REF_energy'" in caplog.text
        assert "zero is used" in caplog.text

    def test_stay_on_request(self, path: Path) -> None:
        configurations = _read(path, self._TEXT, extract_isolated_atoms=True, keep_isolated_atoms=True)
        assert len(configurations) == 4
        assert configurations.atomic_energies == {1: -13.5, 8: 0.0}

    def test_the_energy_of_a_literal_key_is_found(self, path: Path) -> None:
        text = _atom("energy=-13.5 REF_energy=1 config_type=IsolatedAtom")
        assert _read(path, text, _keys(**_LITERAL), extract_isolated_atoms=True).atomic_energies == {1: -13.5}

    def test_equal_energies_are_fine_and_none_never_replaces_one(
        self, path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        lines = ["config_type=IsolatedAtom", "REF_energy=-79 config_type=IsolatedAtom"]
        text = "".join(_atom(line, "He") for line in (*lines, lines[1], lines[0]))
        assert _read(path, text, extract_isolated_atoms=True).atomic_energies == {2: -79.0}
        assert "frame 0: the atom marked IsolatedAtom (He)" in caplog.text
        assert "frame 3: the atom marked IsolatedAtom (He)" in caplog.text
        assert "that of frame 1 is used (-79.0 eV)" in caplog.text
        assert "zero" not in caplog.text

    def test_atoms_that_disagree_are_refused(self, path: Path) -> None:
        lines = ["REF_energy=-79 config_type=IsolatedAtom", "REF_energy=-79.5 config_type=IsolatedAtom"]
        text = _PLAIN.format("") + "".join(_atom(line, "He") for line in lines)
        with pytest.raises(DataError, match=r"of He have different energies, -79.0 in frame 1 and -79.5 in frame 2"):
            _read(path, text, extract_isolated_atoms=True)


class TestRandomSplit:
    def test_is_the_listed_one(self, tmp_path: Path) -> None:
        train, valid = random_train_valid_split(range(10), 0.05, 42, tmp_path)
        assert (train, valid) == ([5, 6, 0, 7, 3, 2, 4, 9, 1], [8])
        train, valid = random_train_valid_split(range(3), 0.999, 5, tmp_path)
        assert (train, valid) == ([1], [2, 0])
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(("prefix", "start"), [("run_a", "run_a_"), ("", ""), (None, "")])
    def test_ten_held_out_items_are_written_down(self, tmp_path: Path, prefix: str | None, start: str) -> None:
        items = [f"item {index}" for index in range(50)]
        given = list(items)
        train, valid = random_train_valid_split(items, 0.2, 3, tmp_path, prefix)
        indices = [33, 26, 34, 47, 16, 14, 36, 7, 5, 19]
        assert valid == [items[index] for index in indices]
        assert sorted(train + valid) == sorted(items)
        assert items == given
        (file,) = tmp_path.iterdir()
        assert file.name == f"{start}valid_indices_3.txt"
        assert file.read_bytes() == "".join(f"{index}\n" for index in indices).encode()

    def test_fewer_are_logged(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO):
            _, valid = random_train_valid_split(range(45), 0.2, 3, tmp_path)
        assert len(valid) == 9
        assert str(valid) in caplog.text
        assert list(tmp_path.iterdir()) == []

    def test_the_fraction_is_truncated_after_the_product(self, tmp_path: Path) -> None:
        assert len(random_train_valid_split(range(100), 0.29, 7, tmp_path)[1]) == 28

    @pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 1.5, float("nan")])
    def test_a_fraction_outside_is_refused(self, tmp_path: Path, fraction: float) -> None:
        with pytest.raises(ValueError, match="valid_fraction is greater than 0 and less than 1"):
            random_train_valid_split(range(10), fraction, 0, tmp_path)

    @pytest.mark.parametrize("size", [0, 1])
    def test_fewer_than_two_items_are_refused(self, tmp_path: Path, size: int) -> None:
        with pytest.raises(ValueError, match=f"at least two items, .* not {size}"):
            random_train_valid_split(range(size), 0.5, 0, tmp_path)


class TestGroups:
    def test_go_by_config_type_and_head_in_order(self, path: Path) -> None:
        types = ["bulk", "slab", "bulk", "a_b", "a", "slab"]
        configurations = _read(path, "".join(_PLAIN.format(f"config_type={name}") for name in types))
        for configuration, head in zip(configurations, ["x", "x", "x", "c", "b_c", None], strict=True):
            configuration.head = head  # type: ignore[assignment] # heads set by hand may be None
        groups = test_config_types(configurations)
        found = [(name, [configurations.index(member) for member in members]) for name, members in groups]
        assert found == [("bulk_x", [0, 2]), ("slab_x", [1]), ("a_b_c", [3, 4]), ("slab_", [5])]
        assert configurations[5].head is None
