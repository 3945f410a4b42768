"""mace_core: the boundary between atomistic data files and training code, free of any training framework.

``mace_core.data`` holds what lies between a file and a graph: configurations, property keys, reading, splits.
``mace_core.units`` holds the units and the sign conventions. Importing this package imports neither.
"""

__version__ = "0.1.0"
