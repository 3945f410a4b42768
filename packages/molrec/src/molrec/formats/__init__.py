"""Foreign files to frames and back. Nothing here knows how a record is stored.

`registry` picks the format of a file, one module per format reads and writes it, and `series` turns any number of
files into what a trajectory is declared with: a schema, a system, and frames with their steps and times.
"""
