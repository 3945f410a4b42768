"""The distribution is installed, says which version it is, and imports quietly and little."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import requires, version

import mace_core
from mace_core import data

_PROGRAM = """
import json, sys, logging, warnings
handlers, filters = list(logging.root.handlers), list(warnings.filters)
import mace_core
alone = sorted(sys.modules)
import mace_core.data, mace_core.units
quiet = logging.root.handlers == handlers and not logging.getLogger("mace_core").handlers
print(json.dumps({"alone": alone, "all": sorted(sys.modules), "quiet": quiet}))
"""
_FOREIGN = {"mace", "torch", "jax", "e3nn", "molrec", "extxyz"}


def _imported() -> dict[str, list[str]]:
    answer = subprocess.run([sys.executable, "-c", _PROGRAM], check=True, capture_output=True, text=True)
    assert answer.stderr == ""
    found: dict[str, list[str]] = json.loads(answer.stdout)
    return found


def test_version_is_the_installed_one() -> None:
    assert mace_core.__version__ == version("mace-core")


def test_no_training_framework_is_imported() -> None:
    imported = _imported()
    assert {name.partition(".")[0] for name in imported["all"]} & _FOREIGN == set()
    assert "mace_core.data" in imported["all"]
    assert "ase" not in imported["alone"]
    assert imported["quiet"]


def test_ase_is_declared() -> None:
    required = requires("mace-core") or []
    assert [requirement for requirement in required if requirement.startswith("ase")] == ["ase>=3.23"]


def test_the_public_names_are_these() -> None:
    assert data.__all__ == [
        "AtomicNumberTable",
        "Configuration",
        "ConfigurationList",
        "ConfigurationStream",
        "DataError",
        "DefaultKeys",
        "KeySpecification",
        "get_atomic_number_table_from_zs",
        "iter_configurations",
        "random_train_valid_split",
        "read_configurations",
        "test_config_types",
        "update_keyspec_from_kwargs",
    ]
    assert all(hasattr(data, name) for name in data.__all__)


def test_the_module_says_how_keys_and_ase_are_meant() -> None:
    assert data.__doc__ is not None
    for words in (
        "property names only",
        "no file key gets any further",
        "ASE is therefore a dependency, not an option",
    ):
        assert words in " ".join(data.__doc__.split())
