"""Records on a Zarr V3 root: frame groups, ragged trajectories, packing (``docs/spec/zarr.md``)."""
