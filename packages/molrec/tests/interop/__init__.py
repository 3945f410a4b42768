"""Interoperability of ``molrec`` with records written and read by other implementations of the format."""
