"""What `molrec.validate` looks for, in records and collections: every rule, every finding."""
