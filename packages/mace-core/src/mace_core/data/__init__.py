"""What lies between a data file and a graph: configurations, property keys, reading, splitting.

**Property keys.** Each property has a name of its own (``energy``, ``forces``, ``pbe_energy``). A file may hold it
under any key (``REF_energy``). The mapping from names to keys is a `KeySpecification` and is applied while a file is
read; `Configuration.properties` has property names only, and no file key gets any further.

**ASE.** The meaning of a file is stated in terms of ``ase.Atoms``: its info and arrays, and the calculator into which
its reader moves what bears the name of a calculator property. ASE is therefore a dependency, not an option. The
optional C parser (``pip install mace-core[fast]``) reads the same values faster; where it would not, ASE reads.

No neighbour lists, tensors or graphs here, and no storage other than extended XYZ.
"""

from mace_core.data.configuration import Configuration, ConfigurationList
from mace_core.data.elements import AtomicNumberTable, get_atomic_number_table_from_zs
from mace_core.data.errors import DataError
from mace_core.data.keys import DefaultKeys, KeySpecification, update_keyspec_from_kwargs
from mace_core.data.reading import ConfigurationStream, iter_configurations, read_configurations
from mace_core.data.splits import random_train_valid_split, test_config_types

__all__ = [
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
