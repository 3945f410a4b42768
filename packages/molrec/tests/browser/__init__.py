"""The page of ``molrec view`` in a real browser."""
