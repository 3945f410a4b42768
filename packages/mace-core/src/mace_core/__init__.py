"""mace_core: the boundary between atomistic data files and training code, free of any training framework."""

__version__ = "0.1.0"
