"""Collections in one LMDB file, ``*.mrec.lmdb`` (``docs/spec/lmdb.md``). Knows nothing of Zarr."""
