"""The distribution is installed and says which version it is."""

from importlib.metadata import version

import mace_core


def test_version_is_the_installed_one() -> None:
    assert mace_core.__version__ == version("mace-core")
